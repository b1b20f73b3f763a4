# SPDX-License-Identifier: Apache-2.0
"""Functions in Python that the core's threads call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from millhopper import _core
from millhopper.base.forks import OwnProcess
from millhopper.errors import Error

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# The tables of other libraries that lie in memory.
_TABLES = (
    ("pyarrow", "Table"),
    ("pyarrow", "RecordBatch"),
    ("polars", "DataFrame"),
    ("pandas", "DataFrame"),
)
# What a reader keeps alive for its program.
Held: TypeAlias = "_core.Function | _core.Arrays"


class RecordId(NamedTuple):
    """Identifies an element, independent of the number of threads, of shards and of shuffles.

    An element made of several records, such as a batch, has the id of the first of them.

    Args:
        pass_number: the pass of its source, from 0.
        sample: its position in the pass of its source, from 0.
        file: the index of its file in the list of files.
        chunk: the byte of the file at which its chunk begins; of ``from_arrays`` and
            ``from_dataset``, the number of the row or sample.
        record: its index in the chunk.
        part: its index among the elements that ``unbatch`` has made of the record.

    Source: Millhopper's own.
    """

    pass_number: int
    sample: int
    file: int
    chunk: int
    record: int
    part: int


def current_record() -> RecordId:
    """The id of the element for which the core calls the running function of Python.

    Seed random numbers with it, so that they do not depend on the thread that calls the function::

        def noisy(element):
            at = millhopper.current_record()
            rng = np.random.default_rng([seed, at.pass_number, at.sample])
            return {"x": element["x"] + rng.normal(size=element["x"].shape)}

    Where ranks open their own files, instead of taking a ``shard`` of all files, the rank has to be
    one of the numbers, too: each rank has a first sample, a second ...

    Raises:
        Error: this thread runs no function of ``map`` or ``filter``, and no ``__getitem__`` of a
            data set, for the core.

    Source: Millhopper's own.
    """
    name = _core.current_record()
    if name is None:
        raise Error(
            "current_record() can be called only by a function that a reader is calling: that of "
            "map or filter, or __getitem__ of from_dataset's data set"
        )
    return RecordId(*name)


def keep_function(
    function: Callable[..., object],
    inputs: Sequence[str] | None,
    below: _core.Function | None,
    slots: Mapping[str, tuple[str, list[int], int]],
) -> tuple[_core.Function, dict[str, object]]:
    """Registers a function, so that programs can refer to it by number.

    Args:
        function: is called for every element.
        inputs: the names of the slots that it gets; None if they are known only in a pass.
        below: the function of the reader below, if it has one.
        slots: what the function returns: name to (dtype, dims, levels of offsets); empty if the
            core learns it from the first element.

    Returns:
        The registration, which lasts as long as the caller holds it, and the attributes of
        ``create_python_map_reader``.

    Raises:
        TypeError: ``function`` cannot be called.
        Error: Millhopper does not support the dtype of a slot.
    """
    if not callable(function):
        raise TypeError(f"map takes a function of an element, not {function!r}")
    names = None if inputs is None else list(inputs)
    held = _core.Function(function, names, below, list(slots.values()), list(slots))
    written = inspect.unwrap(function)
    title = getattr(written, "__qualname__", None) or type(written).__name__
    return held, {"function": held.number, "title": str(title)}


def require_one_argument(function: Callable[..., object], names: Sequence[str] | None) -> None:
    """Raises TypeError for a function that must be given several arguments, as tf.data gives them.

    Args:
        function: is to get an element.
        names: of its slots, if they are known.
    """
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):  # a function in C may have no signature
        return
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(one.kind in by_place and one.default is one.empty for one in parameters)
    if needed < 2:
        return
    values = ", ".join(f"e[{name!r}]" for name in [*(names or ()), "a", "b"][:needed])
    raise TypeError(
        f"the function takes {needed} arguments, and gets one, an element as a dict by slot name: "
        f"lambda e: function({values})"
    )


def keep_stream(source: object) -> tuple[_core.Function, dict[str, object]]:
    """Registers what makes streams of Arrow's, so that programs can refer to it by number.

    Args:
        source: has ``__arrow_c_stream__``, which is called for each pass.

    Returns:
        The registration, which lasts as long as the caller holds it, and the attributes of
        ``create_python_arrow_reader``, without ``fields``.

    Raises:
        TypeError: ``source`` has no ``__arrow_c_stream__``.
    """
    make = getattr(source, "__arrow_c_stream__", None)
    if not callable(make):
        raise TypeError(f"from_arrow takes an object with __arrow_c_stream__, not {source!r}")
    if hasattr(source, "__next__"):
        make = _once(make, type(source).__qualname__)
    held = _core.Function(make, None, None, [], [])
    return held, {"function": held.number, "title": type(source).__qualname__}


def _once(make: Callable[[], object], title: str) -> Callable[[], object]:
    """Makes the stream of an iterator, which would give two loops a part of its batches each."""
    unread = [make]
    process = OwnProcess()

    def stream() -> object:
        if not unread or not process.is_this:
            problem = (
                "can be read once only, and has been"
                if process.is_this
                else f"can be read once only, and belongs to process {process.id}"
            )
            raise Error(
                f"this {title} {problem}; give from_arrow a table, or an object that makes a new "
                "stream for each pass, or make a reader for each pass"
            )
        return unread.pop()()

    return stream


def chosen_fields(source: Any, entries: list[str]) -> list[str]:
    """The fields of a source of Arrow's streams that names alone choose; without any, all.

    Only a table in memory is looked through for nulls: any other source may compute its batches.
    """
    is_table = any(
        isinstance(source, getattr(sys.modules.get(module), name, ())) for module, name in _TABLES
    )
    schema = None if is_table else getattr(source, "__arrow_c_schema__", None)
    capsule = source.__arrow_c_stream__() if schema is None else schema()
    return _core.chosen_arrow_fields(capsule, entries, is_table)
