# SPDX-License-Identifier: Apache-2.0
"""BMP, GIF, PNM and TIFF images: their pixels compared with Pillow's."""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import millhopper
import numpy as np
import pytest

PIL = pytest.importorskip("PIL", reason="Pillow is not installed")
from PIL import Image  # noqa: E402

FOLDER = Path(os.environ.get("MILLHOPPER_TEST_DATA", "/nonexistent"))
SIZES = [(1, 1), (5, 7), (16, 16), (33, 65)]


def decoded(image: bytes, **options: object) -> np.ndarray:
    reader = millhopper.Reader.from_dataset([image], slots={"x": ("uint8", [-1], 1)})
    return next(iter(reader.decode_image("x", **{"channels": 0, **options})))["x"][0]


def pillows(content: bytes) -> np.ndarray:
    """Pillow's pixels, with the colours of palettes and inks, and the upper 8 of 16 bits."""
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        has_alpha = "transparency" in image.info
        if image.mode in ("P", "CMYK"):
            values = np.asarray(image.convert("RGBA" if has_alpha else "RGB"))
        elif image.mode == "1" or (image.mode == "L" and has_alpha):
            values = np.asarray(image.convert("LA" if has_alpha else "L"))
        elif image.mode.startswith("I"):
            values = (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)
        else:
            values = np.asarray(image)
    return values.reshape(*values.shape[:2], -1)


def assert_is_pillows(content: bytes) -> None:
    np.testing.assert_array_equal(decoded(content), pillows(content))


def images() -> Iterator[Image.Image]:
    random = np.random.default_rng(3)
    for height, width in SIZES:
        for channels in ((), (2,), (3,), (4,)):
            shape = (height, width, *channels)
            yield Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8))
        gray = Image.fromarray(random.integers(0, 256, (height, width), dtype=np.uint8))
        yield gray.convert("1")
        yield gray.convert("RGB").convert("CMYK")
        palette = gray.convert("P")
        palette.putpalette(random.integers(0, 256, 768, dtype=np.uint8).tobytes())
        yield palette
        yield Image.fromarray(random.integers(0, 65536, (height, width), dtype=np.uint16))


def saved(image: Image.Image, form: str, **options: object) -> bytes | None:
    out = io.BytesIO()
    try:
        image.save(out, form, **options)
    except (OSError, ValueError, KeyError, RuntimeError):  # not for this mode, or this Pillow
        return None
    return out.getvalue()


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("BMP", {}),
        ("PPM", {}),
        ("GIF", {}),
        ("GIF", {"interlace": 0}),
        ("GIF", {"transparency": 3}),
        *(
            ("TIFF", {"compression": name})
            for name in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "group4", "zstd")
        ),
        ("TIFF", {"compression": "tiff_lzw", "tiffinfo": {274: 6, 317: 2}}),  # turned, predicted
    ],
)
def test_images_are_pillows(form: str, options: dict[str, object]) -> None:
    contents = [content for image in images() if (content := saved(image, form, **options))]
    assert len(contents) >= len(SIZES)
    for content in contents:
        assert_is_pillows(content)


@pytest.mark.parametrize("name", ["*.bmp", "*.p[bgp]m", "*.gif", "*.tif*"])
def test_sample_images_are_pillows(name: str) -> None:
    for path in FOLDER.rglob(name):
        assert_is_pillows(path.read_bytes())


# ---- BMP. ----

VALUES = bytes(np.random.default_rng(5).integers(0, 256, 4096, dtype=np.uint8))


def bmp(
    bits: int,
    *,
    size: tuple[int, int] = (13, 6),
    header: int = 40,
    compression: int = 0,
    masks: bytes = b"",
    palette: bytes = b"",
    colors: int = 0,
    pixels: bytes = VALUES,
) -> bytes:
    if header == 12:
        info = struct.pack("<IHHHH", header, *size, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, *size, 1, bits, compression, 0, 0, 0, colors, 0)
        info = (info + (masks if header > 40 else b"")).ljust(header, b"\0")
        palette = (masks if header == 40 else b"") + palette
    start = 14 + len(info) + len(palette)
    return struct.pack("<2sIII", b"BM", start + len(pixels), 0, start) + info + palette + pixels


def masks_of(*shifts: int) -> bytes:
    """Masks of 8 bits each."""
    return struct.pack("<4I", *(255 << shift for shift in shifts))


