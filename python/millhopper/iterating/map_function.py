# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that the core's threads call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millhopper import _core


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
