# SPDX-License-Identifier: Apache-2.0
"""Places of readers that Python feeds: providers are asked for the rest of a pass."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar

import millhopper as fluid
import numpy as np
import pytest

Element = tuple[np.ndarray, ...]
COUNT = 20


def element(number: int) -> Element:
    return (np.full((1, 1), number, np.int64),)


class Provider:
    """Yields elements from 0 to COUNT - 1, and knows what it was asked for."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.starts: list[int] = []

    def numbers(self, first: int) -> Iterator[int]:
        self.starts.append(first)
        for number in range(first, COUNT):
            self.made.append(number)
            yield number

    def from_the_beginning(self) -> Iterator[Element]:
        return map(element, self.numbers(0))

    def from_anywhere(self, start: int = 0) -> Iterator[Element]:
        return map(element, self.numbers(start))

    def samples(self, start: int = 0) -> Iterator[tuple[int]]:
        return ((number,) for number in self.numbers(start))


def iterable(decorate: Callable[[fluid.io.PyReader], object]) -> fluid.io.PyReader:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        variable = fluid.layers.data("x", [1], dtype="int64")
    reader = fluid.io.PyReader([variable], capacity=3, return_list=True)
    decorate(reader)
    return reader


def numbers_of(batches: Any) -> list[int]:
    return [number for (batch,) in batches for number in np.asarray(batch).ravel().tolist()]


@pytest.mark.parametrize("taken", [0, 1, 7, COUNT])
@pytest.mark.parametrize("anywhere", [False, True])
def test_a_loop_goes_on_where_another_one_was_left(taken: int, anywhere: bool) -> None:
    def make(provider: Provider) -> fluid.io.PyReader:
        function = provider.from_anywhere if anywhere else provider.from_the_beginning
        return iterable(lambda reader: reader.decorate_tensor_provider(function))

    reader = make(Provider())
    loop = iter(reader)
    assert numbers_of(islice(loop, taken)) == list(range(taken))
    state = reader.get_state()
    assert json.loads(state)["taken"] == taken
    provider = Provider()
    again = make(provider)
    again.set_state(state)
    assert again.get_state() == state
    assert numbers_of(again()) == list(range(taken, COUNT))
    assert provider.starts == [taken if anywhere else 0]
    assert provider.made == list(range(taken if anywhere else 0, COUNT))
    assert numbers_of(again()) == list(range(COUNT)), "the pass after it"
    assert again.state_dict()["taken"] == 0
    assert numbers_of(loop) == list(range(taken, COUNT)), "nobody has noticed the state"


def test_a_state_that_was_loaded_stays_while_the_last_loop_goes_on() -> None:
    reader = iterable(lambda reader: reader.decorate_tensor_provider(Provider().from_anywhere))
    loop = reader()
    list(islice(loop, 5))
    state = reader.state_dict()
    list(islice(loop, 3))
    reader.load_state_dict(state)
    assert numbers_of(loop) == list(range(8, COUNT))
    assert reader.state_dict() == state
    assert numbers_of(reader()) == list(range(5, COUNT))


def test_batches_are_passed_over_as_samples() -> None:
    def decorate(provider: Provider, reader: fluid.io.PyReader) -> None:
        doubled = fluid.reader.map_readers(lambda sample: (sample[0],), provider.samples)
        reader.decorate_sample_list_generator(fluid.batch(doubled, 3))

    reader = iterable(functools.partial(decorate, Provider()))
    list(islice(reader(), 4))
    provider = Provider()
    again = iterable(functools.partial(decorate, provider))
    again.load_state_dict(reader.state_dict())
    assert numbers_of(again()) == list(range(12, COUNT))
    assert provider.starts == [9], "the batch before is made again"


