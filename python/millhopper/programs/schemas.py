# SPDX-License-Identifier: Apache-2.0
"""The schemas of the core's operators: inputs, outputs and attributes, and what they mean."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millhopper import _core
from millhopper.programs.attributes import shortest_float
from millhopper.programs.extras import load_extras


@dataclass(frozen=True)
class ArgumentSchema:
    """One named list of an operator's arguments."""

    name: str
    doc: str
    kind: str  # "tensor", "reader" or "any"
    optional: bool  # may be left out
    list: bool  # may have more than one argument


@dataclass(frozen=True)
class AttributeSchema:
    """One attribute of an operator; ``type`` as framework.proto names it."""

    name: str
    type: str
    default: Any  # None if it is optional
    required: bool
    optional: bool  # if it is left out, the operator does what no value says
    doc: str
    words: tuple[str, ...]  # what a STRING may be; empty is anything
    lowest: float | None  # the least that a number may be
    numbers_slots: bool  # it is a number, or numbers, of slots of the reader below
    python_name: str  # what methods of Reader call it; "" is name


@dataclass(frozen=True)
class OperatorSchema:
    """What an operator takes and gives."""

    type: str
    doc: str
    inputs: tuple[ArgumentSchema, ...]
    outputs: tuple[ArgumentSchema, ...]
    attributes: tuple[AttributeSchema, ...]
    creates_reader: bool
    side_effects: bool
    fed_by_process: bool  # its elements come from objects of this process
    adds_slots: bool  # whether it may have slots after those of the reader below

    @property
    def takes_more(self) -> bool:
        """Whether there may be attributes beside these: where files may be of any format, those of
        the format, which the core knows."""
        return self.creates_reader and self.attribute("file_names") is not None

    def input(self, name: str) -> ArgumentSchema | None:
        """The input of this name, if there is one."""
        return next((argument for argument in self.inputs if argument.name == name), None)

    def output(self, name: str) -> ArgumentSchema | None:
        """The output of this name, if there is one."""
        return next((argument for argument in self.outputs if argument.name == name), None)

    def attribute(self, name: str) -> AttributeSchema | None:
        """The attribute of this name, if there is one."""
        return self._attributes_by_name.get(name)

    @functools.cached_property
    def _attributes_by_name(self) -> dict[str, AttributeSchema]:
        return {attribute.name: attribute for attribute in self.attributes}


@dataclass(frozen=True)
class FormatSchema:
    """A format of files: how its files are known, and what there is to say about them."""

    tag: str
    doc: str
    extensions: tuple[str, ...]
    known_by_content: bool  # by the first bytes of a file
    reads_folders: bool  # what it calls a file is a folder
    attributes: tuple[AttributeSchema, ...]
    companion: tuple[str, str, str]  # one more file a file: attribute, that of open_files, meaning


_known: dict[str, OperatorSchema] = {}


def _arguments(described: list[dict[str, Any]]) -> tuple[ArgumentSchema, ...]:
    return tuple(ArgumentSchema(**argument) for argument in described)


def _attributes(described: list[dict[str, Any]]) -> tuple[AttributeSchema, ...]:
    attributes = []
    for attribute in described:
        default = attribute["default"]
        if attribute["type"] == "FLOAT" and default is not None:
            default = shortest_float(default)
        words = tuple(attribute["words"])
        attributes.append(AttributeSchema(**{**attribute, "default": default, "words": words}))
    return tuple(attributes)


def find_schema(type: str) -> OperatorSchema | None:
    """The schema of an operator, or None. Those of plugins that are loaded later are found, too."""
    if type not in _known:
        load_extras(type)
        op = _core.operator_schema(type)
        if op is None:
            return None
        described = {
            "inputs": _arguments(op["inputs"]),
            "outputs": _arguments(op["outputs"]),
            "attributes": _attributes(op["attributes"]),
        }
        _known[type] = OperatorSchema(**{**op, **described})
    return _known[type]


def schema_of(type: str) -> OperatorSchema:
    """The schema of an operator.

    Raises:
        ValueError: there is no such operator.
    """
    schema = find_schema(type)
    if schema is None:
        hint = _meant_operator(type) or "."
        raise ValueError(f'Operator "{type}" has not been registered{hint}')
    return schema


def operator_types() -> list[str]:
    """The types of all operators, sorted."""
    return _core.operator_types()


def more_attributes(type: str, given: Mapping[str, Sequence[str]]) -> tuple[AttributeSchema, ...]:
    """The attributes that an operator may have beside those of its schema.

    Args:
        type: of the operator.
        given: its attributes that are lists of texts; by the names of files the core knows which
            formats they may be of.
    """
    for texts in given.values():
        for text in texts:
            load_extras(text)
    return _attributes(_core.more_attributes(type, given))


def format_schemas() -> list[FormatSchema]:
    """The formats of files, by tag, those of loaded plugins included."""
    return [
        FormatSchema(
            tag=format["tag"],
            doc=format["doc"],
            extensions=tuple(format["extensions"]),
            known_by_content=format["known_by_content"],
            reads_folders=format["reads_folders"],
            attributes=_attributes(format["attributes"]),
            companion=format["companion"],
        )
        for format in _core.format_schemas()
    ]


def _meant_operator(word: str) -> str:
    """The end of an error text; create_shuffle_reader is near to what is near to shuffle, too."""
    types = operator_types()
    middles = {type.removeprefix("create_").removesuffix("_reader"): type for type in types}
    near = difflib.get_close_matches(word, [*types, *middles], n=1)
    if not near:
        return ""
    return f"; did you mean {near[0] if near[0] in types else middles[near[0]]!r}?"


def did_you_mean(word: str, candidates: list[str]) -> str:
    """The end of an error text: the candidate that is near enough to be meant, or nothing."""
    near = difflib.get_close_matches(word, candidates, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
