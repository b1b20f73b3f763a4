# SPDX-License-Identifier: Apache-2.0
"""Files of numbers, and what readers must make of them."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np
from millhopper.recordio_writer import create_recordio_writer


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


def write_number_chunks(folder: Path, records: int) -> str:
    """A pattern of four files with chunks of 20 records of a slot ``x``: int64 [1, 1], 0, 1, ...

    The numbers are dealt out to the files.
    """
    for part in range(4):
        path = folder / f"numbers-{part}.recordio"
        with create_recordio_writer(path, max_num_records=20, names=["x"]) as writer:
            for number in range(part, records, 4):
                writer.append_tensor(millhopper.LoDTensor.from_array(np.int64([[number]])))
                writer.complete_append_tensor()
    return str(folder / "numbers-*.recordio")
