# SPDX-License-Identifier: Apache-2.0
"""The Python code in README.md and the pages of the site prints what these show."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import millhopper as fluid
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "tools" / "docs" / "pages").glob("*.md"))]


def blocks() -> dict[str, str]:
    """The blocks of all pages that have a title, by it."""
    found: dict[str, str] = {}
    for page in PAGES:
        for title, text in re.findall(
            r"^```\w+ title=(\S+)\n(.*?)^```$", page.read_text(), re.M | re.S
        ):
            assert title not in found, f"two blocks have the title {title}"
            found[title] = text
    return found


BLOCKS = blocks()


def run(title: str, folder: Path, **environment: str) -> str:
    """The output of a block of Python that runs in a folder, where the tree's files are, too."""
    for name in ("LICENSE", "tools"):
        (folder / name).symlink_to(ROOT / name)
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKS[title]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": "1",  # torch's wait for one another where others work, too
            **environment,
        },
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def png(pixels: np.ndarray) -> bytes:
    """A gray image, uint8 [height, width], as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*parts)
        for parts in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def write_digits(folder: Path, part: str, most: int = 10**9) -> None:
    """Digits as images, in a folder for each."""
    samples = getattr(fluid.dataset.digits, part)(str(ROOT / "tools" / "digits"))
    for number, (pixels, label) in zip(range(most), samples()):
        place = folder / str(label)
        place.mkdir(parents=True, exist_ok=True)
        image = (255 * np.asarray(pixels)).astype(np.uint8).reshape(8, 8)
        (place / f"{number:05}.png").write_bytes(png(image))


def write_photos(folder: Path) -> None:
    """Two classes of photographs, if the sample files are here, or else digits."""
    samples = os.environ.get("MILLHOPPER_TEST_DATA")
    if samples is None:
        write_digits(folder / "photos", "test", 64)
        return
    for kind in ("dali", "dali_subsampling"):
        place = folder / "photos" / kind
        place.mkdir(parents=True)
        for file in sorted((Path(samples) / "jpeg_photos" / kind).rglob("*.jp*g")):
            shutil.copyfile(file, place / f"{file.parent.name}_{file.name}")


def write_pairs(folder: Path) -> None:
    """Images with a mask of classes each."""
    random = np.random.default_rng(1)
    for i in range(10):
        classes = random.integers(0, 3, (50, 60), dtype=np.uint8)
        for kind, pixels in (("images", 80 * classes), ("masks", classes)):
            place = folder / "pairs" / kind
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{i}.png").write_bytes(png(pixels))


def write_coco(folder: Path) -> None:
    """Images with boxes in COCO's form."""
    (folder / "coco" / "images").mkdir(parents=True)
    images, annotations = [], []
    for i in range(6):
        pixels = np.random.default_rng(i).integers(0, 255, (80, 100), dtype=np.uint8)
        (folder / "coco" / "images" / f"{i}.png").write_bytes(png(pixels))
        images.append({"id": i, "file_name": f"{i}.png", "height": 80, "width": 100})
        for k in range(1 + i % 3):
            box = [10 * k, 5 * k, 30, 40]
            annotations.append(
                {
                    "id": len(annotations),
                    "image_id": i,
                    "bbox": box,
                    "category_id": 1 + k,
                    "segmentation": [[box[0], box[1], box[0] + 30, box[1], box[0], box[1] + 40]],
                }
            )
    content = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": i, "name": str(i)} for i in (1, 2, 3)],
    }
    (folder / "coco" / "annotations.json").write_text(json.dumps(content))


def write_voc(folder: Path) -> None:
    """Images with boxes in VOC's form."""
    root = folder / "VOC2012"
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / name).mkdir(parents=True)
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 255, (80, 100), dtype=np.uint8)
        (root / "JPEGImages" / f"{i}.png").write_bytes(png(pixels))
        objects = "".join(
            f"<object><name>{name}</name><difficult>{k}</difficult><bndbox>"
            f"<xmin>{1 + 10 * k}</xmin><ymin>5</ymin>"
            f"<xmax>{60 + 10 * k}</xmax><ymax>70</ymax></bndbox></object>"
            for k, name in enumerate(("dog", "person"))
        )
        (root / "Annotations" / f"{i}.xml").write_text(f"<annotation>{objects}</annotation>")
    (root / "ImageSets" / "Main" / "trainval.txt").write_text("0\n1\n2\n")


