# SPDX-License-Identifier: Apache-2.0
"""DataLoader over data that can only be iterated over, and that may have its own state.

The scenarios are those of torchdata's tests of its Stateful protocol, written anew.
"""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import millhopper
import pytest

SAMPLES = 23
pytestmark = pytest.mark.usefixtures("torch_or_stand_in")


class Plain:
    """Has no state: a pass is skipped through."""

    asked = 0

    def __iter__(self) -> Iterator[int]:
        for number in range(SAMPLES):
            self.asked += 1
            yield number * number


class Walk:
    """Has a state: where it is, and what all passes before have left."""

    def __init__(self) -> None:
        self.asked = 0
        self.at = 0
        self.sum = 0

    def __iter__(self) -> Iterator[int]:
        while self.at < SAMPLES:
            self.asked += 1
            self.at += 1
            self.sum += self.at
            yield self.sum
        self.at = 0

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at, "sum": self.sum}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.at, self.sum = state_dict["at"], state_dict["sum"]


class Restarts:
    """Has a state, and goes back to its start when a pass begins, not when one ends."""

    def __init__(self) -> None:
        self.asked = 0
        self.at = 0
        self.start = 0

    def __iter__(self) -> Iterator[int]:
        start, self.start = self.start, 0
        for number in range(start, SAMPLES):
            self.asked += 1
            self.at = number + 1
            yield number

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.at = self.start = state_dict["at"]


class Steps:
    """Its iterators have a state."""

    asked = 0

    class Iterator:
        def __init__(self, owner: Steps) -> None:
            self.owner = owner
            self.at = 0

        def __iter__(self) -> Steps.Iterator:
            return self

        def __next__(self) -> int:
            if self.at == SAMPLES:
                raise StopIteration
            self.owner.asked += 1
            self.at += 1
            return -self.at

        def state_dict(self) -> dict[str, Any]:
            return {"at": self.at}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.at = state_dict["at"]

    def __iter__(self) -> Steps.Iterator:
        return Steps.Iterator(self)


class Endless:
    """Is its own iterator, and never ends."""

    def __init__(self) -> None:
        self.asked = 0
        self.random = random.Random(7)

    def __iter__(self) -> Endless:
        return self

    def __next__(self) -> int:
        self.asked += 1
        return self.random.randrange(1 << 20)

    def state_dict(self) -> dict[str, Any]:
        version, numbers, gauss = self.random.getstate()
        return {"version": version, "numbers": list(numbers), "gauss": gauss}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.random.setstate((state["version"], tuple(state["numbers"]), state["gauss"]))


def values(batches: Any) -> list[Any]:
    return [batch.tolist() if hasattr(batch, "tolist") else batch for batch in batches]


def loader_of(dataset: Any, batch_size: int | None = 4) -> millhopper.DataLoader:
    return millhopper.DataLoader(dataset, batch_size=batch_size)


