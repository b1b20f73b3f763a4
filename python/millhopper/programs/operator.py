# SPDX-License-Identifier: Apache-2.0
"""Operators of programs: a type, variables by slot, and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from millhopper.programs.attributes import (
    AttrType,
    attribute_from_dict,
    attribute_to_dict,
    convert,
    guess_type,
)
from millhopper.programs.schemas import (
    AttributeSchema,
    OperatorSchema,
    SlotSchema,
    did_you_mean,
    find_schema,
    more_attributes,
    schema_of,
)
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable

if TYPE_CHECKING:
    from millhopper.programs.block import Block

# What a slot takes: variables or their names, one or several.
Argument: TypeAlias = "Variable | str"
Arguments: TypeAlias = (
    "Argument | list[Argument] | list[Variable] | list[str] | tuple[Argument, ...]"
)
Slots: TypeAlias = Mapping[str, Arguments]


class Operator:
    """An operator of a block, as ``Block.append_op`` makes it.

    Attributes:
        block: the block that it stands in.
        type: the operator's type, such as "create_batch_reader".

    Source: PaddlePaddle's fluid.framework, 2018.
    """

    def __init__(
        self,
        block: Block,
        type: str,
        inputs: dict[str, list[str]],
        outputs: dict[str, list[str]],
        attributes: dict[str, tuple[str, Any]],
    ) -> None:
        self.block = block
        self.type = type
        self._inputs = inputs
        self._outputs = outputs
        self._attributes = attributes

    # ---- Slots ----

    def input(self, name: str) -> list[str]:
        """The names of the variables in an input slot, in order; none if it is not connected."""
        return list(self._inputs.get(name, ()))

    def output(self, name: str) -> list[str]:
        """The names of the variables in an output slot, in order; none if it is not connected."""
        return list(self._outputs.get(name, ()))

    @property
    def input_names(self) -> list[str]:
        """The input slots that are connected."""
        return list(self._inputs)

    @property
    def output_names(self) -> list[str]:
        """The output slots that are connected."""
        return list(self._outputs)

    @property
    def input_arg_names(self) -> list[str]:
        """The names of all variables that it reads, slot by slot."""
        return [name for names in self._inputs.values() for name in names]

    @property
    def output_arg_names(self) -> list[str]:
        """The names of all variables that it writes, slot by slot."""
        return [name for names in self._outputs.values() for name in names]

    # ---- Attributes ----

    @property
    def attr_names(self) -> list[str]:
        """The names of the attributes that are given."""
        return list(self._attributes)

    def has_attr(self, name: str) -> bool:
        """Whether the attribute is given."""
        return name in self._attributes

    def attr(self, name: str) -> Any:
        """The value of an attribute, its default if it is not given; a block for one that names a
        block.

        Raises:
            KeyError: it is not given and has no default.
        """
        if name not in self._attributes:
            schema = find_schema(self.type)
            declared = None if schema is None else schema.attribute(name)
            if declared is not None and not declared.required:
                return declared.default
        return self._attributes[name][1]

    def attr_type(self, name: str) -> AttrType:
        """The type of an attribute.

        Raises:
            KeyError: it is not given.
        """
        return AttrType[self._attributes[name][0]]

    def all_attrs(self) -> dict[str, Any]:
        """The values of all attributes that are given, by name."""
        return {name: value for name, (_, value) in self._attributes.items()}

    def attributes_with_types(self) -> dict[str, tuple[str, Any]]:
        """The types, as framework.proto names them, and values of all attributes that are given."""
        return dict(self._attributes)

    def block_attr(self, name: str) -> int:
        """The number of the block that an attribute names."""
        return int(self.attr(name).idx)

    def set_attr(self, name: str, value: Any) -> None:
        """Gives an attribute another value.

        Raises:
            TypeError, ValueError: the value does not suit the attribute.
        """
        self._attributes[name] = _attribute(schema_of(self.type), name, value, self._attributes)
        self.block.program.note_change()

    @property
    def blocks(self) -> list[Block]:
        """The blocks that its attributes name, such as the body of a loop."""
        found: list[Block] = []
        for type, value in self._attributes.values():
            if type == "BLOCK":
                found.append(value)
            elif type == "BLOCKS":
                found.extend(value)
        return found

    # ---- As text ----

    def __str__(self) -> str:
        def say(slots: Mapping[str, list[str]]) -> str:
            return ", ".join(f"{slot}={names}" for slot, names in slots.items())

        text = f"{{{say(self._outputs)}}} = {self.type}({say(self._inputs)}"
        for name, (type, value) in self._attributes.items():
            shown = f"block {value.idx}" if type == "BLOCK" else repr(value)
            text += f", {name}={shown}"
        return text.replace("(, ", "(") + ")"

    def __repr__(self) -> str:
        return f"<Operator {self}>"

    def to_dict(self) -> dict[str, Any]:
        """The message OpDesc, in protobuf's JSON mapping."""
        message: dict[str, Any] = {"type": self.type}
        for side, slots in (("inputs", self._inputs), ("outputs", self._outputs)):
            if slots:
                message[side] = [
                    {"parameter": slot, "arguments": names} for slot, names in slots.items()
                ]
        if self._attributes:
            message["attrs"] = [
                attribute_to_dict(name, type, value)
                for name, (type, value) in self._attributes.items()
            ]
        return message


