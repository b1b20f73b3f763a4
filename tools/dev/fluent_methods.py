#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the methods of Reader in C++ (operators/fluent/reader.h) of the operators' schemas.

    tools/dev/fluent_methods.py EXECUTOR   prints operators/fluent/reader_methods.inc

EXECUTOR is the built command, which lists the schemas of all operators.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

_TYPES = {
    "INT": "int32_t",
    "LONG": "int64_t",
    "FLOAT": "float",
    "FLOAT64": "double",
    "BOOLEAN": "bool",
    "STRING": "std::string",
}
# How slots are declared in programs; options have `slots` for them.
_OF_SLOTS = {"shape_concat", "ranks", "lod_levels", "dtypes"}


def _method(operator: dict[str, Any]) -> str | None:
    """What the method is called; None if there is none, since it takes blocks or objects."""
    takes_blocks = any(a["type"].startswith("BLOCK") for a in operator["attributes"])
    if not operator["creates_reader"] or operator["fed_by_process"] or takes_blocks:
        return None
    short = operator["type"].removeprefix("create_").removesuffix("_reader")
    return "".join(word.capitalize() for word in short.split("_"))


def _type(attribute: dict[str, Any]) -> str:
    item = _TYPES[attribute["type"].removesuffix("S")]
    return f"std::vector<{item}>" if attribute["type"].endswith("S") else item


def _argument(attribute: dict[str, Any]) -> str:
    kind = _type(attribute)
    return f"{f'const {kind}&' if kind.startswith('std::') else kind} {attribute['name']}"


def _comment(text: str, indent: str) -> list[str]:
    lead = f"{indent}// "
    return textwrap.wrap(text, 100, initial_indent=lead, subsequent_indent=lead)


def _says(attribute: dict[str, Any]) -> str:
    """What is known of an attribute, as a sentence."""
    parts = [" ".join(attribute["doc"].split()).removesuffix(".")]
    if attribute.get("words"):
        parts.append("one of " + ", ".join(json.dumps(word) for word in attribute["words"]))
    if attribute.get("lowest") is not None:
        parts.append(f"at least {attribute['lowest']:g}")
    if not attribute["required"] and not attribute["optional"]:
        parts.append(f"default {attribute['default']}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _options(operator: dict[str, Any], name: str, optional: list[dict[str, Any]]) -> list[str]:
    lines = [f"  struct {name}Options {{"]
    for attribute in optional:
        lines += _comment(_says(attribute), "    ")
        kind = _type(attribute)
        is_list = attribute["type"].endswith("S")
        member = attribute["python_name"] or attribute["name"]
        lines.append(f"    {kind if is_list else f'std::optional<{kind}>'} {member};")
    if operator["more_attributes"]:
        lines += _comment("Those of the files' format, such as fields.", "    ")
        lines.append("    Attributes attributes;")
    if not operator["inputs"]:
        lines += _comment("Of an element, if they are declared; else the files tell them.", "    ")
        lines.append("    std::vector<SlotSpec> slots;")
    lines += _comment("Of the new reader; what it draws depends on it.", "    ")
    return [*lines, "    std::string name;", "  };"]


def method(operator: dict[str, Any], name: str) -> str:
    """The options and the method of an operator."""
    attributes = [a for a in operator["attributes"] if a["name"] not in _OF_SLOTS]
    required = [a for a in attributes if a["required"]]
    optional = [a for a in attributes if not a["required"]]
    inputs = operator["inputs"]
    several = bool(inputs) and inputs[0]["list"]
    lines = _options(operator, name, optional)
    doc = " ".join(operator["doc"].split()).removesuffix(".")
    lines += _comment(f"{doc} ({operator['type']}).", "  ")
    for attribute in required:
        lines += _comment(f"`{attribute['name']}`: {_says(attribute)}", "  ")
    taken = ["const std::vector<Reader>& others"] if several else []
    taken += [_argument(a) for a in required]
    taken.append(f"const {name}Options& options = {{}}")
    head = f"Reader {name}({', '.join(taken)})"
    lines.append(f"  {'' if inputs else 'static '}{head}{' const' if inputs else ''} {{")
    more = "(options.attributes)" if operator["more_attributes"] else ""
    lines.append(f"    Given given{more};")
    lines += [f'    given.Set("{a["name"]}", {a["name"]});' for a in required]
    lines += [
        f'    given.Set("{a["name"]}", options.{a["python_name"] or a["name"]});' for a in optional
    ]
    made = f'"{operator["type"]}", {"others, " if several else ""}given.Take()'
    if not inputs:
        lines.append(f"    return Create({made}, options.slots, options.name);")
    else:
        lines.append(f"    return {'Combine' if several else 'Decorate'}({made}, options.name);")
    lines.append("  }")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the methods of all operators."""
    listed = subprocess.run(
        [sys.argv[1], "--list_ops", "--json"], check=True, stdout=subprocess.PIPE, text=True
    )
    print("// Made by tools/dev/fluent_methods.py of the operators' schemas.\n")
    for line in listed.stdout.splitlines():
        operator = json.loads(line)
        if name := _method(operator):
            print(method(operator, name))


if __name__ == "__main__":
    main()
