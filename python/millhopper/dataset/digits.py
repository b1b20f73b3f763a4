# SPDX-License-Identifier: Apache-2.0
"""The digits that come with Millhopper: 1,797 handwritten ones, 8 x 8, by Alpaydin and Kaynak.

``tools/digits/README.md`` says where they are from. Every fifth is for the test, as in
``tools/quickstart``.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import numpy as np

from millhopper.base.paths import Path
from millhopper.base.python_reader import PythonReader
from millhopper.base.zipped import zip_strict
from millhopper.dataset import folders, images
from millhopper.errors import Error
from millhopper.ragged import Ragged
from millhopper.readers import reader as pipeline

__all__ = ["test", "train"]

PIXELS = 64
WHITE = 16
TEST_EVERY = 5


def train(folder: Path | None = None) -> PythonReader[images.Sample]:
    """Returns a reader of the 1,438 images for training.

    Items: (float32 [64], int): the pixels row by row, 0 black to 1 white, and the digit. Order:
    that of the file.

    Args:
        folder: of ``digits.csv.gz`` (``tools/digits`` in the sources), or of the files
            ``train-*.recordio`` that ``tools/quickstart`` writes. By default the one that the
            environment's ``MILLHOPPER_DATA`` names when a pass begins, or ``digits`` in it.

    Raises, in a pass, FileNotFoundError that says what was looked for, and `millhopper.Error` for a
    damaged file.

    Source: the shape is that of PaddlePaddle's paddle.dataset, 2018.
    """
    return _reader("train", folder)


def test(folder: Path | None = None) -> PythonReader[images.Sample]:
    """Returns a reader of the 359 images for the test, as ``train`` (``test-*.recordio``).

    Items: (float32 [64], int).

    Raises, in a pass, FileNotFoundError and `millhopper.Error` as ``train``.

    Source: the shape is that of PaddlePaddle's paddle.dataset, 2018.
    """
    return _reader("test", folder)


def _reader(part: str, folder: Path | None) -> PythonReader[images.Sample]:
    choices = (("digits.csv",), (f"{part}-*.recordio",))

    def read() -> Iterator[images.Sample]:
        found = folders.find(f"digits.{part}", folder, ("digits",), choices)
        if found[0].suffix == ".recordio":
            reader = images.of_recordio(found, PIXELS)
            return images.samples(reader, low=0, high=1, white=WHITE)
        return _lines(found[0], part == "test")

    return read


def _lines(path: pathlib.Path, for_test: bool) -> Iterator[images.Sample]:
    number = 0
    for batch in pipeline.Reader.open_files(f"text:{path}", names=["line"]).batch(images.AT_ONCE):
        lines = batch["line"]
        assert isinstance(lines, Ragged)  # what the format text gives
        digits = []
        for line in lines.to_bytes():
            number += 1
            if (number % TEST_EVERY == 0) == for_test:
                digits.append(_parse(line, path, number))
        rows = np.array([pixels for pixels, _ in digits], np.float32).reshape(-1, PIXELS)
        labels = [label for _, label in digits]
        yield from zip_strict(images.scaled(rows, 0, 1, WHITE), labels)


def _parse(line: bytes, path: pathlib.Path, number: int) -> tuple[list[int], int]:
    try:
        *pixels, label = map(int, line.split(b","))
    except ValueError as error:
        raise _damaged(path, number, str(error)) from None
    if len(pixels) != PIXELS:
        raise _damaged(path, number, f"{len(pixels) + 1} numbers instead of {PIXELS + 1}")
    return pixels, label


def _damaged(path: pathlib.Path, number: int, problem: str) -> Error:
    return Error(f"{path}: line {number}: {problem}", code="data loss", file=str(path))
