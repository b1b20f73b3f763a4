# SPDX-License-Identifier: Apache-2.0
"""Folders of images, one folder a class."""

from __future__ import annotations

import os

from millhopper.base.paths import Path
from millhopper.readers.reader import Reader


def image_folder(folder: Path, *, seed: int = 0) -> Reader:
    """The images below the folders of a folder, and their classes.

    Slots: ``image``, the bytes of a file, uint8 ``[n]``, for ``Reader.decode_image``; ``label``,
    int64 ``[1]``, the place of the class's folder among the sorted names, so that a batch of
    images has ``[n]``, as torch's losses take it. ``Reader.classes`` has the names.

    Args:
        folder: a folder with a folder for each class.
        seed: seed of all random choices in the chain.

    Raises:
        Error: there is no such folder; in the first pass: it has no folders, or they no images.

    Source: classes and order of torchvision.datasets.ImageFolder, but without hidden folders, such
    as ``.ipynb_checkpoints``, ``__MACOSX`` and files named ``._*``; format ``image_folder``.
    """
    return Reader.open_files(
        f"image_folder:{os.fspath(folder)}", names=["image", "label"], seed=seed, name="images"
    )
