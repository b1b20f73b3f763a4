# SPDX-License-Identifier: Apache-2.0
"""Folders of images of several formats, some of which are no images."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import Reader


def png(value: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        ends = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + ends

    header = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes([0, value, value, 0, value, value]))
    end = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + end


def ppm(value: int) -> bytes:
    return b"P6\n2 2\n255\n" + bytes([value]) * 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """60 images whose pixels are their numbers, and files that are none among them."""
    for name in "ab":
        (tmp_path / name).mkdir()
    for number in range(60):
        path = tmp_path / "ab"[number % 2] / f"{number:02}"
        if number % 3 == 0:
            path.with_suffix(".png").write_bytes(png(number))
        else:
            path.with_suffix(".ppm").write_bytes(ppm(number))
    return tmp_path


def spoil(folder: Path) -> None:
    (folder / "a/03x.png").write_bytes(b"")
    (folder / "a/11x.png").write_bytes(png(1)[:40])
    (folder / "b/59x.jpg").write_text("not an image")
    (folder / "b/00x.ppm").write_bytes(ppm(1)[:-3])


@pytest.fixture(params=[0, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    millhopper.set_threads(request.param)
    yield
    millhopper.set_threads(2)


def numbers(reader: Reader) -> list[int]:
    return [int(image[0, 0, 0]) for batch in reader for image in batch["image"]]


def test_images_of_several_formats_are_read_together(folder: Path) -> None:
    def decoded() -> Reader:
        return Reader.open_files(f"{folder}/**/*").decode_image("image")

    assert sorted(numbers(decoded().batch(7))) == list(range(60))
    spoil(folder)
    assert sorted(numbers(decoded().ignore_errors().batch(7))) == list(range(60))
    (folder / "a/notes.txt").write_text("no image")
    words = "the prefix 'image:' takes all that it finds for images"
    with pytest.raises(millhopper.Error, match=words):
        list(Reader.open_files(f"{folder}/**/*"))
    assert sorted(
        numbers(Reader.open_files(f"image:{folder}/**/*").decode_image("image").ignore_errors())
    ) == list(range(60))
    with pytest.raises(millhopper.Error, match="notes.txt: the file is not an image that can be"):
        list(Reader.open_files(f"image:{folder}/a/notes.txt"))


@pytest.mark.parametrize("lanes", [1, 4])
def test_errors_of_images_are_left_out(
    folder: Path, lanes: int, threads: None, capfd: pytest.CaptureFixture[str]
) -> None:
    def chain() -> Reader:
        reader = Reader.open_files(f"image_folder:{folder}", lanes=lanes)
        return reader.shuffle(16, seed=1).decode_image("image").ignore_errors().batch(4)

    whole = [numbers(chain()), numbers(chain())]
    assert sorted(whole[0]) == list(range(60))
    assert capfd.readouterr().err == ""
    spoil(folder)
    found = chain()
    assert sorted(numbers(found)) == list(range(60))
    warning = capfd.readouterr().err
    assert warning.count("warning: ignore_errors leaves out element") == 1
    with pytest.raises(millhopper.Error, match="the file is empty|bytes that are no image|PNG|PNM"):
        list(Reader.open_files(f"image_folder:{folder}").decode_image("image"))
    # The same elements come after any place at which a loop was saved.
    expected = numbers(chain())
    for stop in range(1, 15, 3):
        saved, resumed = chain(), chain()
        before = []
        for batch in saved:
            before += [int(number) for number in batch["image"][:, 0, 0, 0]]
            if len(before) >= 4 * stop:
                break
        resumed.load_state_dict(saved.state_dict())
        assert before + numbers(resumed) == expected, stop


def test_rows_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("km,fare\n1,2\n3,unknown\n4\n5,6\n")
    reader = Reader.open_files(tmp_path / "a.csv", fields=["km int64[]", "fare float32[]"])
    assert [int(e["km"][0]) for e in reader.ignore_errors()] == [1, 5]


def test_statistics_count_what_is_left_out(folder: Path) -> None:
    spoil(folder)
    reader = Reader.open_files(f"image_folder:{folder}", lanes=1)
    reader = reader.decode_image("image").ignore_errors()
    assert len(list(reader)) == 60
    stats = reader.stats()
    assert stats.below[0].planned - stats.planned == 4


def test_a_file_name_in_the_place_of_an_image_says_what_reads_it(tmp_path: Path) -> None:
    reader = Reader.from_iterable([{"path": b"images/cat 1.jpg"}])
    with pytest.raises(millhopper.Error, match=r"16 bytes that are no image.*image_list:FILE"):
        list(reader.decode_image("path"))
    (tmp_path / "list.txt").write_text("path label\na.ppm 3\n")
    with pytest.raises(
        millhopper.Error, match="line 1.*has the label 'label'.*a list has no header"
    ):
        list(Reader.open_files(f"image_list:{tmp_path}/list.txt"))


def test_boxes_and_values_stay_with_their_images(folder: Path) -> None:
    spoil(folder)
    reader = Reader.open_files(f"image_folder:{folder}").decode_image("image").ignore_errors()
    for element in reader:
        assert element["label"][0] == int(np.asarray(element["image"]).flat[0]) % 2
