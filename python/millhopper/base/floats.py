# SPDX-License-Identifier: Apache-2.0
"""Numbers that a caller gives one by one or as a list."""

from __future__ import annotations

from collections.abc import Sequence


def floats(values: float | Sequence[float]) -> list[float]:
    """One number or several as a list.

    Raises:
        TypeError, ValueError: one of them is no number.
    """
    return [float(value) for value in (values if isinstance(values, Sequence) else [values])]
