# SPDX-License-Identifier: Apache-2.0
"""Paths that a caller gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Path: TypeAlias = "str | os.PathLike[str]"
