# SPDX-License-Identifier: Apache-2.0
"""Some random histories of ranks, and what ``peek`` tells of what they have saved."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from rank_histories import MAIN, STARTUP, Difference, Ledger, run_command, write_data

PROGRAM = Path(__file__).parent / "rank_histories.py"
COMMANDS = Path(sys.executable).parent


@pytest.mark.parametrize("way", ["python", "command"])
def test_ranks_that_are_killed_go_on_as_others(way: str) -> None:
    if way == "python" and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    ran = subprocess.run(
        [sys.executable, PROGRAM, f"--way={way}", "--histories=2", "--most_ranks=4"],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "verdict: PASSED: 2 histories" in ran.stdout


EXPECTED = {0: [1, 2, 3, 4], 1: [5, 6, 7, 8], 2: [9]}


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([[{0: [1, 2], 1: [5, 6], 2: [9]}, {0: [3, 4], 1: [7, 8], 2: []}]], ""),
        # The second rank is killed, and four go on from the step that both have read.
        ([[{0: [1, 2], 1: [5, 6]}, {0: [3, 4]}], [{1: [5, 6, 7, 8], 2: [9]}]], ""),
        ([[{0: [1, 2], 1: [5, 6]}, {0: [3, 4]}], [{2: [9]}]], "step 1 was never read"),
        ([[{0: [1, 2]}, {0: [3, 5]}]], r"too often are \[5\], too seldom \[4\]"),
        ([[{0: [1, 2], 1: [1]}, {0: [3, 4]}]], r"step 1: read too often are \[1\]"),
        ([[{0: [1, 2, 3, 4], 1: [5, 6, 7, 8]}]], r"lost: \[9\], doubled: \[\]"),
    ],
)
def test_the_ledger_notices(episodes: list[list[dict[int, list[int]]]], message: str) -> None:
    def told() -> None:
        ledger = Ledger(EXPECTED)
        for ranks in episodes:
            ledger.add(ranks, [False] * len(ranks))
        ledger.check_end()

    if not message:
        told()
        return
    with pytest.raises(Difference, match=message):
        told()


def test_peek_tells_what_ranks_have_saved(tmp_path: Path) -> None:
    (tmp_path / "startup.pbtxt").write_text(STARTUP)
    (tmp_path / "main.pbtxt").write_text(MAIN)
    write_data(tmp_path, 600)
    settings = {"files": f"fixed:{tmp_path}/numbers-*.bin", "lanes": 4, "window": 40}
    settings |= {"even": "none", "batch": 24}
    command = [
        str(COMMANDS / "millhopper-executor"),
        "--quiet",
        f"--startup={tmp_path}/startup.pbtxt",
        f"--main={tmp_path}/main.pbtxt",
        *(f"--set={name}={value}" for name, value in settings.items()),
        f"--checkpoint_dir={tmp_path}/saved",
        "--checkpoint_every=5steps",
        "--keep=1",
    ]
    for rank in range(2):
        assert run_command(command, rank, 2, None)[0]

    def peek(*flags: str) -> str:
        ran = subprocess.run(
            [COMMANDS / "millhopper-peek", f"--state={tmp_path}/saved", *flags],
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    text = peek()
    assert "rank 1 of 2: 25 steps, in " in text
    assert "the newest that all 2 have:\n" in text and "steps: 25\n" in text
    assert text.count("  rank 0 of 2, pass 0: 25 elements read, to the end\n") == 1
    for lane in range(4):
        assert f"    lane {lane} of 4 of 'files': 150 records taken, 0 elements" in text
    assert "main program 1: 2114 bytes, SHA-256 " in text
    newest = max((tmp_path / "saved" / "rank-1-of-2").iterdir())
    whole = newest.read_bytes()
    newest.write_bytes(whole[: len(whole) // 2])
    ran = subprocess.run(
        [COMMANDS / "millhopper-peek", f"--state={tmp_path}/saved"], capture_output=True, text=True
    )
    assert "rank 0 of 2: 25 steps, in " in ran.stdout and "rank 1 of 2: damaged, in " in ran.stdout
    newest.write_bytes(whole)
    ranks = json.loads(peek("--json"))["ranks"]
    assert [rank["numbers"]["steps"] for rank in ranks] == [25, 25]
    (tmp_path / "saved" / "rank-0-of-2").rename(tmp_path / "gone")
    ran = subprocess.run(
        [COMMANDS / "millhopper-peek", f"--state={tmp_path}/saved"], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert "there is no step that all ranks have saved" in ran.stderr
