# SPDX-License-Identifier: Apache-2.0
"""Paths that a caller gives."""

from __future__ import annotations

import os
from typing import TypeAlias

Path: TypeAlias = str | os.PathLike[str]
