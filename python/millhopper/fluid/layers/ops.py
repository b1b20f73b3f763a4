# SPDX-License-Identifier: Apache-2.0
"""A function for every operator of the core, made from its schema.

``ops.mean(x)`` appends the operator ``mean`` to the current block of the main program, or that of
a reader's creation to the startup program, and returns the variable that it writes. Inputs,
outputs and attributes are arguments: ``UnderlyingReader`` is ``underlying_reader``, ``Out@GRAD`` is
``out_grad``. ``help(ops.mean)`` tells what they mean. A name that Python has taken for itself gets
an underscore (``ops.while_``). Operators of plugins are here once they are loaded.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millhopper.fluid.layers import helper
from millhopper.programs.reader_creation import create_reader
from millhopper.programs.schemas import ArgumentSchema, OperatorSchema, find_schema, operator_types
from millhopper.programs.variable import Variable

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

__all__ = [
    "argument_name",
    "function_name",
    "generate_function",
]

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
    """What the function of an operator is called.

    Raises nothing.

    Source: Millhopper's own.
    """
    return f"{type}_" if keyword.iskeyword(type) else type


def argument_name(argument: str) -> str:
    """What an operator's input or output is called as an argument: ``Beta1Pow`` is ``beta1_pow``.

    Raises nothing.

    Source: Millhopper's own.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", argument.replace("@GRAD", "_grad")).lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def generate_function(schema: OperatorSchema) -> Callable[..., Any]:
    """The function that appends an operator of this schema.

    It raises TypeError and ValueError where arguments do not fit the schema.

    Source: Millhopper's own.
    """
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
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    required, optional = [], []
    for argument in schema.inputs:
        name = argument_name(argument.name)
        if argument.optional:
            optional.append(inspect.Parameter(name, kind, default=None))
        else:
            required.append(inspect.Parameter(name, kind))
    for attribute in schema.attributes:
        if attribute.required:
            required.append(inspect.Parameter(attribute.name, kind))
        else:
            optional.append(inspect.Parameter(attribute.name, kind, default=attribute.default))
    arguments = required + optional
    for name in [*_output_arguments(schema).values(), "name"]:
        arguments.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
    if schema.takes_more:
        arguments.append(inspect.Parameter("more_attributes", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(arguments)


def _output_arguments(schema: OperatorSchema) -> dict[str, str]:
    """What outputs are called as arguments, beside inputs that may be called the same."""
    taken = {argument_name(argument.name) for argument in schema.inputs}
    taken |= {attribute.name for attribute in schema.attributes}
    names = {}
    for argument in schema.outputs:
        if argument.kind != "reader":
            name = argument_name(argument.name)
            names[argument.name] = f"{name}_to" if name in taken else name
    return names


def _append(schema: OperatorSchema, arguments: dict[str, Any]) -> _Result:
    inputs = {}
    for argument in schema.inputs:
        given = arguments.get(argument_name(argument.name))
        if given is not None:
            inputs[argument.name] = given
    attributes = {
        attribute.name: arguments[attribute.name]
        for attribute in schema.attributes
        if attribute.name in arguments
    }
    attributes.update(arguments.get("more_attributes", {}))
    name = arguments.get("name")
    if schema.creates_reader:
        return create_reader(schema.type, name, attributes, inputs)
    layer = helper.layer_name(schema.type, name)
    names = _output_arguments(schema)
    outputs = {}
    for argument in schema.outputs:
        given = arguments.get(names[argument.name])
        if given is not None:
            outputs[argument.name] = given
        elif not argument.optional:
            outputs[argument.name] = _new(schema, argument, inputs, layer)
    helper.current_block().append_op(schema.type, inputs, outputs, attributes)
    results = tuple(outputs.values())
    return results[0] if len(results) == 1 else results or None


def _new(
    schema: OperatorSchema, argument: ArgumentSchema, inputs: dict[str, Any], layer: str
) -> Variable | list[Variable]:
    """An output that is not given: a new variable, or as many as the first input has."""
    first = inputs.get(schema.inputs[0].name) if schema.inputs else None
    if argument.list and isinstance(first, (list, tuple)):
        return [helper.new_variable(layer) for _ in first]
    return helper.new_variable(layer)


def _docstring(schema: OperatorSchema) -> str:
    lines = [schema.doc, "", "Args:"]
    for argument in schema.inputs:
        notes = [argument.kind if argument.kind != "any" else "tensor or reader"]
        notes += ["optional"] * argument.optional
        notes += ["any number" if argument.optional else "one or more"] * argument.list
        lines.append(f"    {argument_name(argument.name)} ({', '.join(notes)}): {argument.doc}.")
    for attribute in schema.attributes:
        notes = [attribute.type]
        if attribute.words:
            notes.append("one of " + ", ".join(repr(word) for word in attribute.words))
        if attribute.lowest is not None:
            notes.append(f"at least {attribute.lowest:g}")
        left_out = "required" if attribute.required else f"default {attribute.default!r}"
        notes.append("optional" if attribute.optional else left_out)
        lines.append(f"    {attribute.name} ({', '.join(notes)}): {attribute.doc}.")
    outputs = _output_arguments(schema)
    for argument in schema.outputs:
        if argument.name in outputs:
            made = "written only if given" if argument.optional else "made if not given"
            lines.append(f"    {outputs[argument.name]} (output, {made}): {argument.doc}.")
    lines.append("    name: of the layer, from which those of new variables are made.")
    if schema.takes_more:
        lines.append("    more_attributes: those of the files' format.")
    lines += ["", "Returns:"]
    if schema.creates_reader:
        lines.append(f"    {schema.outputs[0].doc}, in the main program.")
    elif len(schema.outputs) == 1:
        lines.append(
            f"    {outputs[schema.outputs[0].name]}; None if it is neither made nor given."
        )
    elif schema.outputs:
        lines.append("    The outputs that are made or given: one, or several as a tuple; or None.")
    else:
        lines.append("    None.")
    lines += [
        "",
        "Raises:",
        "    TypeError: an argument is missing, unknown, or of another kind.",
        "    ValueError: an attribute has a value that it cannot have.",
    ]
    return "\n".join(lines)
