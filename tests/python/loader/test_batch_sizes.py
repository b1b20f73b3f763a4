# SPDX-License-Identifier: Apache-2.0
"""Loops that are resumed with batches of another size: the same samples in the same order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any

import millhopper
import numpy as np
import pytest
from number_files import write_number_chunks

RECORDS = 3001
SIZES = (1, 5, 16, 32, 48, 64, 100, 700)
pytestmark = pytest.mark.usefixtures("torch_or_stand_in")
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

Made = Any  # a Reader, or a DataLoader
Make = Callable[[int], Made]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_number_chunks(tmp_path_factory.mktemp("sizes"), RECORDS)


def numbers(batch: Any) -> list[int]:
    values = batch["x"] if isinstance(batch, dict) else batch
    return [int(x) for x in np.ravel(values)]


def pass_of(make: Make, size: int, epoch: int) -> list[int]:
    made = make(size)
    made.set_epoch(epoch)
    return list(chain.from_iterable(map(numbers, made)))


def check_history(make: Make, seed: int, passes: int = 2) -> None:
    """A run that is stopped again and again; each pass has the order of its first size."""
    draw = random.Random(seed)
    size = draw.choice(SIZES)
    run = make(size)
    for epoch in range(passes):
        order = pass_of(make, size, epoch)
        assert sorted(order) == list(range(len(order)))
        loop = iter(run)
        at = 0
        while at < len(order):
            if draw.random() < 0.4:
                state = run.get_state()
                size = draw.choice(SIZES)
                run = make(size)
                run.set_state(state)
                loop = iter(run)
            batch = numbers(next(loop))
            assert batch == order[at : at + size], (epoch, at, size)
            at += len(batch)
        assert next(loop, None) is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lanes", [None, 1, 3, 16])
def test_readers_go_on(files: str, lanes: int | None, seed: int) -> None:
    def make(size: int) -> Made:
        return millhopper.Reader.open_files(files, lanes=lanes).shuffle(256, seed=7).batch(size)

    check_history(make, seed)
    check_history(lambda size: make(size).map(lambda x: {"x": x["x"]}).double_buffer(), seed + 100)


@pytest.mark.parametrize("seed", range(4))
def test_padded_batches_go_on(files: str, seed: int) -> None:
    def make(size: int) -> Made:
        shuffled = millhopper.Reader.open_files(files, lanes=16).shuffle(256, seed=7)
        return shuffled.padded_batch(size).double_buffer()

    check_history(make, seed)


class Squares:
    """A data set."""

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> int:
        return index


class Plain:
    """Has no state: a pass is skipped through."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(RECORDS))


class Walk(Plain):
    """Has a state: where it is."""

    at = 0

    def __iter__(self) -> Iterator[int]:
        while self.at < RECORDS:
            self.at += 1
            yield self.at - 1
        self.at = 0

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.at = state_dict["at"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["shuffled", "sampler", "threads", "plain", "walk"])
def test_loaders_of_data_sets_go_on(kind: str, seed: int) -> None:
    def make(size: int) -> Made:
        if kind == "sampler":
            backwards = range(RECORDS - 1, -1, -1)
            return millhopper.DataLoader(Squares(), size, sampler=backwards)
        if kind in ("plain", "walk"):
            return millhopper.DataLoader(Plain() if kind == "plain" else Walk(), size)
        workers = 2 if kind == "threads" else 0
        return millhopper.DataLoader(Squares(), size, shuffle=True, seed=3, num_workers=workers)

    check_history(make, seed)


def test_a_state_of_a_data_set_from_before_sizes_could_differ() -> None:
    loader = millhopper.DataLoader(Squares(), 8, shuffle=True, seed=3)
    order = list(chain.from_iterable(map(numbers, loader)))
    list(islice(loader, 3))
    loader.set_epoch(0)
    list(islice(loader, 3))
    state = loader.state_dict()
    assert state.pop("before") == 0
    for size in 8, 10:
        again = millhopper.DataLoader(Squares(), size, shuffle=True, seed=3)
        again.load_state_dict(state)
        assert list(chain.from_iterable(map(numbers, again))) == order[24:]


@needs_torch
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["default", "lanes=1", "collated", "global"])
def test_loaders_of_readers_go_on(files: str, how: str, seed: int) -> None:
    def make(size: int) -> Made:
        reader = millhopper.Reader.open_files(files, lanes=1 if how == "lanes=1" else None)
        size_of = {"global_batch" if how == "global" else "batch_size": size}
        collate = (lambda rows: [int(row["x"]) for row in rows]) if how == "collated" else None
        return millhopper.DataLoader(
            reader, shuffle=True, seed=5, shuffle_buffer=512, collate_fn=collate, **size_of
        )

    check_history(make, seed)


@needs_torch
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("merged", [False, True])
def test_ranks_go_on(files: str, ranks: int, merged: bool) -> None:
    """At each step all ranks together have what comes next in the order of one."""
    reader = millhopper.Reader.open_files(files, lanes=16)

    def make(size: int, rank: int, of: int) -> Made:
        return millhopper.DataLoader(
            reader,
            size // of,
            True,
            seed=5,
            shuffle_buffer=512,
            num_shards=of,
            index=rank,
            even="drop",
        )

    order = list(chain.from_iterable(map(numbers, make(64, 0, 1))))
    assert len(set(order)) == len(order) == RECORDS // 16 * 16
    size, at = 64, 0
    loaders = [make(size, rank, ranks) for rank in range(ranks)]
    for new_size in (64, 32, 128, 96, 64, 256):
        if at > 0:
            states = [loader.state_dict() for loader in loaders]
            if merged:
                states = [millhopper.merge_states(states)] * ranks
            size = new_size
            loaders = [make(size, rank, ranks) for rank in range(ranks)]
            for loader, state in zip(loaders, states):
                loader.load_state_dict(state)
        loops = [iter(loader) for loader in loaders]
        for _ in range(2):
            step = sorted(chain.from_iterable(numbers(next(loop)) for loop in loops))
            assert step == sorted(order[at : at + size])
            at += size
    rest = chain.from_iterable(numbers(batch) for loop in loops for batch in loop)
    assert sorted(rest) == sorted(order[at:])


@needs_torch
def test_ranks_take_whole_stripes(files: str) -> None:
    reader = millhopper.Reader.open_files(files, lanes=16)

    def make(size: int) -> Made:
        return millhopper.DataLoader(
            reader,
            global_batch=size,
            shuffle=True,
            seed=5,
            shuffle_buffer=512,
            num_shards=2,
            index=1,
        )

    loader = make(64)
    next(iter(loader))
    again = make(36)
    again.load_state_dict(loader.state_dict())
    with pytest.raises(
        millhopper.Error, match="in stripes of 4.*; to the end of its pass give a mu"
    ):
        next(iter(again))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            lambda batches: batches.take(9),
            "files.batch': batch_size was 8, now it is 9, and .*take",
        ),
        (lambda batches: batches.unbatch(), "batch_size was 8, now it is 9, and .*unbatch"),
        (
            lambda batches: batches.shuffle(4, seed=1),
            "batch_size was 8, now it is 9, and .*shuffle",
        ),
    ],
)
def test_says_what_stands_above_and_needs_the_old_size(
    files: str, step: Callable[[Made], Made], words: str
) -> None:
    def make(size: int) -> Made:
        return step(millhopper.Reader.open_files(files, lanes=1).batch(size))

    reader = make(8)
    next(iter(reader))
    again = make(9)
    again.load_state_dict(reader.state_dict())
    with pytest.raises(millhopper.Error, match=words):
        next(iter(again))
