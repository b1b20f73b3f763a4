# SPDX-License-Identifier: Apache-2.0
"""The Python code in README.md and the package's page prints what these pages show."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "millhopper" / "README.md"]


def block(title: str) -> str:
    text = "".join(page.read_text() for page in PAGES)
    found = re.search(rf"^```\w+ title={re.escape(title)}\n(.*?)^```$", text, re.M | re.S)
    assert found, f"no page has a block {title}"
    return found[1]


def run(title: str) -> str:
    """The output of a block of Python that runs in this folder."""
    ran = subprocess.run(
        [sys.executable, "-c", block(title)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ran.stdout


@pytest.mark.parametrize("name", ["lines", "resume_at", "counts", "tokens", "train_layers"])
def test_a_script_prints_what_is_shown(name: str) -> None:
    assert run(f"{name}.py") == block(name)


def test_its_data_set_is_read_by_the_loader() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert run("data_set.py") == block("data_set")
    assert run("resume.py") == block("resume")


def test_the_program_written_in_python_is_that_in_text() -> None:
    def values(printed: str) -> list[str]:
        return [line.partition(": ")[2] for line in printed.splitlines()]

    assert values(run("programs.py")) == values(block("output"))


def test_its_training_script_reads_digits(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    ran = subprocess.run(
        [sys.executable, "-c", block("train_digits.py")],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "MILLHOPPER_DATA": str(ROOT / "tools" / "digits"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    found = re.fullmatch(r"(\d+) of 359 digits that it has not seen\n", ran.stdout)
    assert found, ran.stdout
    assert int(found[1]) >= 340


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


def test_its_convolutional_network_reads_images_in_folders(tmp_path: Path) -> None:
    for part in ("train", "test"):
        digits = getattr(fluid.dataset.digits, part)(str(ROOT / "tools" / "digits"))
        for number, (pixels, label) in enumerate(digits()):
            folder = tmp_path / "digits" / part / str(label)
            folder.mkdir(parents=True, exist_ok=True)
            image = (255 * np.asarray(pixels)).astype(np.uint8).reshape(8, 8)
            (folder / f"{number:05}.png").write_bytes(png(image))
    ran = subprocess.run(
        [sys.executable, "-c", block("train_images.py")],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert float(ran.stdout) >= 0.95
