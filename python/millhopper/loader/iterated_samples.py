# SPDX-License-Identifier: Apache-2.0
"""Samples of what can only be iterated over, and the state that it may have itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from millhopper.base.stateful import Stateful, state_in, state_text
from millhopper.errors import Error
from millhopper.loader.dataset_batches import batched


class IteratedSamples:
    """The passes of a data set, and where the last one stands.

    A state has two texts of JSON: ``samples`` is that of the data set, and ``iterator`` that of the
    iterator of a pass that is under way; None where the one or the other has no ``state_dict`` and
    ``load_state_dict``. Texts and no dicts, because checkpoints of torch.distributed only give back
    the keys that there are before loading. ``over`` tells that the pass has no more samples: the
    last batch, if it is not full, is delivered when the data set may stand in the next pass.
    """

    def __init__(self, dataset: Iterable[Any]) -> None:
        self._dataset = dataset
        self._iterator: Iterator[Any] | None = None  # of the pass that runs
        self._over = False  # whether that has no more samples
        self._loaded: dict[str, Any] | None = None  # what the next pass resumes from
        self._between = False  # whether the data set was given the state of an end of a pass
        self._asked = False  # for samples of a batch that is not delivered yet

    def state(self) -> dict[str, Any]:
        """What ``load`` takes.

        Raises:
            Error: a state is not what JSON gives back as it was, or the pass stands within a batch
                that is not delivered yet.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        if self._asked and any(
            isinstance(one, Stateful) for one in (self._dataset, self._iterator)
        ):
            raise Error(
                "the pass stands within a batch, whose samples its data set has passed: continue "
                "from a state that was saved before, or save between two batches"
            )
        iterator = None if self._over or self._iterator is self._dataset else self._iterator
        return {
            "samples": state_text(self._dataset),
            "iterator": state_text(iterator),
            "over": self._over,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """The next pass resumes from a state.

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
        """The running pass is over, and its batches have been delivered."""
        self._iterator, self._over = None, False

    def begin(self, size: int | None, drop_last: bool, taken: int, before: int) -> Iterator[Any]:
        """Samples, or lists of ``size`` of them, of the next pass, after ``taken`` of these, which
        come after ``before`` samples.

        If it raises, the next pass resumes from the same state.

        Raises:
            Error: the data set's iterator has no ``load_state_dict``, or the pass ends before.
        """
        loaded, has_place = self._loaded, False
        if loaded is not None and loaded["samples"] is not None:
            assert isinstance(self._dataset, Stateful)
            self._dataset.load_state_dict(state_in(loaded["samples"]))
            has_place = True
            self._between = loaded["over"] or taken == before == 0
        self._asked = False
        if loaded is not None and loaded["over"]:
            self._iterator, self._over, self._loaded = None, True, None
            return iter(())
        samples = iter(self._dataset)
        self._iterator, self._over = samples, False
        if loaded is not None and loaded["iterator"] is not None:
            if not isinstance(samples, Stateful):
                raise Error(
                    f"the state is that of an iterator, and this one, {type(samples).__name__!r}, "
                    "has no load_state_dict"
                )
            samples.load_state_dict(state_in(loaded["iterator"]))
            has_place = True
        noticed = self._noticed(samples, self._between)
        items = noticed if size is None else batched(noticed, size, drop_last)
        for many, what, of in ((before, "samples", noticed), (taken, "batches", items)):
            if not has_place and sum(1 for _ in islice(of, many)) < many:
                raise Error(
                    f"a pass was to continue after {many} {what}, but it has ended before them"
                )
        self._loaded, self._between = None, False
        return items

    def watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same batches; while one is asked for, there is no state to continue from."""
        self._asked = True
        for batch in batches:
            self._asked = False
            yield batch
            self._asked = True
        self._asked = False

    def _noticed(self, samples: Iterator[Any], between: bool) -> Iterator[Any]:
        for sample in samples:
            between = False
            yield sample
        if self._iterator is not samples:
            return
        if not between:
            self._over = True
            return
        # Only now has the data set left the pass that was over when it was saved.
        self._iterator = iter(self._dataset)
        yield from self._noticed(self._iterator, False)
