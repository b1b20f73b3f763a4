# SPDX-License-Identifier: Apache-2.0
"""Executor saves programs with their readers, and another process resumes them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import millhopper as fluid
import numpy as np
import pytest
from conftest import run_python
from number_files import write_numbers

RECORDS = 60
STEPS = 25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", RECORDS)


class Job:
    """Trains one number with batches of shuffled numbers, so that their order tells."""

    def __init__(self, path: Path, window: int = 17, scale: float = 0.5, two: bool = False) -> None:
        self.scope, self.executor = fluid.core.Scope(), fluid.Executor()
        self.main, self.startup = fluid.Program(), fluid.Program()
        layers = fluid.layers
        with (
            fluid.scope_guard(self.scope),
            fluid.program_guard(self.main, self.startup),
            fluid.unique_name.guard(),
        ):
            files = layers.open_files(
                [f"fixed:{path}"], shapes=[[1, 4]], lod_levels=[0], dtypes=["int64"]
            )
            tops = [layers.double_buffer(layers.batch(layers.shuffle(files, window), 7))]
            if two:
                tops.append(layers.batch(files, 2))
            weight = layers.create_global_var([1], 1.0, "float32", persistable=True, name="w")
            self.fetched = [weight]
            if not two:  # readers of one source begin its passes together
                tops = [layers.multi_pass(tops[0], 3)]
            for top in tops:
                row = layers.cast(layers.read_file(top), "float32")
                mean = layers.mean(row)
                layers.sums([layers.scale(weight, scale), layers.reshape(mean, [1])], out=weight)
                self.fetched.append(row)
            self.executor.run(self.startup)

    def step(self) -> list[Any]:
        with fluid.scope_guard(self.scope):
            try:
                values = self.executor.run(self.main, fetch_list=self.fetched)
            except fluid.core.EOFException:
                return []
        return [value.tolist() for value in values]

    def steps(self, count: int) -> list[Any]:
        return [self.step() for _ in range(count)]

    def state(self) -> dict[str, Any]:
        return self.executor.state_dict(self.main, self.scope)

    def load(self, state: dict[str, Any]) -> None:
        self.executor.load_state_dict(state, self.main, self.scope)


@pytest.fixture
def expected(path: Path) -> list[Any]:
    return Job(path).steps(STEPS)


@pytest.mark.parametrize("steps", [0, 1, 8, 24, STEPS])
def test_another_executor_goes_on(path: Path, expected: list[Any], steps: int) -> None:
    job = Job(path)
    assert job.steps(steps) == expected[:steps]
    state = pickle.loads(pickle.dumps(job.state()))
    again = Job(path)
    again.load(state)
    third = Job(path)
    third.load(again.state())
    assert again.steps(STEPS - steps) == expected[steps:]
    assert third.steps(STEPS - steps) == expected[steps:]
    assert job.steps(STEPS - steps) == expected[steps:], "saving changes nothing"


def test_resumes_of_resumes_stay_aligned(path: Path, expected: list[Any]) -> None:
    seen: list[Any] = []
    state: bytes | None = None
    while len(seen) < STEPS:
        job = Job(path)
        if state is not None:
            job.executor.set_state(state, job.main, job.scope)
        seen += job.steps(min(3, STEPS - len(seen)))
        state = job.executor.get_state(job.main, job.scope)
        assert json.loads(state)["of"] == "Executor"
    assert seen == expected


def test_checkpoints_are_those_of_the_command(
    path: Path, tmp_path: Path, expected: list[Any]
) -> None:
    folder = tmp_path / "checkpoints"
    job = Job(path)
    assert not job.executor.load_checkpoint(folder, job.main, job.scope)
    for step in range(12):
        assert job.step() == expected[step]
        job.executor.save_checkpoint(folder, job.main, job.scope, keep=2)
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["checkpoint-00000011.save", "checkpoint-00000012.save"]
    again = Job(path)
    again.load({**job.state(), "checkpoint": (folder / names[1]).read_bytes()})
    assert again.steps(STEPS - 12) == expected[12:]
    again = Job(path)
    assert again.executor.load_checkpoint(folder, again.main, again.scope)
    assert again.steps(STEPS - 12) == expected[12:]
    # A damaged one is passed over.
    damaged = bytearray((folder / names[1]).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / names[1]).write_bytes(damaged)
    third = Job(path)
    with pytest.warns(UserWarning, match="checkpoint-00000012.save.*was changed"):
        assert third.executor.load_checkpoint(folder, third.main, third.scope)
    assert third.steps(STEPS - 11) == expected[11:]


def test_readers_that_share_a_source_go_on_together(path: Path) -> None:
    # Workers of the double buffer decide which batch gets which record.
    write_numbers(path, 10 * RECORDS)
    job = Job(path, two=True)
    seen = []
    for _ in range(4):
        for _, first, second in job.steps(1):
            seen += [row[0] for row in first] + [row[0] for row in second]
        state = job.state()
        job = Job(path, two=True)
        job.load(state)
    assert len(seen) == 4 * 9
    assert len(set(seen)) == len(seen)


def test_a_new_process_goes_on(path: Path, tmp_path: Path, expected: list[Any]) -> None:
    job = Job(path)
    job.steps(9)
    job.executor.save_checkpoint(tmp_path / "saved", job.main, job.scope)
    printed = run_python(
        """
        import json, sys
        from pathlib import Path
        import millhopper
        from test_resume_executor import Job
        millhopper.set_threads(3)
        job = Job(Path(sys.argv[1]))
        assert job.executor.load_checkpoint(sys.argv[2], job.main, job.scope)
        print(json.dumps(job.steps(5)))
        """,
        str(path),
        str(tmp_path / "saved"),
    ).stdout
    assert json.loads(printed) == expected[9:14]


def test_what_differs_is_said(path: Path) -> None:
    job = Job(path)
    job.steps(2)
    state = job.state()
    for other, words in (
        (Job(path, scale=0.25), r"main program 1: in line \d+ it was '.*', now it is '.*'"),
        (Job(path, window=18), "buffer_size was 17, now it is 18"),
    ):
        before = np.asarray(other.scope.find_var("w").get_tensor()).tolist()
        with pytest.raises(fluid.Error, match=words):
            other.load(state)
        assert np.asarray(other.scope.find_var("w").get_tensor()).tolist() == before
    other = Job(path)
    other.main.random_seed = 3
    with pytest.raises(fluid.Error, match="the seed: it was '0', now it is '3'"):
        other.load(state)
    write_numbers(path, RECORDS + 1)
    with pytest.raises(fluid.Error, match=r"had 1920 bytes, now it has 1952"):
        Job(path).load(state)


def test_readers_must_not_have_been_read(path: Path) -> None:
    job = Job(path)
    job.steps(3)
    state = job.state()
    with pytest.raises(fluid.Error, match="has been read already"):
        job.load(state)
    rest = job.steps(4)
    with fluid.scope_guard(job.scope):
        job.executor.run(job.startup)
    job.load(state)
    assert job.steps(4) == rest


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(path: Path) -> None:
    job = Job(path)
    assert not job.executor.load_checkpoint(path.parent / "none", job.main, job.scope)
    for folder in (path, path / "within"):  # a file
        with pytest.raises(fluid.Error, match="this folder of checkpoints"):
            job.executor.load_checkpoint(folder, job.main, job.scope)


def test_saved_tensors_do_not_replace_readers(path: Path) -> None:
    job = Job(path)
    reader = next(name for name in job.scope.names() if name.startswith("multi_pass"))
    other = fluid.core.Scope()
    other.var(reader).get_tensor().set(np.zeros((1,), np.float32))
    state = job.executor.state_dict(job.main, other)
    with pytest.raises(fluid.Error, match=f"variable '{reader}' was a tensor, and is none now"):
        job.load(state)
    assert job.step()


def test_bad_states_are_refused(path: Path) -> None:
    job = Job(path)
    job.steps(2)
    state = job.state()
    job = Job(path)
    with pytest.raises(TypeError, match="must be the dict"):
        job.load([])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a Program"):
        job.executor.state_dict(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep"):
        job.executor.save_checkpoint(path.parent / "saved", job.main, job.scope, keep=0)
    for wrong in ({}, {**state, "of": "Reader"}, {**state, "checkpoint": "text"}):
        with pytest.raises(fluid.Error):
            job.load(wrong)
    whole = state["checkpoint"]
    for size in (0, 7, 20, len(whole) - 1):
        with pytest.raises(fluid.Error, match="no whole checkpoint"):
            job.load({**state, "checkpoint": whole[:size]})
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 4
        with pytest.raises(fluid.Error):
            job.load({**state, "checkpoint": bytes(damaged)})
    job.load(state)
