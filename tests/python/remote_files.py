# SPDX-License-Identifier: Apache-2.0
"""What holds for files on any server: each record comes once, or an error says why not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from conftest import run_python, until
from fault_proxy import LIES, PASSING, Fault, FaultProxy
from record_files import BIN

# What no number of tries repairs, and what the error says.
STAYING = {
    "status 500": "the server said 'HTTP/1.1 500 Internal Server Error'",
    "status 429": "the server said 'HTTP/1.1 429 Too Many Requests'",
    "stall": "nothing came from the server for 200 ms|the request takes more than 500 ms",
}

READERS_AT_ONCE = 8


@dataclass
class RemoteFiles:
    """A server of the files in a folder, for the command ``peek``."""

    folder: Path
    port: int
    environment: dict[str, str] = field(default_factory=lambda: {"no_proxy": "127.0.0.1"})

    def url(self, name: str) -> str:
        """What the command calls a file of the server."""
        return f"http://127.0.0.1:{self.port}/{name}"

    def behind(self, proxy: FaultProxy) -> RemoteFiles:
        """The same files as they come through a proxy."""
        return replace(self, port=proxy.port)

    def peek(self, url: str, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "peek", "--digest", url, *flags],
            capture_output=True,
            text=True,
            timeout=50,
            env={**os.environ, **self.environment, **environment},
        )

    def digests(self, name: str) -> list[str]:
        """Of the records as they are without any server, and of their stream."""
        local = self.peek(str(self.folder / name))
        assert local.returncode == 0, local.stderr
        return local.stdout.splitlines()

    def check_whole(self, name: str, url: str, *flags: str, **environment: str) -> None:
        """Each record comes once, in the order of the file, with the same bytes."""
        remote = self.peek(url, *flags, **environment)
        assert remote.returncode == 0, remote.stderr
        assert remote.stdout.splitlines() == self.digests(name)

    def refusal(self, url: str, *flags: str, **environment: str) -> str:
        """The error that a reader ends with. No word of it is secret."""
        remote = self.peek(url, *flags, **environment)
        assert remote.returncode != 0
        said = remote.stdout + remote.stderr
        assert "hidden" not in said.replace("hidden folders", "")  # image_folder leaves those out
        return remote.stderr


def check_that_it_passes(files: RemoteFiles, trouble: str) -> None:
    """One spoiled answer, whichever it is, costs time only."""
    with FaultProxy(files.port) as proxy:
        url = files.behind(proxy).url("lines.txt")
        for request in range(100):
            proxy.spoil(PASSING[trouble], request, 1)
            threads = f"--threads={7 if request % 2 else 1}"
            files.behind(proxy).check_whole("lines.txt", url, threads, "--silence_timeout=0.2")
            if not proxy.hit:
                assert request > 2
                return


def check_that_it_is_said(files: RemoteFiles, trouble: str) -> None:
    """A fault that stays, or one lie, is an error after right records, whenever it comes."""
    if trouble in LIES:
        (fault, words), count = LIES[trouble], 1
    else:
        (fault, words), count = (PASSING[trouble], STAYING[trouble]), 1 << 60
    digests = files.digests("lines.txt")
    # On a busy machine, what is not about time may take some.
    limits = ["--silence_timeout=1"]
    if trouble == "stall":
        limits = ["--silence_timeout=0.2", "--request_timeout=0.5"]

    def ends(request: int) -> str:
        """Spoils the answers from this one on, and checks how the reader ends."""
        with FaultProxy(files.port) as proxy:
            url = files.behind(proxy).url("lines.txt")
            proxy.spoil(fault, request, count)
            remote = files.behind(proxy).peek(url, *limits)
            if not proxy.hit:
                return "no such answer"
            yielded = remote.stdout.splitlines()
            if remote.returncode == 0:
                assert yielded == digests
                return "whole"
            said = remote.stderr
            assert yielded == digests[: len(yielded)]
            assert re.search(re.escape(url) + ": cannot (open|read bytes [0-9]+-[0-9]+): ", said)
            assert re.search(words, said), said
            return "error"

    # A reader waits seconds between its tries.
    ways: list[str] = []
    with ThreadPoolExecutor(max_workers=READERS_AT_ONCE) as pool:
        while "no such answer" not in ways:
            assert len(ways) < 100
            ways += pool.map(ends, range(len(ways), len(ways) + READERS_AT_ONCE))
    assert ways.count("error") > 1


# Counts to three, saving itself each time, from where the run before came to.
COUNTS = """
    import sys
    import millhopper as fluid
    folder, *plugins = sys.argv[1:]
    for plugin in plugins:
        fluid.load_plugin(plugin)
    count = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True, name="count")
    fluid.layers.increment(count)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    executor.load_checkpoint(folder)
    for _ in range(3):
        counted = executor.run(fetch_list=[count])
        executor.save_checkpoint(folder, keep=2)
    print(counted[0].item())
"""


def check_that_it_is_written(files: RemoteFiles, *plugins: Path) -> None:
    """Records, more than go into one request among them, and checkpoints."""
    flags = [f"--plugin={plugin}" for plugin in plugins]
    for name, copies in (("small", 1), ("large", 8), ("small", 2)):
        url = files.url(f"written/{name}.recordio")
        written = subprocess.run(
            [BIN / "recordio", "write", f"--output={url}", "--force", *flags]
            + [files.folder / "lines.txt"] * copies,
            capture_output=True,
            text=True,
            env={**os.environ, **files.environment},
        )
        assert written.returncode == 0, written.stderr
        records = files.digests("lines.txt")[:-1]
        remote = files.peek(url)
        assert [line.split()[1:] for line in remote.stdout.splitlines()[:-1]] == [
            line.split()[1:] for line in records * copies
        ], remote.stderr
    for total in (3.0, 6.0):
        counted = run_python(COUNTS, files.url("saved"), *map(str, plugins), **files.environment)
        assert counted.stdout == f"{total}\n", counted


def check_that_a_stop_does_not_wait(files: RemoteFiles, *flags: str, stalled: int = 64) -> None:
    """Not even for 64 requests under way, as many as there are. A file ``large`` has 256 MiB.

    There are fewer if the first that stalls is not the last that was asked for.
    """

    def are_all_under_way() -> bool:
        before = proxy.stalled
        if 0 < before < stalled:
            time.sleep(0.3)  # in which others would have come
        return before >= stalled or 0 < before == proxy.stalled

    with FaultProxy(files.port) as proxy:
        # What is asked for ahead of need is as long as what has been read: 64 of these are ahead.
        proxy.spoil(Fault(end="stall"), 140)
        far = files.behind(proxy)
        words = [
            BIN / "peek",
            "--digest",
            "--slots=uint8[1,1048576]",
            f"fixed:{far.url('large')}",
            *flags,
        ]
        environment = {**os.environ, **far.environment}
        reader = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
        try:
            until(are_all_under_way)
            started = time.monotonic()
            reader.send_signal(signal.SIGINT)
            code = reader.wait(30)
            seconds = time.monotonic() - started
        finally:
            reader.kill()
            reader.wait()
    print(f"stopped after {1000 * seconds:.0f} ms")
    assert code == 128 + signal.SIGINT
