# SPDX-License-Identifier: Apache-2.0
"""What a method of Reader looks like that appends an operator, by the operator's schema.

Only the standard library is imported: tools/python_stub.py uses this where there is no numpy.
"""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millhopper.programs.schemas import AttributeSchema, OperatorSchema

_TYPES = {
    "INT": "int",
    "LONG": "int",
    "FLOAT": "float",
    "FLOAT64": "float",
    "BOOLEAN": "bool",
    "STRING": "str | os.PathLike[str]",
}
_STUB = """# SPDX-License-Identifier: Apache-2.0
# Made of the operators' schemas when the package was built.
import os
from collections.abc import Sequence
from typing_extensions import Self
from millhopper.readers.chain import Chain

class OperatorReaders(Chain):
"""


def method_name(operator: OperatorSchema) -> str | None:
    """What the method is called that appends an operator, which is ``create_<name>_reader``.

    None if there is no such method: it stands on one reader, and a caller can give what it takes,
    which is neither a block nor the number of an object of this process.
    """
    name = operator.type.removeprefix("create_").removesuffix("_reader")
    takes_blocks = any(attribute.type.startswith("BLOCK") for attribute in operator.attributes)
    if (
        operator.type != f"create_{name}_reader"
        or not name.isidentifier()
        or keyword.iskeyword(name)
        or [argument.name for argument in operator.inputs] != ["UnderlyingReader"]
        or operator.fed_by_process
        or takes_blocks
    ):
        return None
    return name


def is_list(attribute: AttributeSchema) -> bool:
    """Whether the attribute holds several items."""
    return attribute.type.endswith("S")


def arguments(operator: OperatorSchema) -> dict[str, AttributeSchema]:
    """The attributes by what the method calls them, those first that are given by position."""
    first = _by_position(operator)
    rest = [attribute for attribute in operator.attributes if attribute not in first]
    return {attribute.python_name or attribute.name: attribute for attribute in (*first, *rest)}


def signature(operator: OperatorSchema) -> inspect.Signature:
    """The signature of the method, with ``self``."""
    by_position, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    first = _by_position(operator)
    parameters = [
        inspect.Parameter(
            name,
            by_position if attribute in first else by_name,
            default=inspect.Parameter.empty if attribute.required else _default(attribute),
            annotation=_annotation(attribute),
        )
        for name, attribute in arguments(operator).items()
    ]
    return inspect.Signature(
        [
            inspect.Parameter("self", by_position),
            *parameters,
            inspect.Parameter("name", by_name, default="", annotation="str"),
        ],
        return_annotation="Self",
    )


def docstring(operator: OperatorSchema) -> str:
    """What ``help`` shows of the method."""
    lines = []
    for paragraph in operator.doc.split("\n\n"):
        lines += [*_filled(f"{paragraph.removesuffix('.')}."), ""]
    lines.append("Args:")
    for name, attribute in arguments(operator).items():
        lines += _filled(f"{name}: {' '.join(_sentences(attribute))}", "    ")
    short = method_name(operator)
    lines += [
        f"    name: of the new reader; by default that of this one and {short}, joined by a dot.",
        "",
        "Raises:",
        "    TypeError: an argument is missing, or there is none of this name.",
    ]
    if operator.adds_slots or any(attribute.numbers_slots for attribute in operator.attributes):
        lines.append("    ValueError: there is no slot of this name, or slots must be known first.")
    lines += [
        "    Error: an argument has a value that it cannot have.",
        "",
        f"Source: operator {operator.type}.",
    ]
    return "\n".join(lines)


def stub(operators: Iterable[OperatorSchema]) -> str:
    """What type checkers read in place of ``operator_readers.py``."""
    lines = []
    for operator in operators:
        if name := method_name(operator):
            lines.append(f"    def {name}{signature(operator)}:")
            lines.append(textwrap.indent(f'r"""{docstring(operator)}\n"""', " " * 8))
    return _STUB + "\n".join(lines) + "\n"


def _by_position(operator: OperatorSchema) -> list[AttributeSchema]:
    """What is required; if nothing is, the first attribute of numbers, as in ``double_buffer(2)``.

    A text is easier to read with its name before it.
    """
    required = [attribute for attribute in operator.attributes if attribute.required]
    numbers = [
        attribute
        for attribute in operator.attributes
        if attribute.type.rstrip("S") in ("INT", "LONG", "FLOAT", "FLOAT64")
    ]
    return required or numbers[:1]


def _annotation(attribute: AttributeSchema) -> str:
    item = _TYPES[attribute.type.removesuffix("S")]
    if attribute.numbers_slots:
        item = "int | str"
    elif attribute.words:
        item = "str"
    text = f"{item} | Sequence[{item}]" if is_list(attribute) else item
    return f"{text} | None" if attribute.optional else text


def _default(attribute: AttributeSchema) -> Any:
    default = attribute.default
    if is_list(attribute) and default is not None:
        default = default[0] if len(default) == 1 else tuple(default)
    # What tools/python_stub.py reads has 0 for 0.0.
    return float(default) if isinstance(default, int) and "FLOAT" in attribute.type else default


def _sentences(attribute: AttributeSchema) -> Iterator[str]:
    yield attribute.doc.removesuffix(".") + "."
    if attribute.numbers_slots:
        yield "Given by number or name."
    elif attribute.lowest is not None:
        yield f"At least {attribute.lowest:g}."
    if attribute.words:
        yield f"One of {', '.join(map(repr, attribute.words))}."


def _filled(text: str, indent: str = "") -> list[str]:
    deeper = f"{indent}    " if indent else ""
    return textwrap.wrap(text, 92, initial_indent=indent, subsequent_indent=deeper)
