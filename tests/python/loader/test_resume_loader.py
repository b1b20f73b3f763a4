# SPDX-License-Identifier: Apache-2.0
"""DataLoader.state_dict and load_state_dict, as torchdata's StatefulDataLoader has them."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path
from typing import Any

import millhopper
import pytest
from number_files import open_numbers, write_numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RECORDS = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", RECORDS)


class Squares:
    """A data set that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> dict[str, int]:
        self.asked += 1
        return {"row": index * index}


def loaders(path: Path, kind: str) -> millhopper.DataLoader:
    keywords: dict[str, Any] = {"batch_size": 8, "shuffle": True, "seed": 5}
    if kind == "reader":
        return millhopper.DataLoader(open_numbers(path), **keywords)
    if kind == "collated":
        collate = {"collate_fn": lambda elements: torch.cat([e["row"] for e in elements])}
        return millhopper.DataLoader(open_numbers(path), **keywords, **collate)
    if kind == "sampler":
        return millhopper.DataLoader(Squares(), 8, sampler=range(RECORDS - 1, -1, -1))
    if kind == "elements":
        return millhopper.DataLoader(Squares(), batch_size=None)
    return millhopper.DataLoader(Squares(), num_workers=2 if kind == "threads" else 0, **keywords)


def values(batches: Any) -> list[list[int]]:
    return [
        torch.as_tensor(batch["row"] if isinstance(batch, dict) else batch).flatten().tolist()
        for batch in batches
    ]


@pytest.mark.parametrize(
    "kind", ["reader", "collated", "dataset", "threads", "sampler", "elements"]
)
def test_a_new_loader_yields_the_rest_and_the_passes_after(path: Path, kind: str) -> None:
    loader = loaders(path, kind)
    passes = [values(loader) for _ in range(3)]
    # A last batch that is not full is collated when the end of the pass is known, so that a state
    # after it is that of the next pass already.
    last = len(passes[0]) - (1 if kind == "collated" else 0)
    for taken in (0, 1, 5, last):
        loader = loaders(path, kind)
        loop = iter(loader)
        assert values(islice(loop, taken)) == passes[0][:taken]
        file = io.BytesIO()
        torch.save(loader.state_dict(), file)
        file.seek(0)
        again = loaders(path, kind)
        again.load_state_dict(torch.load(file, weights_only=True))
        assert values(again) == passes[0][taken:]
        assert values(again) == passes[1]
        assert values(again) == passes[2]
        assert values(loop) == passes[0][taken:]


@pytest.mark.parametrize("kind", ["reader", "dataset", "threads"])
def test_resumes_of_resumes_stay_aligned(path: Path, kind: str) -> None:
    loader = loaders(path, kind)
    expected = values(loader) + values(loader)
    seen: list[list[int]] = []
    state: bytes | None = None
    while len(seen) < len(expected):
        loader = loaders(path, kind)
        if state is not None:
            loader.set_state(state)
        loop = iter(loader)
        seen += values(islice(loop, 3))
        state = loader.get_state()
    assert seen == expected


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_a_state_at_the_end_begins_the_next_pass(path: Path, kind: str) -> None:
    loader = loaders(path, kind)
    values(loader)
    state, second = loader.state_dict(), values(loader)
    again = loaders(path, kind)
    again.load_state_dict(state)
    assert values(again) == second