@pytest.mark.parametrize(
    "content",
    [
        bmp(24),
        bmp(24, size=(13, -6)),
        bmp(24, header=12),
        bmp(16),
        bmp(32),
        bmp(32, header=124),
        bmp(16, compression=3, masks=struct.pack("<3I", 0xF800, 0x7E0, 0x1F)),
        bmp(16, compression=3, masks=struct.pack("<3I", 0x7C00, 0x3E0, 0x1F)),
        bmp(32, compression=3, masks=struct.pack("<3I", 0xFF0000, 0xFF00, 0xFF)),
        bmp(32, compression=3, header=108, masks=masks_of(0, 8, 16, 24)),
        bmp(32, compression=3, header=56, masks=masks_of(24, 16, 8, 0)),
        bmp(32, compression=3, header=56, masks=bytes(16)),
        bmp(8, palette=VALUES[:1024]),
        bmp(8, palette=VALUES[:768], header=12),
        bmp(4, palette=VALUES[:64]),
        bmp(1, palette=VALUES[:8]),
        bmp(1, palette=b"\0\0\0\0\xff\xff\xff\0"),
        bmp(8, palette=bytes(value for i in range(256) for value in (i, i, i, 0))),
        bmp(8, palette=VALUES[:40], colors=10, pixels=bytes(range(10)) * 20),
        bmp(8, compression=1, palette=VALUES[:1024], size=(5, 3), pixels=bytes(
            [3, 7, 2, 9, 0, 0, 0, 3, 1, 2, 3, 0, 9, 4, 0, 0, 1, 5, 0, 2, 2, 0, 2, 6, 0, 1])),
        bmp(4, compression=2, palette=VALUES[:64], size=(5, 2), pixels=bytes(
            [5, 0x12, 0, 0, 0, 5, 0x34, 0x56, 0x70, 0, 0, 1])),
    ],
)  # fmt: skip
def test_bitmaps_are_pillows(content: bytes) -> None:
    assert_is_pillows(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (bmp(24, pixels=b"abc"), "premature end of the image"),
        (bmp(2), "its pixels have other than 1, 4, 8, 16, 24 or 32 bits"),
        (bmp(24, compression=4), "it is compressed in a way that is unknown"),
        (bmp(8, palette=VALUES[:8], colors=2, pixels=bytes([2]) * 200), "not in the palette"),
        (bmp(24, size=(0, 5)), "it has no pixels"),
        (bmp(16, compression=3, masks=struct.pack("<3I", 5, 2, 8)), "its masks of colours"),
        (bmp(8, compression=1, palette=VALUES[:1024], pixels=b"\5"), "premature end"),
    ],
)
def test_bitmaps_that_are_wrong_are_errors(content: bytes, problem: str) -> None:
    with pytest.raises(millhopper.Error, match=f"BMP image of {len(content)} bytes: .*{problem}"):
        decoded(content)


# ---- PNM. ----


@pytest.mark.parametrize(
    "content",
    [
        b"P1\n# a comment\n4 2\n0110\n1 0 # more\n01",
        b"P2 3 2 15 0 1 2 13 14 15",
        b"P2\n3 1\n1000\n0 500 1000\n",
        b"P3\n2 1\n7\n0 1 2 3 4 7\n",
        b"P4\n10 2\n" + bytes([0xA5, 0x40, 0x5A, 0x80]),
        b"P5\n3 2\n255\n" + bytes(range(6)),
        b"P5\n3 2\n100\n" + bytes([0, 1, 50, 99, 100, 255]),
        b"P5 2 2 65535\n" + bytes([0, 255, 1, 0, 255, 255, 128, 7]),
        b"P5 2 1 4095\n" + bytes([0, 255, 15, 255]),
        b"P6\r2 1 63 " + bytes([0, 1, 2, 61, 62, 63]),
        b"P6 1 1 1023\n" + bytes([0, 1, 2, 3, 3, 255]),
    ],
)
def test_netpbm_images_are_pillows(content: bytes) -> None:
    assert_is_pillows(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"P5 3 2 255\n12345", "premature end"),
        (b"P2 3 1 7 1 2", "premature end"),
        (b"P2 2 1 7 1 8", "above the highest one"),
        (b"P2 2 1 7 1 x", "no number"),
        (b"P1 2 1 1 2", "no 0 or 1"),
        (b"P5 0 1 255\n", "no pixels"),
        (b"P5 1 1 65536\n1", "not in 1 to 65535"),
        (b"P5 1234567890 1 255\n1", "too many digits"),
        (b"P6 2", "premature end"),
    ],
)
def test_netpbm_images_that_are_wrong_are_errors(content: bytes, problem: str) -> None:
    with pytest.raises(millhopper.Error, match=f"PNM image of {len(content)} bytes: .*{problem}"):
        decoded(content)


# ---- TIFF and GIF. ----


