# SPDX-License-Identifier: Apache-2.0
"""Files that can be read once only, as Python reads them: commands, FIFOs, standard input."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import millhopper
import pytest


@pytest.fixture
def allowed() -> Iterator[None]:
    """Commands may be run."""
    millhopper.allow_exec()
    yield
    millhopper.allow_exec(False)


def _lines(name: str) -> list[bytes]:
    reader = millhopper.Reader.open_files(name, names=["line"])
    return [line for element in reader for line in element["line"].to_bytes()]


@pytest.mark.usefixtures("allowed")
def test_commands_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("$HOME\nb c\n")
    subprocess.run(["gzip", tmp_path / "a.txt"], check=True)
    assert _lines(f"text:pipe:zcat {tmp_path}/a.txt.gz") == [b"$HOME", b"b c"]
    assert _lines(f"text:pipe:cat {tmp_path}/a.txt.gz") == [b"$HOME", b"b c"]
    assert _lines("text:pipe:echo '$HOME  *' ; ls") == [b"$HOME  * ; ls"]


def test_nothing_is_run_unless_allowed(tmp_path: Path) -> None:
    with pytest.raises(millhopper.Error, match=r"millhopper\.allow_exec\(\) in Python"):
        _lines(f"text:pipe:touch {tmp_path}/made")
    assert not (tmp_path / "made").exists()
    with pytest.raises(TypeError, match="allowed is 1"):
        millhopper.allow_exec(1)  # type: ignore[arg-type]


@pytest.mark.usefixtures("allowed")
def test_a_late_failure_is_an_error() -> None:
    name = "text:pipe:sh -c 'echo a; echo lost >&2; exit 3'"
    seen = []
    with pytest.raises(millhopper.Error, match="the status 3; the last line .*: lost") as raised:
        for element in millhopper.Reader.open_files(name, names=["line"]):
            seen += element["line"].to_bytes()
    assert seen == [b"a"]
    assert raised.value.file == name.removeprefix("text:")
    assert raised.value.offset == 2


@pytest.mark.usefixtures("allowed")
def test_there_is_one_pass() -> None:
    reader = millhopper.Reader.open_files("text:pipe:seq 3", names=["line"]).batch(2)
    with pytest.raises(TypeError, match="not known"):
        len(reader)
    assert [len(batch["line"]) for batch in reader] == [2, 1]
    with pytest.raises(millhopper.Error, match="can be read once only, because it is a pipe"):
        list(reader)
    with pytest.raises(millhopper.Error, match="can be read once only"):
        list(millhopper.Reader.open_files("text:pipe:seq 3", shuffle_chunks=True))
    reader = millhopper.Reader.open_files("text:pipe:seq 3", names=["line"])
    with pytest.raises(millhopper.Error, match="can be read once only"):
        for _ in reader:
            reader.state_dict()


@pytest.mark.usefixtures("allowed")
def test_a_loop_that_is_left_ends_its_command(tmp_path: Path) -> None:
    script = f"echo $$ >{tmp_path}/id; seq 300000; exec sleep 1000"
    loop = iter(millhopper.Reader.open_files(f"text:pipe:sh -c '{script}'").double_buffer())
    next(loop)
    number = int((tmp_path / "id").read_text())
    os.kill(number, 0)
    loop.close()
    del loop
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_fifos_are_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("a\nb\n",))
    writer.start()
    assert _lines(f"text:{fifo}") == [b"a", b"b"]
    writer.join()


def test_standard_input_is_read() -> None:
    program = (
        "import millhopper\n"
        "r = millhopper.Reader.open_files('text:-', names=['line'])\n"
        "print([line for e in r for line in e['line'].to_bytes()])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], input=b"a\nb\n", capture_output=True, check=True
    )
    assert ran.stdout == b"[b'a', b'b']\n"
