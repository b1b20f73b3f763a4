# SPDX-License-Identifier: Apache-2.0
"""Runs readers of one file by turns, a process each."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

SLOW = 20  # seconds of a round


def load(package: str) -> None:
    importlib.import_module(package)


def timed(reader: Callable[[Path], int], path: Path) -> tuple[int, float]:
    """The rows that a reader gave, and its seconds."""
    begin = time.perf_counter()
    rows = reader(path)
    return rows, time.perf_counter() - begin


def measure(
    readers: dict[str, Callable[[Path], int]], path: Path, rows: int, rounds: int
) -> dict[str, list[float]]:
    """Rows a second of each reader in each round.

    Packages are imported before. The first round is not counted, except of a reader that is so slow
    that nothing which happens only once matters; it takes part in no other round.
    """
    rates: dict[str, list[float]] = {name: [] for name in readers}
    slow: set[str] = set()
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn)) for name in readers
        }
        for name, process in processes.items():
            process.submit(load, name).result()
        for round_number in range(rounds + 1):
            for name, reader in readers.items():
                if name in slow:
                    continue
                found, seconds = processes[name].submit(timed, reader, path).result()
                if found != rows:
                    sys.exit(f"{name} gave {found} rows of {path.name}, not {rows}")
                if seconds > SLOW and round_number == 0:
                    slow.add(name)
                if round_number > 0 or name in slow:
                    rates[name].append(rows / seconds)
    return rates
