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
from millhopper.programs.var_type import VarType, dtype_name
from millhopper.programs.variable import Variable

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


@dataclass(frozen=True)
class Choice:
    """Steps of which a draw chooses some, for each element anew.

    Attributes:
        name: of the choice, which no other step of the chain has; the draw depends on it.
        alternatives: the steps that are taken if the draw, in [0, 1), is below a number, and not
            below that of the alternative before. Beyond the last one nothing is done.
        seed: decides the draw, too.
    """

    operator = "uniform_random"

    name: str
    alternatives: Sequence[tuple[float, Sequence[Step | Choice]]]
    seed: int

    @property
    def outputs(self) -> Mapping[str, Sequence[str]]:
        """The slots that any alternative writes; first the first one of the last step."""
        steps = [step for _, some in self.alternatives for step in some]
        written = {
            slot: [slot]
            for step in reversed(steps)
            for slots in step.outputs.values()
            for slot in slots
        }
        return written

    @property
    def replaced(self) -> set[str]:
        """The slots that are written whatever is drawn."""
        if self.alternatives[-1][0] < 1:
            return set()
        return set.intersection(
            *(
                {slot for step in steps for slots in step.outputs.values() for slot in slots}
                for _, steps in self.alternatives
            )
        )


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


def taken_names(program: Program, steps: Iterable[Step | Choice]) -> set[str]:
    """The names of the variables of a startup program, of its steps, and of steps that follow."""
    names = set(program.global_block().vars)
    names.update(variable.name.rpartition(":")[0] for variable in program.list_vars())
    return names | _names_of(steps)


def _names_of(steps: Iterable[Step | Choice]) -> set[str]:
    names = set()
    for step in steps:
        names.add(step.name)
        if isinstance(step, Choice):
            for _, inner in step.alternatives:
                names |= _names_of(inner)
    return names


def blocks_of(steps: Iterable[Step | Choice]) -> int:
    """How many blocks of a program choices among these steps make, with those within them."""
    choices = [step for step in steps if isinstance(step, Choice)]
    return sum(1 + blocks_of(inner) for choice in choices for _, inner in choice.alternatives)


def default_name(program: Program, below: str, reader: str, operator: str, taken: set[str]) -> str:
    """The name of a step that is given none.

    A step that draws is named by the source of the chain and by its operator, so that it draws the
    same numbers whatever other readers the chain has; any other one as its reader. One more of that
    name gets a number.

    Args:
        program: the startup program that creates the reader below.
        below: the name of the reader below.
        reader: the name of the reader that the step makes.
        operator: of the step.
        taken: the names that it cannot have.
    """
    schema = find_schema(operator)
    draws = schema is not None and schema.attribute("seed") is not None
    name = f"{_source_of(program, below)}.{operator}" if draws else reader
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
    program: Program, reader: str, slots: Sequence[str], steps: Iterable[Step | Choice]
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
    _append_all(program, steps, held)
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


def _append_all(program: Program, steps: Iterable[Step | Choice], held: dict[str, str]) -> None:
    for step in steps:
        if isinstance(step, Choice):
            _append_choice(program, step, held)
        else:
            _append(program.current_block(), step, held)


