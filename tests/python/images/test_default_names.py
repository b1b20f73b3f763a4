# SPDX-License-Identifier: Apache-2.0
"""What slots of images are called where nobody names them."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np
import pytest
from test_vision import png

Reader = millhopper.Reader


HEADS = {
    "jpg": b"\xff\xd8\xff",
    "png": b"\x89PNG\r\n\x1a\n",
    "webp": b"RIFF\4\0\0\0WEBP",
    "bmp": b"BM\x3a\0\0\0\0\0\0\0",
    "gif": b"GIF89a",
    "ppm": b"P6 1 1 255 ",
    "tiff": b"II*\0",
}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Images in two folders, and a list of them."""
    random = np.random.default_rng(3)
    names = [f"{kind}/{i}.png" for i in range(4) for kind in ("cat", "dog")]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(png(random.integers(0, 255, (9, 8, 3), np.uint8)))
    (tmp_path / "list.txt").write_text("".join(f"{name} {i}\n" for i, name in enumerate(names)))
    return tmp_path


def test_an_image_is_called_image(photos: Path) -> None:
    reader = Reader.open_files(photos / "dog" / "*.png")
    assert list(next(iter(reader))) == ["image"]
    (batch,) = reader.decode_image("image").batch(4)
    assert batch["image"].shape == (4, 9, 8, 3)


@pytest.mark.parametrize("end", HEADS)
def test_every_format_of_images(end: str, tmp_path: Path) -> None:
    for name in [f"one.{end}", "unnamed"]:
        (tmp_path / name).write_bytes(HEADS[end])
        (element,) = Reader.open_files(tmp_path / name)
        assert list(element) == ["image"] and element["image"].to_bytes() == [HEADS[end]]


def test_images_with_classes(photos: Path) -> None:
    for name in [f"image_folder:{photos}", f"image_list:{photos}/list.txt"]:
        reader = Reader.open_files(name)
        assert [slot for slot in next(iter(reader))] == ["image", "label"]
        assert len(list(reader.filter("label % 2 == 1"))) == 4
        (batch,) = reader.select("label").batch(8)
        assert batch["label"].shape == (8,)
    with pytest.raises(millhopper.Error, match="no slot 'slot0'; there are 'image', 'label'"):
        reader.decode_image("slot0")


def test_given_names_are_taken(photos: Path) -> None:
    folder = f"image_folder:{photos}"
    assert list(next(iter(Reader.open_files(folder, names=["photo", "kind"])))) == ["photo", "kind"]
    slots = {"x": ("uint8", [-1], 1), "y": ("int64", [1, 1])}
    assert list(next(iter(Reader.open_files(folder, slots=slots)))) == ["x", "y"]
    with pytest.raises(millhopper.Error, match="1 names for a reader of 2 slots"):
        next(iter(Reader.open_files(folder, names=["photo"])))


def test_a_state_of_an_older_version_is_resumed(photos: Path) -> None:
    """Of one that called the slots slot0 and slot1."""

    def chain(names: list[str] | None) -> Reader:
        reader = Reader.open_files(f"image_folder:{photos}", names=names, seed=5)
        return (
            reader.shuffle(4).decode_image(names[0] if names else "image").random_crop(5).batch(3)
        )

    older = chain(["slot0", "slot1"])
    loop = iter(older)
    next(loop)
    state = older.state_dict()
    newer = chain(None)
    newer.load_state_dict(state)
    with pytest.raises(millhopper.Error, match=r"slot0.*open_files\(\.\.\., names=\[\.\.\.\]\)\)"):
        next(iter(newer))
    named = chain(["slot0", "slot1"])
    named.load_state_dict(state)
    rest, again = list(loop), list(named)
    assert len(rest) == len(again) == 2
    for left, right in zip(rest, again):
        for before, now in zip(left.values(), right.values()):
            np.testing.assert_array_equal(before, now)


def test_a_state_without_operators_knows_no_names(photos: Path) -> None:
    older = Reader.open_files(f"image_folder:{photos}", names=["slot0", "slot1"]).shuffle(4)
    loop = iter(older)
    next(loop)
    newer = Reader.open_files(f"image_folder:{photos}").shuffle(4)
    newer.load_state_dict(older.state_dict())
    rest = [element["slot1"].item() for element in loop]
    assert [element["label"].item() for element in newer] == rest and len(rest) == 7
