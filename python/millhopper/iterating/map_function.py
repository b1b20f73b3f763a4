# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that the core's threads call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from millhopper import _core
from millhopper.errors import Error


class RecordId(NamedTuple):
    """The name of an element: the same for any number of threads, in any shard, after any shuffle.

    An element that several records went into, such as a batch, has the name of the first of them.

    Args:
        pass_number: of its source, from 0.
        sample: its position in the pass of its source, from 0.
        file: the index of its file in the list of files.
        chunk: the byte of the file at which its chunk begins.
        record: its index in the chunk.
        part: which of the elements that ``unbatch`` has made of it.

    Source: Millhopper's own.
    """

    pass_number: int
    sample: int
    file: int
    chunk: int
    record: int
    part: int


def current_record() -> RecordId:
    """The name of the element that the calling function of ``map`` is at.

    Draw what is random about an element from it, so that it is the same on every thread::

        def noisy(element):
            at = millhopper.current_record()
            rng = np.random.default_rng([seed, at.pass_number, at.sample])
            return {"x": element["x"] + rng.normal(size=element["x"].shape)}

    Raises:
        Error: no function of ``map`` is being called on this thread.

    Source: Millhopper's own.
    """
    name = _core.current_record()
    if name is None:
        raise Error("current_record() is for functions that Reader.map calls, while it calls them")
    return RecordId(*name)


def keep_function(
    function: Callable[[dict[str, Any]], object],
    inputs: Sequence[str] | None,
    below: _core.Function | None,
    slots: Mapping[str, tuple[str, list[int], int]],
) -> tuple[_core.Function, dict[str, object]]:
    """A function that programs can name for as long as what is returned is held.

    Args:
        function: what is called for every element.
        inputs: the names of the slots that it gets; None if the core knows them when it reads.
        below: the function of the reader below, if it has one.
        slots: what the function yields: name to (dtype, dims, levels of offsets); empty if that is
            to be learned from the first element.

    Returns:
        The function as the core holds it, and the attributes of ``create_python_map_reader``.

    Raises:
        TypeError: it cannot be called.
        Error: a slot has a dtype that is none of Millhopper's.
    """
    if not callable(function):
        raise TypeError(f"map takes a function of an element, not {function!r}")
    names = None if inputs is None else list(inputs)
    held = _core.Function(function, names, below, list(slots.values()), list(slots))
    title = getattr(function, "__qualname__", None) or type(function).__name__
    return held, {"function": held.number, "title": str(title)}
