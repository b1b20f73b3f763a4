# SPDX-License-Identifier: Apache-2.0
"""Random histories of ranks that are killed, and go on as another number of ranks.

A history is a run over a data set of numbers. Its ranks are killed with SIGKILL in the middle of a
pass, again and again, each time another number of them goes on, and at last all come to the end.
Each is compared, sample by sample, with a run of one rank that nothing disturbs: whatever any rank
has read at a step must be what that run reads at this step, and what the ranks have read up to the
steps that the next ones begin with, all of it and nothing twice.

There are two ways: ``python``, a loop over DataLoader with torch.distributed (gloo), of two passes,
which saves ``merge_states`` every few steps; and ``command``, executor with ``--checkpoint_dir``
and ``--resume``. The number of lanes is 12, 16 or 48. Ranks of ``python`` are forked by this
program, which imports torch once; with ``--torchrun`` torchrun starts and stops them.

    python tests/python/loader/rank_histories.py [--histories=200] [--seed=1] [--way=python]
        [--most_ranks=8] [--records=3001] [--torchrun] [--executor=bazel-bin/tools/executor]

Prints one line for each history, and exits with 1 after the first difference.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

LANES = (12, 16, 48)
PASSES = 2  # of the way `python`
SECONDS = 120  # that one process may take
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux, which Python knows from 3.10 on
Steps = dict[int, list[int]]

STARTUP = """
blocks {
  idx: 0 parent_idx: -1
  vars { name: "step" persistable: true
         type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } } } }
  vars { name: "files" persistable: true
         type { type: READER
                reader { lod_tensor { tensor { data_type: INT64 dims: 1 dims: 1 } } } } }
  vars { name: "shuffled" persistable: true type { type: READER } }
  vars { name: "own" persistable: true type { type: READER } }
  vars { name: "batches" persistable: true type { type: READER } }
  vars { name: "ahead" persistable: true type { type: READER } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "step" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 3 } }
  ops { type: "open_files" outputs { parameter: "Out" arguments: "files" }
        attrs { name: "file_names" strings: "${files}" } attrs { name: "lanes" i: ${lanes} } }
  ops { type: "create_shuffle_reader"
        inputs { parameter: "UnderlyingReader" arguments: "files" }
        outputs { parameter: "Out" arguments: "shuffled" }
        attrs { name: "buffer_size" i: ${window} } }
  ops { type: "create_shard_reader"
        inputs { parameter: "UnderlyingReader" arguments: "shuffled" }
        outputs { parameter: "Out" arguments: "own" }
        attrs { name: "even" s: "${even}" } }
  ops { type: "create_batch_reader"
        inputs { parameter: "UnderlyingReader" arguments: "own" }
        outputs { parameter: "Out" arguments: "batches" }
        attrs { name: "batch_size" i: ${batch} } }
  ops { type: "create_double_buffer_reader"
        inputs { parameter: "UnderlyingReader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "ahead" } }
}
"""

PRINT = """
  ops { type: "print" inputs { parameter: "In" arguments: "%s" }
        attrs { name: "summarize" i: -1 } attrs { name: "print_tensor_name" b: false }
        attrs { name: "print_tensor_type" b: false } attrs { name: "print_tensor_shape" b: false } }
"""

# Prints the number of each step, and what the batch holds.
MAIN = f"""
blocks {{
  idx: 0 parent_idx: -1
  vars {{ name: "more"
         type {{ type: LOD_TENSOR lod_tensor {{ tensor {{ data_type: BOOL dims: 1 }} }} }} }}
  ops {{ type: "has_next" inputs {{ parameter: "Reader" arguments: "ahead" }}
        outputs {{ parameter: "Out" arguments: "more" }} }}
  ops {{ type: "while" inputs {{ parameter: "Condition" arguments: "more" }}
        attrs {{ name: "sub_block" block_idx: 1 }} }}
}}
blocks {{
  idx: 1 parent_idx: 0
  vars {{ name: "x"
         type {{ type: LOD_TENSOR
                lod_tensor {{ tensor {{ data_type: INT64 dims: -1 dims: 1 }} }} }} }}
  ops {{ type: "read" inputs {{ parameter: "Reader" arguments: "ahead" }}
        outputs {{ parameter: "Out" arguments: "x" }} }}
  {PRINT % "step"}
  {PRINT % "x"}
  ops {{ type: "increment" inputs {{ parameter: "X" arguments: "step" }}
        outputs {{ parameter: "Out" arguments: "step" }} }}
  ops {{ type: "has_next" inputs {{ parameter: "Reader" arguments: "ahead" }}
        outputs {{ parameter: "Out" arguments: "more" }} }}
}}
"""


class Difference(Exception):
    """What a history has done otherwise than the undisturbed run."""


class NothingInCommon(Exception):
    """The ranks were killed before there was a step that all of them had saved."""


class Ledger:
    """What was read at each step, by all ranks that count."""

    def __init__(self, expected: Steps) -> None:
        self._expected = expected
        # From here on ranks may have other steps, if lanes end after different numbers of rounds.
        self.tail = max(expected) + 1
        self._read: Steps = {}
        self._by_rank: dict[tuple[int, int], Steps] = {}

    def add(self, ranks: list[Steps], ended: list[bool]) -> None:
        """What ranks have read that were started together, and whether they came to the end."""
        steps = [step for read in ranks for step in read]
        if not steps:
            return  # killed before the first batch
        begin = min(steps)
        for rank, read in enumerate(ranks):
            # A rank that begins later goes on where as many ranks have been before: the others have
            # caught up with it meanwhile.
            before = self._by_rank.setdefault((len(ranks), rank), {})
            last = max(before, default=begin - 1) if ended[rank] and not read else begin - 1
            for step in range(begin, min(read, default=last + 1)):
                if step not in before:
                    raise Difference(f"rank {rank} of {len(ranks)} leaves out step {step}")
                read[step] = before[step]
            before.update(read)
        steps = [step for read in ranks for step in read]
        for step in range(begin):
            if step not in self._read:
                self._read[step] = self._read_before(step, begin)
        for step in [step for step in self._read if step >= begin]:
            del self._read[step]
        for step in sorted(set(steps)):
            numbers = sorted(itertools.chain.from_iterable(read.get(step, []) for read in ranks))
            if all(step in read for read in ranks) or step >= self.tail:
                self._read[step] = numbers
            if step < self.tail:
                self._compare(step, numbers, all(step in read for read in ranks))

    def _read_before(self, step: int, begin: int) -> list[int]:
        """What ranks of one number have read at a step, though not since they were started last."""
        for number in dict.fromkeys(ranks for ranks, _ in reversed(self._by_rank)):
            reads = [self._by_rank[number, rank] for rank in range(number)]
            if all(step in read for read in reads):
                return sorted(itertools.chain.from_iterable(read[step] for read in reads))
        raise Difference(f"step {step} was never read, and ranks go on at {begin}")

    def _compare(self, step: int, numbers: list[int], are_all: bool) -> None:
        more = Counter(numbers) - Counter(self._expected.get(step, []))
        less = Counter(self._expected.get(step, [])) - Counter(numbers)
        if more or (less and are_all):
            raise Difference(
                f"step {step}: read too often are {sorted(more.elements())}, too seldom "
                f"{sorted(less.elements()) if are_all else 'perhaps others'}"
            )

    def check_end(self) -> None:
        """Called when all ranks have come to the end."""
        read = Counter(itertools.chain.from_iterable(self._read.values()))
        expected = Counter(itertools.chain.from_iterable(self._expected.values()))
        if read != expected:
            lost, doubled = expected - read, read - expected
            raise Difference(
                f"lost: {sorted(lost.elements())}, doubled: {sorted(doubled.elements())}"
            )


def write_data(folder: Path, records: int) -> None:
    """Numbers in four files of records of one size, and in four of chunks of 20 records."""
    from number_files import write_number_chunks

    for part in range(4):
        np.arange(part, records, 4, dtype=np.int64).tofile(folder / f"numbers-{part}.bin")
    write_number_chunks(folder, records)


def batches_of(line: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", line)]


# ---- A loop over DataLoader. ----


def run_rank(folder: Path, rank: int) -> None:
    """What one rank does: reads and saves, until the end or until it kills itself."""
    import millhopper
    import torch

    plan = json.loads((folder / "plan.json").read_text())
    try:
        torch.distributed.init_process_group("gloo")
    except RuntimeError:
        # On a machine that is busy gloo fails now and then; that is one more rank that dies.
        (folder / f"killed-{plan['episode']}").touch()
        raise
    if plan["source"] == "arrays":
        numbers = np.arange(plan["records"], dtype=np.int64).reshape(-1, 1)
        reader = millhopper.Reader.from_arrays({"x": numbers}).lanes(plan["lanes"])
    else:
        reader = millhopper.Reader.open_files(
            f"fixed:{plan['data']}/numbers-*.bin",
            slots={"x": ("int64", [1, 1])},
            lanes=plan["lanes"],
        )
    loader = millhopper.DataLoader(
        reader,
        global_batch=plan["batch"],
        shuffle=plan["window"] > 0,
        shuffle_buffer=plan["window"] or 1,
        seed=5,
        even=plan["even"],
    )

    def kill(step: int, phase: str) -> None:
        if [rank, step, phase] == plan["kill"]:
            (folder / f"killed-{plan['episode']}").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    saved = folder / "state.pt"
    step = first = 0
    if saved.exists():
        state = torch.load(saved)
        step, first = state["step"], state["loader"]["reader"]["epoch"]
        loader.load_state_dict(state["loader"])
    with open(folder / f"read-{plan['episode']}-{rank}.txt", "w", buffering=1) as read:
        for _ in range(first, PASSES):
            for batch in loader:
                kill(step, "read")
                read.write(f"{step}: {batch['x'].flatten().tolist()}\n")
                kill(step, "written")
                step += 1
                if step % plan["every"] > 0:
                    continue
                merged = millhopper.merge_states(loader.state_dict())
                kill(step - 1, "merged")
                if rank == 0:
                    torch.save({"step": step, "loader": merged}, saved.with_suffix(".new"))
                    saved.with_suffix(".new").rename(saved)
                kill(step - 1, "saved")
    torch.distributed.destroy_process_group()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def fork_ranks(folder: Path, ranks: int) -> bool:
    """Runs them in processes of their own; false if one was killed, and then the others are."""
    environment = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }
    children: set[int] = set()
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank))
            status = 1
            try:
                signal.alarm(SECONDS)
                run_rank(folder, rank)
                status = 0
            except BaseException:  # also of a rank that is left by one that was killed
                (folder / f"error-{rank}.txt").write_text(traceback.format_exc())
            os._exit(status)
        children.add(child)
    all_end = True
    while children:
        child, status = os.wait()
        children.remove(child)
        all_end = all_end and status == 0
        if not all_end:
            for other in children:
                os.kill(other, signal.SIGKILL)
    return all_end


def torchrun_ranks(folder: Path, ranks: int) -> bool:
    """The same, started and stopped by torchrun."""
    program = [str(Path(__file__).resolve()), f"--rank_of={folder}"]
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    ran = subprocess.run(
        [sys.executable, *launcher, *program],
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    (folder / "error-torchrun.txt").write_text(ran.stderr)
    return ran.returncode == 0


def read_by(folder: Path, plan: dict[str, Any]) -> list[Steps]:
    """What each rank of an episode has read, by step."""
    ranks: list[Steps] = []
    for rank in range(plan["ranks"]):
        path = folder / f"read-{plan['episode']}-{rank}.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        split = (line.split(":") for line in lines)
        ranks.append({int(step): batches_of(numbers) for step, numbers in split})
    return ranks


def loop_history(folder: Path, draw: random.Random, options: argparse.Namespace) -> str:
    """One history of loops over DataLoader; returns what it was, for people."""
    lanes = draw.choice(LANES)
    plan = {
        "source": draw.choice(["fixed", "fixed", "arrays"]),
        "records": options.records,
        "data": str(folder.parent / "data"),
        "lanes": lanes,
        "batch": draw.choice([48, 96, 240]),
        "window": draw.choice([0, 96, 500]),
        "even": draw.choice(["pad", "drop"]),
        "every": draw.choice([1, 2, 3, 7]),
    }
    start = torchrun_ranks if options.torchrun else fork_ranks

    def run(ranks: int, episode: int, kill: list[Any] | None) -> tuple[bool, list[Steps]]:
        now = {**plan, "ranks": ranks, "episode": episode, "kill": kill}
        (folder / "plan.json").write_text(json.dumps(now))
        all_end = start(folder, ranks)
        if not all_end and not (folder / f"killed-{episode}").exists():
            errors = [path.read_text()[-2000:] for path in folder.glob("error-*.txt")]
            raise Difference("a rank fails that was not killed: " + "\n".join(errors))
        return all_end, read_by(folder, now)

    _, undisturbed = run(1, 0, None)
    expected = undisturbed[0]
    (folder / "state.pt").unlink(missing_ok=True)
    ledger = Ledger(expected)
    numbers: list[int] = []
    kills: list[str] = []
    over = False
    while not over:
        ranks = draw.choice(numbers_of_ranks(lanes, options.most_ranks))
        numbers.append(ranks)
        kill = drawn_kill(draw, ranks, begin_of(folder), max(expected), plan["every"])
        if len(numbers) >= 8:
            kill = None
        over, read = run(ranks, len(numbers), kill)
        if over and kill is not None:
            raise Difference(f"ranks {numbers}, killed at {kills}: {kill} does not come")
        ledger.add(read, [over] * ranks)
        if kill is not None:
            kills.append(f"{kill[1]} {kill[2]}")
    ledger.check_end()
    return (
        f"{plan['source']}, {lanes} lanes, batches of {plan['batch']}, window {plan['window']}, "
        f"even {plan['even']}, saved every {plan['every']}: ranks {numbers}, "
        f"killed at {', '.join(kills) or 'no step'}"
    )


def begin_of(folder: Path) -> int:
    """The step with which the next ranks begin."""
    import torch

    saved = folder / "state.pt"
    return int(torch.load(saved)["step"]) if saved.exists() else 0


def drawn_kill(
    draw: random.Random, ranks: int, begin: int, last: int, every: int
) -> list[Any] | None:
    """Which rank is killed, and where, at a step that ranks come to; None for one time in six."""
    phase = draw.choice(["read", "written", "merged", "saved"])
    if draw.randrange(6) == 0:
        return None
    steps = range(begin, last + 1)
    if phase in ("merged", "saved"):
        steps = range(begin + (-begin - 1) % every, last + 1, every)  # after which they save
    if not steps:
        return None
    # Rather soon than late.
    return [draw.randrange(ranks), steps[int(len(steps) * draw.random() ** 2)], phase]


def numbers_of_ranks(lanes: int, most: int) -> list[int]:
    return [n for n in range(1, min(lanes, most) + 1) if lanes % n == 0]


# ---- The command. ----


def run_command(command: list[str], rank: int, ranks: int, lines: int | None) -> tuple[bool, Steps]:
    """One rank; killed after so many lines. Whether it has come to its end, and what it printed."""
    environment = {**os.environ, "WORLD_SIZE": str(ranks), "RANK": str(rank)}
    read_end, write_end = os.pipe()
    # A pipe that holds little lets the process run no further than its lines are read. A process
    # that has begun may have filled more of it.
    fcntl.fcntl(write_end, SET_PIPE_SIZE, 4096)
    with (
        os.fdopen(read_end) as output,
        subprocess.Popen(
            command, stdout=write_end, stderr=subprocess.PIPE, text=True, env=environment
        ) as process,
    ):
        os.close(write_end)
        assert process.stderr is not None
        printed = list(itertools.islice(output, lines))
        if lines is not None and len(printed) == lines:
            process.kill()
        printed += output
        errors = process.stderr.read()
    if "and of no step that all of these have saved" in errors:
        raise NothingInCommon
    if process.returncode not in (0, -signal.SIGKILL):
        raise Difference(f"{command} exits with {process.returncode}: {errors}")
    whole = [line for line in printed if line.endswith("\n")]
    # Two lines a step; the second may be missing at a kill.
    pairs = zip(whole[::2], whole[1::2])
    return process.returncode == 0, {batches_of(a)[0]: batches_of(b) for a, b in pairs}


def command_history(folder: Path, draw: random.Random, options: argparse.Namespace) -> str:
    """One history of the command; returns what it was, for people."""
    lanes, every = draw.choice(LANES), draw.choice([1, 2, 3, 7])
    # Only files whose records are counted can be made even.
    files, even = draw.choice(
        [("fixed:{}/numbers-*.bin", even) for even in ("none", "pad", "drop")]
        + [("{}/numbers-*.recordio", "none")]
    )
    batch, window = draw.choice([48, 96, 240]), draw.choice([96, 500])
    (folder / "startup.pbtxt").write_text(STARTUP)
    (folder / "main.pbtxt").write_text(MAIN)
    command = [
        str(options.executor),
        "--quiet",
        f"--startup={folder}/startup.pbtxt",
        f"--main={folder}/main.pbtxt",
        f"--set=files={files.format(folder.parent / 'data')}",
        *(
            f"--set={name}={value}"
            for name, value in {
                "lanes": lanes,
                "window": window,
                "even": even,
                "batch": batch,
            }.items()
        ),
    ]
    _, expected = run_command(command, 0, 1, None)
    ledger = Ledger(expected)
    if files.endswith(".recordio"):
        # Without counts lanes differ by chunks. The tail begins where one of them cannot fill its
        # stripe, which ranks of one lane each tell by their batches.
        share = batch // lanes
        alone = [run_command(command, lane, lanes, None)[1] for lane in range(lanes)]
        ledger.tail = min(sum(len(x) == share for x in read.values()) for read in alone)
    saving = [*command, f"--checkpoint_dir={folder}/saved", f"--checkpoint_every={every}steps"]
    numbers: list[int] = []
    over = False
    begin = 0
    while not over:
        choice = numbers_of_ranks(lanes, options.most_ranks)
        if begin == 0 and numbers:
            # As many as before would go on from steps of their own, if they have none in common.
            choice.remove(numbers[-1])
        ranks = draw.choice(choice)
        numbers.append(ranks)
        length = len(expected) - begin
        about = 1 + int(length * 1.1 * draw.random() ** 2) if len(numbers) < 8 else None
        ended: list[bool] = []
        read: list[Steps] = []
        for rank in range(ranks):
            lines = None if about is None else 2 * max(0, about + draw.randint(-3, 3))
            threads = f"--threads={draw.choice([0, 1, 2])}"
            try:
                end, steps = run_command([*saving, "--resume", threads], rank, ranks, lines)
            except NothingInCommon:
                shutil.rmtree(folder / "saved")
                break
            ended.append(end)
            read.append(steps)
        if not (folder / "saved").exists():
            continue
        ledger.add(read, ended)
        begin = min((min(steps) for steps in read if steps), default=begin)
        over = all(ended)
    ledger.check_end()
    return (
        f"{files.partition(':')[0] if ':' in files else 'recordio'}, {lanes} lanes, batches of "
        f"{batch}, window {window}, even {even}, saved every {every}: ranks {numbers}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", choices=["python", "command"], default="python")
    parser.add_argument("--most_ranks", type=int, default=8)
    parser.add_argument("--records", type=int, default=3001)
    own = Path(sys.executable).parent / "millhopper-executor"
    parser.add_argument("--executor", type=Path, default=own)
    parser.add_argument("--torchrun", action="store_true")
    parser.add_argument("--rank_of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_of is not None:
        run_rank(options.rank_of, int(os.environ["RANK"]))
        return 0
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if options.way == "python":
        import millhopper  # noqa: F401
        import torch  # noqa: F401
    root = Path(tempfile.mkdtemp(prefix="rank_histories_"))
    (root / "data").mkdir()
    write_data(root / "data", options.records)
    begun = time.monotonic()
    history = loop_history if options.way == "python" else command_history
    for number in range(options.histories):
        folder = root / f"history-{number}"
        folder.mkdir()
        try:
            told = history(folder, random.Random(f"{options.seed} {number}"), options)
        except Difference as difference:
            print(f"verdict: FAILED: history {number} of seed {options.seed}: {difference}")
            print(f"its folder is {folder}")
            return 1
        except BaseException:  # such as Ctrl-C
            shutil.rmtree(root)
            raise
        print(f"{number}: {told}", flush=True)
        shutil.rmtree(folder)
    shutil.rmtree(root)
    seconds = time.monotonic() - begun
    print(f"verdict: PASSED: {options.histories} histories, {seconds:.0f} seconds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
