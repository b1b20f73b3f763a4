# SPDX-License-Identifier: Apache-2.0
"""Layers that create readers, and those that read them.

Functions that create a reader append its operator to the startup program and declare the reader's
variable in both programs; ``read_file``, ``has_next`` and ``reset`` go into the main program. What
is random in a reader depends on its variable's name, so ``name`` gives the same order in any
program; by default names are numbered (``millhopper.unique_name``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millhopper import _core
from millhopper.base.ranks import shard_problem
from millhopper.fluid.layers import helper
from millhopper.programs import unique_name
from millhopper.programs.reader_creation import (
    Shapes,
    Slots,
    create_reader,
    decorate_reader,
    slot_shapes,
)
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable, check_reader

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

__all__ = [
    "batch",
    "double_buffer",
    "has_next",
    "multi_pass",
    "open_files",
    "open_recordio_file",
    "random_data_generator",
    "read_file",
    "reset",
    "shard",
    "shuffle",
]

_Path: TypeAlias = "str | os.PathLike[str]"


# ---- Sources ----


def open_files(
    filenames: _Path | Iterable[_Path],
    shapes: Shapes | None = None,
    lod_levels: Sequence[int] | None = None,
    dtypes: Sequence[Any] | None = None,
    thread_num: int | None = None,
    buffer_size: int | None = None,
    pass_num: int = 1,
    is_test: bool | None = None,
    for_parallel: bool = True,
    name: str | None = None,
    **attributes: Any,
) -> Variable:
    """A reader of many files as one stream, one record of each in turn.

    Args:
        filenames: paths, patterns and ranges (``{00000..00127}``), each with an optional format and
            a colon before it.
        shapes: dims of one record in each slot, the leading axis included: [1, 784] is one row. By
            default the slots are those that manifests of RecordIO files tell, if they do.
        lod_levels: levels of offsets of each slot; none by default.
        dtypes: types of the slots' values; float32 by default.
        thread_num: workers on these files at once; all that there are by default.
        buffer_size: records that wait to be read.
        pass_num: how often the files are read in one pass.
        is_test: read one file after the other (``cycle_length=1``).
        for_parallel: the lineage's, without effect; every reader may be shared.
        name: of the reader.
        attributes: other attributes of the operator ``open_files`` and of the files' format, such
            as ``buffer_type="mmap"``: see ``millhopper.Reader.open_files``.

    Raises:
        ValueError: shapes, lod_levels and dtypes are for different numbers of slots, or the name is
            taken.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    paths = [filenames] if isinstance(filenames, (str, os.PathLike)) else list(filenames)
    if is_test:
        attributes.setdefault("cycle_length", 1)
    slots: Slots = (shapes, dtypes, lod_levels)
    if shapes is dtypes is lod_levels is None and attributes.get("content") != "bytes":
        slots = _stored(paths)
    return create_reader(
        "open_files",
        name,
        attrs={
            "file_names": paths,
            "thread_num": thread_num,
            "buffer_size": buffer_size,
            "pass_num": pass_num,
            **attributes,
        },
        slots=slots,
    )


def open_recordio_file(
    filename: _Path,
    shapes: Shapes | None = None,
    lod_levels: Sequence[int] | None = None,
    dtypes: Sequence[Any] | None = None,
    pass_num: int = 1,
    for_parallel: bool = True,
    name: str | None = None,
) -> Variable:
    """A reader of one RecordIO file; arguments and errors as in ``open_files``.

    With ``pass_num`` above 1 a multi-pass reader stands on it.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    slots: Slots = (shapes, dtypes, lod_levels)
    if shapes is dtypes is lod_levels is None:
        slots = _stored([f"recordio:{os.fspath(filename)}"])
    reader = create_reader(
        "create_recordio_file_reader", name, attrs={"filename": filename}, slots=slots
    )
    return multi_pass(reader, pass_num) if pass_num > 1 else reader


def _stored(paths: Iterable[_Path]) -> Slots:
    """The slots that manifests of RecordIO files tell; None each if they do not."""
    stored = _core.stored_slots([os.fspath(path) for path in paths])
    if stored is None:
        return None, None, None
    dtypes, shapes, lod_levels = zip(*stored[0])
    return shapes, dtypes, lod_levels


def random_data_generator(
    low: float,
    high: float,
    shapes: Shapes,
    lod_levels: Sequence[int] | None = None,
    for_parallel: bool = True,
    seed: int = 0,
    count: int = 0,
    name: str | None = None,
) -> Variable:
    """A reader of random float32 values, uniform in [low, high), instead of files.

    Args:
        low: the lowest value.
        high: values are below this one.
        shapes: dims of each slot.
        lod_levels: levels of offsets of each slot; none by default.
        for_parallel: the lineage's, without effect.
        seed: with the program's ``random_seed`` and the name it decides the values.
        count: elements of a pass; 0 is without end.
        name: of the reader.

    Raises:
        ValueError: shapes and lod_levels are for different numbers of slots.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    return create_reader(
        "create_random_data_generator",
        name,
        attrs={"low": low, "high": high, "seed": seed, "count": count},
        slots=(shapes, None, lod_levels),
    )


# ---- Readers on readers ----


