# SPDX-License-Identifier: Apache-2.0
"""Operators of programs: a type, variables by argument, and attributes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from millhopper import _core
from millhopper.programs.attributes import (
    AttrType,
    attribute_from_dict,
    attribute_to_dict,
    convert,
    guess_type,
)
from millhopper.programs.schemas import (
    ArgumentSchema,
    AttributeSchema,
    OperatorSchema,
    did_you_mean,
    find_schema,
    more_attributes,
    schema_of,
)
from millhopper.programs.var_type import VarType, convert_dtype
from millhopper.programs.variable import Variable

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.programs.block import Block

# What an input or output takes: variables or their names, one or several.
_Name: TypeAlias = "Variable | str"
Argument: TypeAlias = "_Name | list[_Name] | list[Variable] | list[str] | tuple[_Name, ...]"
Arguments: TypeAlias = Mapping[str, Argument]


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

    # ---- Inputs and outputs ----

    def input(self, name: str) -> list[str]:
        """The names of the variables of an input, in order; none if it is not connected."""
        return list(self._inputs.get(name, ()))

    def output(self, name: str) -> list[str]:
        """The names of the variables of an output, in order; none if it is not connected."""
        return list(self._outputs.get(name, ()))

    @property
    def input_names(self) -> list[str]:
        """The inputs that are connected."""
        return list(self._inputs)

    @property
    def output_names(self) -> list[str]:
        """The outputs that are connected."""
        return list(self._outputs)

    @property
    def input_arg_names(self) -> list[str]:
        """The names of all variables that it reads, input by input."""
        return [name for names in self._inputs.values() for name in names]

    @property
    def output_arg_names(self) -> list[str]:
        """The names of all variables that it writes, output by output."""
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

    def copied(self, blocks: Sequence[Block], names: Mapping[str, str] | None = None) -> Operator:
        """The same operator for another program.

        Args:
            blocks: the blocks that stand for those of this program, by number.
            names: what variables are called there; those that are not in it keep their names.
        """
        called = names or {}
        attributes: dict[str, tuple[str, Any]] = {}
        for name, (type, value) in self._attributes.items():
            if type == "BLOCK":
                value = blocks[value.idx]
            elif type == "BLOCKS":
                value = [blocks[inner.idx] for inner in value]
            attributes[name] = (type, copy.copy(value) if isinstance(value, list) else value)
        inputs, outputs = (
            {argument: [called.get(name, name) for name in listed] for argument, listed in one}
            for one in (self._inputs.items(), self._outputs.items())
        )
        return Operator(blocks[self.block.idx], self.type, inputs, outputs, attributes)

    # ---- As text ----

    def __str__(self) -> str:
        def say(arguments: Mapping[str, list[str]]) -> str:
            return ", ".join(f"{argument}={names}" for argument, names in arguments.items())

        text = f"{{{say(self._outputs)}}} = {self.type}({say(self._inputs)}"
        for name, (type, value) in self._attributes.items():
            shown = f"block {value.idx}" if type == "BLOCK" else _without_secrets(value)
            text += f", {name}={shown}"
        return text.replace("(, ", "(") + ")"

    def __repr__(self) -> str:
        return f"<Operator {self}>"

    def to_dict(self) -> dict[str, Any]:
        """The message OpDesc, in protobuf's JSON mapping."""
        message: dict[str, Any] = {"type": self.type}
        for side, arguments in (("inputs", self._inputs), ("outputs", self._outputs)):
            if arguments:
                message[side] = [
                    {"parameter": argument, "arguments": names}
                    for argument, names in arguments.items()
                ]
        if self._attributes:
            message["attrs"] = [
                attribute_to_dict(name, type, value)
                for name, (type, value) in self._attributes.items()
            ]
        return message


