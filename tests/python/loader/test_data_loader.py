# SPDX-License-Identifier: Apache-2.0
"""DataLoader: what torch's keywords mean here, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
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


def test_ranks_that_throw_away_what_they_read_say_so(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "numbers.bin", RECORDS)

    def loader(reader: millhopper.Reader, ranks: int) -> None:
        millhopper.DataLoader(reader, 12, num_shards=ranks, index=0)

    with pytest.warns(UserWarning, match="each of the 3 ranks reads all files.*lanes=16") as told:
        loader(open_numbers(path).filter("row > 3"), 3)
    assert [Path(warning.filename) for warning in told] == [Path(__file__)]
    numbers = {"row": np.arange(40).reshape(-1, 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader(open_numbers(path, lanes=12).shuffle(100), 3)
        loader(open_numbers(path), 1)
        loader(open_numbers(path).shard(3, 0), 1)
        loader(millhopper.Reader.from_arrays(numbers), 3)


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
    with pytest.raises(ValueError, match="^seed -1 is not 0 to 18446744073709551615$"):
        order(seed=-1)
    with pytest.raises(TypeError, match="^generator is 3; it must be a torch.Generator, or None$"):
        order(generator=3)
    with pytest.raises(TypeError, match="^shuffle is 'yes'; it must be True or False, or None$"):
        millhopper.DataLoader(dataset, shuffle="yes")  # type: ignore[arg-type]


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


def test_keywords_are_attributes(dataset: millhopper.Reader) -> None:
    generator = torch.Generator().manual_seed(3)
    given = {
        "batch_size": 8,
        "num_workers": 2,
        "collate_fn": list,
        "pin_memory": True,
        "drop_last": True,
        "generator": generator,
        "prefetch_factor": 3,
    }
    loader = millhopper.DataLoader(dataset, **given)
    assert {name: getattr(loader, name) for name in given} == given
    assert millhopper.DataLoader([1]).collate_fn is torch.utils.data.default_collate


def test_it_is_a_type_in_annotations(dataset: millhopper.Reader) -> None:
    assert millhopper.DataLoader[torch.Tensor].__origin__ is millhopper.DataLoader


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sampler": [3, 1]}, "takes no sampler for this reader: its elements have no numbers"),
        ({"batch_sampler": [[3]]}, "no batch_sampler for a reader: .*unless num_shards=1 is given"),
        ({"worker_init_fn": print}, "takes no worker_init_fn: there are no worker processes"),
        ({"timeout": 30}, "takes no timeout: "),
        ({"num_workers": -1}, "num_workers is -1"),
        ({"batch_size": 0}, "batch_size is 0; it must be at least 1, or None"),
        ({"batch_size": None, "drop_last": True}, "drop_last has no meaning without"),
        ({"prefetch_factor": 0}, "prefetch_factor 0 is not 1 to 2147483647"),
    ],
)
def test_what_cannot_be_done_is_refused(
    dataset: millhopper.Reader, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        iter(millhopper.DataLoader(dataset, **keywords))


def test_other_data_sets_are_refused() -> None:
    message = (
        "dataset is 'generator'; it must be a millhopper.Reader, .* have __len__ and __getitem"
    )
    with pytest.raises(TypeError, match=message):
        millhopper.DataLoader(number for number in [1, 2, 3])  # type: ignore[arg-type]
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


def test_parts_of_the_ranks_that_a_launcher_says(
    dataset: millhopper.Reader, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = millhopper.DataLoader(dataset, batch_size=100)
    shown = f"<millhopper.DataLoader of {dataset!r}, batch_size 100, "
    assert repr(loader) == shown + "alone: no other ranks are found>"
    assert len(loader) == 10
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    assert repr(loader) == shown + "rank 2 of 3 (WORLD_SIZE and RANK)>"
    assert len(loader) == 4
    assert first_numbers(loader) == [4 * (i % RECORDS) for i in range(2, 1002, 3)]
    given = millhopper.DataLoader(dataset, 100, num_shards=2, index=1, even="drop")
    assert repr(given).endswith("rank 1 of 2 (as given)>")
    assert first_numbers(given) == sorted(ALL)[1::2]
    assert first_numbers(millhopper.DataLoader(dataset, 100, num_shards=1)) == sorted(ALL)
    sharded = millhopper.DataLoader(dataset.shard(4, 1), 100)
    assert repr(sharded).endswith("sharded by its reader>")
    assert first_numbers(sharded) == sorted(ALL)[1::4]
    sampled = millhopper.DataLoader(list(range(10)), 4, sampler=[3, 1, 9])
    assert repr(sampled) == (
        "<millhopper.DataLoader of list, batch_size 4, in the order of its sampler>"
    )
    assert [batch.tolist() for batch in sampled] == [[3, 1, 9]]


def test_ranks_have_one_order_whatever_their_seeds(
    dataset: millhopper.Reader, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    seen = []
    for rank in "0", "1":
        monkeypatch.setenv("RANK", rank)
        with torch.random.fork_rng():
            torch.manual_seed(int(rank))
            seen += first_numbers(millhopper.DataLoader(dataset, 10, shuffle=True))
    assert set(seen) == ALL
    assert len(seen) == 1008  # 63 in each of 16 lanes


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"num_shards": 2}, ValueError, "num_shards is 2, but index is not given"),
        ({"index": 1}, ValueError, "index is 1, but num_shards is not given"),
        ({"num_shards": 2, "index": 2}, ValueError, "index 2 is not 0 to 1"),
        ({"num_shards": "2", "index": 0}, TypeError, "num_shards is '2'; it must be an integer"),
        ({"even": "fair"}, ValueError, "even is 'fair'; it must be 'pad', 'drop' or 'none'"),
    ],
)
def test_parts_that_there_are_not(
    dataset: millhopper.Reader, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        millhopper.DataLoader(dataset, **keywords)


def test_arrays_are_shuffled_as_a_whole(alone: None) -> None:
    reader = millhopper.Reader.from_arrays({"row": np.arange(5000).reshape(-1, 1)})
    loader = millhopper.DataLoader(reader, 50, shuffle=True, seed=4, shuffle_buffer=2)
    first, second = first_numbers(loader), first_numbers(loader)
    assert sorted(first) == sorted(second) == list(range(5000))
    assert first != second
    assert min(first[:100]) < 1000 and max(first[:100]) > 4000  # a window of 2 has no such elements


# What a program of torch's says, with the loader's module as a word.
TORCH_LINES = """
import torch
from torch.utils.data import TensorDataset
from {module} import DataLoader

