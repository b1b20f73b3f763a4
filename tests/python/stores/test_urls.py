# SPDX-License-Identifier: Apache-2.0
"""Files on HTTP servers and in object stores, as Python reads them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import millhopper
import pytest
from millhopper import layers


class Quiet(SimpleHTTPRequestHandler):
    """Python's server of a folder, which gives no parts of files, and prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def transfers() -> None:
    """The thread that works on all transfers stays to the end, and its descriptors with it."""
    with pytest.raises(millhopper.Error):
        list(millhopper.Reader.open_files("text:http://127.0.0.1:1/none"))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a folder with two files of lines."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "0.txt").write_text("a\nb\n")
    (tmp_path / "1.txt").write_text("c\n")
    (tmp_path / "bucket").symlink_to(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_names_of_files_may_be_urls(server: str) -> None:
    reader = millhopper.Reader.open_files(f"{server}/{{0..1}}.txt?key=1", names=["line"]).batch(3)
    for _ in range(2):
        assert [batch["line"].to_bytes() for batch in reader] == [[b"a", b"c", b"b"]]


def test_names_of_files_may_be_of_an_object_store(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "true")
    reader = millhopper.Reader.open_files("s3://bucket/{0..1}.txt", names=["line"]).batch(3)
    assert [batch["line"].to_bytes() for batch in reader] == [[b"a", b"c", b"b"]]
    with pytest.raises(millhopper.Error, match="s3://bucket/none: .*404"):
        list(millhopper.Reader.open_files("text:s3://bucket/none"))


def test_errors_hide_what_is_secret(server: str) -> None:
    url = f"{server}/none.txt?sig=hidden".replace("//", "//hidden@")
    with pytest.raises(millhopper.Error, match="404") as raised:
        list(millhopper.Reader.open_files(url))
    assert "hidden" not in str(raised.value)
    assert "?..." in str(raised.value)


def test_nothing_that_is_shown_or_saved_has_a_secret(server: str) -> None:
    urls = [
        f"{server}/0.txt?X-Amz-Signature=hidden&id=hidden".replace("//", "//me:hidden@"),
        "http:///me:hidden@127.0.0.1:1/my file.csv?X-Amz-Credential=hidden 1",
        "https://127.0.0.1:1/a\tb?id=hidden",
    ]
    for url in urls:
        program, _ = millhopper.new_programs()
        layers.io.open_files([f"text:{url}"], shapes=[[-1]], lod_levels=[1], dtypes=["uint8"])
        assert "hidden" not in str(program) + repr(program.global_block().ops)
        assert "hidden" in program.to_text()
        reader = millhopper.Reader.open_files(f"text:{url}", names=["line"])
        assert "hidden" not in f"{reader}{reader!r}"
    reader = millhopper.Reader.open_files(f"text:{urls[0]}", names=["line"])
    lines = iter(reader)
    next(lines)
    state = reader.state_dict()
    assert "hidden" not in repr(state) + repr(reader.get_state())
    other = f"{server}/0.txt?id=hidden&X-Amz-Signature=new".replace("//", "//you:new@")
    again = millhopper.Reader.open_files(f"text:{other}", names=["line"])
    again.load_state_dict(state)
    assert [line["line"].decode()[0] for line in again] == ["b"]
    wrong = millhopper.Reader.open_files(f"text:{other}&versionId=2", names=["line"])
    with pytest.raises(millhopper.Error, match=r"\?versionId=2&\.\.\.=") as raised:
        wrong.load_state_dict(state)
        next(iter(wrong))
    assert "hidden" not in str(raised.value)


def test_a_list_of_a_server_names_no_local_files(server: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"0.txt 1\n{tmp_path}/1.txt 2\n")

    def labels() -> list[int]:
        reader = millhopper.Reader.open_files(f"image_list:{server}/list", names=["image", "label"])
        return [batch["label"].item() for batch in reader]

    with pytest.raises(millhopper.Error, match="line 2.*millhopper.allow_local_entries"):
        labels()
    millhopper.allow_local_entries()
    try:
        assert labels() == [1, 2]
    finally:
        millhopper.allow_local_entries(False)
    with pytest.raises(TypeError, match="allowed is 1"):
        millhopper.allow_local_entries(1)  # type: ignore[arg-type]


class Parts(Quiet):
    """A server of one object, which gives parts and counts the bytes of their bodies."""

    content = b"".join(b"line %d\n" % line for line in range(300_000))
    sent = 0

    def do_GET(self) -> None:
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        body = self.content[first : last + 1]
        type(self).sent += len(body)
        self.send_response(206)
        self.send_header("ETag", '"1"')
        end = first + len(body) - 1
        self.send_header("Content-Range", f"bytes {first}-{end}/{len(self.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_cache_keeps_what_a_server_has_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    millhopper.set_cache(tmp_path / "cache", max_bytes=16 * 2**20)
    with ThreadingHTTPServer(("127.0.0.1", 0), Parts) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/lines.txt"
            for again in (False, True):
                before = Parts.sent
                reader = millhopper.Reader.open_files(url, names=["line"]).batch(100_000)
                lines = [line for batch in reader for line in batch["line"].to_bytes()]
                assert b"".join(line + b"\n" for line in lines) == Parts.content
                assert (Parts.sent - before < 100) == again
        finally:
            millhopper.set_cache(None)
            server.shutdown()
            thread.join()


def test_caches_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(millhopper.Error, match="cannot be written"):
        millhopper.set_cache(tmp_path / "file")
    with pytest.raises(millhopper.Error, match="at least 16777216"):
        millhopper.set_cache(tmp_path, 1000)
    with pytest.raises(ValueError, match="max_bytes -1 is not 0 to"):
        millhopper.set_cache(tmp_path, -1)
    with pytest.raises(ValueError, match="directory is empty"):
        millhopper.set_cache("")
    with pytest.raises(TypeError, match="max_bytes is 1.5"):
        millhopper.set_cache(tmp_path, 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        millhopper.set_cache(3)  # type: ignore[arg-type]