def shuffle(
    reader: Variable,
    buffer_size: int,
    seed: int = 0,
    name: str | None = None,
    reshuffle: bool = True,
) -> Variable:
    """A reader that yields elements at random out of a window, in another order each pass.

    Args:
        reader: the reader below.
        buffer_size: elements in the window.
        seed: with the program's ``random_seed`` and the name it decides the order.
        name: of the new reader.
        reshuffle: False: the same order in each pass, which ``seed`` and ``random_seed`` alone
            decide, as in ``millhopper.Reader.shuffle``.

    Raises:
        TypeError: ``reader`` is no reader.
        ValueError: it has not been created in the startup program that is in use, an attribute is
            out of bounds, or the name is taken.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    return decorate_reader(
        "create_shuffle_reader",
        reader,
        name,
        {"buffer_size": buffer_size, "seed": seed, "reshuffle": reshuffle},
    )


def batch(
    reader: Variable,
    batch_size: int,
    discard_leftover: bool = False,
    mode: str = "concat",
    name: str | None = None,
) -> Variable:
    """A reader that makes one element of ``batch_size`` elements.

    Args:
        reader: the reader below.
        batch_size: elements in a batch.
        discard_leftover: leave out a last batch that is not full; the lineage always did.
        mode: "concat" lays elements end to end along their leading axis, "stack" along a new one.
        name: of the new reader.

    Errors are those of ``shuffle``.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    attrs = {"batch_size": batch_size, "discard_leftover": discard_leftover, "mode": mode}
    return decorate_reader("create_batch_reader", reader, name, attrs)


def multi_pass(reader: Variable, pass_num: int, name: str | None = None) -> Variable:
    """A reader that makes one pass of ``pass_num`` passes. Errors are those of ``shuffle``.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    return decorate_reader("create_multi_pass_reader", reader, name, {"pass_num": pass_num})


def shard(
    reader: Variable,
    num_shards: int | None = None,
    index: int | None = None,
    name: str | None = None,
    even: str = "none",
) -> Variable:
    """A reader of elements ``index``, ``index + num_shards`` ...: the part of one process.

    Args:
        reader: the reader below.
        num_shards: how many parts. If neither it nor ``index`` is given, what the environment's
            ``WORLD_SIZE`` says, or what Slurm, Open MPI or JAX set instead.
        index: which of them, from 0; without both what the environment's ``RANK`` says, likewise.
        name: of the new reader.
        even: ``"pad"`` or ``"drop"``: all parts have equally many elements, as in
            ``millhopper.Reader.shard``.

    Errors are those of ``shuffle``.

    Source: Millhopper's own; ``WORLD_SIZE`` and ``RANK`` are those that torchrun sets.
    """
    if problem := shard_problem(num_shards, index):
        raise ValueError(f"shard: {problem}")
    return decorate_reader(
        "create_shard_reader",
        reader,
        name,
        {
            "num_shards": num_shards,
            "index": 0 if index is None and num_shards is not None else index,
            "even": even,
        },
    )


def double_buffer(
    reader: Variable, place: Any = None, name: str | None = None, depth: int = 2
) -> Variable:
    """A reader that loads elements ahead of their use.

    Args:
        reader: the reader below.
        place: where they are wanted: a place of ``millhopper.core``, or its name ("cpu", "cuda:0");
            by default that of the executor.
        name: of the new reader.
        depth: elements that are kept ready.

    Errors are those of ``shuffle``.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    where = None if place is None else str(getattr(place, "name", place)).upper()
    return decorate_reader(
        "create_double_buffer_reader", reader, name, {"place": where, "depth": depth}
    )


# ---- Reading ----


def read_file(reader: Variable) -> Any:
    """The next element of a reader.

    Returns:
        A variable for each slot, as a list; the variable itself if there is one.

    Raises:
        TypeError: ``reader`` is no reader.
        ValueError: its slots are not known.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    check_reader(reader)
    shapes = slot_shapes("read_file", reader)
    block = helper.current_block()
    outs = [block.create_var(unique_name.generate("read_file"), stop_gradient=True) for _ in shapes]
    block.append_op("read", inputs={"Reader": reader}, outputs={"Out": outs})
    return outs[0] if len(outs) == 1 else outs


def has_next(reader: Variable, out: Variable | None = None) -> Variable:
    """Whether a reader has a next element: bool [1]. Reads nothing.

    Args:
        reader: the top-most reader of a chain.
        out: takes the result; for a loop the variable that decides it.

    Raises:
        TypeError: ``reader`` is no reader.

    Source: Millhopper's own; PaddlePaddle's reader design doc, 2018, has such an operator.
    """
    check_reader(reader)
    if out is None:
        out = helper.new_variable(helper.layer_name("has_next", None), VarType.BOOL, True)
    helper.current_block().append_op("has_next", inputs={"Reader": reader}, outputs={"Out": out})
    return out


def reset(reader: Variable) -> None:
    """Begins the next pass of a reader, and of those on it, each time it runs.

    Raises:
        TypeError: ``reader`` is no reader.

    Source: Millhopper's own; PaddlePaddle's reader design doc, 2018, has such an operator.
    """
    check_reader(reader)
    helper.current_block().append_op("reset", inputs={"Reader": reader})
