# SPDX-License-Identifier: Apache-2.0
"""Pixels compared with Pillow's, on Pillow's own test images and on photographs.

In an environment with Pillow (13.0 has been compared; -s prints how far values are apart)::

    pip install . && MILLHOPPER_TEST_DATA=... python -m pytest -s tests/python/test_pillow.py
"""

from __future__ import annotations

import os
from pathlib import Path

import millhopper
import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

DATA = os.environ.get("MILLHOPPER_TEST_DATA")
FOLDERS = ("jpeg_odd/pillow", "jpeg_photos", "png/pngsuite")
BROKEN = "truncated_jpeg.jpg"  # of Pillow's: an error unless partial=True
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "area": Image.Resampling.BOX,
    "lanczos": Image.Resampling.LANCZOS,
}

pytestmark = pytest.mark.skipif(not DATA, reason="MILLHOPPER_TEST_DATA names no sample files")


def files(folder: str) -> list[Path]:
    """The images of a folder that both can open."""
    found = []
    for path in sorted(Path(DATA or "", folder).rglob("*")):
        if path.suffix not in (".jpg", ".png") or path.name in (BROKEN, "ultrahdr.jpg"):
            continue
        try:
            with Image.open(path) as image:
                image.load()
        except OSError:
            continue
        found.append(path)
    assert len(found) > 20
    return found


def reader_of(paths: list[Path], tmp_path: Path) -> millhopper.Reader:
    lines = "".join(f"{path}\t{i}\n" for i, path in enumerate(paths))
    (tmp_path / "list.txt").write_text(lines)
    return millhopper.Reader.open_files(
        f"image_list:{tmp_path / 'list.txt'}", names=["image", "label"]
    )


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("name", FILTERS)
def test_resized_images_are_within_one_level(folder: str, name: str, tmp_path: Path) -> None:
    decoded = reader_of(files(folder), tmp_path).decode_image("image", output="pixels", exact=True)
    farthest, differing, values = 0, 0, 0
    for height, width in [(17, 23), (64, 50), (224, 224), (300, 7)]:
        resized = decoded.apply(
            "resize", "pixels", "resized", size=[height, width], interpolation=name
        )
        for element in resized:
            wanted = Image.fromarray(element["pixels"][0]).resize((width, height), FILTERS[name])
            difference = np.abs(element["resized"][0].astype(int) - np.asarray(wanted).astype(int))
            farthest = max(farthest, int(difference.max()))
            differing += int((difference > 0).sum())
            values += difference.size
    print(f"{folder}, {name}: differ by {farthest} at most, {differing} of {values}")
    assert farthest <= 1


def test_gray_is_pillows(tmp_path: Path) -> None:
    decoded = reader_of(files("jpeg_odd/pillow"), tmp_path).decode_image("image", output="pixels")
    for element in decoded.apply("grayscale", "pixels", "gray"):
        wanted = Image.fromarray(element["pixels"][0]).convert("L")
        np.testing.assert_array_equal(element["gray"][0, ..., 0], np.asarray(wanted))


def test_png_images_are_pillows(tmp_path: Path) -> None:
    """Every depth, palettes, gray, interlaced or not; those with alpha are compared without it."""
    paths = files("png/pngsuite")
    elements = list(reader_of(paths, tmp_path).decode_image("image"))
    assert len(elements) == len(paths)
    for path, element in zip(paths, elements):
        with Image.open(path) as image:
            if image.mode.startswith("I"):  # 16 bits: Pillow keeps them
                upper = (np.asarray(image).astype(int) >> 8).astype(np.uint8)
                wanted = np.stack([upper] * 3, axis=-1)
            else:
                wanted = np.asarray(image.convert("RGBA").convert("RGB"))
            np.testing.assert_array_equal(element["image"][0], wanted, err_msg=path.name)
