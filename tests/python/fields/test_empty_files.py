# SPDX-License-Identifier: Apache-2.0
"""Files of 0 bytes: Python, peek and verify say the same of them.

Where a format has records and nothing around them, such a file is a whole one without a record, as
for other readers of it. Where one begins with something that is not there, or must tell fields, it
is an error that names the file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import millhopper
import pytest

COMMANDS = Path(sys.executable).parent


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.txt", {}),
        ("text:a", {}),
        ("a.tfrecord", {}),
        ("mxnet:a.rec", {}),
        ("a.recordio", {"content": "bytes"}),
        ("a.recordio", {"slots": {"x": ("float32", [1, 2])}}),
        ("fixed:a.bin", {"slots": {"x": ("float32", [1, 2])}}),
        ("a.jsonl", {"fields": ["x int64[]"]}),
    ],
)
def test_a_file_without_a_record_has_none(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    tag, colon, path = name.rpartition(":")
    file = tmp_path / path
    file.touch()
    named = f"{tag}{colon}{file}"
    assert list(millhopper.Reader.open_files(named, **options)) == []
    assert list(millhopper.Reader.open_files(named, **options).batch(2)) == []
    if "slots" in options or "fields" in options:
        return
    seen = run(COMMANDS / "millhopper-peek", named)
    assert (seen.returncode, seen.stdout.splitlines()[-1]) == (0, "no element"), seen.stderr
    whole = run(COMMANDS / "millhopper-recordio", "verify", named)
    assert (whole.returncode, "0 records" in whole.stdout) == (0, True), whole.stderr


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a.csv", "a.csv is empty"),
        ("a.tsv", "a.tsv is empty"),
        ("a.jsonl", "a.jsonl is empty"),
        ("a.json", "a.json is empty"),
        ("a.recordio", "a.recordio is empty"),
        ("a.npy", "a.npy: the array ends at byte 0"),
        ("a.npz", "a.npz: no zip file"),
        ("idx:a", "a: the file ends at byte 0"),
    ],
)
def test_what_must_be_in_a_file_is_missed(tmp_path: Path, name: str, problem: str) -> None:
    tag, colon, path = name.rpartition(":")
    (tmp_path / path).touch()
    named = f"{tag}{colon}{tmp_path / path}"
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(named))
    if path != "a.recordio":  # peek looks at records that tell no slots as bytes
        seen = run(COMMANDS / "millhopper-peek", named)
        assert (seen.returncode != 0, problem in seen.stderr) == (True, True), seen.stderr
