# SPDX-License-Identifier: Apache-2.0
"""Passes over what Python can only iterate over, for ``Reader.from_iterable``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from millhopper.base.forks import OwnProcess
from millhopper.base.python_reader import opened, pass_over, takes_start
from millhopper.base.stateful import Stateful, state_in, state_text
from millhopper.errors import Error
from millhopper.process.fed_queue import FedQueue
from millhopper.readers.hugging_face import IterableSamples, is_hugging_face, refuse_splits
from millhopper.readers.samples import DeclaredSlot, batch_of, element_of, slots_of, texts_of

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper import _core

# How many items are kept ready: samples, and batches of them.
_SAMPLES_AHEAD = 64
_BATCHES_AHEAD = 4
# An iterable that tells its place is asked for it once in so many items: so many, at most, are
# skipped when a loop resumes.
_ITEMS_A_PLACE = 32

_GIVE_A_FUNCTION = (
    "give from_iterable a function that makes it, such as `lambda: open_it()` or the generator "
    "function itself, without calling it"
)


# The states of an iterable and of its iterator, as JSON; None where one has none.
State: TypeAlias = "tuple[str | None, str | None]"

_is_shared = False


def share_among_workers() -> None:
    """Says that this process is a worker of torch's loader, which reads a part of each iterable."""
    global _is_shared
    _is_shared = True


class Begun(NamedTuple):
    """An iteration from which the first item has been taken, to learn the slots.

    Attributes:
        holder: what is iterated over.
        state: its state before.
        first: the first item.
        items: the others.
    """

    holder: Any
    state: State | None
    first: Any
    items: Iterator[Any]


