# SPDX-License-Identifier: Apache-2.0
"""Warnings that name the caller's line outside of the package."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn_caller(text: str) -> None:
    """Warns of ``text`` in the line outside of the package that led here, once for each line."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(text, stacklevel=level + 1)


def _is_own(module: str) -> bool:
    return module == _PACKAGE or module.startswith(_PACKAGE + ".")
