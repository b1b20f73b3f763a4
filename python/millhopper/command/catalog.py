# SPDX-License-Identifier: Apache-2.0
"""What the core can do, as text: its operators and file formats, out of their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from millhopper.programs.schemas import (
    ArgumentSchema,
    AttributeSchema,
    FormatSchema,
    OperatorSchema,
)


def summary(text: str) -> str:
    """The first sentence."""
    return re.split(r"\.\s", text)[0].removesuffix(".")


def _count(argument: ArgumentSchema) -> list[str]:
    if argument.list:
        return ["any number" if argument.optional else "one or more"]
    return ["optional"] if argument.optional else []


def _argument_lines(kind: str, arguments: Iterable[ArgumentSchema]) -> Iterator[str]:
    for argument in arguments:
        about = [
            f"{kind} `{argument.name}`",
            *_count(argument),
            *(["a reader"] if argument.kind == "reader" else []),
        ]
        yield f"- {', '.join(about)}: {argument.doc}"


def _attribute_lines(attributes: Iterable[AttributeSchema]) -> Iterator[str]:
    for attribute in attributes:
        about = [f"attribute `{attribute.name}`", attribute.type]
        if attribute.required:
            about.append("required")
        elif attribute.optional:
            about.append("optional")
        elif attribute.type not in ("BLOCK", "BLOCKS"):
            about.append(f"default `{attribute.default!r}`")
        if attribute.lowest is not None:
            about.append(f"at least {attribute.lowest:g}")
        if attribute.words:
            about.append("one of " + ", ".join(f"`{word}`" for word in attribute.words))
        if attribute.python_name:
            about.append(f"in Python `{attribute.python_name}`")
        yield f"- {', '.join(about)}: {attribute.doc}"


def describe_operator(schema: OperatorSchema) -> str:
    """What an operator does, takes, yields and can be told, in Markdown."""
    doc = schema.doc.removesuffix(".")
    lines = [f"{doc}.", ""]
    if schema.creates_reader:
        lines += ["Creates a reader, so it belongs to startup programs.", ""]
    lines += _argument_lines("input", schema.inputs)
    lines += _argument_lines("output", schema.outputs)
    lines += _attribute_lines(schema.attributes)
    return "\n".join(lines)


def describe_format(schema: FormatSchema) -> str:
    """What a file format is, how its files are known, and what it can be told, in Markdown."""
    tag = schema.tag
    file = "FOLDER" if schema.reads_folders else "FILE"
    known_by = [f"`{tag}:{file}`", *(f"`*{extension}`" for extension in schema.extensions)]
    if schema.known_by_content:
        known_by.append("their first bytes")
    doc = schema.doc.removesuffix(".")
    lines = [
        f"{doc}.",
        "",
        f"Created by `create_{tag}_file_reader` or `open_files`; files are known by "
        f"{', '.join(known_by)}.",
        "",
        *_attribute_lines(schema.attributes),
    ]
    name, list_name, text = schema.companion
    if name:
        lines.append(f"- attribute `{name}`, in `open_files` `{list_name}`: {text}")
    return "\n".join(lines)