def tiff(tags: dict[int, int | list[int]], pixels: list[bytes]) -> bytes:
    """A page of these tags, and its strips or tiles."""
    places, content = [], b""
    for block in pixels:
        places.append(8 + len(content))
        content += block
    tiled = 322 in tags
    blocks = {324 if tiled else 273: places, 325 if tiled else 279: list(map(len, pixels))}
    entries = b""
    for tag, given in sorted({**tags, **blocks}.items()):
        values = given if isinstance(given, list) else [given]
        data = struct.pack(f"<{len(values)}H", *values)
        if len(data) > 4:
            place = 8 + len(content)
            content += data
            data = struct.pack("<I", place)
        entries += struct.pack("<HHI", tag, 3, len(values)) + data.ljust(4, b"\0")
    count = struct.pack("<H", len(entries) // 12)
    return b"II*\0" + struct.pack("<I", 8 + len(content)) + content + count + entries + bytes(4)


SIZE = {256: 20, 257: 18}
TILES = {**SIZE, 322: 16, 323: 16}
ALPHA = [value for i in range(360) for value in (i % 97, i % 31, i % 60, max(100, i % 256))]


@pytest.mark.parametrize(
    "content",
    [
        tiff({**SIZE, 258: [8, 8, 8], 262: 2, 277: 3, 278: 18}, [VALUES[:1080]]),
        tiff({**SIZE, 258: [8, 8, 8], 262: 2, 277: 3, 278: 7, 284: 2}, [VALUES[:140]] * 9),
        tiff({**TILES, 258: [8, 8, 8], 262: 2, 277: 3}, [VALUES[i : 768 + i] for i in range(4)]),
        tiff({**TILES, 258: [8], 262: 0, 277: 1}, [VALUES[i : 256 + i] for i in range(4)]),
        tiff({**TILES, 258: [1], 262: 1, 277: 1}, [VALUES[i : 32 + i] for i in range(4)]),
        tiff({**SIZE, 258: [4], 262: 3, 277: 1, 278: 18, 320: list(range(0, 48000, 1000))},
             [VALUES[:180]]),
        tiff({**SIZE, 258: [16, 16, 16], 262: 2, 277: 3, 278: 18}, [VALUES[:2160]]),
        tiff({**SIZE, 258: [8] * 4, 262: 2, 277: 4, 278: 18, 338: 1}, [bytes(ALPHA)]),
        tiff({**SIZE, 258: [8] * 4, 262: 2, 277: 4, 278: 18, 338: 0}, [VALUES[:1440]]),
    ],
)  # fmt: skip
def test_pages_are_pillows(content: bytes) -> None:
    assert_is_pillows(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (tiff({**SIZE, 258: [8, 8, 8], 262: 2, 277: 3, 278: 18}, [b"short"]), "Read error"),
        (tiff({**SIZE, 258: [8, 8, 8], 262: 8, 277: 3, 278: 18}, [VALUES[:1080]]), "neither gray"),
        (tiff({**SIZE, 258: [16], 262: 1, 277: 1, 278: 18, 339: 3}, [VALUES[:720]]), "no unsigned"),
        (tiff({**SIZE, 258: [32], 262: 1, 277: 1, 278: 18}, [VALUES[:1440]]), "no unsigned"),
        (b"II*\0" + bytes(30), "."),
        (b"MM\0+", "."),
    ],
)
def test_pages_that_are_wrong_are_errors(content: bytes, problem: str) -> None:
    with pytest.raises(millhopper.Error, match=f"TIFF image of {len(content)} bytes: .*{problem}"):
        decoded(content)


def test_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (9, 7), color) for color in ("red", "blue")]
    content = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert content is not None
    np.testing.assert_array_equal(decoded(content), np.asarray(frames[0]))
    with pytest.raises(millhopper.Error, match=r"GIF image of \d+ bytes: "):
        decoded(content[:40])


def test_a_frame_may_be_smaller_or_larger_than_its_screen() -> None:
    content = saved(Image.new("P", (4, 4), 1), "GIF")
    assert content is not None
    for width, height in (9, 7), (2, 3):
        assert_is_pillows(content[:6] + struct.pack("<HH", width, height) + content[10:])


@pytest.mark.parametrize("form", ["BMP", "GIF", "TIFF", "PPM"])
def test_damaged_images_are_errors_or_images(form: str) -> None:
    image = Image.fromarray(np.frombuffer(VALUES[:1200], np.uint8).reshape(20, 20, 3))
    content = saved(image, form)
    assert content is not None
    random = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(content[: random.integers(20, len(content) + 1)])
        for _ in range(random.integers(0, 4)):
            damaged[random.integers(0, min(len(damaged), 200))] ^= 1 << random.integers(0, 8)
        for partial in (False, True):
            with contextlib.suppress(millhopper.Error):
                decoded(bytes(damaged), max_pixels=1 << 20, partial=partial)


def test_folders_of_such_images_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    image = Image.fromarray(np.frombuffer(VALUES[:300], np.uint8).reshape(10, 10, 3))
    for name in ("1.bmp", "2.ppm", "3.tif", "4.tiff"):
        image.save(tmp_path / "a" / name)
    reader = millhopper.Reader.open_files(f"image_folder:{tmp_path}", names=["image", "label"])
    pixels = [element["image"][0] for element in reader.decode_image("image")]
    assert len(pixels) == 4
    for found in pixels:
        np.testing.assert_array_equal(found, np.asarray(image))
