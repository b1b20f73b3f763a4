# SPDX-License-Identifier: Apache-2.0
"""gs://, abfs:// and hdfs://, by the plugin that tools/build_parquet_plugin builds.

The stores are servers in this process, and our own libhdfs. Without pyarrow all of it is skipped.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import millhopper
import pytest
from conftest import run_python
from fake_azure import FakeAzure
from fake_gcs import FakeGcs
from fake_store import Answer, FakeStore
from fault_proxy import PASSING, FaultProxy
from record_files import BIN, write_record_files
from remote_files import (
    RemoteFiles,
    check_that_a_stop_does_not_wait,
    check_that_it_is_written,
    check_that_it_passes,
)

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

# Nothing that this process knows of Google and Azure.
NOBODY = {name: "" for name in os.environ if name.startswith(("AZURE_", "GOOGLE_"))}
ODD_NAME = "a b+c%20\u00fc=&[.txt"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNiAAAABgADNjd8qAAAAABJRU5ErkJggg=="
)  # of one pixel
SERVERS = {"gs": "gs://anonymous@bucket", "abfs": "abfs://bucket@me.dfs.core.windows.net"}


@dataclass
class PluginFiles(RemoteFiles):
    """Files that are read by the plugin."""

    plugin: Path = Path()

    def peek(self, url: str, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return super().peek(url, f"--plugin={self.plugin}", *flags, **environment)


@dataclass
class Store(PluginFiles):
    scheme: str = "gs"
    fake: FakeStore | None = None

    def url(self, name: str) -> str:
        assert self.fake is not None
        return f"{SERVERS[self.scheme]}/{name}{self.fake.options(self.port)}"


@dataclass
class Hadoop(PluginFiles):
    def url(self, name: str) -> str:
        return f"hdfs://name:8020/{name}"


@pytest.fixture(scope="module", params=["gs", "abfs"])
def store(
    request: pytest.FixtureRequest, parquet_plugin: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("files")
    write_record_files(folder)
    with {"gs": FakeGcs, "abfs": FakeAzure}[request.param]() as fake:
        for path in folder.iterdir():
            fake.put(path.name, path.read_bytes())
        for name in (ODD_NAME, "others/a.txt", *(f"many/{i}/{i}.txt" for i in range(8))):
            fake.put(name, f"{name}\n".encode())
        environment = {**NOBODY, "no_proxy": "127.0.0.1"}
        yield Store(folder, fake.port, environment, parquet_plugin, request.param, fake)


@pytest.fixture
def fake(store: Store) -> Iterator[FakeStore]:
    """The server of the store, whose objects and answers a test may change."""
    fake = store.fake
    assert fake is not None
    objects = dict(fake.objects)
    fake.asked.clear()
    yield fake
    fake.objects = objects
    fake.before = lambda _: None


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("name", ["lines.recordio", "rows.csv", "records.tfrecord", "samples.tar"])
def test_records_of_every_format_come_once(store: Store, name: str, threads: int) -> None:
    store.check_whole(name, store.url(name), f"--threads={threads}")


def test_patterns_are_listed_page_by_page(store: Store, tmp_path: Path) -> None:
    for i in range(8):
        (tmp_path / f"{i}.txt").write_text(f"many/{i}/{i}.txt\n")
    local = store.peek(f"{tmp_path}/[0-6].txt")
    remote = store.peek(store.url("many/*/[0-6].txt"))
    assert remote.returncode == 0, remote.stderr
    assert local.stdout == remote.stdout
    assert len(remote.stdout.splitlines()) == 8
    none = store.refusal(store.url("many/*/none*.txt"))
    assert "no file matches" in none


def test_names_may_have_odd_characters(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{ODD_NAME}\n")
    remote = store.peek(f"text:{store.url(ODD_NAME)}")
    assert remote.stdout == store.peek(str(tmp_path / "a.txt")).stdout, remote.stderr


def test_a_name_that_no_url_can_have_is_not_left_out(store: Store, fake: FakeStore) -> None:
    fake.put("many/0/b?c.txt", b"a\n")
    said = store.refusal(store.url("many/0/*.txt"))
    assert "'many/0/b?c.txt', whose name cannot be written in a URL" in said
    assert "a '#', which a name in this store cannot have" in store.refusal(store.url("a#b"))


def test_folders_are_read(store: Store, fake: FakeStore, tmp_path: Path) -> None:
    for i, label in enumerate(("cats", "cats", "dogs")):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / f"{i}.png").write_bytes(PNG)
        fake.put(f"pets/{label}/{i}.png", PNG)
    remote = store.peek(f"image_folder:{store.url('pets')}")
    assert remote.returncode == 0, remote.stderr
    assert remote.stdout == store.peek(f"image_folder:{tmp_path}").stdout


def test_what_cannot_be_read_is_said(store: Store) -> None:
    for name, words in (
        ("none.txt", "the server said '(NOT_FOUND: No such object|Path does not exist)"),
        ("others/a.txt", r"the server said '(PERMISSION_DENIED: nobody|403 Forbidden)"),
        ("many/1", "it is a folder|is a directory|folder"),
    ):
        said = store.refusal(f"text:{store.url(name)}")
        assert re.search(words, said), said
        assert SERVERS[store.scheme] in said


def test_secrets_are_not_shown(store: Store, fake: FakeStore) -> None:
    secret = f"{store.url('none.txt')}&client_secret=hidden&sig=hidden"
    store.refusal(secret)
    fake.before = lambda _: Answer(403, b"no", {})
    store.refusal(store.url("lines.txt"))


def test_an_object_that_is_replaced_is_an_error_and_no_mixture(
    store: Store, fake: FakeStore
) -> None:
    whole = fake.objects["lines.txt"].content
    digests = store.digests("lines.txt")

    def before(request: str) -> None:
        if "bytes=1048576-" in request:
            fake.put("lines.txt", whole[::-1])

    fake.before = before
    remote = store.peek(store.url("lines.txt"), "--threads=1")
    assert remote.returncode == 3, remote.stderr
    assert "the object was replaced" in remote.stderr
    yielded = remote.stdout.splitlines()
    assert yielded == digests[: len(yielded)]


@pytest.mark.parametrize("trouble", PASSING)
def test_what_passes_is_tried_again(store: Store, trouble: str) -> None:
    check_that_it_passes(store, trouble)


@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("trouble", ["status 500", "stall"])
def test_what_stays_is_an_error_behind_right_records(
    store: Store, trouble: str, first: int
) -> None:
    digests = store.digests("lines.txt")
    limits = ("--request_timeout=3", "--silence_timeout=1")  # Azure's library tries for longer
    with FaultProxy(store.port) as proxy:
        proxy.spoil(PASSING[trouble], first)
        far = store.behind(proxy)
        said = far.peek(far.url("lines.txt"), *limits)
    assert said.returncode == 4, said.stderr
    yielded = said.stdout.splitlines()
    assert yielded == digests[: len(yielded)]
    place = "cannot open: " if first == 0 else r"cannot read bytes \d+-\d+: "
    words = "the request takes more than 3000 ms|nothing came from the server for|the server said"
    assert re.search(place + f"({words})", said.stderr), said.stderr


def test_a_stop_does_not_wait(store: Store, fake: FakeStore) -> None:
    fake.put("large", bytes(256 << 20))
    check_that_a_stop_does_not_wait(store, f"--plugin={store.plugin}", stalled=30)


def test_what_cannot_be_written_is_said(store: Store, fake: FakeStore) -> None:
    def write() -> str:
        lines, url = store.folder / "lines.txt", store.url("written/a.recordio")
        flags = [f"--output={url}", f"--plugin={store.plugin}", "--force", "--request_timeout=1"]
        written = subprocess.run(
            [BIN / "recordio", "write", *flags, lines],
            capture_output=True,
            text=True,
            timeout=20,
            env={**os.environ, **store.environment},
        )
        assert written.returncode == 4
        return written.stderr

    mend = threading.Event()

    def silent(request: str) -> Answer | None:
        if "upload" in request or "comp=block" in request:
            mend.wait()
        return None

    fake.before = silent
    assert "cannot write: the request takes more than 1000 ms" in write()
    mend.set()

    def refuse(request: str) -> Answer | None:
        return Answer(403) if "upload" in request or "comp=block" in request else None

    fake.before = refuse
    assert re.search("cannot write: the server said '.*403", write())


def test_the_cache_keeps_what_came(store: Store, fake: FakeStore, tmp_path: Path) -> None:
    cache = f"--cache_dir={tmp_path / 'cache'}"
    store.check_whole("rows.csv", store.url("rows.csv"), cache)
    fake.asked.clear()
    store.check_whole("rows.csv", store.url("rows.csv"), cache)
    assert not [request for request in fake.asked if "bytes=" in request]
    fake.put("rows.csv", fake.objects["rows.csv"].content)
    store.check_whole("rows.csv", store.url("rows.csv"), cache)
    assert [request for request in fake.asked if "bytes=" in request]


def test_records_and_checkpoints_are_written(store: Store, fake: FakeStore) -> None:
    check_that_it_is_written(store, store.plugin)
    assert len([name for name in fake.objects if name.startswith("saved/check")]) == 2


def test_statistics_tell_the_server(store: Store, fake: FakeStore) -> None:
    told = store.peek(store.url("rows.csv"), "--stats")
    host = {"gs": "gs://bucket", "abfs": "abfs://me.dfs.core.windows.net"}[store.scheme]
    row = next(line for line in told.stderr.splitlines() if line.startswith(host))
    requests, retries = row.split()[1:3]
    assert int(requests) > 2
    assert int(retries) == 0


# ---- Python ----

READ = """
    import sys
    import millhopper
    millhopper.load_plugin(sys.argv[1])
    reader = millhopper.Reader.open_files(sys.argv[2], names=["line"]).batch(100)
    print([bytes(line) for batch in reader for line in batch["line"].to_bytes()])
    """


def test_python_reads_a_pattern(store: Store) -> None:
    ran = run_python(READ, str(store.plugin), store.url("many/[12]/*.txt"))
    assert ran.stdout == f"{[b'many/1/1.txt', b'many/2/2.txt']}\n", ran.stderr


def test_without_the_plugin_the_error_says_what_to_install() -> None:
    for scheme in ("gs", "abfs", "abfss", "hdfs"):
        with pytest.raises(millhopper.Error, match=r"pip install millhopper\[parquet\]") as raised:
            list(millhopper.Reader.open_files(f"text:{scheme}://bucket/a?sig=hidden"))
        assert "hidden" not in str(raised.value)


# ---- Hadoop ----


@pytest.fixture(scope="module")
def hadoop(parquet_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Hadoop:
    """Files in the folder that stands in for Hadoop."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("hadoop")
    (folder / "root").mkdir()
    (folder / "lib" / "server").mkdir(parents=True)
    source = Path(__file__).parents[1] / "fake_hdfs.c"
    for library in (folder / "libhdfs.so", folder / "lib" / "server" / "libjvm.so"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    write_record_files(folder / "root")
    environment = {
        "JAVA_HOME": str(folder),
        "ARROW_LIBHDFS_DIR": str(folder),
        "FAKE_HDFS_ROOT": str(folder / "root"),
    }
    return Hadoop(folder / "root", 0, environment, parquet_plugin)


@pytest.mark.parametrize("threads", [1, 7])
def test_hadoop_is_read(hadoop: Hadoop, threads: int) -> None:
    for name in ("lines.txt", "samples.tar"):
        hadoop.check_whole(name, hadoop.url(name), f"--threads={threads}")
    hadoop.check_whole("lines.txt", "hdfs:///l*s.txt", f"--threads={threads}")


def test_hadoop_is_written(hadoop: Hadoop) -> None:
    check_that_it_is_written(hadoop, hadoop.plugin)
    assert len(list((hadoop.folder / "saved").iterdir())) == 2
    assert not list(hadoop.folder.rglob("*.partial"))


def test_a_file_of_hadoop_that_is_replaced_is_an_error(hadoop: Hadoop) -> None:
    said = hadoop.refusal("hdfs://name/lines.txt", "--threads=1", FAKE_HDFS_REPLACE="2")
    os.utime(hadoop.folder / "lines.txt")
    assert "the object was replaced after it was opened; its date was " in said


def test_what_hadoop_does_not_have_is_said(hadoop: Hadoop) -> None:
    (hadoop.folder / "folder").mkdir()
    for name in ("none.txt", "folder"):
        said = hadoop.refusal(f"text:hdfs://name/{name}")
        assert f"hdfs://name/{name}: " in said


def test_without_hadoop_the_error_says_what_is_needed(parquet_plugin: Path) -> None:
    program = """
        import sys
        import millhopper
        millhopper.load_plugin(sys.argv[1])
        for _ in range(2):
            try:
                list(millhopper.Reader.open_files("text:hdfs://name/a"))
            except millhopper.Error as error:
                print(error)
        """
    ran = run_python(program, str(parquet_plugin))
    lines = [line for line in ran.stdout.splitlines() if "hdfs://name/a" in line]
    assert len(lines) == 2, ran.stdout + ran.stderr
    for line in lines:
        for word in ("JAVA_HOME", "HADOOP_HOME", "CLASSPATH", "libhdfs"):
            assert word in line
