# SPDX-License-Identifier: Apache-2.0
"""The fields of structured formats, as Python writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Fields: TypeAlias = "Mapping[str, str] | Iterable[str]"


def _name_of(entry: str) -> str:
    """The name in an entry: its first word, or what stands in quotes there."""
    entry = entry.strip()
    if entry.startswith('"'):
        return entry[1:].partition('"')[0]
    return entry.split(maxsplit=1)[0] if entry else ""


def _begins_with_type(text: str) -> bool:
    """Whether a text begins with a type, such as ``int64[]``, and not with a name.

    A word before an option is a type, too, of which the core tells that it has no dims.
    """
    first, second, *_ = [*text.split(maxsplit=2), "", ""]
    return not first.startswith('"') and (
        first.startswith("bytes") or "[" in first or "=" in second
    )


def field_entries(fields: Fields) -> tuple[list[str], list[str]]:
    """Entries of the attribute ``fields``, and the names of their slots.

    Args:
        fields: entries, whose names are those of the slots; or a dict of slots to entries. An entry
            in a dict may leave out its name, which is then that of the slot.

    Raises:
        TypeError: an entry or a slot's name is no text, or ``fields`` is one text.
    """
    if isinstance(fields, str):
        raise TypeError(f"fields is {fields!r}; it must be a list of entries, or a dict of slots")
    entries, names = [], []
    pairs = fields.items() if isinstance(fields, Mapping) else ((None, entry) for entry in fields)
    for name, entry in pairs:
        if not isinstance(entry, str) or not isinstance(name, (str, type(None))):
            raise TypeError(f"the field {name!r}: {entry!r} is no text such as 'int64[]'")
        if name is not None and _begins_with_type(entry):
            quoted = f'"{name}"' if any(c in name for c in " \t") else name
            entry = f"{quoted} {entry}"
        entries.append(entry)
        names.append(_name_of(entry) if name is None else name)
    return entries, names