def _append_choice(program: Program, choice: Choice, held: dict[str, str]) -> None:
    """A block for each alternative, which is run if the draw asks for it."""
    block = program.current_block()

    def variable(name: str) -> str:
        return block.create_var(f"{choice.name}:{name}").name

    before = dict(held)  # what each alternative begins with
    for slot in choice.outputs:
        if slot not in held:
            raise ValueError(f"{choice.name}: an alternative makes a new slot, {slot!r}")
        held[slot] = variable(slot)
        if slot not in choice.replaced:
            block.append_op("assign", {"X": [before[slot]]}, {"Out": [held[slot]]}, {})
    draw = variable("draw")
    double = int(VarType.FP64)  # a float32 may be rounded up to 1
    uniform = {"shape": [1], "min": 0.0, "max": 1.0, "seed": choice.seed, "dtype": double}
    block.append_op("uniform_random", {}, {"Out": [draw]}, uniform)
    made: dict[str, list[Variable]] = {slot: [] for slot in choice.outputs}
    not_yet = None  # whether the draw is not below the numbers of the alternatives before
    for i, (most, steps) in enumerate(choice.alternatives):
        limit, below, chosen = (variable(f"{name}_{i}") for name in ("limit", "below", "chosen"))
        constant = {"shape": [1], "value": most, "dtype": double}
        block.append_op("fill_constant", {}, {"Out": [limit]}, constant)
        block.append_op("less_than", {"X": [draw], "Y": [limit]}, {"Out": [below]}, {})
        if not_yet is None:
            chosen = below
        else:
            both = {"X": [not_yet], "Y": [below]}
            block.append_op("logical_and", both, {"Out": [chosen]}, {})
        not_yet = variable(f"not_below_{i}")
        block.append_op("logical_not", {"X": [below]}, {"Out": [not_yet]}, {})
        inner = program.create_block()
        within = dict(before)
        _append_all(program, steps, within)
        for slot in choice.outputs:
            if within[slot] != before[slot]:
                inner.append_op("assign", {"X": [within[slot]]}, {"Out": [held[slot]]}, {})
        for slot, variables in made.items():
            variables.append(_held_in(inner, within[slot]))
        program.rollback()
        condition = {"sub_block": inner, "is_scalar_condition": True}
        block.append_op("conditional_block", {"X": [chosen]}, {}, condition)
    for slot, variables in made.items():
        if slot not in choice.replaced:
            variables.append(_held_in(block, before[slot]))
        _require_alike(choice, slot, variables)
        _declare(block.var(held[slot]), variables)


def _held_in(block: Block, name: str) -> Variable:
    """A variable of the block, or of one around it."""
    variable = block.find_var_recursive(name)
    assert variable is not None
    return variable


def _require_alike(choice: Choice, slot: str, made: Sequence[Variable]) -> None:
    """Checks that a slot has one type and as many dims whatever is drawn, as far as is known.

    Args:
        choice: what is drawn.
        slot: a slot that it may write.
        made: what each alternative makes of it, and last what it is if nothing is done.
    """
    first = made[0]
    for i, other in enumerate(made[1:], 1):
        types = other.dtype is not None and first.dtype not in (None, other.dtype)
        ranks = (
            other.shape is not None
            and first.shape is not None
            and len(other.shape) != len(first.shape)
        )
        if not types and not ranks:
            continue
        is_left = i == len(choice.alternatives)  # what is drawn beyond the last alternative
        where = "if nothing is drawn" if is_left else f"if alternative {i} is"
        if len(choice.alternatives) == 1:
            way, where = "if the steps are applied", "if they are not"
        else:
            way = "if alternative 0 is drawn"
        remedy = (
            f"put what changes the type (normalize, cast) after the choice, or convert it in the "
            f'other one: .cast("{dtype_name(first.dtype)}", slot="{slot}")'
            if types and first.dtype is not None
            else "put what changes the dims after the choice, or change them in all alternatives"
        )
        raise ValueError(
            f"{choice.name}: slot {slot!r} would be {_kind(first)} {way}, and {_kind(other)} "
            f"{where}; a slot has one type and number of dims: {remedy}"
        )


def _kind(variable: Variable) -> str:
    dtype = "" if variable.dtype is None else dtype_name(variable.dtype)
    return f"{dtype} {'' if variable.shape is None else list(variable.shape)}".strip()


def _declare(kept: Variable, made: Sequence[Variable]) -> None:
    """Declares what is known of a slot whatever is drawn."""
    first = made[0]
    shapes = [one.shape for one in made if one.shape is not None]
    if len(shapes) < len(made) or any(one.lod_level != first.lod_level for one in made):
        return
    kept.shape = tuple(dims[0] if len(set(dims)) == 1 else -1 for dims in zip_strict(*shapes))
    kept.lod_level = first.lod_level
    if all(one.dtype == first.dtype for one in made):
        kept.dtype = first.dtype


def _append(block: Block, step: Step, held: dict[str, str]) -> None:
    for name in (name for names in step.inputs.values() for name in names):
        if name not in held:
            hint = did_you_mean(name, list(held)) or f"; there are {', '.join(map(repr, held))}"
            if {"images", "annotations", "categories"} <= held.keys():
                hint += "; these are COCO's annotations: dataset.coco reads them as images"
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
