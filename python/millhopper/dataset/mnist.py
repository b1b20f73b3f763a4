# SPDX-License-Identifier: Apache-2.0
"""MNIST: 28 x 28 grey images of handwritten digits, of Y. LeCun, C. Cortes and C. Burges."""

from __future__ import annotations

from collections.abc import Iterator

from millhopper.base.paths import Path
from millhopper.base.python_reader import PythonReader
from millhopper.dataset import folders, images
from millhopper.readers import reader as pipeline

__all__ = ["test", "train"]


def train(folder: Path | None = None) -> PythonReader[images.Sample]:
    """Returns a reader of the images for training (60,000 in the whole set).

    Items: (float32 [784], int): the pixels row by row, -1 black to 1 white, and the digit. Order:
    that of the files.

    Args:
        folder: of ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte``, plain or ``.gz``, or
            of the files ``train-*.recordio`` that ``tools/quickstart --mnist`` writes. By default
            the one that the environment's ``MILLHOPPER_DATA`` names when a pass begins, or
            ``mnist`` or ``idx_mnist`` in it.

    Raises, in a pass, FileNotFoundError that says what was looked for, and `millhopper.Error` for a
    damaged file.

    Source: PaddlePaddle's paddle.dataset.mnist, 2018, which downloads.
    """
    return _reader("train", "train", folder)


def test(folder: Path | None = None) -> PythonReader[images.Sample]:
    """Returns a reader of the images for the test (10,000 in the whole set).

    Items: (float32 [784], int). As ``train``, of ``t10k-images-idx3-ubyte`` and
    ``t10k-labels-idx1-ubyte`` or of ``test-*.recordio``.

    Raises, in a pass, FileNotFoundError and `millhopper.Error` as ``train``.

    Source: PaddlePaddle's paddle.dataset.mnist, 2018, which downloads.
    """
    return _reader("test", "t10k", folder)


def _reader(part: str, prefix: str, folder: Path | None) -> PythonReader[images.Sample]:
    choices = (
        (f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"),
        (f"{part}-*.recordio",),
    )

    def read() -> Iterator[images.Sample]:
        found = folders.find(f"mnist.{part}", folder, ("mnist", "idx_mnist"), choices)
        if found[0].suffix == ".recordio":
            reader = images.of_recordio(found, 28 * 28)
        else:
            reader = pipeline.Reader.open_files(
                f"idx:{found[0]}", label_file_names=[found[1]], names=["image", "label"]
            )
        return images.samples(reader, low=-1, high=1, white=255)

    return read
