# SPDX-License-Identifier: Apache-2.0
"""What a module of this folder has: writers of files, and readers of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

# By kind; what a table calls the work.
Titles = dict[str, str]
# How torch's loader starts its workers, as it does by default in a program that was not started
# by another one, as readers are here.
WORKERS = "fork"

# By kind; each writes a file and returns how many rows it has, at most as many as asked for.
Writers = dict[str, Callable[[Path, int], int]]
# By kind and by the package that must be installed; each reads a file and returns how many rows it
# gave.
Readers = dict[str, dict[str, Callable[[Path], int]]]
# By kind; each returns lines to print beside the rates, such as how full packed rows are.
Reports = dict[str, Callable[[Path], list[str]]]
