# SPDX-License-Identifier: Apache-2.0
"""A few dozen of the files of odd_files.py; more by running that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from odd_files import FAMILIES

FILES = 40


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_files_are_read_as_others_read_them(
    family: str, request: pytest.FixtureRequest
) -> None:
    plugin = []
    for library in FAMILIES[family].libraries:
        pytest.importorskip(library)
        plugin = [f"--plugin={request.getfixturevalue('parquet_plugin')}"]
    # A process of its own, since other libraries keep threads and descriptors.
    script = Path(__file__).with_name("odd_files.py")
    ended = subprocess.run(
        [sys.executable, script, f"--files={FILES}", f"--families={family}", *plugin],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    found = re.search(r"(\d+) equal", ended.stdout)
    assert found is not None and int(found[1]) >= FILES // 4, ended.stdout