def test_the_samples_before_are_not_asked_for(path: Path) -> None:
    loader = loaders(path, "dataset")
    loop = iter(loader)
    list(islice(loop, 5))
    again = loaders(path, "dataset")
    again.load_state_dict(loader.state_dict())
    list(again)
    assert isinstance(again.dataset, Squares)
    assert again.dataset.asked == RECORDS - 40


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_the_seed_need_not_be_set_again(path: Path, kind: str) -> None:
    def make() -> millhopper.DataLoader:
        dataset = open_numbers(path) if kind == "reader" else Squares()
        return millhopper.DataLoader(dataset, 8, shuffle=True)

    torch.manual_seed(1)
    loader = make()
    loop = iter(loader)
    list(islice(loop, 4))
    torch.manual_seed(2)
    again = make()
    again.load_state_dict(loader.state_dict())
    assert values(again) == values(loop)
    other = millhopper.DataLoader(Squares(), 8, shuffle=True, seed=9)
    with pytest.raises(millhopper.Error, match="seed 1.* seed 9|for a reader"):
        other.load_state_dict(loader.state_dict())


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_a_rank_goes_on_from_its_own_state_only(path: Path, kind: str) -> None:
    def make(index: int, num_shards: int = 2) -> millhopper.DataLoader:
        dataset = open_numbers(path) if kind == "reader" else Squares()
        return millhopper.DataLoader(dataset, 8, seed=1, num_shards=num_shards, index=index)

    loader = make(1)
    loop = iter(loader)
    list(islice(loop, 2))
    state = loader.state_dict()
    assert (state["rank"], state["world_size"]) == (1, 2)
    again = make(1)
    again.load_state_dict(state)
    assert values(again) == values(loop)
    for other in (make(0), make(1, 3), make(0, 1)):
        with pytest.raises(millhopper.Error, match=r"rank 1 of 2; this is rank . of ."):
            other.load_state_dict(state)


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_ranks_go_on_in_the_order_of_the_seed_that_was_saved(path: Path, kind: str) -> None:
    def make(**seed: int) -> millhopper.DataLoader:
        dataset = open_numbers(path) if kind == "reader" else Squares()
        return millhopper.DataLoader(dataset, 8, shuffle=True, num_shards=2, index=1, **seed)

    loader = make(seed=7)
    loop = iter(loader)
    list(islice(loop, 2))
    again = make()
    again.load_state_dict(loader.state_dict())
    assert again.state_dict() == loader.state_dict()
    assert values(again) == values(loop)
    assert values(again) == values(loader)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"batch_size": None, "drop_last": False}, "batch_size=8, this loader has batch_size=None"),
        ({"drop_last": False}, "drop_last=True, this loader has drop_last=False"),
        ({"shuffle": False}, "shuffle=True, this loader has shuffle=False"),
        ({"even": "drop"}, "even=pad, this loader has even=drop"),
        ({"dataset": range(99)}, "samples=100, this loader has samples=99"),
        ({"shuffle": None, "sampler": range(9)}, "sampler=False, this loader has sampler=True"),
    ],
)
def test_says_which_keyword_of_a_data_set_differs(changed: dict[str, Any], words: str) -> None:
    keywords: dict[str, Any] = {"batch_size": 8, "drop_last": True, "shuffle": True}
    loader = millhopper.DataLoader(Squares(), **keywords)
    list(islice(loader, 2))
    other = millhopper.DataLoader(**{"dataset": Squares(), **keywords, **changed})
    before = other.state_dict()
    with pytest.raises(millhopper.Error, match=words):
        other.load_state_dict(loader.state_dict())
    assert other.state_dict() == before


def test_a_wrong_state_changes_nothing(path: Path) -> None:
    loader = millhopper.DataLoader(open_numbers(path), 8, shuffle=True)
    other = millhopper.DataLoader(open_numbers(path), 8, shuffle=True)
    before = other.state_dict()
    state = loader.state_dict()
    state["seed"] += 1
    state["reader"] = {**state["reader"], "epoch": 3, "position": "text"}
    with pytest.raises(millhopper.Error, match="position"):
        other.load_state_dict(state)
    assert other.state_dict() == before


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_a_state_has_the_epoch_that_was_set(path: Path, kind: str) -> None:
    loader = loaders(path, kind)
    loader.set_epoch(3)
    again = loaders(path, kind)
    again.load_state_dict(loader.state_dict())
    assert values(again) == values(loader)
    first = loaders(path, kind)
    first.load_state_dict(loaders(path, kind).state_dict())
    assert values(first) != values(loader)


def test_a_torch_view_has_the_state_of_its_reader(path: Path) -> None:
    view = open_numbers(path).shuffle(10).batch(8).torch()
    loop = iter(view)
    list(islice(loop, 3))
    again = open_numbers(path).shuffle(10).batch(8).torch()
    again.set_state(view.get_state())
    assert values(again) == values(loop)
