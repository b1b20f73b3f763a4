# SPDX-License-Identifier: Apache-2.0
"""DataLoader: what torch's keywords mean here, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from number_files import open_numbers, write_numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RECORDS = 1000
ALL = set(range(0, 4 * RECORDS, 4))


@pytest.fixture
def dataset(tmp_path: Path) -> millhopper.Reader:
    return open_numbers(write_numbers(tmp_path / "numbers.bin", RECORDS))


def first_numbers(loader: millhopper.DataLoader) -> list[int]:
    return [number for batch in loader for number in batch["row"][:, 0].tolist()]


def test_batches_of_tensors_in_the_order_of_the_files(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset, batch_size=128)
    batches = list(loader)
    assert [tuple(batch["row"].shape) for batch in batches] == [(128, 4)] * 7 + [(104, 4)]
    assert all(isinstance(batch["row"], torch.Tensor) for batch in batches)
    assert len(loader) == 8
    assert first_numbers(loader) == sorted(ALL)
    assert (loader.dataset, loader.batch_size, loader.drop_last) == (dataset, 128, False)
    assert len(loader.dataset) == RECORDS


def test_batches_are_laid_end_to_end_or_stacked(dataset: millhopper.Reader) -> None:
    shapes = {"concat": (8, 4), "stack": (8, 1, 4)}
    for mode, shape in shapes.items():
        batches = list(millhopper.DataLoader(dataset, batch_size=8, mode=mode))
        assert tuple(batches[0]["row"].shape) == shape
        assert batches[1]["row"].flatten().tolist() == list(range(32, 64))


def test_modes_and_batch_sizes_that_are_none_are_named(dataset: millhopper.Reader) -> None:
    with pytest.raises(ValueError, match="mode is 'pad'"):
        millhopper.DataLoader(dataset, 8, mode="pad")
    with pytest.raises(ValueError, match="mode has no meaning"):
        millhopper.DataLoader(dataset, None, mode="stack")
    for size in ("32", 32.0):
        with pytest.raises(TypeError, match="batch_size is .*32.* it must be an integer"):
            millhopper.DataLoader(dataset, size)  # type: ignore[arg-type]


def test_its_defaults_are_torchs(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset)
    assert len(loader) == RECORDS
    assert tuple(next(iter(loader))["row"].shape) == (1, 4)


def test_drop_last(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset, 128, drop_last=True)
    assert len(loader) == len(list(loader)) == 7


def test_shuffle_gives_every_epoch_an_order_of_its_own(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset, batch_size=10, shuffle=True, seed=1)
    first, second = first_numbers(loader), first_numbers(loader)
    assert first != second
    assert set(first) == set(second) == ALL
    loader.set_epoch(0)
    assert first_numbers(loader) == first
    small = millhopper.DataLoader(dataset, batch_size=10, shuffle=True, seed=1, shuffle_buffer=5)
    assert set(first_numbers(small)[:10]) <= set(range(0, 4 * 15, 4))


def test_the_seed_is_that_of_the_generator_or_of_torch(dataset: millhopper.Reader) -> None:
    def order(**keywords: Any) -> list[int]:
        return first_numbers(millhopper.DataLoader(dataset, 10, shuffle=True, **keywords))

    assert order(generator=torch.Generator().manual_seed(5)) == order(seed=5)
    with torch.random.fork_rng():
        torch.manual_seed(6)
        assert order() == order(seed=6) != order(seed=5)
    assert set(order(seed=2**64 - 1)) == ALL
    assert order(seed=np.int64(5)) == order(seed=5)
    for wrong in ("a", 1.5):
        with pytest.raises(TypeError, match=f"seed is {wrong!r}; it must be an integer"):
            order(seed=wrong)


def test_elements_that_are_batches_already(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset.batch(300), batch_size=None)
    assert [len(batch["row"]) for batch in loader] == [300, 300, 300, 100]
    assert len(loader) == 4


def test_collate_fn_makes_the_batch(dataset: millhopper.Reader) -> None:
    def collate(samples: list[dict[str, Any]]) -> Any:
        return torch.stack([sample["row"].squeeze(0) for sample in samples])

    loader = millhopper.DataLoader(dataset, 300, collate_fn=collate)
    assert [tuple(batch.shape) for batch in loader] == [(300, 4)] * 3 + [(100, 4)]
    assert len(loader) == 4
    dropping = millhopper.DataLoader(dataset, 300, collate_fn=collate, drop_last=True)
    assert len(dropping) == len(list(dropping)) == 3
    alone = millhopper.DataLoader(dataset, None, collate_fn=lambda sample: int(sample["row"][0, 0]))
    assert list(alone) == sorted(ALL)


def test_a_collate_fn_does_not_end_the_loop(dataset: millhopper.Reader) -> None:
    def collate(samples: Any) -> Any:
        return next(iter([]))

    for batch_size in (300, None):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            list(millhopper.DataLoader(dataset, batch_size, collate_fn=collate))


def test_what_would_do_nothing_here_is_ignored(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(
        dataset,
        batch_size=100,
        shuffle=False,
        sampler=None,
        num_workers=8,
        timeout=0,
        multiprocessing_context="spawn",
        prefetch_factor=4,
        persistent_workers=True,
        pin_memory=not torch.cuda.is_available(),
        pin_memory_device="",
        in_order=True,
    )
    assert first_numbers(loader) == sorted(ALL)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sampler": [3, 1]}, r"takes no sampler: .*dataset\.shard\(num_shards, index\)"),
        ({"batch_sampler": [[3], [1]]}, "takes no batch_sampler: "),
        ({"worker_init_fn": print}, "takes no worker_init_fn: there are no worker processes"),
        ({"timeout": 30}, "takes no timeout: "),
        ({"num_workers": -1}, "num_workers is -1"),
        ({"batch_size": 0}, "batch_size is 0; it must be at least 1, or None"),
        ({"batch_size": None, "drop_last": True}, "drop_last has no meaning without"),
        ({"prefetch_factor": 0}, "'depth' is 0; it must be at least 1"),
    ],
)
def test_what_cannot_be_done_is_refused(
    dataset: millhopper.Reader, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, millhopper.Error), match=message):
        iter(millhopper.DataLoader(dataset, **keywords))


def test_other_data_sets_are_refused() -> None:
    with pytest.raises(TypeError, match="dataset is 'list'; it must be a millhopper.Reader"):
        millhopper.DataLoader([1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="collate_fn is 3"):
        millhopper.DataLoader(open_numbers(Path("x")), collate_fn=3)  # type: ignore[arg-type]


def test_pinned_is_all_that_can_be(
    dataset: millhopper.Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 1)
    loader = millhopper.DataLoader(dataset, 500, pin_memory=True)
    assert [int(batch["row"][0, 0]) for batch in loader] == [1, 2001]
    collated = millhopper.DataLoader(
        dataset, 500, pin_memory=True, collate_fn=lambda samples: [samples[0]["row"], ("x", 2)]
    )
    assert [batch[1] for batch in collated] == [("x", 2)] * 2
    assert [int(batch[0][0, 0]) for batch in collated] == [1, 2001]


def test_leaving_a_loop_early_gives_everything_back(dataset: millhopper.Reader) -> None:
    loader = millhopper.DataLoader(dataset, 10, shuffle=True)
    for _ in loader:
        break
    assert set(first_numbers(loader)) == ALL