def checked_operator(
    block: Block,
    type: str,
    inputs: Slots | None,
    outputs: Slots | None,
    attrs: Mapping[str, Any] | None,
) -> Operator:
    """An operator for a block, checked against its schema.

    Raises:
        ValueError: there is no such operator, slot or attribute, or one that is needed is missing,
            or has a value that it cannot have.
        TypeError: an argument is no variable, or an attribute is of another type.
    """
    schema = schema_of(type)
    given = {name: value for name, value in (attrs or {}).items() if value is not None}
    attributes: dict[str, tuple[str, Any]] = {}
    # The schema's own come first: by the names of files the core knows their formats' attributes.
    for name in sorted(given, key=lambda name: schema.attribute(name) is None):
        attributes[name] = _attribute(schema, name, given[name], attributes)
    for attribute in schema.attributes:
        if attribute.required and attribute.name not in attributes:
            raise ValueError(f"operator {type!r}: attribute {attribute.name!r} is required!")
    return Operator(
        block,
        type,
        _slots(schema, schema.inputs, "input", inputs or {}),
        _slots(schema, schema.outputs, "output", outputs or {}),
        attributes,
    )


def operator_from_dict(block: Block, message: Mapping[str, Any], blocks: list[Block]) -> Operator:
    """The operator of a message OpDesc, in protobuf's JSON mapping. It is not checked."""

    def slots(side: str) -> dict[str, list[str]]:
        return {
            slot["parameter"]: list(slot.get("arguments", ())) for slot in message.get(side, ())
        }

    attributes = {
        attribute["name"]: attribute_from_dict(attribute, blocks)
        for attribute in message.get("attrs", ())
    }
    return Operator(block, message["type"], slots("inputs"), slots("outputs"), attributes)


def _slots(
    schema: OperatorSchema, declared: tuple[SlotSchema, ...], side: str, given: Slots
) -> dict[str, list[str]]:
    names = [slot.name for slot in declared]
    for name in given:
        if name not in names:
            raise ValueError(
                f"operator {schema.type!r} has no {side} {name!r}" + did_you_mean(name, names)
            )
    slots: dict[str, list[str]] = {}
    for slot in declared:
        arguments = _argument_names(schema, slot, given.get(slot.name, ()))
        if not arguments and not slot.optional and not slot.list:
            raise ValueError(
                f"operator {schema.type!r}: {side} {slot.name!r} is missing ({slot.doc})"
            )
        if len(arguments) > 1 and not slot.list:
            raise ValueError(
                f"operator {schema.type!r}: {side} {slot.name!r} takes one variable, not"
                f" {len(arguments)}"
            )
        if arguments:
            slots[slot.name] = arguments
    return slots


def _argument_names(schema: OperatorSchema, slot: SlotSchema, given: Arguments) -> list[str]:
    names = []
    for argument in [given] if isinstance(given, Variable | str) else given:
        if isinstance(argument, Variable):
            is_reader = argument.type is VarType.READER
            if slot.kind != "any" and is_reader != (slot.kind == "reader"):
                raise TypeError(
                    f"operator {schema.type!r}: {slot.name!r} takes a {slot.kind}, but"
                    f" {argument.name!r} is a {argument.type.name}"
                )
            names.append(argument.name)
        elif isinstance(argument, str):
            names.append(argument)
        else:
            raise TypeError(
                f"operator {schema.type!r}: {slot.name!r} takes variables or their names, not"
                f" {argument!r}"
            )
    return names


def _declared(
    schema: OperatorSchema, name: str, given: Mapping[str, tuple[str, Any]]
) -> AttributeSchema | None:
    """What declares an attribute: the operator, or the format of the files that it is given. None
    for those that every operator of the lineage may have.

    Raises:
        ValueError: there is no such attribute.
    """
    declared = schema.attribute(name)
    if declared is not None or name.startswith("op_"):
        return declared
    others = list(schema.attributes)
    if schema.takes_more:
        texts = {key: value for key, (type, value) in given.items() if type == "STRINGS"}
        others += more_attributes(schema.type, texts)
    names = [attribute.name for attribute in others]
    if name not in names:
        raise ValueError(
            f"operator {schema.type!r}: no attribute {name!r}" + did_you_mean(name, names)
        )
    return others[names.index(name)]


def _attribute(
    schema: OperatorSchema, name: str, value: Any, given: Mapping[str, tuple[str, Any]]
) -> tuple[str, Any]:
    """The type and value of an attribute, beside those that are given already."""
    declared = _declared(schema, name, given)
    type = guess_type(value) if declared is None else declared.type
    where = f"operator {schema.type!r}: attribute {name!r}"
    try:
        converted = convert(type, value)
    except TypeError as error:
        raise TypeError(f"{where} {error}") from None
    except ValueError as error:
        raise ValueError(f"{where} {error}") from None
    if declared is not None:
        if declared.words and converted not in declared.words:
            raise ValueError(f"{where} is {converted!r}; it must be one of {declared.words}")
        numbers = converted if isinstance(converted, list) else [converted]
        if declared.lowest is not None and any(number < declared.lowest for number in numbers):
            raise ValueError(f"{where} is {converted!r}; it must be at least {declared.lowest:g}")
    return type, converted
