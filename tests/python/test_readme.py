# SPDX-License-Identifier: Apache-2.0
"""What README.md shows of Python prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def block(title: str) -> str:
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"^```\w+ title={re.escape(title)}\n(.*?)^```$", text, re.M | re.S)
    assert found, f"README.md has no block {title}"
    return found[1]


def test_its_lines_are_printed() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", block("lines.py")],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == block("lines")


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
            "MILLRACE_DATA": str(ROOT / "tools" / "digits"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    found = re.fullmatch(r"(\d+) of 359 digits that it has not seen\n", ran.stdout)
    assert found, ran.stdout
    assert int(found[1]) >= 340
