# SPDX-License-Identifier: Apache-2.0
"""What a sample of a data set in Python is as an element: values by slot name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millhopper.base.zipped import zip_strict
from millhopper.ragged import Ragged, Texts

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# (dtype, dims, levels of offsets), as ``declared`` makes it.
DeclaredSlot: TypeAlias = "tuple[str, list[int], int]"
# numpy makes these of None, dicts, texts and dates, and a reader has no such values.
_NO_VALUES = "OUSMmV"


def element_of(sample: Any, slots: Mapping[str, DeclaredSlot]) -> dict[str, Any]:
    """A sample as a dict by slot name; without slots the values are ``slot0``, ``slot1`` ...

    Args:
        sample: a dict by slot name, a tuple or list with a value for each slot, or the only value,
            which a list of numbers is.
        slots: what is known of the slots. Values of those that have levels of offsets are sequences
            of any length.

    Raises:
        ValueError: there are not as many values as slots.
    """
    return {name: _instance(value, slots.get(name)) for name, value in _named(sample, slots)}


def batch_of(rows: Any, slots: Mapping[str, DeclaredSlot]) -> dict[str, Any]:
    """Many samples, whose values are arrays or lists with a row for each, as a dict by slot name.

    Raises:
        ValueError: there are not as many values as slots.
    """
    return {name: _rows(value, slots.get(name)) for name, value in _named(rows, slots)}


def slots_of(element: Mapping[str, Any], one: bool) -> dict[str, DeclaredSlot]:
    """The slots of an element, with dims that are not known.

    Args:
        element: what ``element_of`` or ``batch_of`` has returned.
        one: whether it is that of a single sample, whose values have a leading axis of 1.

    Raises:
        TypeError: a value is none that a reader has.
    """
    slots: dict[str, DeclaredSlot] = {}
    texts = set(texts_of(element))
    for name, value in element.items():
        if name in texts:
            slots[name] = ("uint8", [-1], 2 if _has_lists(value) else 1)
            continue
        ragged = isinstance(value, Ragged)
        values = value.values if ragged else value
        if values.dtype.kind in _NO_VALUES:
            raise TypeError(
                f"slot {name!r}: numpy makes {values.dtype} of it, and a slot is of numbers, bools "
                f"or bytes: {value!r:.100}"
            )
        dims = [-1] * values.ndim
        if one and not ragged:
            dims[0] = 1
        slots[name] = (values.dtype.name, dims, len(value.offsets) if ragged else 0)
    return slots


def texts_of(element: Mapping[str, Any]) -> list[str]:
    """The slots whose values are texts, of an element for which no slots were known."""
    return [
        name
        for name, value in element.items()
        if isinstance(value, str) or _are_texts(value) or _has_lists(value)
    ]


def _has_lists(value: Any) -> bool:
    """Whether it is lists of texts, of any length."""
    return isinstance(value, Texts) and len(value.offsets) == 2


def _are_texts(value: Any) -> bool:
    if isinstance(value, Texts):  # of another reader's element
        return len(value.offsets) == 1
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], str)


def _depth_of_texts(rows: Any) -> int:
    """1 if the rows are str, 2 if they are lists of str, 0 if they are neither."""
    if not isinstance(rows, (list, tuple)) and np.asarray(rows).dtype.kind not in "OU":
        return 0
    for row in rows:
        if isinstance(row, str):
            return 1
        if not isinstance(row, (list, tuple, np.ndarray)):
            return 0
        if len(row) > 0:
            return 2 if isinstance(row[0], str) else 0
    return 0


def _named(sample: Any, slots: Mapping[str, DeclaredSlot]) -> list[tuple[str, Any]]:
    if isinstance(sample, Mapping) or hasattr(sample, "keys"):  # which frames of pandas have
        return list(dict(sample).items())
    if hasattr(sample, "column_names") and hasattr(sample, "column"):  # tables of pyarrow
        return [(name, np.asarray(sample.column(name))) for name in sample.column_names]
    is_one = not isinstance(sample, (tuple, list)) or (
        isinstance(sample, list)
        and len(slots) < 2
        and (
            all(isinstance(value, (int, float, np.number, np.bool_)) for value in sample)
            or any(levels > 1 for _, _, levels in slots.values())  # lists of lists
        )
    )
    values = [sample] if is_one else sample
    if slots and len(values) != len(slots):
        raise ValueError(f"the sample has {len(values)} values, for slots {list(slots)}")
    names = list(slots) or [f"slot{i}" for i in range(len(values))]
    return list(zip_strict(names, values))


def _instance(value: Any, slot: DeclaredSlot | None) -> Any:
    """A value of a sample with a leading axis, so that values are stacked."""
    if isinstance(value, Ragged) or (slot is None and isinstance(value, str)):
        return value
    if slot is None and _are_texts(value):
        return Texts(*_sequence(value, 2, None))
    levels = 0 if slot is None else slot[2]
    if isinstance(value, (str, bytes)):
        levels = 1
    if levels == 0:
        return [value] if _is_converted(value, slot) else np.asarray(value)[np.newaxis]
    return Ragged(*_sequence(value, levels, slot))


def _rows(value: Any, slot: DeclaredSlot | None) -> Any:
    """The values of many samples: those of one slot."""
    if isinstance(value, Ragged):
        return value
    if slot is None and not isinstance(value, (str, bytes)) and (depth := _depth_of_texts(value)):
        if depth == 1:
            return list(value)
        texts, offsets = _sequence(value, 3, None)
        return Texts(texts, offsets[1:])
    levels = 0 if slot is None else slot[2]
    if not isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if len(value) and isinstance(value[0], (str, bytes)):
        levels = max(levels, 1)
    if levels == 0:
        return value if _is_converted(value, slot) else np.asarray(value)
    values, offsets = _sequence(value, levels + 1, slot)
    return Ragged(values, offsets[1:])  # the first level is the batch itself


def _is_converted(value: Any, slot: DeclaredSlot | None) -> bool:
    """Whether the core converts numbers to the dtype of their slot; arrays must have it."""
    return slot is not None and isinstance(value, (int, float, list, tuple))


def _sequence(
    value: Any, levels: int, slot: DeclaredSlot | None
) -> tuple[npt.NDArray[Any], tuple[npt.NDArray[np.int64], ...]]:
    """Sequences of sequences, end to end, with the offsets of each level."""
    if levels == 1:
        values = _values(value, slot)
        return values, (np.array([0, len(values)], np.int64),)
    parts = [_sequence(part, levels - 1, slot) for part in value]
    if not parts:
        empty = [np.zeros(1, np.int64) for _ in range(levels - 1)]
        return _values([], slot), (np.zeros(2, np.int64), *empty)
    offsets = [np.array([0, len(parts)], np.int64)]
    for level in range(levels - 1):
        lengths = np.concatenate([np.diff(part[1][level]) for part in parts])
        offsets.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    return np.concatenate([part[0] for part in parts]), tuple(offsets)


def _values(value: Any, slot: DeclaredSlot | None) -> npt.NDArray[Any]:
    """The values of one sequence. An array keeps its dtype; lists get that of the slot.

    Raises:
        TypeError: that would change numbers.
    """
    if isinstance(value, (str, bytes)):
        return np.frombuffer(value.encode() if isinstance(value, str) else value, np.uint8)
    values = np.asarray(value)
    if values.ndim == 0:
        raise TypeError(f"{value!r:.100} in a slot of texts or sequences")
    if slot is None or slot[0] == "bfloat16" or not isinstance(value, (list, tuple)):
        return values
    if not value:
        return np.empty((0, *(max(dim, 0) for dim in slot[1][1:])), slot[0])
    if values.dtype.kind in _NO_VALUES or (values.dtype.kind == "f" and slot[0][0] in "iu"):
        raise TypeError(f"a list of {values.dtype} for a slot of {slot[0]}: {value!r:.100}")
    return np.asarray(value, slot[0])
