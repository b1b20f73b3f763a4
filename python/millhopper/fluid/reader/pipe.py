# SPDX-License-Identifier: Apache-2.0
"""A reader of the output of a command.

Name, signature and meaning are those of PaddlePaddle's paddle.reader, 2018.
"""

from __future__ import annotations

import codecs
import os
import selectors
import shlex
import signal
import subprocess
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, suppress

from millhopper import _core
from millhopper.base.integers import integer
from millhopper.process.passes import PATIENCE, Pass

STDERR_BYTES = 4096
"""How many bytes, from the end of a command's standard error, an error shows."""

# At most this much is inflated at a time, because zlib may inflate a buffer a thousandfold.
_MAX_INFLATED = 1 << 20


class CommandError(subprocess.CalledProcessError):
    """A command has failed.

    `cmd` is the command and `returncode` its exit status, or minus the number of the signal that
    killed it. `stderr` is the last 4 KiB of its standard error. The message contains all three.

    Source: Millhopper's own; the fields are those of subprocess.CalledProcessError.
    """

    def __str__(self) -> str:
        text = f"{super().__str__()}\nThe end of its standard error:\n{self.stderr}"
        return "\n".join(map(_core.without_secrets, text.split("\n")))


class PipeReader:
    """Reads the standard output of `command` while the command runs.

        def lines():
            return PipeReader("hadoop fs -cat /logs/part-00000").get_line()

    The command is split into words as by a POSIX shell, with its quotes, but no shell runs it:
    nothing is expanded or redirected. The output is read in pieces of up to `bufsize` bytes. With
    the `file_type` "gzip" the output is inflated: it is any number of gzip members or zlib streams,
    one after the other. With "plain" the output is taken as it is.

    Raises TypeError if `command` is no str, `file_type` neither of the two or `bufsize` no integer,
    and ValueError if the command is empty, its quotes are not closed or `bufsize` is not positive.

    Source: PaddlePaddle's paddle.reader, 2018, which starts the command at once.
    """

    def __init__(self, command: str, bufsize: int = 8192, file_type: str = "plain") -> None:
        if not isinstance(command, str):
            raise TypeError(f"PipeReader: the command must be a str, not {command!r}")
        if file_type not in ("plain", "gzip"):
            raise TypeError(f"PipeReader: file_type {file_type!r} is neither 'plain' nor 'gzip'")
        if integer("PipeReader: bufsize", bufsize) <= 0:
            raise ValueError(f"PipeReader: bufsize is {bufsize}, it must be positive")
        self._words = shlex.split(command)
        if not self._words:
            raise ValueError("PipeReader: the command is empty")
        self._command = command
        self._bufsize = bufsize
        self._file_type = file_type

    def get_line(self, cut_lines: bool = True, line_break: str = "\n") -> Iterator[str]:
        """Runs the command and yields the lines of its output, decoded as UTF-8.

        Only `line_break` ends a line, and it is removed; the last line may lack it. With
        `cut_lines=False` the text is yielded as it arrives, in pieces that end anywhere. Order:
        that of the output. Every call runs the command once more. The run starts when the consumer
        asks for the first line, as a process in its own session, without standard input. When the
        consumer leaves early, by `break`, `close()`, garbage collection or an exception, and at
        interpreter exit, the process group gets SIGTERM, and SIGKILL after a second.

        Raises ValueError for an empty `line_break`. The run raises OSError if the command cannot be
        started; CommandError if its status is not 0, before a last line that has no end; EOFError
        if a gzip member is cut off or there is none; zlib.error if a member is damaged; and
        UnicodeDecodeError if the output is not UTF-8.
        """
        if not line_break:
            raise ValueError("PipeReader: line_break is empty")
        return self._run(cut_lines, line_break)

    def _run(self, cut_lines: bool, line_break: str) -> Iterator[str]:
        with ExitStack() as files, Pass() as this_pass:
            process = subprocess.Popen(
                self._words,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # for its own process group, which Ctrl-C does not reach
            )
            this_pass.on_leave(lambda: _stop(process))
            assert process.stdout is not None and process.stderr is not None
            files.enter_context(process.stdout)
            files.enter_context(process.stderr)
            buffers: Iterator[bytes] = files.enter_context(closing(self._buffers(process)))
            if self._file_type == "gzip":
                buffers = _inflated(buffers)
            texts = codecs.iterdecode(buffers, "utf-8")
            yield from _lines(texts, line_break) if cut_lines else texts

    def _buffers(self, process: subprocess.Popen[bytes]) -> Generator[bytes, None, None]:
        """Yields what the process writes, then waits for its end and checks its status."""
        assert process.stdout is not None and process.stderr is not None
        last_words = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    buffer = os.read(key.fd, self._bufsize)
                    if not buffer:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stderr:
                        last_words = (last_words + buffer)[-STDERR_BYTES:]
                    else:
                        yield buffer
        if process.wait() != 0:
            stderr = last_words.decode("utf-8", "replace")
            raise CommandError(process.returncode, self._command, stderr=stderr)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    _signal_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    # Kills what is left of the process group: the process itself and processes that it started.
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _inflated(buffers: Iterable[bytes]) -> Iterator[bytes]:
    """Inflates gzip members (or zlib streams) in turn, and skips zero bytes between them."""
    members = 0
    decoder = None
    for buffer in buffers:
        while buffer:
            if decoder is None:
                buffer = buffer.lstrip(b"\0") if members else buffer
                if not buffer:
                    break
                decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: a gzip or a zlib header
            yield decoder.decompress(buffer, _MAX_INFLATED)
            buffer = decoder.unconsumed_tail
            if decoder.eof:
                buffer = decoder.unused_data
                decoder = None
                members += 1
    if decoder is not None or not members:
        raise EOFError("the gzip data ends before its end is marked")


def _lines(texts: Iterable[str], line_break: str) -> Iterator[str]:
    overlap = len(line_break) - 1  # a break may begin in one text and end in the next
    # The line that has not ended yet. Its parts are joined once, so that a long line takes linear
    # time.
    begun: list[str] = []
    tail = ""
    for text in texts:
        *lines, rest = (tail + text).split(line_break)
        for line in lines:
            yield "".join((*begun, line))
            begun.clear()
        cut = max(0, len(rest) - overlap)
        begun.append(rest[:cut])
        tail = rest[cut:]
    last = "".join((*begun, tail))
    if last:
        yield last