def _without_secrets(value: Any) -> str:
    """A value for the eyes. A name of a file in it may have a password or a signature."""
    if isinstance(value, str):
        return repr(_core.without_secrets(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(_without_secrets, value)) + "]"
    return repr(value)


def checked_operator(
    block: Block,
    type: str,
    inputs: Arguments | None,
    outputs: Arguments | None,
    attrs: Mapping[str, Any] | None,
) -> Operator:
    """An operator for a block, checked against its schema.

    Raises:
        ValueError, TypeError: as ``checked_attributes`` and ``checked_arguments``, or there is no
            such operator.
    """
    schema = schema_of(type)
    attributes = checked_attributes(schema, attrs or {})
    return Operator(
        block,
        type,
        checked_arguments(schema, schema.inputs, "input", inputs or {}),
        checked_arguments(schema, schema.outputs, "output", outputs or {}),
        attributes,
    )


def checked_attributes(
    schema: OperatorSchema, attrs: Mapping[str, Any]
) -> dict[str, tuple[str, Any]]:
    """The types and values of an operator's attributes; None leaves one at its default.

    Raises:
        ValueError: there is no such attribute, or one that is needed is missing, or has a value
            that it cannot have.
        TypeError: an attribute is of another type.
    """
    given = {name: value for name, value in attrs.items() if value is not None}
    attributes: dict[str, tuple[str, Any]] = {}
    # The schema's own attributes come first: the core needs the names of the files to know the
    # attributes of their formats.
    for name in sorted(given, key=lambda name: schema.attribute(name) is None):
        attributes[name] = _attribute(schema, name, given[name], attributes)
    for attribute in schema.attributes:
        if attribute.required and attribute.name not in attributes:
            raise ValueError(f"operator {schema.type!r}: attribute {attribute.name!r} is required!")
    return attributes


def operator_from_dict(block: Block, message: Mapping[str, Any], blocks: list[Block]) -> Operator:
    """The operator of a message OpDesc, in protobuf's JSON mapping. It is not checked."""

    def arguments(side: str) -> dict[str, list[str]]:
        return {one["parameter"]: list(one.get("arguments", ())) for one in message.get(side, ())}

    attributes = {
        attribute["name"]: attribute_from_dict(attribute, blocks)
        for attribute in message.get("attrs", ())
    }
    return Operator(block, message["type"], arguments("inputs"), arguments("outputs"), attributes)


def checked_arguments(
    schema: OperatorSchema, declared: tuple[ArgumentSchema, ...], side: str, given: Arguments
) -> dict[str, list[str]]:
    """The names of the variables of an operator's inputs or outputs.

    Raises:
        ValueError: there is no such argument, one that is needed is missing, or one of several
            variables takes one.
        TypeError: an argument is no variable, or one of another kind.
    """
    known = [argument.name for argument in declared]
    for name in given:
        if name not in known:
            raise ValueError(
                f"operator {schema.type!r} has no {side} {name!r}" + did_you_mean(name, known)
            )
    connected: dict[str, list[str]] = {}
    for argument in declared:
        names = _variable_names(schema, argument, given.get(argument.name, ()))
        if not names and not argument.optional:
            raise ValueError(
                f"operator {schema.type!r}: {side} {argument.name!r} is missing ({argument.doc})"
            )
        if len(names) > 1 and not argument.list:
            raise ValueError(
                f"operator {schema.type!r}: {side} {argument.name!r} takes one variable, not"
                f" {len(names)}"
            )
        if names:
            connected[argument.name] = names
    return connected


def _variable_names(schema: OperatorSchema, argument: ArgumentSchema, given: Argument) -> list[str]:
    names = []
    for variable in [given] if isinstance(given, (Variable, str)) else given:
        if isinstance(variable, Variable):
            is_reader = variable.type is VarType.READER
            if argument.kind != "any" and is_reader != (argument.kind == "reader"):
                raise TypeError(
                    f"operator {schema.type!r}: {argument.name!r} takes a {argument.kind}, but"
                    f" {variable.name!r} is a {variable.type.name}"
                )
            names.append(variable.name)
        elif isinstance(variable, str):
            names.append(variable)
        else:
            raise TypeError(
                f"operator {schema.type!r}: {argument.name!r} takes variables or their names, not"
                f" {variable!r}"
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
    more: tuple[AttributeSchema, ...] = ()
    if schema.takes_more:
        texts = {key: value for key, (type, value) in given.items() if type == "STRINGS"}
        more = more_attributes(schema.type, texts)
    others = [*schema.attributes, *more]
    names = [attribute.name for attribute in others]
    if name not in names:
        hint = did_you_mean(name, names)
        if not hint and schema.takes_more:
            hint = (
                "; it has those of the files' format, too, which their names tell, or a format and "
                "a colon before them, such as 'csv:prices.dat'; here they are "
                f"{', '.join(attribute.name for attribute in more)}"
            )
        raise ValueError(f"operator {schema.type!r}: no attribute {name!r}{hint}")
    return others[names.index(name)]


def _attribute(
    schema: OperatorSchema, name: str, value: Any, given: Mapping[str, tuple[str, Any]]
) -> tuple[str, Any]:
    """The type and value of an attribute, beside those that are given already."""
    declared = _declared(schema, name, given)
    type = guess_type(value) if declared is None else declared.type
    where = f"operator {schema.type!r}: attribute {name!r}"
    try:
        if type == "INT" and name.endswith("dtype") and not isinstance(value, Integral):
            value = convert_dtype(value)
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
