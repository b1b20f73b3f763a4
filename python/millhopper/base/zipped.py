# SPDX-License-Identifier: Apache-2.0
"""``zip(..., strict=True)``, which Python has from 3.10 on, in all versions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any


def zip_strict(*iterables: Iterable[Any]) -> Iterator[Any]:
    """Tuples of the elements of all iterables, side by side.

    Raises:
        ValueError: one of them ends before another. It is raised after all whole tuples.
    """
    if all(isinstance(iterable, (list, tuple)) for iterable in iterables):
        lengths = {len(iterable) for iterable in iterables}  # type: ignore[arg-type]
        if len(lengths) < 2:
            return zip(*iterables)
    return _checked(iterables)


def _checked(iterables: tuple[Iterable[Any], ...]) -> Iterator[Any]:
    missing = object()
    for values in itertools.zip_longest(*iterables, fillvalue=missing):
        if any(value is missing for value in values):
            raise ValueError(f"{len(iterables)} iterables, read side by side, differ in length")
        yield values