class IterableSource:
    """An iterable or a function that returns one, and what is known of its items.

    Every loop over its reader has a queue of its own, whose thread asks for the items.

    Attributes:
        slots: of the items, as they were given or as features of a data set tell them; empty until
            the first loop if neither does.
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[..., Iterable[Any]],
        slots: Mapping[str, DeclaredSlot],
        batched: bool,
    ) -> None:
        """``source`` and the slots of its items, empty if they are to be learned.

        Raises:
            TypeError: it is neither an iterable nor a function.
        """
        refuse_splits(source)
        self._is_function = callable(source) and not isinstance(source, Iterable)
        if isinstance(source, (str, bytes, Mapping)) or not (
            self._is_function or isinstance(source, Iterable)
        ):
            hint = ""
            if isinstance(source, (str, bytes)):
                hint = "; files are read by Reader.open_files(...)"
            elif isinstance(source, Mapping):
                hint = "; a dict of arrays is read by Reader.from_arrays"
            raise TypeError(
                f"from_iterable takes an iterable of samples, or a function that returns one, not "
                f"{type(source).__name__!r}{hint}"
            )
        self._given = source  # errors name it
        if is_hugging_face(source, "IterableDataset"):
            if batched:
                raise TypeError(
                    "batched=True is for an iterable of batches, and an IterableDataset yields "
                    "samples: leave it out"
                )
            source = IterableSamples(source, slots)
            slots = source.slots
        self._source: Any = source
        self._element: Callable[..., dict[str, Any]] = batch_of if batched else element_of
        self._is_batched = batched
        self.slots = dict(slots)
        self._texts: list[str] = []  # the slots of the first item that are texts
        self._title = "from_iterable"
        if not slots:
            self._title += " (its first item tells the slots; slots=... declares them)"
        self._begun: list[Begun] = []  # at most one
        self._is_iterator = hasattr(source, "__next__")
        self._process = OwnProcess()
        self._is_used = False  # whether a pass over an iterator has begun
        # The pass that an iterable was in last, and its state before that.
        self._first_state: tuple[int, State | None] | None = None
        self._loaded_for: int | None = None  # the pass for which it was given a state last
        self._last: object = None  # tells the pass that has begun last from others

    def feed(self) -> FedQueue:
        """A queue for one loop. Its slots are learned from the first item, unless they are known.

        Raises:
            Error: there is no item to learn from.
            What the iterable raises.
        """
        if not self.slots:
            self._learn()
        ahead = _BATCHES_AHEAD if self._is_batched else _SAMPLES_AHEAD
        slots = list(self.slots.values())
        feeding = FedQueue(self._title, ahead, slots, list(self.slots), self._texts)
        feeding.provide(partial(self._elements, feeding.queue), self._given)
        return feeding

    @property
    def feeds(self) -> Callable[[], FedQueue]:
        """``feed`` under the name of the source, for error texts."""
        source: Any = self._given if self._is_function else type(self._given)

        @wraps(source, updated=())
        def feed() -> FedQueue:
            return self.feed()

        return feed

    def _learn(self) -> None:
        holder, state = self._fresh(0)
        if isinstance(holder, IterableSamples) and holder.slots:
            self.slots = holder.slots
            return
        items = iter(holder)
        for first in items:
            element = self._element(first, {})
            self.slots = slots_of(element, not self._is_batched)
            self._texts = texts_of(element)
            self._begun.append(Begun(holder, state, first, items))
            return
        raise Error(
            "it has no item from which to learn what it yields; say it with slots="
            '{"x": ("float32", [1])}'
        )

    def _fresh(self, number: int) -> tuple[Any, State | None]:
        """What a pass iterates over, once it knows the number of the pass, and its state."""
        holder = self._made()
        if callable(set_epoch := getattr(holder, "set_epoch", None)):
            set_epoch(number)
        state = _state_of(holder, None)
        is_known = self._first_state is not None and self._first_state[0] == number
        if not is_known and not self._is_function:
            self._first_state = number, state
        return holder, state

    def _made(self) -> Any:
        """What a pass iterates over.

        Raises:
            Error: it can be read once only, and has been, or it takes its own part of what workers
                of torch's loader share.
        """
        made = self._iterated()
        if _is_shared and _divides_itself(made):
            raise Error(
                f"{type(made).__name__} yields each worker a part of what it has, and torch() "
                "would take a part of that: use num_workers=0, its own threads load ahead"
            )
        return made

    def _iterated(self) -> Any:
        if self._is_function:
            made = self._source()
            # The same one may be returned for each pass, and goes to each state that it was given.
            is_samples = is_hugging_face(made, "IterableDataset")
            return IterableSamples(made, self.slots) if is_samples else made
        if self._is_iterator:
            if not self._process.is_this:
                raise Error(
                    f"this {type(self._source).__name__} can be read once only, and belongs to "
                    f"process {self._process.id}: {_GIVE_A_FUNCTION}"
                )
            if self._is_used:
                raise Error(
                    f"this {type(self._source).__name__} can be read once only, and has been: "
                    f"{_GIVE_A_FUNCTION}"
                )
            self._is_used = True
        return self._source

    def _elements(self, queue: _core.Queue, start: int = 0) -> Iterator[dict[str, Any]]:
        """A pass, without its first ``start`` items: the provider of a FedQueue."""
        places = Places(queue.note(), queue.pass_number())
        this_pass = self._last = object()
        with self._opened(places, start) as (begun, items):
            for number in count(start):
                # A later pass moves the iterable that this one iterates over, too.
                is_moved = self._last is not this_pass and not self._is_function
                if number % _ITEMS_A_PLACE == 0 and not is_moved:
                    state = begun.state if number == 0 else _state_of(begun.holder, begun.items)
                    if state is not None and places.add(number, state):
                        queue.keep_note(places.text())
                try:
                    item = next(items)
                except StopIteration:
                    return
                yield self._element(item, self.slots)

    @contextmanager
    def _opened(self, places: Places, start: int) -> Iterator[tuple[Begun, Iterator[Any]]]:
        """An iteration, and its items from number ``start`` on."""
        begun = self._taken_begun(places.number, start)
        if begun is not None:
            before: Iterable[Any] = [begun.first]
            left_out = start
        elif start > 0 and self._is_function and takes_start(self._source):
            begun = Begun(None, None, None, iter(self._source(start=start)))
            before, left_out = (), 0
        else:
            begun, found = self._begin(places, start)
            before, left_out = (), start - found
        rest_of_it = begun.items
        with opened(lambda: rest_of_it) as rest:
            items = chain(before, rest)
            pass_over(items, left_out)
            yield begun, items

    def _taken_begun(self, number: int, start: int) -> Begun | None:
        """The iteration that has begun already, if the pass is to begin there."""
        if not self._process.is_this:
            self._begun.clear()  # it shares what it has open with the process that began it
        try:
            begun = self._begun.pop()
        except IndexError:
            return None
        if self._is_iterator or (number == 0 and start == 0):
            return begun
        if isinstance(begun.items, Generator):
            begun.items.close()
        return None

    def _begin(self, places: Places, start: int) -> tuple[Begun, int]:
        """A new iteration of the pass, and how many of its items it begins after."""
        number = places.number
        holder, fresh = self._fresh(number)
        found, state = places.before(start)
        if state is None and self._loaded_for == number and self._first_state is not None:
            state = self._first_state[1]  # otherwise it would go where it was told to go last
        if state is not None:
            self._loaded_for = number
            if state[0] is not None:
                _require_stateful(holder).load_state_dict(state_in(state[0]))
        items = iter(holder)
        if state is not None and state[1] is not None:
            _require_stateful(items).load_state_dict(state_in(state[1]))
        return Begun(holder, state or fresh, None, items), found


class Places:
    """Where an iterable stood after some of its items, of a pass and of those before it.

    There are more of them the nearer they are to the last: to go back by so many items, an
    iterable begins at most twice as far back.
    """

    def __init__(self, note: str, number: int) -> None:
        """Those of a note that ``text`` has made, for pass number ``number``.

        Raises:
            Error: it is no such note.
        """
        self.number = number
        self._all: list[tuple[int, int, int, State]] = []  # pass, items, items of all passes
        if not note:
            return
        try:
            for at, items, total, (holder, iterator) in json.loads(note):
                self._all.append((int(at), int(items), int(total), (holder, iterator)))
        except (TypeError, ValueError) as error:
            raise Error(f"the state is wrong: where the iterable stands: {error}") from None

    def text(self) -> str:
        """The note."""
        return json.dumps(self._all)

    def before(self, start: int) -> tuple[int, State | None]:
        """The last place of the pass before its item ``start``, and how many items are before."""
        for number, items, _, state in reversed(self._all):
            if number == self.number and items <= start:
                return items, state
        return 0, None

    def add(self, items: int, state: State) -> bool:
        """Adds a place, unless it is not after all others. Returns whether it did."""
        total = items
        if self._all:
            number, before, total, _ = self._all[-1]
            if (self.number, items) <= (number, before):
                return False
            total += items - before if number == self.number else items + 1
        self._all.append((self.number, items, total, state))
        at = 1
        while at + 1 < len(self._all):
            older, newer = self._all[at - 1][2], self._all[at + 1][2]
            if total - older <= 2 * (total - newer):
                del self._all[at]
            else:
                at += 1
        return True


def _state_of(holder: object, items: object) -> State | None:
    """The states of an iterable and its iterator; None if they have none that JSON can hold."""
    try:
        state = (state_text(holder), None if items is holder else state_text(items))
    except Error:
        return None  # a loop that resumes skips through it
    return None if state == (None, None) else state


def _divides_itself(holder: object) -> bool:
    """Whether it yields other items in each worker of torch's loader."""
    data = sys.modules.get("torch.utils.data")
    return isinstance(holder, IterableSamples) or (
        data is not None and isinstance(holder, data.IterableDataset)
    )


def _require_stateful(holder: object) -> Stateful:
    if not isinstance(holder, Stateful):
        raise Error(
            f"the state is that of an iterable with a load_state_dict, and this one, "
            f"{type(holder).__name__!r}, has none"
        )
    return holder
