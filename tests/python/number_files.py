# SPDX-License-Identifier: Apache-2.0
"""Files of numbers, and what readers must make of them."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np


def write_numbers(path: Path, records: int) -> Path:
    """Records of int64 [1, 4], of which record i holds 4 * i up to 4 * i + 3."""
    np.arange(4 * records, dtype=np.int64).tofile(path)
    return path


def open_numbers(path: Path, **attributes: object) -> millhopper.Reader:
    return millhopper.Reader.open_files(
        f"fixed:{path}", slots={"row": ("int64", [1, 4])}, **attributes
    )


def write_mixed(path: Path, records: int) -> Path:
    """Records of float32 [1, 3] and bfloat16 [1, 2], of which record i holds i everywhere."""
    pixels = np.repeat(np.arange(records, dtype=np.float32), 3).reshape(records, 3)
    halves = (pixels[:, :2].copy().view(np.uint32) >> 16).astype(np.uint16)
    record = np.concatenate([pixels.view(np.uint8), halves.view(np.uint8)], axis=1)
    record.tofile(path)
    return path


def open_mixed(path: Path) -> millhopper.Reader:
    return millhopper.Reader.open_files(
        f"fixed:{path}",
        slots={"pixels": ("float32", [1, 3]), "halves": ("bfloat16", [1, 2])},
    )
