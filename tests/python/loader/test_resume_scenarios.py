# SPDX-License-Identifier: Apache-2.0
"""More scenarios of the tests of torchdata's StatefulDataLoader and of Grain's checkpoints.

They are written anew as ours; ``test_resume.py`` and ``test_resume_loader.py`` have the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from number_files import open_numbers, write_numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RECORDS = 100
Make = Callable[..., millhopper.DataLoader]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", RECORDS)


@pytest.fixture
def few_and_many_threads() -> Iterator[Callable[[int], None]]:
    yield millhopper.set_threads
    millhopper.set_threads(os.cpu_count() or 1)


class Squares:
    """Samples of a data set; the one at `bad` fails."""

    def __init__(self, bad: int = -1) -> None:
        self.bad = bad

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> dict[str, int]:
        if index == self.bad:
            raise ValueError(f"sample {index} is bad")
        return {"row": index * index}


def reader_loader(path: Path, **more: Any) -> millhopper.DataLoader:
    return millhopper.DataLoader(open_numbers(path), 8, shuffle=True, seed=5, **more)


def sample_loader(path: Path, **more: Any) -> millhopper.DataLoader:
    return millhopper.DataLoader(Squares(), 8, shuffle=True, seed=5, **more)


BOTH = pytest.mark.parametrize("make", [reader_loader, sample_loader])


def values(batches: Any) -> list[list[int]]:
    return [batch["row"].flatten().tolist() for batch in batches]


@BOTH
def test_the_state_before_the_first_batch_is_the_beginning(path: Path, make: Make) -> None:
    expected = values(make(path))
    for loop_begun in (False, True):
        loader = make(path)
        loop = iter(loader) if loop_begun else None
        again = make(path)
        again.load_state_dict(loader.state_dict())
        assert values(again) == expected
        assert loop is None or values(loop) == expected


@BOTH
def test_asking_at_every_batch_changes_nothing(path: Path, make: Make) -> None:
    expected = values(make(path))
    loader = make(path)
    states, seen = [], []
    for batch in loader:
        # Threads plan ahead meanwhile: two states of one place may name more or fewer batches.
        states.append((loader.state_dict(), loader.state_dict()))
        seen += values([batch])
    assert seen == expected
    # States are values: what was read since has not changed them.
    for taken in (1, 5, len(states)):
        for state in states[taken - 1]:
            again = make(path)
            again.load_state_dict(state)
            assert values(again) == expected[taken:]


@BOTH
@pytest.mark.parametrize(("before", "after"), [(1, 8), (8, 1), (2, None)])
def test_prefetching_makes_no_difference(
    path: Path, make: Make, before: int, after: int | None
) -> None:
    loader = make(path, prefetch_factor=before)
    loop = iter(loader)
    list(islice(loop, 4))
    again = make(path, prefetch_factor=after)
    again.load_state_dict(loader.state_dict())
    assert values(again) == values(loop)


@pytest.mark.parametrize(("before", "after"), [(0, 3), (3, 0), (2, 5)])
def test_the_number_of_workers_may_change(path: Path, before: int, after: int) -> None:
    loader = sample_loader(path, num_workers=before)
    loop = iter(loader)
    list(islice(loop, 4))
    again = sample_loader(path, num_workers=after)
    again.load_state_dict(loader.state_dict())
    assert values(again) == values(loop)


def test_the_number_of_threads_may_change(
    path: Path, few_and_many_threads: Callable[[int], None]
) -> None:
    expected = values(reader_loader(path))
    state, seen = None, []
    for threads in (0, 7, 1, 2, 3):
        few_and_many_threads(threads)
        loader = reader_loader(path)
        if state is not None:
            loader.load_state_dict(state)
        seen += values(islice(loader, 3))
        state = loader.state_dict()
    assert seen == expected


@BOTH
def test_a_state_is_gone_on_with_once(path: Path, make: Make) -> None:
    loader = make(path)
    first, second = values(loader), values(loader)
    loader = make(path)
    list(islice(loader, 5))
    again = make(path)
    again.load_state_dict(loader.state_dict())
    list(islice(again, 2))
    assert values(again) == second, "another loop begins the next pass"
    again.load_state_dict(loader.state_dict())
    assert values(again) == first[5:], "and the state can be loaded again"


@BOTH
def test_a_loader_goes_back_while_it_runs(path: Path, make: Make) -> None:
    expected = values(make(path))
    loader = make(path)
    loop = iter(loader)
    list(islice(loop, 3))
    state = loader.state_dict()
    list(islice(loop, 4))
    loader.load_state_dict(state)
    assert values(loader) == expected[3:]


@BOTH
def test_states_in_the_middle_of_later_passes(path: Path, make: Make) -> None:
    loader = make(path)
    passes = [values(loader) for _ in range(4)]
    loader = make(path)
    for number in range(3):
        loop = iter(loader)
        assert values(islice(loop, 6)) == passes[number][:6]
        again = make(path)
        again.load_state_dict(loader.state_dict())
        assert values(again) == passes[number][6:]
        assert values(again) == passes[number + 1]
        assert values(loop) == passes[number][6:]


@BOTH
def test_drop_last_and_the_end_of_a_pass(path: Path, make: Make) -> None:
    loader = make(path, drop_last=True)
    first, second = values(loader), values(loader)
    assert len(first) == RECORDS // 8
    loader = make(path, drop_last=True)
    loop = iter(loader)
    list(islice(loop, len(first)))
    again = make(path, drop_last=True)
    again.load_state_dict(loader.state_dict())
    assert values(again) == []
    assert values(again) == second
    assert list(loop) == []
    again = make(path, drop_last=True)
    again.load_state_dict(loader.state_dict())
    assert values(again) == second


@pytest.mark.parametrize("workers", [0, 3])
def test_after_an_error_a_loader_goes_on_at_the_batch(workers: int) -> None:
    def make(bad: int = -1) -> millhopper.DataLoader:
        return millhopper.DataLoader(Squares(bad), 8, num_workers=workers)

    loader = make(bad=43)
    seen = []
    with pytest.raises(ValueError, match="sample 43 is bad"):
        for batch in loader:
            seen += values([batch])
    again = make()
    again.load_state_dict(loader.state_dict())
    assert seen + values(again) == values(make())


def test_functions_of_a_map_see_the_same_ids() -> None:
    """Augmentation that is drawn by an element's id is resumed exactly."""

    def augmented(element: dict[str, Any]) -> dict[str, Any]:
        at = millhopper.current_record()
        noise = np.random.default_rng([at.pass_number, at.sample]).integers(0, 1 << 40)
        return {"row": element["row"] + noise}

    def make() -> millhopper.Reader:
        rows = np.arange(RECORDS, dtype=np.int64)
        reader = millhopper.Reader.from_arrays({"row": rows}, shuffle=True, seed=2)
        return reader.map(augmented).shuffle(30).batch(8).double_buffer(3)

    def all_of(loop: Any) -> list[list[int]]:
        return [batch["row"].tolist() for batch in loop]

    reader = make()
    expected = [all_of(reader), all_of(reader)]
    assert expected[0] != expected[1]
    for number in range(2):
        reader = make()
        reader.set_epoch(number)
        loop = iter(reader)
        list(islice(loop, 5))
        again = make()
        again.set_state(reader.get_state())
        assert all_of(again) == expected[number][5:]