@pytest.mark.parametrize("anywhere", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_behind_a_short_last_batch_is_the_end(anywhere: bool, first: bool) -> None:
    def make() -> fluid.io.PyReader:
        provider = Provider()

        def from_the_beginning() -> Iterator[tuple[int]]:
            return provider.samples()

        source = provider.samples if anywhere else from_the_beginning
        limited = fluid.reader.firstn(source, COUNT) if first else source
        batches = fluid.batch(limited, 3)
        return iterable(lambda reader: reader.decorate_sample_list_generator(batches))

    reader = make()
    loop = reader()
    assert numbers_of(islice(loop, 7)) == list(range(COUNT))
    again = make()
    again.load_state_dict(reader.state_dict())
    assert numbers_of(again()) == []
    assert numbers_of(again()) == list(range(COUNT))
    again.load_state_dict({**reader.state_dict(), "taken": 8})
    with pytest.raises(fluid.Error, match=r"to continue after (8 batches|21 items), but it"):
        list(again())


def test_a_batch_that_was_dropped_was_not_taken() -> None:
    batches = fluid.batch(Provider().samples, 3, drop_last=True)
    assert list(batches(start=6)) == []
    with pytest.raises(fluid.Error, match="after 7 batches, but it has fewer"):
        list(batches(start=7))


def test_a_start_of_another_meaning_is_left_alone() -> None:
    def provider(start: int = 5) -> Iterator[Element]:
        return map(element, range(start, 12))

    def make() -> fluid.io.PyReader:
        return iterable(lambda reader: reader.decorate_tensor_provider(provider))

    reader = make()
    loop = reader()
    list(islice(loop, 3))
    again = make()
    again.load_state_dict(reader.state_dict())
    assert numbers_of(again()) == numbers_of(loop) == [8, 9, 10, 11]


def test_a_provider_that_has_become_shorter_is_an_error() -> None:
    count = 10

    def provider() -> Iterator[Element]:
        return map(element, range(count))

    reader = iterable(lambda reader: reader.decorate_tensor_provider(provider))
    list(islice(reader(), 7))
    state = reader.state_dict()
    count = 5
    reader.load_state_dict(state)
    with pytest.raises(fluid.Error, match="after 7 items, but it has ended before them"):
        list(reader())


def test_wrong_states_are_refused() -> None:
    reader = iterable(lambda reader: reader.decorate_tensor_provider(Provider().from_anywhere))
    state = reader.state_dict()
    with pytest.raises(TypeError, match="must be the dict"):
        reader.load_state_dict(3)  # type: ignore[arg-type]
    for wrong in ({}, {**state, "taken": -1}, {**state, "taken": "1"}, {**state, "of": "Reader"}):
        with pytest.raises(fluid.Error):
            reader.load_state_dict(wrong)
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        variable = fluid.layers.data("x", [1], dtype="int64")
        within = fluid.io.PyReader([variable], capacity=3, iterable=False)
    with pytest.raises(RuntimeError, match="the state of Executor has its place"):
        within.state_dict()
    with pytest.raises(RuntimeError, match="the state of Executor has its place"):
        within.load_state_dict(state)


class Fed:
    """A program that reads a py_reader, in its own scope."""

    made: ClassVar[list[Fed]] = []

    def __init__(self, provider: Callable[..., Iterator[Element]], double_buffer: bool) -> None:
        self.scope, self.executor = fluid.core.Scope(), fluid.Executor()
        self.main, self.startup = fluid.Program(), fluid.Program()
        with (
            fluid.scope_guard(self.scope),
            fluid.program_guard(self.main, self.startup),
            fluid.unique_name.guard(),
        ):
            self.reader = fluid.layers.py_reader(
                3, [(-1, 1)], ["int64"], name="fed", use_double_buffer=double_buffer
            )
            self.out = fluid.layers.read_file(self.reader)
            self.executor.run(self.startup)
        self.reader.decorate_tensor_provider(provider)
        self.made.append(self)

    def read(self, most: int = 1000) -> list[int]:
        numbers: list[int] = []
        with fluid.scope_guard(self.scope):
            try:
                while len(numbers) < most:
                    (values,) = self.executor.run(self.main, fetch_list=[self.out])
                    numbers += values.ravel().tolist()
            except fluid.core.EOFException:
                self.reader.reset()
        return numbers

    def state(self) -> dict[str, Any]:
        return self.executor.state_dict(self.main, self.scope)

    def load(self, state: dict[str, Any]) -> None:
        self.executor.load_state_dict(state, self.main, self.scope)


@pytest.fixture(autouse=True)
def ends_providers() -> Iterator[None]:
    yield
    while Fed.made:
        Fed.made.pop().reader.feeding.stop()


@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize("anywhere", [False, True])
def test_a_program_goes_on_with_its_provider(anywhere: bool, double_buffer: bool) -> None:
    def make(provider: Provider) -> Fed:
        return Fed(
            provider.from_anywhere if anywhere else provider.from_the_beginning, double_buffer
        )

    first = make(Provider())
    first.reader.start()
    seen = first.read(7)
    state = first.state()
    for resumed in range(2):
        provider = Provider()
        fed = make(provider)
        fed.reader.start()
        fed.load(state)
        part = fed.read(4)
        assert part == list(range(7 + 4 * resumed, 11 + 4 * resumed))
        state = fed.state()
        if anywhere:
            assert provider.starts[-1] == 7 + 4 * resumed
        seen += part
    seen += fed.read()
    assert seen == list(range(COUNT))
    fed.reader.start()
    assert fed.read() == list(range(COUNT)), "the pass after it"


def test_without_elements_in_store_the_provider_may_start_later() -> None:
    first = Fed(Provider().from_anywhere, double_buffer=False)
    first.reader.start()
    first.read(7)
    provider = Provider()
    fed = Fed(provider.from_anywhere, double_buffer=False)
    fed.load(first.state())
    fed.reader.start()
    assert fed.read() == list(range(7, COUNT))
    assert provider.starts == [7]


def test_with_elements_in_store_it_must_have_been_started() -> None:
    first = Fed(Provider().from_anywhere, double_buffer=True)
    first.reader.start()
    first.read(7)
    assert first.scope.find_var(first.reader.name).get_reader().has_next()
    fed = Fed(Provider().from_anywhere, double_buffer=True)
    with pytest.raises(fluid.Error, match=r"has not been started: .* call its start\(\)"):
        fed.load(first.state())


def test_the_end_of_a_pass_begins_the_next_one() -> None:
    first = Fed(Provider().from_anywhere, double_buffer=True)
    first.reader.start()
    assert first.read() == list(range(COUNT))
    fed = Fed(Provider().from_anywhere, double_buffer=True)
    fed.reader.start()
    fed.load(first.state())
    assert fed.read() == list(range(COUNT))
