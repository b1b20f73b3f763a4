# SPDX-License-Identifier: Apache-2.0
"""Readers in programs: the operator that creates one, its declarations, and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.operator import Argument
from millhopper.programs.program import default_main_program, default_startup_program
from millhopper.programs.schemas import schema_of
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable, check_reader

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Shapes: TypeAlias = Sequence[Sequence[int]]
# Shapes, dtypes and lod_levels of slots, each as far as it is declared.
Slots: TypeAlias = "tuple[Shapes | None, Sequence[Any] | None, Sequence[int] | None]"


def share_reader(reader: Variable) -> Variable:
    """Declares a reader of the startup program in the main program, too, and returns that one."""
    main = default_main_program().global_block()
    shared = main.create_var(reader.name, type=VarType.READER, persistable=True, stop_gradient=True)
    if shared is not reader:
        shared.copy_slots(reader)
    return shared


def append_reader(
    block: Block,
    operator: str,
    name: str,
    attrs: Mapping[str, Any],
    inputs: Mapping[str, Argument] | None = None,
    slots: Slots = (None, None, None),
) -> Variable:
    """Declares a reader in a block of a startup program, and appends the operator that creates it.

    Args:
        block: the global block of the startup program.
        operator: the type of the operator.
        name: of the reader.
        attrs: the operator's attributes; None leaves one at its default.
        inputs: what it stands on.
        slots: shapes, dtypes and lod_levels, where they are declared.

    Raises:
        ValueError: the name is taken, there is no such operator or attribute, or an attribute or
            the slots have values that they cannot have.
        TypeError: an attribute is of another type.
    """
    if block.has_var(name):
        raise ValueError(f"{operator}: there is a variable {name!r} already; give another name")
    reader = Variable(block, name, type=VarType.READER, persistable=True, stop_gradient=True)
    shapes, dtypes, lod_levels = slots
    if shapes is not None:
        reader.set_slots(shapes, dtypes or [VarType.FP32] * len(shapes), lod_levels)
    elif dtypes or lod_levels:
        raise ValueError(f"{operator}: dtypes and lod_levels are those of slots; give shapes, too")
    block.add_var(reader)
    block.append_op(operator, inputs=inputs, outputs={"Out": reader}, attrs=attrs)
    return reader


def create_reader(
    operator: str,
    name: str | None,
    attrs: Mapping[str, Any],
    inputs: Mapping[str, Argument] | None = None,
    slots: Slots = (None, None, None),
) -> Variable:
    """A reader of the startup program that is in use; arguments and errors as in ``append_reader``.

    Args:
        name: of the reader; None makes one up.
        inputs: what it stands on; readers may be those of either program.

    Returns:
        The reader in the main program.
    """
    block = default_startup_program().global_block()
    for argument in schema_of(operator).inputs:
        if argument.kind == "reader" and inputs is not None and argument.name in inputs:
            given = inputs[argument.name]
            for reader in given if argument.list and isinstance(given, (list, tuple)) else [given]:
                check_created(reader)
    if name is not None and block.has_var(name):
        raise ValueError(taken_name(operator, name))
    if name is None:
        name = unique_name.generate(operator.removeprefix("create_"))
    return share_reader(append_reader(block, operator, name, attrs, inputs, slots))


def taken_name(operator: str, name: str) -> str:
    """The error text for a name that a variable of the default programs has already."""
    return (
        f"{operator}: there is a variable {name!r} already; give another name, or, if this is a"
        " cell of a notebook that runs again, begin it with millhopper.new_programs()"
    )


def decorate_reader(
    operator: str, reader: Variable, name: str | None, attrs: Mapping[str, Any]
) -> Variable:
    """``create_reader`` on another reader."""
    return create_reader(operator, name, attrs, inputs={"UnderlyingReader": reader})


def check_created(reader: object) -> None:
    """Raises:
    TypeError: it is no reader.
    ValueError: it is not created in the startup program.
    """
    reader = check_reader(reader)
    if not default_startup_program().global_block().has_var(reader.name):
        raise ValueError(
            f"reader {reader.name!r} is not created in the startup program that is in use;"
            " program_guard chooses both programs"
        )


def slot_shapes(layer: str, reader: Variable) -> tuple[tuple[int, ...], ...]:
    """The dims of a reader's slots, which a layer cannot do without.

    Raises:
        ValueError: they are not known.
    """
    if reader.shapes is None:
        raise ValueError(
            f"{layer}: the slots of reader {reader.name!r} are not declared; give shapes and dtypes"
            " where the files are opened"
        )
    return reader.shapes
