# SPDX-License-Identifier: Apache-2.0
"""What holds for every test: it ends, and leaves nothing behind."""

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import millhopper as fluid
import pytest
from millhopper.base.ranks import LAUNCHERS

LONGEST_TEST = 60.0

# Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
signal.signal(signal.SIGINT, signal.default_int_handler)


def children() -> int:
    """The number of child processes, including dead ones that have not been waited for."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            count += len((task / "children").read_text().split())
    return count


def until(condition: Callable[[], object]) -> None:
    """Waits until another thread or process has made the condition true."""
    deadline = time.monotonic() + LONGEST_TEST / 4
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.001)


def run_python(
    program: str, *arguments: str, timeout: float = LONGEST_TEST / 4, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program on its own, from its imports to interpreter exit."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )


def held() -> tuple[int, int, int]:
    return threading.active_count(), children(), len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    """Threads, child processes and open descriptors are as many after a test as before."""
    before = held()
    faulthandler.dump_traceback_later(LONGEST_TEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    deadline = time.monotonic() + 2
    while held() != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held() == before, "threads, child processes, open descriptors"


@pytest.fixture(scope="session")
def parquet_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of readers/arrow_plugin, built against the Arrow of this interpreter's pyarrow.

    ``MILLHOPPER_PARQUET_PLUGIN`` names one that is built already.
    """
    if "MILLHOPPER_PARQUET_PLUGIN" in os.environ:
        return Path(os.environ["MILLHOPPER_PARQUET_PLUGIN"])
    path = tmp_path_factory.mktemp("plugin") / "libmillhopper_parquet.so"
    build = Path(__file__).resolve().parents[2] / "tools" / "build_parquet_plugin"
    built = subprocess.run(
        [build, "--python", sys.executable, "--output", path], capture_output=True, text=True
    )
    if built.returncode == 3:
        pytest.skip(built.stderr)
    assert built.returncode == 0, built.stderr
    return path


@pytest.fixture
def pool() -> Iterator[None]:
    """Whatever a test sets, later tests work with as many threads as there are processors."""
    yield
    fluid.set_threads(os.cpu_count() or 1)


@pytest.fixture(params=[0, 1, 2, 7])
def threads(pool: None, request: pytest.FixtureRequest) -> int:
    """How many threads the core has. Results are the same for any number of them."""
    number: int = request.param
    fluid.set_threads(number)
    return number


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No launcher says that there are other processes."""
    for name in {"SLURM_NTASKS", *(name for launcher in LAUNCHERS for name in launcher)}:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fresh_programs() -> Iterator[None]:
    """Default programs, names and a global scope that no other test has written to."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


@pytest.fixture
def torch_or_stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where there is no torch: what a DataLoader needs of it; its tensors are arrays of numpy."""
    if find_spec("torch") is not None:
        yield
        return
    torch, utils, data = (ModuleType(f"torch{name}") for name in ("", ".utils", ".utils.data"))
    as_it_is = {"default_collate": list, "default_convert": lambda sample: sample}
    vars(data).update(as_it_is, IterableDataset=type("IterableDataset", (), {}))
    vars(data)["get_worker_info"] = lambda: None
    vars(torch).update(
        utils=utils,
        initial_seed=lambda: 5,
        from_numpy=lambda array: array,
        uint8="uint8",
        cuda=SimpleNamespace(is_available=lambda: False),
    )
    vars(utils)["data"] = data
    for module in (torch, utils, data):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield
    # It knows the stand-in.
    if sys.modules.pop("millhopper.readers.torch", None) is not None:
        del fluid.readers.torch


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are kept for other processes lie in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