x, y = torch.arange(40.0).reshape(20, 2), torch.arange(20)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle={shuffle}, num_workers={workers})
for epoch in range(2):
    for inputs, labels in loader:
        seen.append((epoch, inputs, labels))
"""


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_the_lines_of_a_torch_user_run_with_the_import_changed(alone: None, workers: int) -> None:
    runs = []
    for module in "torch.utils.data", "millhopper":
        for shuffle in False, True:
            seen: list[Any] = []
            lines = TORCH_LINES.format(
                module=module, shuffle=shuffle, workers=0 if module[0] == "t" else workers
            )
            exec(lines, {"seen": seen})
            runs.append(seen)
    plain, _, ours, ours_shuffled = runs
    for one, other in zip_strict(plain, ours):
        assert one[0] == other[0]
        assert type(one[1]) is type(other[1]) and one[1].dtype == other[1].dtype
        assert torch.equal(one[1], other[1]) and torch.equal(one[2], other[2])
    assert [len(labels) for _, _, labels in ours_shuffled] == [8, 8, 4] * 2
    orders = [
        [int(label) for epoch, _, labels in ours_shuffled if epoch == at for label in labels]
        for at in range(2)
    ]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(20))
    assert orders[0] != orders[1]
    for _, inputs, labels in ours_shuffled:
        assert torch.equal(inputs, torch.stack([2.0 * labels, 2.0 * labels + 1], dim=1))


SAMPLES = [
    [{"text": "a", "n": 1, "pair": (1.5, [2, 3])}, {"text": "bc", "n": 2, "pair": (2.5, [4, 5])}],
    [("a", b"b", 3), ("c", b"d", 4)],
    [torch.zeros(2, 3), torch.ones(2, 3)],
    [np.zeros(3, np.float16), np.ones(3, np.float16)],
    [1.5, 2.5],
]


@pytest.mark.parametrize("samples", SAMPLES, ids=lambda samples: type(samples[0]).__name__)
@pytest.mark.parametrize("batch_size", [2, 1, None])
def test_batches_of_a_data_set_are_those_of_torch(
    alone: None, samples: list[Any], batch_size: int | None
) -> None:
    theirs = list(torch.utils.data.DataLoader(samples, batch_size))
    for workers in 0, 2:
        ours = list(millhopper.DataLoader(samples, batch_size, num_workers=workers))
        assert repr(ours) == repr(theirs)


def test_samplers_and_collate_fn_of_a_data_set(alone: None) -> None:
    samples = list(range(100))
    loader = millhopper.DataLoader(samples, 3, sampler=[5, 7, 9, 11], drop_last=True)
    assert [batch.tolist() for batch in loader] == [[5, 7, 9]]
    assert len(loader) == 1
    loader = millhopper.DataLoader(samples, batch_sampler=[[1, 2], [3]])
    assert [batch.tolist() for batch in loader] == [[1, 2], [3]]
    assert len(loader) == 2
    loader = millhopper.DataLoader(samples, 60, collate_fn=sum, num_workers=2)
    assert list(loader) == [sum(range(60)), sum(range(60, 100))]
    with pytest.raises(ValueError, match="a sampler decides the order"):
        millhopper.DataLoader(samples, sampler=[1], shuffle=True)
    with pytest.raises(ValueError, match="a batch_sampler decides the batches"):
        millhopper.DataLoader(samples, 2, batch_sampler=[[1]])


def test_a_data_set_gets_what_the_sampler_yields_without_a_batch_size(alone: None) -> None:
    data = torch.utils.data
    samples = data.TensorDataset(torch.arange(10), torch.arange(10.0) * 2)
    batches = list(data.BatchSampler(data.SequentialSampler(samples), 4, drop_last=False))
    for order in batches, [3, 1]:
        theirs = list(data.DataLoader(samples, None, sampler=order))
        for workers in 0, 2:
            loader = millhopper.DataLoader(samples, None, sampler=order, num_workers=workers)
            assert repr(list(loader)) == repr(theirs)
            assert len(loader) == len(order)


def test_a_data_set_that_finds_a_batch_at_once_does(alone: None) -> None:
    class Words(list[str]):
        def __getitems__(self, numbers: list[int]) -> list[str]:
            return [self[number].upper() for number in numbers]

    words = Words("abcde")
    for keywords in {"batch_size": 2}, {"batch_sampler": [[0, 1], [2]]}, {"batch_size": None}:
        theirs = list(torch.utils.data.DataLoader(words, **keywords))
        assert list(millhopper.DataLoader(words, **keywords)) == theirs


@pytest.mark.parametrize("sampler", ["sampler", "batch_sampler"])
def test_samplers_that_are_none_or_do_not_go_with_parts(alone: None, sampler: str) -> None:
    with pytest.raises(TypeError, match=f"^{sampler} is 3, which cannot be iterated over$"):
        millhopper.DataLoader([1], **{sampler: 3})
    for keywords in {"num_shards": 2, "index": 0}, {"index": 1}, {"even": "drop"}:
        with pytest.raises(ValueError, match=f"^a {sampler} decides which samples this process "):
            millhopper.DataLoader([1], **{sampler: [[0]]}, **keywords)


def test_how_many_batches_are_kept_ready_is_checked(alone: None) -> None:
    for wrong, error in (0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError):
        with pytest.raises(error, match="^prefetch_factor "):
            millhopper.DataLoader([1], num_workers=2, prefetch_factor=wrong)


def test_a_data_set_without_numbers_is_iterated_over(alone: None) -> None:
    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter([1, 2, 3])

        def __len__(self) -> int:
            return 3

    loader = millhopper.DataLoader(Stream(), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[1, 2], [3]]
    assert len(loader) == 2
    assert [batch.tolist() for batch in millhopper.DataLoader(Stream(), 2, drop_last=True)] == [
        [1, 2]
    ]


@pytest.mark.parametrize("workers", [0, 3])
def test_what_a_data_set_raises_comes_in_its_place(alone: None, workers: int) -> None:
    class Failing(list[int]):
        def __getitem__(self, index: Any) -> Any:
            if index == 25:
                raise LookupError("on purpose")
            return super().__getitem__(index)

    seen = []
    with pytest.raises(LookupError, match="on purpose"):
        for batch in millhopper.DataLoader(Failing(range(100)), 10, num_workers=workers):
            seen += batch.tolist()
    assert seen == list(range(20))


def test_a_loop_over_a_data_set_is_left_early(alone: None) -> None:
    loader = millhopper.DataLoader(list(range(1000)), 10, shuffle=True, num_workers=3)
    for _ in loader:
        break
    numbers = [int(number) for batch in loader for number in batch]
    assert sorted(numbers) == list(range(1000))
    for outer in loader:
        assert len(outer) == 10
        assert len(list(loader)) == 100
        break


def test_ranks_share_lanes(dataset: millhopper.Reader) -> None:
    lanes = dataset.lanes(4)
    parts = [
        millhopper.DataLoader(lanes, 10, num_shards=2, index=index, shuffle=True)
        for index in range(2)
    ]
    seen = [first_numbers(part) for part in parts]
    assert [len(numbers) for numbers in seen] == [RECORDS // 2, RECORDS // 2]
    assert set(seen[0]) | set(seen[1]) == ALL
    alone = first_numbers(millhopper.DataLoader(lanes, 20, seed=0, shuffle=True))
    # Each step has the same records on one rank and on two.
    for own in range(0, RECORDS // 2, 10):
        of_ranks = seen[0][own : own + 10] + seen[1][own : own + 10]
        assert sorted(of_ranks) == sorted(alone[2 * own : 2 * own + 20])


@pytest.mark.parametrize("even, total", [("pad", 108), (None, 108), ("drop", 96)])
@pytest.mark.parametrize("ranks", [2, 4, 6])
def test_ranks_that_share_lanes_end_together(
    tmp_path: Path, even: str | None, total: int, ranks: int
) -> None:
    lanes = open_numbers(write_numbers(tmp_path / "numbers.bin", 101), lanes=12)
    parts = [
        millhopper.DataLoader(lanes, global_batch=24, num_shards=ranks, index=index, even=even)
        for index in range(ranks)
    ]
    sizes = [[len(batch["row"]) for batch in part] for part in parts]
    assert sizes == [sizes[0]] * ranks
    assert sum(sizes[0]) == total // ranks
    assert [len(part) for part in parts] == [len(sizes[0])] * ranks
    numbers = {number for part in parts for number in first_numbers(part)}
    assert len(numbers) == min(total, 101)


def test_lanes_of_unknown_length_do_not_end_together(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a line\n" * 100)
    lines = millhopper.Reader.open_files(f"text:{tmp_path}/lines", names=["x"]).lanes(4)
    keywords: dict[str, Any] = {"global_batch": 8, "num_shards": 2, "index": 1}
    with pytest.raises(millhopper.Error, match='it is not known before reading.*even: "none"'):
        list(millhopper.DataLoader(lines, **keywords))
    assert len(list(millhopper.DataLoader(lines, **keywords, even="none"))) == 13


def test_a_global_batch_is_shared(dataset: millhopper.Reader) -> None:
    for data in dataset, dataset.lanes(4), list(range(96)):
        for ranks in 1, 2, 4:
            loader = millhopper.DataLoader(data, global_batch=16, num_shards=ranks, index=0)
            assert loader.batch_size == 16 // ranks
            batch = next(iter(loader))
            assert len(batch if isinstance(batch, torch.Tensor) else batch["row"]) == 16 // ranks
    with pytest.raises(ValueError, match="global_batch is 16, .* equally: rank 0 of 3"):
        millhopper.DataLoader(dataset, global_batch=16, num_shards=3, index=0)
    with pytest.raises(ValueError, match="batch_size and batch_sampler have no"):
        millhopper.DataLoader(dataset, 8, global_batch=16)


def test_a_state_of_lanes_is_of_one_way_to_end(alone: None, dataset: millhopper.Reader) -> None:
    lanes = dataset.lanes(4)
    alone = millhopper.DataLoader(lanes, global_batch=16)
    next(iter(alone))
    two = millhopper.DataLoader(lanes, global_batch=16, num_shards=2, index=0)
    with pytest.raises(millhopper.Error, match="even='none', this loader has even='pad'"):
        two.load_state_dict(alone.state_dict())


def test_the_state_of_one_rank_is_for_any_number_only_with_lanes(
    dataset: millhopper.Reader,
) -> None:
    alone = millhopper.DataLoader(dataset, 10)
    next(iter(alone))
    other = millhopper.DataLoader(dataset, 10, num_shards=2, index=0)
    with pytest.raises(millhopper.Error, match="rank 0 of 1; this is rank 0 of 2.*merge_states"):
        other.load_state_dict(alone.state_dict())


def test_a_sampler_for_a_reader_whose_elements_have_numbers() -> None:
    values = np.arange(100)
    weights = torch.where(torch.from_numpy(values) < 50, 0.0, 1.0)
    sampler = torch.utils.data.WeightedRandomSampler(
        weights.tolist(), 64, generator=torch.Generator().manual_seed(1)
    )
    readers = [
        millhopper.Reader.from_arrays({"value": values}),
        millhopper.Reader.from_dataset([{"value": value} for value in values]),
    ]
    for reader in readers:
        loader = millhopper.DataLoader(reader, batch_size=10, sampler=sampler)
        assert len(loader) == 7
        passes = [torch.cat([batch["value"] for batch in loader]) for _ in range(2)]
        assert all(len(one) == 64 and int(one.min()) >= 50 for one in passes)
        assert not torch.equal(*passes)
    with pytest.raises(ValueError, match="its elements have no numbers"):
        millhopper.DataLoader(readers[0].batch(2), sampler=sampler)
