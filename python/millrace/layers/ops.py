# SPDX-License-Identifier: Apache-2.0
"""A function for every operator of the core, made from its schema.

``ops.mean(x)`` appends the operator ``mean`` to the current block of the main program, or that of
a reader's creation to the startup program, and returns the variable that it writes. Slots and
attributes are arguments: ``UnderlyingReader`` is ``underlying_reader``, ``Out@GRAD`` is
``out_grad``. ``help(ops.mean)`` tells what they mean. A name that Python has taken for itself gets
an underscore (``ops.while_``). Operators of plugins are here once they are loaded.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from millrace import unique_name
from millrace.layers import helper
from millrace.program import default_startup_program
from millrace.schemas import OperatorSchema, SlotSchema, find_schema, operator_types
from millrace.var_type import VarType
from millrace.variable import Variable

_Result: TypeAlias = "Variable | tuple[Variable | list[Variable] | None, ...] | None"
_made: dict[str, Callable[..., Any]] = {}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _made:
        schema = find_schema(name.removesuffix("_"))
        if schema is None or function_name(schema.type) != name:
            raise AttributeError(f"there is no operator {name!r}")
        _made[name] = generate_function(schema)
    return _made[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *(function_name(type) for type in operator_types())])


def function_name(type: str) -> str:
    """What the function of an operator is called."""
    return f"{type}_" if keyword.iskeyword(type) else type


def argument_name(slot: str) -> str:
    """What an operator's slot is called as an argument: ``Beta1Pow`` is ``beta1_pow``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", slot.replace("@GRAD", "_grad")).lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def generate_function(schema: OperatorSchema) -> Callable[..., Any]:
    """The function that appends an operator of this schema."""
    signature = _signature(schema)

    def function(*args: Any, **kwargs: Any) -> _Result:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{schema.type}: {error}") from None
        return _append(schema, bound.arguments)

    function.__name__ = function.__qualname__ = function_name(schema.type)
    function.__module__ = __name__
    function.__doc__ = _docstring(schema)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _signature(schema: OperatorSchema) -> inspect.Signature:
    parameter = inspect.Parameter
    required, optional = [], []
    for slot in schema.inputs:
        kind = parameter.POSITIONAL_OR_KEYWORD
        if slot.optional or slot.list:
            optional.append(parameter(argument_name(slot.name), kind, default=None))
        else:
            required.append(parameter(argument_name(slot.name), kind))
    for attribute in schema.attributes:
        name = attribute.name
        if attribute.required:
            required.append(parameter(name, kind=parameter.POSITIONAL_OR_KEYWORD))
        else:
            optional.append(
                parameter(name, kind=parameter.POSITIONAL_OR_KEYWORD, default=attribute.default)
            )
    arguments = required + optional
    taken = {argument.name for argument in arguments}
    for name in [_output_argument(schema, slot) for slot in schema.outputs] + ["name"]:
        if name not in taken:
            arguments.append(parameter(name, parameter.KEYWORD_ONLY, default=None))
    if schema.takes_more:
        arguments.append(parameter("more_attributes", parameter.VAR_KEYWORD))
    return inspect.Signature(arguments)


def _output_argument(schema: OperatorSchema, slot: SlotSchema) -> str:
    """What an output is called as an argument, beside inputs that may be called the same."""
    name = argument_name(slot.name)
    taken = {argument_name(other.name) for other in schema.inputs}
    taken |= {attribute.name for attribute in schema.attributes}
    return f"{name}_to" if name in taken else name


def _append(schema: OperatorSchema, arguments: dict[str, Any]) -> _Result:
    program = default_startup_program() if schema.creates_reader else None
    block = program.global_block() if program is not None else helper.current_block()
    layer = helper.layer_name(schema.type, arguments.get("name"))
    inputs = {
        slot.name: arguments[argument_name(slot.name)]
        for slot in schema.inputs
        if arguments.get(argument_name(slot.name)) is not None
    }
    attributes = {
        attribute.name: arguments[attribute.name]
        for attribute in schema.attributes
        if attribute.name in arguments
    }
    attributes.update(arguments.get("more_attributes", {}))
    outputs: dict[str, Any] = {}
    for slot in schema.outputs:
        given = arguments.get(_output_argument(schema, slot))
        if given is not None:
            outputs[slot.name] = given
        elif slot.kind == "reader":
            outputs[slot.name] = block.create_var(
                layer, type=VarType.READER, persistable=True, stop_gradient=True
            )
        elif not slot.optional and not slot.list:
            outputs[slot.name] = block.create_var(unique_name.generate(f"{layer}.tmp"))
    block.append_op(schema.type, inputs, outputs, attributes)
    results = tuple(outputs.get(slot.name) for slot in schema.outputs if slot.name in outputs)
    if schema.creates_reader:
        from millrace.layers.io import share_reader

        return share_reader(outputs["Out"])
    if len(results) == 1:
        return results[0]
    return results or None


def _docstring(schema: OperatorSchema) -> str:
    lines = [schema.doc, "", "Args:"]
    for slot in schema.inputs:
        notes = [slot.kind if slot.kind != "any" else "tensor or reader"]
        notes += ["optional"] * slot.optional + ["any number"] * slot.list
        lines.append(f"    {argument_name(slot.name)} ({', '.join(notes)}): {slot.doc}.")
    for attribute in schema.attributes:
        notes = [attribute.type]
        if attribute.words:
            notes.append("one of " + ", ".join(repr(word) for word in attribute.words))
        if attribute.lowest is not None:
            notes.append(f"at least {attribute.lowest:g}")
        notes.append("required" if attribute.required else f"default {attribute.default!r}")
        lines.append(f"    {attribute.name} ({', '.join(notes)}): {attribute.doc}.")
    for slot in schema.outputs:
        made = "written only if given" if slot.optional or slot.list else "made if not given"
        lines.append(f"    {_output_argument(schema, slot)} (output, {made}): {slot.doc}.")
    lines.append("    name: of the layer, from which those of new variables are made.")
    if schema.takes_more:
        lines.append("    more_attributes: those of the files' format, where there are files.")
    lines += ["", "Returns:"]
    made_names = [
        _output_argument(schema, slot)
        for slot in schema.outputs
        if not slot.optional and not slot.list
    ]
    what = ", ".join(made_names) if made_names else "the outputs that are given"
    lines.append(f"    {what}: one variable, or several as a tuple; None if there is none.")
    lines += [
        "",
        "Raises:",
        "    TypeError: an argument is missing, unknown, or of another kind.",
        "    ValueError: an attribute has a value that it cannot have.",
    ]
    return "\n".join(lines)
