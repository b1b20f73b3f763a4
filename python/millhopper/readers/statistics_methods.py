# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that find statistics of numbers, and standardise by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from millhopper.base.integers import INT64_MAX
from millhopper.base.zipped import zip_strict
from millhopper.ragged import Ragged
from millhopper.readers.operator_methods import OperatorMethods
from millhopper.readers.other_names import other_keywords

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias

_STATISTICS = (
    'reader.standardize(reader.statistics(["slot"])) finds mean and std, and '
    'apply("standardize", "slot", mean=[...], std=[...]) is told them'
)

# By slot, by what it is: "count", "nulls", "min", "max", "mean" and "std".
Statistics: TypeAlias = "dict[str, dict[str, Any]]"
Array: TypeAlias = "np.ndarray[Any, Any]"


class StatisticsMethods(OperatorMethods):
    """What Reader can do with the statistics of its slots."""

    def statistics(self, slots: Iterable[str] | None = None) -> Statistics:
        """Reads the first pass, and finds how slots of numbers are distributed. ::

            statistics = train.statistics(["fare", "km"])
            with open("statistics.json", "w") as file:
                json.dump(statistics, file)
            train = train.standardize(statistics).batch(128)

        Args:
            slots: the slots; None: all of numbers that are not text, bytes or the mask of another.
                Of rows with several values, such as ``[13]``, each value has statistics of its own,
                lists of as many; all values of sequences have one.

        Returns:
            For each slot a dict, which JSON can hold: ``count`` of values, ``nulls``, which are
            NaN, or missing by the mask ``NAME.valid``, or in a sequence of int64 numpy's NaT (the
            least int64), and count for nothing else, ``min``, ``max``, ``mean``, and ``std``, that
            of all values (``numpy.std``), computed in float64. Without values all but the first
            two are NaN.

        Raises:
            TypeError: ``slots`` is a text.
            ValueError: there is no such slot, it has text or bytes, or its rows have different
                numbers of values.
            Error: as in a loop.

        Source: numpy; polars.DataFrame.describe.
        """
        if isinstance(slots, str):
            raise TypeError(f"statistics: slots is {slots!r}; it is a list of names")
        names = self._slot_names()
        types = dict(zip_strict(names, self.slots()))
        masks = {
            mask
            for slot in names
            if (mask := f"{slot}.valid") in types and (types[mask] or ("bool",))[0] == "bool"
        }
        wanted = [name for name in names if name not in masks] if slots is None else list(slots)
        for slot in wanted:
            if slot not in names:
                raise ValueError(f"no slot is called {slot!r}; the slots are {names}")
        found = {slot: _Moments(slot) for slot in wanted}
        for element in self._in_parts():
            for slot in wanted:
                values = _numbers(element[slot])
                if values is None and slots is not None:
                    raise ValueError(f"slot {slot!r} has text or bytes, which have no statistics")
                if values is None:
                    found.pop(slot, None)
                    continue
                valid = element.get(f"{slot}.valid")
                if _is_mask(valid, element[slot]):
                    values[~np.ravel(valid)] = np.nan
                found[slot].add(values)
        return {slot: moments.result() for slot, moments in found.items()}

    def _in_parts(self) -> Any:
        """The same records in batches, where elements are records of one size."""
        known = self.slots()
        sizes = [slot[1] for slot in known if slot is not None and slot[2] == 0]
        fit = all(slot is not None and min(slot[1][1:], default=0) >= 0 for slot in known)
        if fit and any(dims[:1] == [1] for dims in sizes):
            most = max(int(np.prod(dims[1:])) for dims in sizes)
            size = min(1024, max(1, _MOST_VALUES // max(most, 1)))
            return self._append("create_batch_reader", "", {"batch_size": size})
        # Not this reader itself, whose next loop is its first pass.
        return self._append("create_take_reader", "", {"count": INT64_MAX})

    @other_keywords(slot=_STATISTICS, mean=_STATISTICS, std=_STATISTICS)
    def standardize(self, statistics: Mapping[str, Mapping[str, Any]], *slots: str) -> Self:
        """Slots become ``(x - mean) / std``, float32, by statistics that ``statistics`` has found.

        What is missing by the mask ``NAME.valid`` is NaN, as what was NaN.

        Args:
            statistics: as ``statistics`` returns it, or as JSON gives it back; ``mean`` and ``std``
                of each slot are used. A ``std`` of 0 counts as 1.
            slots: the slots; without any, all that have statistics.

        Raises:
            TypeError: ``statistics`` is no dict.
            ValueError: a slot has no statistics.
            Error: there is no such slot, or rows have another number of values than statistics.

        Source: operator standardize; sklearn.preprocessing.StandardScaler.
        """
        if not isinstance(statistics, Mapping):
            raise TypeError(f"standardize: statistics is {statistics!r}; {_STATISTICS}")
        made = self
        for slot in slots or statistics:
            if slot not in statistics:
                raise ValueError(f"there are no statistics of {slot!r}, only of {list(statistics)}")
            mean, std = (np.ravel(statistics[slot][name]).tolist() for name in ("mean", "std"))
            made = made.apply("standardize", made._with_mask(slot), mean=mean, std=std)
        return made


class _Moments:
    """Statistics of values that come in parts, for each column."""

    def __init__(self, slot: str) -> None:
        self._slot = slot
        self._parts: list[tuple[Array, ...]] = []

    def add(self, values: Array) -> None:
        """Adds rows of columns, float64.

        Raises:
            ValueError: there are not as many columns as before.
        """
        width = len(self._parts[0][0]) if self._parts else values.shape[1]
        if values.shape[1] != width:
            raise ValueError(
                f"slot {self._slot!r} has rows of {width} and of {values.shape[1]} values, which "
                "have no statistics together"
            )
        known = ~np.isnan(values)
        count = known.sum(axis=0)
        mean = np.where(known, values, 0).sum(axis=0) / np.maximum(count, 1)
        squares = np.where(known, (values - mean) ** 2, 0).sum(axis=0)
        lowest = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
        highest = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
        self._parts.append((count, len(values) - count, lowest, highest, mean, squares))
        if len(self._parts) >= max(2, min(_MOST_PARTS, _MOST_VALUES // max(width, 1))):
            self._parts = [self._joined()]

    def _joined(self) -> tuple[Array, ...]:
        """The parts as one (Chan, Golub, LeVeque: Updating Formulae, 1979)."""
        counts, nulls, lowest, highest, means, squares = (
            np.stack(of_all) for of_all in zip_strict(*self._parts)
        )
        count = counts.sum(axis=0)
        mean = (counts * means).sum(axis=0) / np.maximum(count, 1)
        spread = squares.sum(axis=0) + (counts * (means - mean) ** 2).sum(axis=0)
        return count, nulls.sum(axis=0), lowest.min(axis=0), highest.max(axis=0), mean, spread

    def result(self) -> dict[str, Any]:
        if not self._parts:
            self.add(np.empty((0, 1)))
        count, nulls, lowest, highest, mean, squares = self._joined()
        none = count == 0
        std = np.sqrt(squares / np.maximum(count, 1))
        constant = lowest == highest  # sums round what is the same everywhere
        mean, std = np.where(constant, lowest, mean), np.where(constant, 0, std)
        of_values = {"min": lowest, "max": highest, "mean": mean, "std": std}
        result = {"count": count, "nulls": nulls}
        result |= {name: np.where(none, np.nan, values) for name, values in of_values.items()}
        return {
            name: values.tolist() if len(values) > 1 else values[0].item()
            for name, values in result.items()
        }


_MOST_PARTS = 1024
# That are in memory at once, such as those of images, and several times for what is made of them.
_MOST_VALUES = 1 << 18


def _is_mask(valid: Any, values: Any) -> bool:
    """Whether there is a boolean for each row of values, which are no sequences."""
    if valid is None or isinstance(valid, Ragged) or isinstance(values, Ragged):
        return False
    return bool(valid.dtype == np.bool_) and len(valid) == len(values)


def _numbers(values: Any) -> Array | None:
    """Rows of columns, float64; None for text and bytes."""
    if isinstance(values, Ragged):
        if values.values.dtype == np.uint8:
            return None
        numbers = np.array(values.values, np.float64)
        if values.values.dtype == np.int64:  # a date that is null within a list has no mask
            numbers[values.values == np.iinfo(np.int64).min] = np.nan
        return numbers.reshape(-1, 1)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return None
    width = int(np.prod(array.shape[1:]))
    return array.reshape(len(array), width).astype(np.float64)
