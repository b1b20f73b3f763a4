# SPDX-License-Identifier: Apache-2.0
"""Preprocessor: operators that run on every element of a reader."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from millhopper.base.zipped import zip_strict
from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.program import default_startup_program, program_guard
from millhopper.programs.reader_creation import check_created, decorate_reader, slot_shapes
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable


class Preprocessor:
    """A reader that runs a block of operators on every element of another, in parallel. ::

        preprocessor = layers.Preprocessor(reader)
        with preprocessor.block():
            image, label = preprocessor.inputs()
            preprocessor.outputs(image / 2, label + 1)
        reader = preprocessor()

    The block belongs to the startup program, as all of a reader's creation does: it may write its
    own variables only, and reads outer ones as they are when the reader is created.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """

    def __init__(self, reader: Variable, name: str | None = None) -> None:
        """A preprocessor on a reader.

        Args:
            reader: the reader below; its slots must be declared.
            name: of the new reader.

        Raises:
            TypeError, ValueError: as in ``shuffle``, or its slots are not known.
        """
        check_created(reader)
        slot_shapes("Preprocessor", reader)
        self._below, self._name = reader, name
        self._block: Block | None = None
        self._is_open = False
        self._sources: list[str] = []
        self._sinks: list[str] = []

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """What is written within runs once for each element.

        Raises:
            RuntimeError: inputs or outputs have not been called within, or it is the second block.
        """
        if self._block is not None:
            raise RuntimeError("a Preprocessor has one block, which has been written already")
        startup = default_startup_program()
        if startup.current_block_idx != 0:
            raise RuntimeError("a Preprocessor cannot be written within the block of another one")
        with program_guard(startup, startup):
            self._block = startup.create_block()
            self._is_open = True
            try:
                yield
            finally:
                self._is_open = False
                startup.rollback()
        if not self._sources or not self._sinks:
            raise RuntimeError(
                "The definition of the preprocessor is incomplete: call inputs() and outputs()"
                " within its block"
            )

    def inputs(self) -> list[Variable]:
        """The slots of an element, as variables of the block.

        Raises:
            RuntimeError: not within the block.
        """
        block = self._open_block("inputs")
        below = self._below
        shapes = slot_shapes("Preprocessor", below)
        dtypes = below.dtypes or (VarType.FP32,) * len(shapes)
        levels = below.lod_levels or (0,) * len(shapes)
        variables = [
            block.create_var(
                unique_name.generate("preprocessor_source"),
                shape=shape,
                dtype=dtype,
                lod_level=level,
                stop_gradient=True,
            )
            for shape, dtype, level in zip_strict(shapes, dtypes, levels)
        ]
        self._sources = [variable.name for variable in variables]
        return variables

    def outputs(self, *outs: Variable) -> None:
        """The variables of the block that are the slots of what is yielded.

        Raises:
            RuntimeError: not within the block.
            TypeError: one is no variable.
            ValueError: one is not of this block, or its dims or type are not known.
        """
        block = self._open_block("outputs")
        for out in outs:
            if not isinstance(out, Variable):
                raise TypeError(
                    f"Preprocessor: {out!r} is no variable; outputs takes them one by one"
                )
            if out.block is not block:
                raise ValueError(f"Preprocessor: {out.name!r} is not a variable of its block")
            if out.shape is None or out.dtype is None:
                raise ValueError(
                    f"Preprocessor: the dims and type of {out.name!r} are not known; declare them"
                )
        self._sinks = [out.name for out in outs]

    def __call__(self) -> Variable:
        """The reader.

        Raises:
            RuntimeError: its block has not been written.
        """
        if self._block is None or self._is_open or not self._sources or not self._sinks:
            raise RuntimeError("Preprocessor: write its block, with inputs() and outputs(), first")
        return decorate_reader(
            "create_custom_reader",
            self._below,
            self._name,
            {
                "sub_block": self._block,
                "source_var_names": self._sources,
                "sink_var_names": self._sinks,
            },
        )

    def _open_block(self, method: str) -> Block:
        if not self._is_open or self._block is None:
            raise RuntimeError(f"Preprocessor.{method}() can only be invoked inside its block")
        return self._block
