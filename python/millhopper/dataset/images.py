# SPDX-License-Identifier: Apache-2.0
"""Images and their labels, one after the other, out of batches that the C++ core reads."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from millhopper.base.zipped import zip_strict
from millhopper.readers.reader import Reader

# Pixels as float32 [pixels], and what they show.
Sample = tuple[npt.NDArray[np.float32], int]

AT_ONCE = 256  # images; large enough that what a batch costs does not count


def of_recordio(files: list[pathlib.Path], pixels: int) -> Reader:
    """The images that `tools/quickstart` writes: uint8 [1, pixels], with an int64 [1, 1] label."""
    return Reader.open_files(
        [f"recordio:{file}" for file in files],
        slots={"image": ("uint8", [1, pixels]), "label": ("int64", [1, 1])},
    )


def samples(reader: Reader, low: float, high: float, white: float) -> Iterator[Sample]:
    """Images of a reader with the slots image and label: bytes 0 to `white` become low to high."""
    for batch in reader.batch(AT_ONCE):
        images: Any = batch["image"]
        labels: Any = batch["label"]
        rows = images.reshape(len(images), -1).astype(np.float32)
        yield from zip_strict(scaled(rows, low, high, white), labels.ravel().tolist())


def scaled(
    rows: npt.NDArray[np.float32], low: float, high: float, white: float
) -> npt.NDArray[np.float32]:
    """Values 0 to `white` as low to high, in float32."""
    return rows / np.float32(white) * np.float32(high - low) + np.float32(low)
