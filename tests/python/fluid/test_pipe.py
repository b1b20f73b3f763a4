# SPDX-License-Identifier: Apache-2.0
import gzip
import itertools
import os
import shlex
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import children, run_python, until
from millhopper.base.zipped import zip_strict
from millhopper.reader import CommandError, PipeReader

Cat = Callable[[bytes], str]


@pytest.fixture
def cat(tmp_path: Path) -> Cat:
    """A command that prints given bytes."""

    def command(data: bytes) -> str:
        (tmp_path / "data").write_bytes(data)
        return shlex.join(["cat", str(tmp_path / "data")])

    return command


def shell(script: str) -> str:
    return shlex.join(["sh", "-c", script])


def python(script: str) -> str:
    return shlex.join([sys.executable, "-c", script])


def lines(command: str, **options: Any) -> list[str]:
    return list(PipeReader(command, **options).get_line())


class TestLines:
    def test_yields_lines(self, cat: Cat) -> None:
        records = [str(i) for i in range(5)]
        reader = PipeReader(cat("".join(r + "\n" for r in records).encode()), bufsize=128)
        for _ in range(2):
            assert list(reader.get_line()) == records

    @pytest.mark.parametrize("bufsize", [1, 2, 3, 4, 5, 7, 8192])
    @pytest.mark.parametrize(
        "text",
        ["", "\n", "a", "a\n", "a\nb", "\n\na\n\n", "größer\n日本\n\U0001f600", " a \r\n\x0c\n"],
    )
    def test_yields_the_same_for_any_buffer(self, cat: Cat, text: str, bufsize: int) -> None:
        expected = text.split("\n")
        if not expected[-1]:
            expected.pop()
        assert lines(cat(text.encode()), bufsize=bufsize) == expected

    @pytest.mark.parametrize("bufsize", [1, 2, 3, 4, 5, 8192])
    @pytest.mark.parametrize("line_break", ["\r", "\r\n", "aab", "é"])
    def test_cuts_at_the_given_break(self, cat: Cat, line_break: str, bufsize: int) -> None:
        text = line_break.join(["a", "\n", "", "aa", "\r", "end"])
        reader = PipeReader(cat(text.encode()), bufsize)
        assert list(reader.get_line(line_break=line_break)) == text.split(line_break)

    def test_does_not_cut_unless_told_to(self, cat: Cat) -> None:
        text = "größer\n日本\n" * 100
        pieces = list(PipeReader(cat(text.encode()), bufsize=5).get_line(cut_lines=False))
        assert "".join(pieces) == text
        assert len(pieces) > 100

    def test_hands_lines_on_as_they_come(self) -> None:
        script = "echo first; cat"
        # If `cat` had the standard input of the test, it would not end.
        assert lines(shell(script)) == ["first"]
        items: Any = PipeReader(shell("echo first; sleep 1000")).get_line()
        assert next(items) == "first"
        items.close()

    def test_takes_time_in_proportion_to_a_long_line(self, cat: Cat) -> None:
        (line,) = lines(cat(b"x" * (8 << 20)), bufsize=1024)
        assert len(line) == 8 << 20

    @pytest.mark.parametrize("data", [b"a\n\xff\n", b"a\n\xe6\x97"])
    def test_says_what_is_not_utf_8(self, cat: Cat, data: bytes) -> None:
        with pytest.raises(UnicodeDecodeError):
            lines(cat(data))

    def test_starts_nothing_until_it_is_iterated(self) -> None:
        before = children()
        PipeReader("sleep 1000").get_line()
        assert children() == before

    def test_runs_several_passes_at_once(self, cat: Cat) -> None:
        reader = PipeReader(cat(b"a\nb\n"), bufsize=1)
        pairs = list(zip_strict(reader.get_line(), reader.get_line()))
        assert pairs == [("a", "a"), ("b", "b")]


