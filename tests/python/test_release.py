# SPDX-License-Identifier: Apache-2.0
"""What builds a release, and the workflows that call it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import millhopper
import pytest

ROOT = Path(__file__).resolve().parents[2]


def release(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "release"), *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_tag_of_another_version_is_refused(tmp_path: Path) -> None:
    ran = release("--tag=v9.9.9", f"--output={tmp_path}")
    assert ran.returncode == 1
    said = f"release: pyproject.toml has version {millhopper.__version__}, the tag v9.9.9\n"
    assert ran.stderr == said


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["wheel"], "'wheel' is none of wheels, parquet, sdk, site"),
        (["--pythons=3.8", "wheels"], "'3.8' is none of 3.9, 3.10, 3.11, 3.12, 3.13"),
    ],
)
def test_what_there_is_not_is_named(words: list[str], problem: str, tmp_path: Path) -> None:
    ran = release(f"--output={tmp_path}", *words)
    assert ran.returncode == 2
    assert problem in ran.stderr


def test_the_site_needs_a_wheel(tmp_path: Path) -> None:
    ran = release(f"--output={tmp_path}", "--pythons=3.11", "site")
    assert ran.returncode == 1
    assert ran.stderr == f"release: the site needs a wheel for Python 3.11 in {tmp_path}\n"


def test_an_interpreter_is_found_by_its_version() -> None:
    find = ROOT / "tools" / "dev" / "find_python"
    found = subprocess.run([find, "3.1"], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, "")
    found = subprocess.run([find, "3.11"], capture_output=True, text=True)
    if found.returncode == 0:
        asked = [found.stdout.strip(), "-c", "import sys; print(sys.version_info[:2])"]
        assert subprocess.run(asked, capture_output=True, text=True).stdout == "(3, 11)\n"


@pytest.mark.parametrize("name", ["ci", "release"])
def test_workflows_call_scripts_that_there_are(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    scripts = set(re.findall(r"\btools/[\w/]+", re.sub(r"^ *#.*", "", text, flags=re.M)))
    assert "tools/release" in scripts
    for script in scripts:
        assert os.access(ROOT / script, os.X_OK), script


@pytest.mark.parametrize("name", ["ci", "release"])
def test_actions_are_pinned_by_their_commits(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    used = re.findall(r"^ *- uses: *(.*)$", text, flags=re.M)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
