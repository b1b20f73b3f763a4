# SPDX-License-Identifier: Apache-2.0
"""Ranks that train together, on gloo: as many steps each, and each sample as often as said."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import millhopper
import pytest
from number_files import write_number_chunks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this PyTorch has no gloo", allow_module_level=True)

BATCH = 8
SECONDS = 300


def run_ranks(folder: Path, how: str, ranks: int, *launcher: str) -> list[dict[str, Any]]:
    """What each rank has seen."""
    program = str(Path(__file__).parent / "ranks.py")
    ran = subprocess.run(
        [sys.executable, *launcher, program, how, str(folder), str(ranks)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


def torchrun(ranks: int) -> tuple[str, ...]:
    return ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}")


def check(seen: list[dict[str, Any]], shuffled: set[int]) -> None:
    """Checks all runs of all sizes; those numbered in ``shuffled`` have their own order."""
    ranks = len(seen)
    for size in range(131):
        runs = [rank[str(size)] for rank in seen]
        for run in range(len(runs[0])):
            batches = [rank[run] for rank in runs]
            shapes = [[len(batch) for batch in rank] for rank in batches]
            assert shapes == [shapes[0]] * ranks, "the same steps on every rank"
            rounds = -(-size // ranks)
            assert sum(shapes[0]) == rounds
            assert len(shapes[0]) == -(-rounds // BATCH)
            parts = [[number for batch in rank for number in batch] for rank in batches]
            dealt = [part[at] for at in range(rounds) for part in parts]
            # The order continues with its beginning until it can be dealt evenly.
            assert dealt[size:] == [dealt[i % size] for i in range(size, rounds * ranks)]
            if run in shuffled:
                assert sorted(dealt[:size]) == list(range(size))
            else:
                assert dealt[:size] == list(range(size))
            visits = Counter(dealt)
            assert all(visits[number] >= 1 for number in range(size))
            assert sum(visits.values()) - size < ranks


@pytest.fixture(autouse=True)
def allow_time() -> None:
    """These tests may take longer than the others."""
    import faulthandler

    faulthandler.dump_traceback_later(SECONDS, exit=True)


@pytest.mark.parametrize("ranks", [2, 3])
def test_loops_under_torchrun(tmp_path: Path, ranks: int) -> None:
    seen = run_ranks(tmp_path, "plain", ranks, *torchrun(ranks))
    check(seen, shuffled={1, 3})
    for rank, one in enumerate(seen):
        assert one["repr"].endswith(f"rank {rank} of {ranks} (torch.distributed)>")


def test_another_number_of_ranks_goes_on_under_torchrun(tmp_path: Path) -> None:
    files = write_number_chunks(tmp_path, 3000)
    reader = millhopper.Reader.open_files(files, lanes=12)
    whole = [sorted(batch["x"].ravel().tolist()) for batch in reader.shuffle(96, seed=5).batch(48)]
    steps: list[list[int]] = []
    for ranks in (2, 3, 1, 4):
        seen = run_ranks(tmp_path, "part", ranks, *torchrun(ranks))
        batches = zip(*(rank["batches"] for rank in seen))
        steps += [sorted(number for part in batch for number in part) for batch in batches]
    assert steps == whole[: len(steps)]
    assert len(steps) == 28


@pytest.mark.parametrize("ranks", [2, 3])
def test_accelerate_shards_once(tmp_path: Path, ranks: int) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("Accelerate is not installed")
    check(run_ranks(tmp_path, "accelerate", ranks, *torchrun(ranks)), shuffled=set())


@pytest.mark.parametrize("ranks", [2, 3])
def test_lightning_shards_once(tmp_path: Path, ranks: int) -> None:
    if importlib.util.find_spec("lightning") is None:
        pytest.skip("Lightning is not installed")
    check(run_ranks(tmp_path, "lightning", ranks), shuffled=set())
