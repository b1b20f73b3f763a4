# SPDX-License-Identifier: Apache-2.0
"""Builds targets with Bazel: what tools/install and tools/build_wheel.py have in common.

It runs on Python 3.9 and later.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The commands that are installed, as millhopper-executor and so on.
COMMANDS = ["executor", "peek", "recordio"]


def built(targets: Iterable[str], options: Iterable[str] = ()) -> Path:
    """Builds targets, and the commands, optimised; returns the folder where they lie.

    Args:
        targets: besides the commands.
        options: of Bazel, besides those that all builds have.

    Raises:
        RuntimeError: Bazel is not installed, or something does not build.
    """
    if shutil.which("bazel") is None:
        raise RuntimeError("bazel is not installed; tools/install_dependencies installs it")
    # Leaves the link bazel-bin in the checkout alone: it belongs to other builds.
    options = ["-c", "opt", "--symlink_prefix=/", *options]
    commands = [f"//tools:{command}" for command in COMMANDS]
    if subprocess.run(["bazel", "build", *options, *targets, *commands], cwd=ROOT).returncode != 0:
        raise RuntimeError("it does not build")
    asked = ["bazel", "info", *options, "bazel-bin"]
    found = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Path(found.stdout.strip())
