# SPDX-License-Identifier: Apache-2.0
"""Operators that run on every element of a reader: what ``Reader.apply`` writes into programs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millhopper.base.zipped import zip_strict
from millhopper.programs.block import Block
from millhopper.programs.program import Program
from millhopper.programs.schemas import ArgumentSchema, did_you_mean, find_schema, schema_of

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# The slots of an operator's inputs or outputs: the slot of the first one, or a dict of their names.
Slots: TypeAlias = "str | Mapping[str, str | Sequence[str]]"


@dataclass(frozen=True)
class Step:
    """An operator on slots of an element.

    Attributes:
        operator: its type.
        name: of the step, which no other one of the chain has. It names the operator's variables,
            and what the operator draws depends on it.
        inputs: by the operator's input, the slots that it reads.
        outputs: by the operator's output, the slots that it writes: each is one of the element,
            whose place it takes, or a new one after the others.
        attributes: of the operator.
    """

    operator: str
    name: str
    inputs: Mapping[str, Sequence[str]]
    outputs: Mapping[str, Sequence[str]]
    attributes: Mapping[str, object]


def make_step(
    operator: str,
    name: str,
    slot: Slots,
    output: Slots | None,
    attributes: Mapping[str, object],
) -> Step:
    """A step; without ``output``, the first output takes the place of the slot that is read first.

    Raises:
        TypeError: ``slot`` or ``output`` is no text or dict.
        ValueError: there is no such operator, it works on readers or has side effects, or ``slot``
            and ``output`` name no slot.
    """
    try:
        schema = schema_of(operator)
    except ValueError as error:
        raise ValueError(
            f"{error} `python -m millhopper ops` lists operators; map calls a function of Python"
        ) from None
    arguments = (*schema.inputs, *schema.outputs)
    if (
        schema.side_effects
        or not (schema.inputs and schema.outputs)
        or any(argument.kind == "reader" for argument in arguments)
    ):
        raise ValueError(f"operator {operator!r} does not make tensors of tensors, as apply needs")
    inputs = _by_argument("slot", slot, schema.inputs)
    first = next((name for names in inputs.values() for name in names), None)
    if first is None:
        raise ValueError(f"apply: slot is {slot!r}, which names no slot")
    outputs = _by_argument("output", first if output is None else output, schema.outputs)
    lists = {argument.name for argument in schema.outputs if argument.list}
    if not outputs or any(
        not names or (len(names) > 1 and output not in lists) for output, names in outputs.items()
    ):
        raise ValueError(f"apply: output is {output!r}; each output is one slot")
    written = [name for names in outputs.values() for name in names]
    if len(set(written)) < len(written):
        raise ValueError(f"apply: output is {output!r}, in which two outputs are one slot")
    return Step(operator, name, inputs, outputs, attributes)


def taken_names(program: Program, steps: Iterable[Step]) -> set[str]:
    """The names of the variables of a startup program, of its steps, and of steps that follow."""
    readers = set(program.global_block().vars)
    names = {variable.name.rpartition(":")[0] for variable in program.list_vars()}
    return readers | names | {step.name for step in steps}


def default_name(program: Program, below: str, reader: str, operator: str, taken: set[str]) -> str:
    """The name of a step that is given none.

    A step that draws is named by the source of the chain and by its operator, so that it draws the
    same numbers whatever other readers the chain has; one more of the same operator gets a number.

    Args:
        program: the startup program that creates the reader below.
        below: the name of the reader below.
        reader: the name of the reader that the step makes.
        operator: of the step.
        taken: the names that it cannot have.
    """
    schema = find_schema(operator)
    if schema is None or schema.attribute("seed") is None:
        return reader
    name = f"{_source_of(program, below)}.{operator}"
    numbered = (f"{name}_{i}" for i in itertools.count(2))
    return name if name not in taken else next(new for new in numbered if new not in taken)


def _source_of(program: Program, reader: str) -> str:
    """The reader of files, arrays ... that a chain begins with; of several the first."""
    creators = {name: op for op in program.global_block().ops for name in op.output_arg_names}
    while (creator := creators.pop(reader, None)) is not None:
        below = creator.input("UnderlyingReader") or creator.input("UnderlyingReaders")
        reader = next(iter(below), reader)
    return reader


def _by_argument(
    what: str, slots: Slots, arguments: Sequence[ArgumentSchema]
) -> dict[str, list[str]]:
    """The names of slots by the name of the argument that takes them."""
    if isinstance(slots, str):
        return {arguments[0].name: [slots]}
    if not isinstance(slots, Mapping):
        raise TypeError(f'apply: {what} is {slots!r}; it must be a slot\'s name or {{"X": name}}')
    named = {
        argument: [names] if isinstance(names, str) else list(names)
        for argument, names in slots.items()
    }
    for name in [*named, *(name for names in named.values() for name in names)]:
        if not isinstance(name, str):
            raise TypeError(f"apply: {what} is {slots!r}; {name!r} is no text")
    return named


def append_steps(
    program: Program, reader: str, slots: Sequence[str], steps: Iterable[Step]
) -> tuple[list[str], dict[str, Any]]:
    """Adds a block that runs the steps in order, one after another.

    Args:
        program: the startup program that creates the reader below.
        reader: the name of the reader below.
        slots: the names of the slots of its elements.
        steps: what the block does.

    Returns:
        The names of the slots of what the block makes, and the attributes of
        ``create_custom_reader``.

    Raises:
        ValueError: a step reads a slot that there is not, or its operator cannot work with it.
        TypeError: an attribute is of another type.
    """
    below = program.global_block().var(reader)
    block = program.create_block()
    sources = [f"{reader}:{slot}" for slot in slots]
    for i, source in enumerate(sources):
        known = below.shapes is not None and below.dtypes is not None and len(below.shapes) > i
        block.create_var(
            source,
            shape=below.shapes[i] if known and below.shapes else None,
            dtype=below.dtypes[i] if known and below.dtypes else None,
            lod_level=below.lod_levels[i] if known and below.lod_levels else None,
        )
    held = dict(zip_strict(slots, sources))  # the variable that holds each slot
    for step in steps:
        _append(block, step, held)
    program.rollback()
    if below.shapes is None:
        # Levels of offsets are not known either, and a declaration of dims says that there are
        # none. The core infers all of it when it creates the reader.
        for name in held.values():
            block.var(name).shape = None
    return list(held), {
        "sub_block": block,
        "source_var_names": sources,
        "sink_var_names": list(held.values()),
    }


def _append(block: Block, step: Step, held: dict[str, str]) -> None:
    for name in (name for names in step.inputs.values() for name in names):
        if name not in held:
            hint = did_you_mean(name, list(held)) or f"; there are {', '.join(map(repr, held))}"
            raise ValueError(f"operator {step.operator!r}: there is no slot {name!r}{hint}")
    written = {
        argument.name: [
            block.create_var(f"{step.name}:{argument.name}" + (f"_{i + 1}" if i else "")).name
            for i in range(len(step.outputs.get(argument.name, [argument.name])))
        ]
        for argument in schema_of(step.operator).outputs
        if argument.name in step.outputs or not (argument.optional or argument.list)
    }
    inputs = {argument: [held[name] for name in names] for argument, names in step.inputs.items()}
    unknown = {argument: [argument] for argument in step.outputs if argument not in written}
    block.append_op(step.operator, inputs, {**written, **unknown}, step.attributes)
    for argument, slots in step.outputs.items():
        held.update(zip_strict(slots, written[argument]))
