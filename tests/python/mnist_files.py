# SPDX-License-Identifier: Apache-2.0
"""Small files in the form of MNIST's."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np


def write_idx(path: Path, array: np.ndarray, compressed: bool) -> None:
    content = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    content += array.tobytes()
    if compressed:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
    else:
        path.write_bytes(content)


def write_mnist(folder: Path, prefix: str, count: int, *, compressed: bool) -> np.ndarray:
    """Writes and returns `count` random images; the label of image i is i as a byte."""
    images = np.random.default_rng(count).integers(0, 256, (count, 28, 28), np.uint8)
    images[0, 0, :3] = (0, 255, 51)
    write_idx(folder / f"{prefix}-images-idx3-ubyte", images, compressed)
    write_idx(folder / f"{prefix}-labels-idx1-ubyte", np.arange(count).astype("u1"), compressed)
    return images
