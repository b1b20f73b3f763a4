# SPDX-License-Identifier: Apache-2.0
"""The slots of a reader's elements, as Python declares them and as batches have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from millhopper.base.integers import INT32_MAX, INT64_MAX, integer_within
from millhopper.base.texts import checked_text
from millhopper.base.zipped import zip_strict
from millhopper.programs.var_type import convert_dtype, dtype_name
from millhopper.ragged import Ragged

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# Values by slot name: an array, or sequences of different lengths.
Batch: TypeAlias = "dict[str, npt.NDArray[Any] | Ragged]"
# (dtype, dims, levels of offsets): a dtype of numpy, and dims with the leading axis of one instance
# (-1 is any length).
Slot: TypeAlias = Sequence[Any]


def named(names: Iterable[str] | None, slots: Sequence[Slot]) -> dict[str, Slot]:
    """The slots by these names, or by ``slot0``, ``slot1`` ...

    Raises:
        ValueError: there are more or fewer names than slots, or two are the same.
    """
    given = [f"slot{i}" for i in range(len(slots))] if names is None else list(names)
    if len(given) != len(slots) or len(set(given)) != len(given):
        raise ValueError(f"names is {given}; the records have {len(slots)} slots, each has a name")
    return dict(zip_strict(given, slots))


def declared(slots: Mapping[str, Slot] | None) -> dict[str, tuple[str, list[int], int]]:
    """Checks slots and converts them for the core."""
    if slots is None:
        return {}
    if not isinstance(slots, Mapping):
        raise TypeError(f'slots is {slots!r}; it must be a dict: {{"name": (dtype, dims)}}')
    return {name: _slot(name, slot) for name, slot in slots.items()}


def _slot(name: str, slot: Slot) -> tuple[str, list[int], int]:
    if not isinstance(name, str):
        raise TypeError(f"slot {name!r}: a slot's name is a text")
    checked_text("a slot's name", name)
    wanted = f"slot {name!r} is {slot!r}; it must be (dtype, dims) or (dtype, dims, levels)"
    if not isinstance(slot, (tuple, list)) or len(slot) not in (2, 3):
        raise TypeError(f'{wanted}, for example ("float32", [1, 64])')
    dtype, dims, levels = (*slot, 0)[:3]
    try:
        sizes = [integer_within("a dim", dim, -1, INT64_MAX) for dim in dims]
        depth = integer_within("the number of levels", levels, 0, INT32_MAX)
        return dtype_name(convert_dtype(dtype)), sizes, depth
    except TypeError:
        raise TypeError(f"{wanted}, with dims as a list of integers") from None
    except ValueError as error:
        raise ValueError(f"slot {name!r}: {error}") from None
