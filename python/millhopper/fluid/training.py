# SPDX-License-Identifier: Apache-2.0
"""train: runs a program once for each batch of a reader in Python."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millhopper._core import Scope
from millhopper.base.places import CPUPlace, CUDAPlace
from millhopper.base.python_reader import PythonReader, opened
from millhopper.fluid import layer as brief_data
from millhopper.fluid.data_feeder import DataFeeder, brief
from millhopper.fluid.executor import Executor, fetch_names
from millhopper.programs.program import (
    Program,
    default_main_program,
    default_startup_program,
    program_guard,
)
from millhopper.programs.variable import Variable
from millhopper.readers.reader import Reader

if TYPE_CHECKING:
    from types import EllipsisType  # novm: Python has it from 3.10 on

__all__ = ["train"]

Batch = Sequence[tuple[Any, ...]]


def train(
    reader: PythonReader[Batch] | Reader,
    mapping: Mapping[str, int],
    batch_size: int | EllipsisType = ...,
    pass_num: int | EllipsisType = ...,
    event_handler: Callable[[int, int, list[Any]], object] | EllipsisType | None = ...,
    *,
    fetch_list: Sequence[Variable | str] | Variable | str | None = (),
    program: Program | None = None,
    startup_program: Program | EllipsisType | None = ...,
    place: CPUPlace | CUDAPlace | None = None,
    scope: Scope | None = None,
) -> None:
    """Runs the startup program, then the main program once for each batch of each pass. ::

        image = layer.data("image", [64])
        label = layer.data("label", [1], dtype="int64")
        ...  # a network, its loss, and an optimizer
        train(millhopper.batch(dataset.digits.train(), 32), {"image": 0, "label": 1}, 32, 10,
              lambda number, batch, values: print(number, batch, values[0]), fetch_list=[loss])

    As an argument, ``...`` means the default.

    Args:
        reader: a batch reader, whose batches are lists of tuples. Or a ``Reader``, such as
            ``api.low_level_reader(...).open(files).batch(32)``: its batches are fed as they are,
            and an item is one of its slots.
        mapping: for the name of each variable, which item of a tuple it is fed with, from 0. An
            item may be used several times, or not at all.
        batch_size: the largest number of tuples in a batch; by default any number. Batches of a
            ``Reader`` are not counted.
        pass_num: passes over the reader; 1 by default.
        event_handler: called after each batch with the number of the pass, the number of the batch
            in it, both from 0, and the values of ``fetch_list`` as arrays.
        fetch_list: variables, or their names; or one of them.
        program: by default ``default_main_program()``. If it has no operators, missing variables
            are declared, so that a reader can be tried before there is a network.
        startup_program: runs before the first batch; by default ``default_startup_program()``. With
            None, no startup program runs, and training continues with the values in ``scope``.
        place: where the programs run; ``CPUPlace()`` by default.
        scope: holds the parameters; by default ``global_scope()``.

    Raises:
        TypeError: an item of a batch is not a tuple, or an argument is of a wrong type.
        ValueError: the program has no variable of a name in ``mapping``, a tuple has no such item,
            a batch is larger than ``batch_size``, or a number is too small.
        Also what the reader, ``DataFeeder.feed``, ``Executor.run`` and ``event_handler`` raise.

    Source: PaddlePaddle's reader design doc, 2017.
    """
    _check(mapping)
    limit = None if batch_size is ... else _at_least_one("batch_size", batch_size)
    passes = 1 if pass_num is ... else _at_least_one("pass_num", pass_num)
    fetched = fetch_names(fetch_list)
    handler = None if event_handler is ... else event_handler
    main = default_main_program() if program is None else program
    _declare(main, mapping)
    where = CPUPlace() if place is None else place
    feeder = DataFeeder(list(mapping), where, main)
    executor = Executor(where)
    startup = default_startup_program() if startup_program is ... else startup_program
    if startup is not None:
        executor.run(startup, scope=scope)
    for number in range(passes):
        if isinstance(reader, Reader):
            feeds = _feeds(reader, mapping)
        else:
            feeds = map(feeder.feed, _batches(reader, mapping, limit))
        for count, feed in enumerate(feeds):
            values = executor.run(main, feed=feed, fetch_list=fetched, scope=scope)
            if handler is not None:
                handler(number, count, values)


def _check(mapping: Mapping[str, int]) -> None:
    if not isinstance(mapping, Mapping):
        raise TypeError(f'mapping is {brief(mapping)}; it must be a dict such as {{"image": 0}}')
    for name, item in mapping.items():
        if not isinstance(item, numbers.Integral) or isinstance(item, bool) or item < 0:
            raise ValueError(f"mapping: {name!r} is {item!r}, not the number of an item, from 0")


def _at_least_one(name: str, number: int) -> int:
    if not isinstance(number, numbers.Integral) or isinstance(number, bool):
        raise TypeError(f"{name} is {number!r}; it must be an integer (... is the default)")
    if number < 1:
        raise ValueError(f"{name} is {number}, it must be at least 1")
    return number


def _declare(program: Program, mapping: Mapping[str, int]) -> None:
    block = program.global_block()
    missing = [name for name in mapping if not block.has_var(name)]
    if missing and block.ops:
        raise ValueError(
            f"mapping: the program has no variable {', '.join(map(repr, missing))}; "
            f"layer.data({missing[0]!r}, ...) declares one"
        )
    with program_guard(program):
        for name in missing:
            brief_data.data(name)


def _feeds(reader: Reader, mapping: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yields what the program is fed with for each batch of a pass."""
    for batch in reader:
        slots = list(batch)
        for name, item in mapping.items():
            if item >= len(slots):
                raise ValueError(
                    f"mapping: {name!r} is item {item}, counted from 0, but the reader has "
                    f"{len(slots)} slots: {slots}"
                )
        yield {name: batch[slots[item]] for name, item in mapping.items()}


def _batches(
    reader: PythonReader[Batch], mapping: Mapping[str, int], limit: int | None
) -> Iterator[list[tuple[Any, ...]]]:
    """Yields the batches of a pass, with the mapped items of each tuple in that order."""
    columns = list(mapping.values())
    with opened(reader) as batches:
        for count, batch in enumerate(batches):
            if not isinstance(batch, (list, tuple)):
                raise TypeError(
                    f"batch {count} is {brief(batch)}; it must be a list of tuples, "
                    "which millhopper.batch(reader, batch_size) makes of single entries"
                )
            if limit is not None and len(batch) > limit:
                raise ValueError(
                    f"batch {count} has {len(batch)} items, but batch_size is {limit}; "
                    f"millhopper.batch(reader, {limit}) makes batches of this size"
                )
            for position, item in enumerate(batch):
                if not isinstance(item, tuple):
                    raise _no_tuple(item, f"item {position} of batch {count}")
                if len(item) <= max(columns, default=-1):
                    raise ValueError(
                        f"item {position} of batch {count} has {len(item)} columns, counted from "
                        f"0; mapping names a later one: {dict(mapping)}"
                    )
            yield [tuple(item[column] for column in columns) for item in batch]


def _no_tuple(item: object, where: str) -> TypeError:
    short = reprlib.repr(item)
    return TypeError(
        f"{where} is {brief(item)}, not a tuple: write ({short},) if it is one column of data, or "
        f"tuple({short}) if it is one column for each of its entries"
    )
