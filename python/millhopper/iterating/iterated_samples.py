# SPDX-License-Identifier: Apache-2.0
"""Samples of what can only be iterated over, and the state that it may have itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from millhopper.errors import Error
from millhopper.iterating.dataset_batches import batched


@runtime_checkable
class Stateful(Protocol):
    """What tells where it stands, and goes there.

    Source: the Stateful protocols of torchdata and torch.distributed.checkpoint.
    """

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any], /) -> Any: ...


class IteratedSamples:
    """The passes of a data set, and where the last one stands.

    A state has two texts of JSON: ``samples`` is that of the data set, and ``iterator`` that of the
    iterator of a pass that goes on; None where the one or the other has no ``state_dict`` and
    ``load_state_dict``. Texts and no dicts, because checkpoints of torch.distributed only give back
    the keys that there are before loading. ``over`` tells that the pass has no more samples: the
    last batch, if it is not full, is delivered when the data set may stand in the next pass.
    """

    def __init__(self, dataset: Iterable[Any]) -> None:
        self._dataset = dataset
        self._iterator: Iterator[Any] | None = None  # of the pass that runs
        self._over = False  # whether that has no more samples
        self._loaded: dict[str, Any] | None = None  # what the next pass goes on from

    def state(self) -> dict[str, Any]:
        """What ``load`` takes.

        Raises:
            Error: a state is not what JSON gives back as it was.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        iterator = None if self._over or self._iterator is self._dataset else self._iterator
        return {"samples": _text(self._dataset), "iterator": _text(iterator), "over": self._over}

    def load(self, state: Mapping[str, Any]) -> None:
        """The next pass goes on from a state.

        Raises:
            Error: it is no such state, or that of a data set which has a state, and this one does
                not, or the other way around.
        """
        texts: dict[str, Any] = {"over": state.get("over")}
        if not isinstance(texts["over"], bool):
            raise Error("the state is wrong: over: it must be True or False")
        for name in ("samples", "iterator"):
            text = texts[name] = state.get(name, 0)
            if text is not None and not isinstance(text, str):
                raise Error(f"the state is wrong: {name}: it must be a text or None")
        if (texts["samples"] is not None) != isinstance(self._dataset, Stateful):
            raise Error(
                f"the state is that of a data set {'with' if texts['samples'] else 'without'} a "
                f"state_dict of its own; this one, {type(self._dataset).__name__!r}, is the other "
                "way around"
            )
        self._loaded = texts

    def forget(self) -> None:
        """The next pass begins, whatever was loaded."""
        self._loaded = None

    def end(self) -> None:
        """The pass that runs is over, and was so for whoever has its batches."""
        self._iterator, self._over = None, False

    def begin(self, size: int | None, drop_last: bool, taken: int) -> Iterator[Any]:
        """Samples, or lists of ``size`` of them, of the next pass, behind ``taken`` of these.

        Raises:
            Error: the data set's iterator has no ``load_state_dict``, or the pass ends before.
        """
        loaded, self._loaded = self._loaded, None
        has_place = False
        if loaded is not None and loaded["samples"] is not None:
            assert isinstance(self._dataset, Stateful)
            self._dataset.load_state_dict(_state(loaded["samples"]))
            has_place = True
        if loaded is not None and loaded["over"]:
            self._iterator, self._over = None, True
            return iter(())
        samples = iter(self._dataset)
        self._iterator, self._over = samples, False
        if loaded is not None and loaded["iterator"] is not None:
            if not isinstance(samples, Stateful):
                raise Error(
                    f"the state is that of an iterator, and this one, {type(samples).__name__!r}, "
                    "has no load_state_dict"
                )
            samples.load_state_dict(_state(loaded["iterator"]))
            has_place = True
        noticed = self._noticed(samples)
        items = noticed if size is None else batched(noticed, size, drop_last)
        if not has_place and sum(1 for _ in islice(items, taken)) < taken:
            raise Error(f"a pass was to go on behind {taken} batches, but it has ended before them")
        return items

    def _noticed(self, samples: Iterator[Any]) -> Iterator[Any]:
        yield from samples
        if self._iterator is samples:
            self._over = True


def _text(holder: object) -> str | None:
    """The state of an object as JSON; None if it has none.

    Raises:
        Error: JSON would give back something else.
    """
    if not isinstance(holder, Stateful):
        return None
    state = holder.state_dict()
    name = type(holder).__name__
    try:
        text = json.dumps(state, allow_nan=False)
        same = json.loads(text) == state
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"the state_dict of {name!r} cannot be saved: {error}") from error
    if not same:
        raise Error(
            f"the state_dict of {name!r} cannot be saved, because JSON would not give it back: it "
            "may have dicts with texts as keys, lists, texts, numbers, True, False and None, and "
            f"no tuples; it is {state!r:.200}"
        )
    return text


def _state(text: str) -> dict[str, Any]:
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Error(f"the state is wrong: the data set's is no JSON: {error}") from None
    if not isinstance(state, dict):
        raise Error("the state is wrong: the data set's is no dict")
    return state
