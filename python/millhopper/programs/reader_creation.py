# SPDX-License-Identifier: Apache-2.0
"""What layers that create or use readers share: operators in the startup program, declarations in
both, and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from millhopper.programs import unique_name
from millhopper.programs.program import default_main_program, default_startup_program
from millhopper.programs.schemas import schema_of
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable, check_reader

Shapes: TypeAlias = Sequence[Sequence[int]]


def share_reader(reader: Variable) -> Variable:
    """Declares a reader of the startup program in the main program, too, and returns that one."""
    main = default_main_program().global_block()
    shared = main.create_var(reader.name, type=VarType.READER, persistable=True, stop_gradient=True)
    if shared is not reader:
        shared.copy_slots(reader)
    return shared


def create_reader(
    operator: str,
    name: str | None,
    attrs: dict[str, Any],
    inputs: dict[str, Variable] | None = None,
    slots: tuple[Shapes | None, Sequence[Any] | None, Sequence[int] | None] = (None, None, None),
) -> Variable:
    """A reader by its creation operator; what layers of readers tell about arguments and errors.

    Args:
        operator: the type of the operator.
        name: of the reader; None makes one up.
        attrs: the operator's attributes; None leaves one at its default.
        inputs: what it stands on; readers may be those of either program.
        slots: shapes, dtypes and lod_levels, where they are declared.

    Returns:
        The reader in the main program.
    """
    block = default_startup_program().global_block()
    for slot in schema_of(operator).inputs:
        if slot.kind == "reader" and inputs is not None and slot.name in inputs:
            check_created(inputs[slot.name])
    kind = operator.removeprefix("create_")
    name = unique_name.generate(kind) if name is None else name
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
    return share_reader(reader)


def decorate_reader(
    operator: str, reader: Variable, name: str | None, attrs: dict[str, Any]
) -> Variable:
    """``create_reader`` on another reader."""
    return create_reader(operator, name, attrs, inputs={"UnderlyingReader": reader})


def check_created(reader: Variable) -> None:
    """Raises:
    TypeError: it is no reader.
    ValueError: it is not created in the startup program.
    """
    check_reader(reader)
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
