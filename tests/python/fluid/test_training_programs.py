# SPDX-License-Identifier: Apache-2.0
"""Both programs of seed 000, built in Python, do what the programs of tools/programs do."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import digits
import millhopper as fluid
import numpy as np
import pytest

PASSES = 3
EXECUTOR = digits.ROOT / "bazel-bin/tools/executor"
PEEK = digits.ROOT / "bazel-bin/tools/peek"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder with the digits, and how many batches a pass has."""
    folder = tmp_path_factory.mktemp("digits")
    return folder, -(-digits.write_digits(folder) // 32)


def settings(folder: Path, batches: int) -> dict[str, str]:
    return {
        "data": str(folder),
        "pixels": str(digits.PIXELS),
        "passes": str(PASSES),
        "batches": str(batches),
        "scale": str(digits.SCALE),
        "decay": str(digits.DECAY),
    }


def shipped(kind: str, part: str, folder: Path, batches: int) -> fluid.Program:
    text = (digits.ROOT / f"tools/programs/{kind}_{part}.pbtxt").read_text()
    return fluid.Program.parse_from_string(text, settings(folder, batches))


def built(kind: str, folder: Path, batches: int) -> tuple[fluid.Program, fluid.Program]:
    if kind == "loop":
        return digits.loop_programs(folder, PASSES)
    return digits.multi_pass_programs(folder, PASSES, batches)


def digest(startup: fluid.Program) -> str:
    """SHA-256 over the batches of two passes."""
    reader = fluid.Reader(startup.to_text(), variable="train", names=["pixels", "label"])
    total = hashlib.sha256()
    for _ in range(2):
        for batch in reader:
            total.update(repr(batch["pixels"].shape).encode())
            total.update(batch["pixels"].tobytes())
            total.update(batch["label"].tobytes())
    return total.hexdigest()


def stream_digest(startup: fluid.Program) -> str:
    """What ``peek --digest`` prints for one pass: see tools/commands/shared/digest.h."""
    stream = hashlib.sha256()
    batches = 0
    for batch in fluid.Reader(startup.to_text(), variable="train", names=["pixels", "label"]):
        element = hashlib.sha256()
        for values in batch.values():
            assert isinstance(values, np.ndarray)
            dtype = fluid.framework.convert_dtype(values.dtype)
            element.update(struct.pack(f"<II{values.ndim}qI", dtype, values.ndim, *values.shape, 0))
            element.update(values.tobytes())
        stream.update(element.digest())
        batches += 1
    return f"stream {stream.hexdigest()} {batches}"


def train(
    startup: fluid.Program, main: fluid.Program, capfd: pytest.CaptureFixture[str]
) -> tuple[str, dict[str, np.ndarray]]:
    """The output of a training and its final parameters."""
    scope = fluid.Scope()
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(startup, scope=scope)
    executor.run(main, scope=scope)
    names = ("weight1", "bias1", "weight2", "bias2", "learning_rate")
    values = {}
    for name in names:
        variable = scope.find_var(name)
        assert variable is not None
        values[name] = np.asarray(variable.get_tensor()).copy()
    return capfd.readouterr().out, values


@pytest.mark.parametrize("kind", ["loop", "multi_pass"])
def test_batches_are_those_of_the_shipped_program(kind: str, data: tuple[Path, int]) -> None:
    folder, batches = data
    startup, _ = built(kind, folder, batches)
    assert digest(startup) == digest(shipped(kind, "startup", folder, batches))


@pytest.mark.parametrize("kind", ["loop", "multi_pass"])
def test_training_is_that_of_the_shipped_program(
    kind: str, data: tuple[Path, int], capfd: pytest.CaptureFixture[str]
) -> None:
    folder, batches = data
    printed, parameters = train(*built(kind, folder, batches), capfd)
    expected, expected_parameters = train(
        shipped(kind, "startup", folder, batches), shipped(kind, "main", folder, batches), capfd
    )
    assert printed == expected
    assert printed.count("accuracy") == PASSES
    for name, value in expected_parameters.items():
        np.testing.assert_array_equal(parameters[name], value, err_msg=name)


@pytest.mark.skipif(not os.access(PEEK, os.X_OK), reason="the command peek has not been built")
@pytest.mark.parametrize("kind", ["loop", "multi_pass"])
def test_batches_are_those_that_the_command_reads_from_text(
    kind: str, data: tuple[Path, int]
) -> None:
    folder, batches = data
    startup, _ = built(kind, folder, batches)
    flags = [f"--set={name}={value}" for name, value in settings(folder, batches).items()]
    for threads in (0, 3):
        ended = subprocess.run(
            [
                PEEK,
                f"--startup={digits.ROOT}/tools/programs/{kind}_startup.pbtxt",
                "--reader=train",
                "--digest",
                f"--threads={threads}",
                *flags,
            ],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.stdout.splitlines()[-1] == stream_digest(startup)


@pytest.mark.skipif(
    not os.access(EXECUTOR, os.X_OK), reason="the command executor has not been built"
)
@pytest.mark.parametrize("kind", ["loop", "multi_pass"])
def test_command_trains_the_same_from_text(
    kind: str, data: tuple[Path, int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, batches = data
    startup, main = built(kind, folder, batches)
    (tmp_path / "startup").write_text(startup.to_text())
    (tmp_path / "main").write_bytes(main.to_bytes())
    ours = [f"--startup={tmp_path}/startup", f"--main={tmp_path}/main"]
    programs = digits.ROOT / "tools/programs"
    theirs = [
        f"--startup={programs}/{kind}_startup.pbtxt",
        f"--main={programs}/{kind}_main.pbtxt",
        *(f"--set={name}={value}" for name, value in settings(folder, batches).items()),
    ]
    printed = [
        subprocess.run(
            [EXECUTOR, *flags], check=True, capture_output=True, text=True, timeout=60
        ).stdout
        for flags in (ours, theirs)
    ]
    assert printed[0] == printed[1] == train(startup, main, capfd)[0]
