# SPDX-License-Identifier: Apache-2.0
"""The fields of structured formats, as Python writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from millhopper import _core
from millhopper.base.zipped import zip_strict

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Fields: TypeAlias = "Mapping[str, str | None] | Iterable[str]"


def _begins_with_type(text: str) -> bool:
    """Whether a text begins with a type, such as ``int64[]``, and not with a name.

    A word before an option is a type, too, of which the core tells that it has no dims.
    """
    first, second, *_ = [*text.split(maxsplit=2), "", ""]
    return not first.startswith('"') and (
        first.startswith("bytes") or first == "str" or "[" in first or "=" in second
    )


def field_entries(fields: Fields) -> tuple[list[str], list[str]]:
    """Entries of the attribute ``fields``, and the names of the slots: of fields, then of masks.

    Args:
        fields: entries, whose names are those of the slots; or a dict of slots to entries. An entry
            in a dict may leave out its name, which is then that of the slot, and any entry its
            type, which the files tell then; None in a dict leaves out both.

    Raises:
        TypeError: an entry or a slot's name is no text, or ``fields`` is one text.
    """
    if isinstance(fields, str):
        raise TypeError(f"fields is {fields!r}; it must be a list of entries, or a dict of slots")
    entries: list[str] = []
    slots: list[str] = []
    pairs = fields.items() if isinstance(fields, Mapping) else ((None, entry) for entry in fields)
    for slot, given in pairs:
        entry = _core.name_in_entry(slot) if given is None and isinstance(slot, str) else given
        if not isinstance(entry, str) or not isinstance(slot, (str, type(None))):
            raise TypeError(f"the field {slot!r}: {given!r} is no text such as 'int64[]'")
        if slot is not None and _begins_with_type(entry):
            entry = f"{_core.name_in_entry(slot)} {entry}"
        entries.append(entry)
        slots.append(_core.field_names([entry])[0] if slot is None else slot)
    return entries, _core.field_names(with_slots(entries, slots))


def with_slots(entries: list[str], slots: list[str]) -> list[str]:
    """The entries with the names of their slots in them; others after these do not count."""
    own = [_core.field_names([entry])[0] for entry in entries]
    return [
        entry if name == slot else f"{_core.name_in_entry(slot)} = {entry}"
        for entry, name, slot in zip_strict(entries, own, slots[: len(entries)])
    ]