@pytest.mark.parametrize("make", [Plain, Walk, Restarts, Steps])
@pytest.mark.parametrize("batch_size", [4, None])
def test_a_new_loader_yields_the_rest_and_the_passes_after(
    make: Callable[[], Any], batch_size: int | None
) -> None:
    whole = loader_of(make(), batch_size)
    passes = [values(whole) for _ in range(3)]
    count = len(passes[0])
    for taken in (0, 1, count // 2, count):
        loader = loader_of(make(), batch_size)
        loop = iter(loader)
        assert values(islice(loop, taken)) == passes[0][:taken]
        state = loader.state_dict()
        again = loader_of(make(), batch_size)
        again.load_state_dict(json.loads(json.dumps(state)))
        assert again.state_dict() == state, "before the loop has begun"
        assert values(again) == passes[0][taken:]
        assert values(again) == passes[1]
        assert values(again) == passes[2]
        # In bytes, and at the end of a pass.
        loader = loader_of(make(), batch_size)
        assert values(loader) == passes[0]
        again = loader_of(make(), batch_size)
        again.set_state(loader.get_state())
        assert values(again) == passes[1]
        # When the next pass has begun, and no batch of it was taken.
        iter(loader)
        again = loader_of(make(), batch_size)
        again.load_state_dict(loader.state_dict())
        assert values(again) == passes[1]
        assert values(again) == passes[2]


def test_a_state_is_given_back_and_not_skipped_to() -> None:
    rest_only = SAMPLES - 8
    for make, asked in (
        (Plain, SAMPLES),
        (Walk, rest_only),
        (Restarts, rest_only),
        (Steps, rest_only),
    ):
        loader = loader_of(make())
        loop = iter(loader)
        values(islice(loop, 2))
        dataset: Any = make()
        again = loader_of(dataset)
        again.load_state_dict(loader.state_dict())
        rest = values(loop)
        assert values(again) == rest
        assert dataset.asked == asked


def test_a_resume_of_a_resume() -> None:
    for make in (Plain, Walk, Restarts, Steps, Endless):
        expected = values(islice(loader_of(make()), 5))
        state: dict[str, Any] | None = None
        for batch in expected:
            loader = loader_of(make())
            if state is not None:
                loader.load_state_dict(state)
            assert values(islice(loader, 1)) == [batch]
            state = loader.state_dict()


def test_an_empty_pass_stays_empty() -> None:
    class Empty(Restarts):
        def __iter__(self) -> Iterator[int]:
            self.asked += 1
            return iter(())

    loader = loader_of(Empty())
    assert values(loader) == []
    dataset = Empty()
    again = loader_of(dataset)
    again.load_state_dict(loader.state_dict())
    assert values(again) == []
    assert dataset.asked == 2, "it may have been at the end of the pass before"
    assert values(again) == []
    assert dataset.asked == 3


@pytest.mark.parametrize("make", [Plain, Walk, Restarts, Steps, Endless])
def test_within_a_batch_there_is_no_state(make: Callable[[], Any]) -> None:
    made: list[int] = []

    def collate(samples: list[int]) -> list[int]:
        made.append(len(samples))
        if len(made) == 3:
            raise KeyboardInterrupt
        return samples

    expected = values(islice(loader_of(make()), 5))
    loader = millhopper.DataLoader(make(), batch_size=4, collate_fn=collate)
    loop = iter(loader)
    assert values(islice(loop, 2)) == expected[:2]
    state = loader.state_dict()
    with pytest.raises(KeyboardInterrupt):
        next(loop)
    if make is Plain:
        assert loader.state_dict() == state, "its passes are skipped through by batches"
    else:
        with pytest.raises(millhopper.Error, match="within a batch.*was saved before"):
            loader.state_dict()
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    assert values(islice(loader, 3)) == expected[2:]
    loader.state_dict()


@pytest.mark.parametrize("fails", ["load_state_dict", "__iter__"])
def test_a_state_that_could_not_be_given_back_is_kept(fails: str) -> None:
    class Once(Restarts):
        failed = False

        def fail(self, name: str) -> None:
            if name == fails and not self.failed:
                self.failed = True
                raise OSError("not now")

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.fail("load_state_dict")
            super().load_state_dict(state_dict)

        def __iter__(self) -> Iterator[int]:
            self.fail("__iter__")
            return super().__iter__()

    loader = loader_of(Restarts())
    loop = iter(loader)
    values(islice(loop, 2))
    state, rest = loader.state_dict(), values(loop)
    again = loader_of(Once())
    again.load_state_dict(state)
    with pytest.raises(OSError, match="not now"):
        iter(again)
    assert again.state_dict() == state
    assert values(again) == rest
    assert values(again) == values(loader)


def test_each_rank_goes_on_from_its_own_state(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    state = loader_of(Walk()).state_dict()
    assert (state["rank"], state["world_size"]) == (0, 2)
    loader_of(Walk()).load_state_dict(state)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(millhopper.Error, match="that of rank 0 of 2; this is rank 1 of 2"):
        loader_of(Walk()).load_state_dict(state)


def test_nothing_is_pickled() -> None:
    class Refuses(Walk):
        def __reduce__(self) -> Any:
            raise AssertionError("somebody pickles it")

    loader = loader_of(Refuses())
    values(islice(loader, 2))
    state = loader.state_dict()
    assert json.loads(state["samples"]) == {"at": 8, "sum": 36}
    assert pickle.loads(pickle.dumps(state)) == state


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"random": (1, 2)}, "JSON would not give it back"),
        ({1: 2}, "JSON would not give it back"),
        ({"set": {1}}, "Object of type set is not JSON serializable"),
        ({"loss": float("nan")}, "not JSON compliant"),
    ],
)
def test_a_state_must_be_json(state: Any, words: str) -> None:
    class Odd(Walk):
        def state_dict(self) -> Any:
            return state

    loader = loader_of(Odd())
    with pytest.raises(millhopper.Error, match=f"state_dict of 'Odd' cannot be saved.*{words}"):
        loader.state_dict()


def test_states_of_other_data_are_refused() -> None:
    with_state, without = loader_of(Walk()), loader_of(Plain())
    with pytest.raises(millhopper.Error, match="data set with a state_dict of its own; this one"):
        without.load_state_dict(with_state.state_dict())
    with pytest.raises(millhopper.Error, match="data set without a state_dict of its own"):
        with_state.load_state_dict(without.state_dict())
    with pytest.raises(millhopper.Error, match="iterated"):
        without.load_state_dict(millhopper.DataLoader([1, 2], batch_size=4).state_dict())
    for wrong, words in (("[", "no JSON"), ("[]", "no dict"), (7, "a text or None")):
        with pytest.raises(millhopper.Error, match=words):
            with_state.load_state_dict({**with_state.state_dict(), "samples": wrong})
            iter(with_state)
    loop = iter(loader_of(Steps()))
    next(loop)
    steps = loader_of(Steps())
    values(islice(steps, 1))
    with pytest.raises(millhopper.Error, match="has no load_state_dict"):
        without.load_state_dict(steps.state_dict())
        iter(without)


def test_a_shorter_pass_is_an_error() -> None:
    class Short(Plain):
        def __iter__(self) -> Iterator[int]:
            return islice(super().__iter__(), 7)

    loader = loader_of(Plain())
    values(islice(loader, 4))
    again = loader_of(Short())
    again.load_state_dict(loader.state_dict())
    with pytest.raises(millhopper.Error, match="after 4 batches, but it has ended before"):
        iter(again)


def test_another_pass_begins_anew() -> None:
    loader = loader_of(Steps())
    values(islice(loader, 3))
    again = loader_of(Steps())
    again.load_state_dict(loader.state_dict())
    again.set_epoch(5)
    assert values(again) == values(loader_of(Steps()))


@pytest.mark.parametrize(
    "keywords",
    [{"shuffle": True}, {"num_workers": 2}, {"sampler": [1]}, {"num_shards": 2, "index": 0}],
)
def test_what_needs_numbers_is_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'Plain': it can only be iterated over"):
        millhopper.DataLoader(Plain(), **keywords)


def test_what_cannot_be_iterated_over_is_named() -> None:
    with pytest.raises(TypeError, match="dataset is 'int'; it must be"):
        millhopper.DataLoader(3)  # type: ignore[arg-type]
