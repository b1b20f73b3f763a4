# SPDX-License-Identifier: Apache-2.0
"""The reference page: every public name with its docstring, every operator and file format."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

import millhopper
from millhopper.command import catalog
from millhopper.programs.schemas import format_schemas, operator_types, schema_of


def _signature(item: Any) -> str:
    try:
        return str(inspect.signature(item))
    except (TypeError, ValueError):  # of the core: the first line of the docstring has it
        first = (inspect.getdoc(item) or "").split("\n")[0]
        return first[first.index("(") :] if "(" in first and " " not in first.split("(")[0] else ""


def _doc(item: Any) -> str:
    text = inspect.getdoc(item) or ""
    first, _, rest = text.partition("\n")
    # pybind11 begins the docstring of a function with its signature.
    if first.startswith(f"{getattr(item, '__name__', '')}(") and "->" in first:
        text = rest.strip()
    return text


def public_names(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module, sorted, and what they are.

    They are those in ``__all__``, or all classes and functions that the module itself defines.
    """
    names = getattr(module, "__all__", None) or [
        name
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == module.__name__
    ]
    for name in sorted(names, key=str.lower):
        yield name, getattr(module, name)


def parts(cls: type) -> dict[str, Any]:
    """What a class defines, by name, and what it inherits of the classes of this package."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "millhopper":
            found.update(vars(base))
    return found


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    for name, member in sorted(parts(cls).items()):
        if not name.startswith("_") and (
            inspect.isroutine(member) or isinstance(member, (property, classmethod, staticmethod))
        ):
            yield name, member


def _class_lines(path: str, cls: type) -> Iterator[str]:
    yield f"### `{path}{_signature(cls)}`\n"
    yield _block(_doc(cls))
    if made := parts(cls).get("__init__"):
        yield _block(_doc(made))
    for name, member in _members(cls):
        if isinstance(member, property):
            yield f"#### `{path}.{name}`\n"
            yield _block(_doc(member.fget))
        else:
            function = getattr(cls, name)
            yield f"#### `{path}.{name}{_signature(function)}`\n"
            yield _block(_doc(function))


def _block(text: str) -> str:
    """A docstring as it is written: its lists of arguments are aligned by spaces."""
    return f"```text\n{text}\n```\n" if text else ""


def _module_key(module: types.ModuleType) -> int:
    """What a module has in common with those that pass on its names."""
    return id(getattr(module, "__all__", module))


def _module_lines(path: str, module: types.ModuleType, seen: dict[int, str]) -> Iterator[str]:
    yield f"## `{path}`\n"
    yield _block(_doc(module))
    inner = []
    for name, item in public_names(module):
        if inspect.ismodule(item):
            first = seen.setdefault(_module_key(item), f"{path}.{name}")
            if first == f"{path}.{name}":
                inner.append((first, item))
            else:
                yield f"### `{path}.{name}`\n\nThe same as `{first}`.\n"
        elif not callable(item):
            yield f"### `{path}.{name}`\n\n`{item!r}`\n"
        elif id(item) in seen:
            yield f"### `{path}.{name}`\n\nDescribed above.\n"
        else:
            seen[id(item)] = f"{path}.{name}"
            if isinstance(item, type):
                yield from _class_lines(f"{path}.{name}", item)
            else:
                yield f"### `{path}.{name}{_signature(item)}`\n"
                yield _block(_doc(item))
    for inner_path, item in inner:
        yield from _module_lines(inner_path, item, seen)


def _operator_lines() -> Iterator[str]:
    yield "## Operators\n"
    for type in operator_types():
        yield f"### `{type}`\n\n{catalog.describe_operator(schema_of(type))}\n"


def _format_lines() -> Iterator[str]:
    yield "## File formats\n"
    for format in format_schemas():
        yield f"### `{format.tag}`\n\n{catalog.describe_format(format)}\n"


def page() -> str:
    """The whole page, in Markdown."""
    lines = [
        f"# Millhopper {millhopper.__version__}: reference\n",
        "Made by `python -m millhopper reference` out of docstrings and schemas.\n",
        *_module_lines("millhopper", millhopper, {}),
        *_operator_lines(),
        *_format_lines(),
    ]
    return "\n".join(lines)


def chapters() -> list[str]:
    """The page in parts, each Markdown that begins with a heading of level 2: a module each, the
    operators, the file formats."""
    parts: list[str] = []
    lines = [*_module_lines("millhopper", millhopper, {}), *_operator_lines()]
    for line in [*lines, *_format_lines()]:
        if line.startswith("## "):
            parts.append(line)
        else:
            parts[-1] += "\n" + line
    return parts