# ---- Blocks that need more than the tree, or print what differs from machine to machine ----


def test_photographs_are_read(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    write_photos(tmp_path)
    assert run("photos.py", tmp_path) == ""


RECIPES = [title for title in BLOCKS if title.startswith("recipe_") and title.endswith(".py")]


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_makes_batches(title: str, tmp_path: Path) -> None:
    write_photos(tmp_path)
    write_pairs(tmp_path)
    write_coco(tmp_path)
    write_voc(tmp_path)
    assert run(title, tmp_path) == BLOCKS[title.removesuffix(".py")]


def test_transforms_of_others_are_taken_apart(tmp_path: Path) -> None:
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    assert "RandomErasing(0.25" in run("taken_apart.py", tmp_path)


def test_a_network_is_trained_on_photographs(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    write_photos(tmp_path)
    losses = [float(line) for line in run("train_photos.py", tmp_path).split()]
    assert len(losses) == 2 and np.isfinite(losses).all()


def test_a_model_of_detection_is_trained(tmp_path: Path) -> None:
    if importlib.util.find_spec("torchvision") is None:  # whose import takes long
        pytest.skip("torchvision is not installed")
    write_coco(tmp_path)
    losses = [float(line) for line in run("train_detection.py", tmp_path).split()]
    assert len(losses) == 3 and np.isfinite(losses).all()


def test_a_model_of_jax_is_trained(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    assert float(run("train_jax.py", tmp_path)) < 1e-3  # of 4 before


@pytest.mark.parametrize("backend", ["jax", "torch", "tensorflow"])
def test_a_model_of_keras_is_trained(backend: str, tmp_path: Path) -> None:
    for needed in ("keras", backend):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    assert float(run("train_keras.py", tmp_path, KERAS_BACKEND=backend)) < 1e-2


def test_a_model_of_text_is_trained(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert float(run("train_text.py", tmp_path)) < 3  # of 5.5 before


def test_a_store_is_read(tmp_path: Path) -> None:
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    shutil.copyfile(ROOT / "LICENSE", bucket / "LICENSE")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            settings = {"AWS_ENDPOINT_URL": address, "AWS_NO_SIGN_REQUEST": "true", "no_proxy": "*"}
            assert run("stores.py", tmp_path, **settings) == BLOCKS["stores"]
        finally:
            server.shutdown()
            thread.join()


def test_the_program_written_in_python_is_that_in_text(tmp_path: Path) -> None:
    def values(printed: str) -> list[str]:
        return [line.partition(": ")[2] for line in printed.splitlines()]

    assert values(run("programs.py", tmp_path)) == values(BLOCKS["output"])


def test_its_training_script_reads_digits(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    printed = run("train_digits.py", tmp_path, MILLHOPPER_DATA=str(ROOT / "tools" / "digits"))
    found = re.fullmatch(r"(\d+) of 359 digits that it has not seen\n", printed)
    assert found, printed
    assert int(found[1]) >= 340


def test_its_convolutional_network_reads_images_in_folders(tmp_path: Path) -> None:
    for part in ("train", "test"):
        write_digits(tmp_path / "digits" / part, part)
    assert float(run("train_images.py", tmp_path)) >= 0.95


# ---- All others ----

ALONE = {
    "photos.py",
    "train_photos.py",
    "train_detection.py",
    "train_jax.py",
    "train_keras.py",
    "train_text.py",
    "stores.py",
    "programs.py",
    "taken_apart.py",
    "train_digits.py",
    "train_images.py",
}


@pytest.mark.parametrize(
    "title",
    [title for title in BLOCKS if title.endswith(".py") and title not in [*ALONE, *RECIPES]],
)
def test_a_script_prints_what_is_shown(title: str, tmp_path: Path) -> None:
    if "DataLoader" in BLOCKS[title]:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    assert run(title, tmp_path) == BLOCKS[title.removesuffix(".py")]


def test_every_block_of_python_has_a_title() -> None:
    for page in PAGES:
        assert not re.search(r"^```python$", page.read_text(), re.M), page