class TestGzip:
    TEXT = "größer\n日本\nend"

    @pytest.mark.parametrize("bufsize", [1, 7, 8192])
    @pytest.mark.parametrize("padding", [b"", b"\0" * 600])
    @pytest.mark.parametrize("members", [1, 2, 3])
    def test_inflates_members(self, cat: Cat, members: int, padding: bytes, bufsize: int) -> None:
        data = (gzip.compress(self.TEXT.encode()) + padding) * members
        got = lines(cat(data), bufsize=bufsize, file_type="gzip")
        assert got == (self.TEXT * members).split("\n")

    def test_inflates_zlib_streams(self, cat: Cat) -> None:
        data = zlib.compress(self.TEXT.encode())
        assert lines(cat(data), file_type="gzip") == self.TEXT.split("\n")

    def test_inflates_empty_members(self, cat: Cat) -> None:
        data = gzip.compress(b"") + gzip.compress(b"a") + gzip.compress(b"")
        assert lines(cat(data), file_type="gzip") == ["a"]

    def test_inflates_piece_by_piece(self, cat: Cat) -> None:
        data = gzip.compress(bytes(50 << 20))
        reader = PipeReader(cat(data), bufsize=1 << 20, file_type="gzip")
        sizes = [len(piece) for piece in reader.get_line(cut_lines=False)]
        assert sum(sizes) == 50 << 20
        assert max(sizes) <= 1 << 20

    def test_says_where_data_is_cut_off(self, cat: Cat) -> None:
        whole = gzip.compress(self.TEXT.encode()) * 2
        for size in [*range(0, len(whole) // 2), *range(len(whole) // 2 + 1, len(whole), 9)]:
            with pytest.raises(EOFError):
                lines(cat(whole[:size]), file_type="gzip")

    @pytest.mark.parametrize("data", [b"plain text", gzip.compress(b"a") + b"garbage"])
    def test_says_what_is_no_gzip(self, cat: Cat, data: bytes) -> None:
        with pytest.raises(zlib.error):
            lines(cat(data), file_type="gzip")

    def test_checks_the_sum(self, cat: Cat) -> None:
        data = bytearray(gzip.compress(self.TEXT.encode()))
        data[-5] ^= 1
        with pytest.raises(zlib.error):
            lines(cat(bytes(data)), file_type="gzip")


class TestStatus:
    def test_raises_after_the_lines(self) -> None:
        seen = []
        command = shell("echo a; echo b; echo the reason >&2; exit 3")
        with pytest.raises(CommandError, match="the reason") as caught:
            for line in PipeReader(command).get_line():
                seen.append(line)
        assert seen == ["a", "b"]
        error = caught.value
        assert (error.returncode, error.cmd, error.stderr) == (3, command, "the reason\n")
        assert "exit status 3" in str(error) and command in str(error)
        assert isinstance(error, subprocess.CalledProcessError)

    def test_raises_instead_of_a_line_that_may_be_cut_off(self) -> None:
        seen = []
        with pytest.raises(CommandError):
            for line in PipeReader(shell("printf 'a\\nhal'; exit 1")).get_line():
                seen.append(line)
        assert seen == ["a"]

    def test_names_the_signal(self) -> None:
        with pytest.raises(CommandError, match="SIGKILL") as caught:
            lines(shell("kill -9 $$"))
        assert caught.value.returncode == -signal.SIGKILL

    def test_comes_before_what_follows_from_it(self) -> None:
        with pytest.raises(CommandError):
            lines(shell("exit 1"), file_type="gzip")

    def test_keeps_the_end_of_standard_error(self) -> None:
        script = "import sys; sys.stderr.write('x' * 3000000 + 'y' * 4096); print(1); sys.exit(1)"
        with pytest.raises(CommandError) as caught:
            lines(python(script))
        assert caught.value.stderr == "y" * 4096

    def test_reads_both_outputs_of_a_command_that_fills_both(self) -> None:
        script = (
            "import os\nfor i in range(40): os.write(2, b'e' * 65536); os.write(1, b'o' * 65536)"
        )
        (line,) = lines(python(script))
        assert len(line) == 40 * 65536

    def test_shows_standard_error_that_is_not_utf_8(self) -> None:
        with pytest.raises(CommandError, match="\ufffd"):
            lines(shell("printf '\\377' >&2; exit 1"))

    def test_says_that_there_is_no_such_command(self) -> None:
        with pytest.raises(FileNotFoundError):
            lines("/nonexistent/command")


class TestArguments:
    def test_splits_words_as_a_shell_does(self) -> None:
        assert lines("""printf '%s\\n' "a b" c\\ d 'e'""") == ["a b", "c d", "e"]

    def test_runs_no_shell(self) -> None:
        assert lines("echo $HOME; exit 1 | cat > *") == ["$HOME; exit 1 | cat > *"]

    def test_rejects_what_makes_no_sense(self) -> None:
        command: Any = ["cat", "file"]
        with pytest.raises(TypeError, match="must be a str"):
            PipeReader(command)
        with pytest.raises(TypeError, match="bz2"):
            PipeReader("cat", file_type="bz2")
        for arguments in ((" ", 1), ("'", 1), ("cat", 0), ("cat", -1)):
            with pytest.raises(ValueError):
                PipeReader(*arguments)
        with pytest.raises(ValueError):
            PipeReader("cat").get_line(line_break="")


def is_gone(pid: int) -> bool:
    """Whether a process has ended, even if it has not been waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class TestLeaving:
    @pytest.mark.parametrize("file_type", ["plain", "gzip"])
    @pytest.mark.parametrize("taken", range(4))
    def test_ends_the_command(self, cat: Cat, taken: int, file_type: str) -> None:
        data = b"a\nb\nc\n"
        command = cat(gzip.compress(data) if file_type == "gzip" else data)
        before = children()
        items: Any = PipeReader(command, 1, file_type).get_line()
        assert list(itertools.islice(items, taken)) == ["a", "b", "c"][:taken]
        items.close()
        assert children() == before

    def test_ends_a_command_that_waits_for_room(self) -> None:
        before = children()
        for line in PipeReader("yes").get_line():
            assert line == "y"
            break
        assert children() == before

    def test_ends_the_whole_group(self) -> None:
        items: Any = PipeReader(shell("sleep 1000 & echo $!; wait")).get_line()
        started = int(next(items))
        assert not is_gone(started)
        items.close()
        until(lambda: is_gone(started))

    def test_kills_a_command_that_does_not_listen(self) -> None:
        before = children()
        items: Any = PipeReader(
            shell("trap '' TERM; echo a; while :; do sleep 0.1; done")
        ).get_line()
        assert next(items) == "a"
        items.close()
        assert children() == before

    def test_ends_when_the_consumer_raises(self) -> None:
        before = children()
        with pytest.raises(ZeroDivisionError) as caught:
            for _ in PipeReader("yes").get_line():
                _ = 1 // 0
        del caught
        assert children() == before

    def test_ends_while_an_exception_is_kept(self, cat: Cat) -> None:
        before = (children(), len(os.listdir("/proc/self/fd")))
        with pytest.raises(UnicodeDecodeError) as caught:
            lines(shell("printf '\\377'; sleep 1000"))
        assert (children(), len(os.listdir("/proc/self/fd"))) == before, caught

    def test_ends_at_interpreter_exit(self) -> None:
        done = run_python(
            """
            from millhopper.reader import PipeReader
            from subprocess import run
            items = PipeReader("sh -c 'echo $$; sleep 1000'").get_line()
            print(next(items))
            """
        )
        assert (done.returncode, done.stderr) == (0, "")
        until(lambda: is_gone(int(done.stdout)))
