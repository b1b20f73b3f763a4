# SPDX-License-Identifier: Apache-2.0
"""What the servers that stand in for stores have in common: objects in memory, the requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

PAGE = 3  # names in a list


class Answer(NamedTuple):
    status: int
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012


@dataclass
class Object:
    content: bytes
    version: int

    def part(self, asked: str) -> tuple[bytes, str] | None:
        """The bytes of "bytes=1-2" or "bytes=1-", and what Content-Range says; None without any."""
        first, _, last = asked.removeprefix("bytes=").partition("-")
        size = len(self.content)
        end = min(int(last), size - 1) if last else size - 1
        if int(first) > end:
            return None
        return self.content[int(first) : end + 1], f"bytes {first}-{end}/{size}"


class Quiet(ThreadingHTTPServer):
    """A server whose clients may go away as they like."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


@dataclass
class FakeStore:
    """A store with one bucket, as a context. Only the last version of an object is kept."""

    objects: dict[str, Object] = field(default_factory=dict)
    pieces: dict[str, bytes] = field(default_factory=dict)  # of objects that are being written
    asked: list[str] = field(default_factory=list)  # the requests so far, with their parts
    # Called with each request before it is answered; an answer takes the place of the right one.
    before: Callable[[str], Answer | None] = lambda _: None

    def put(self, name: str, content: bytes) -> None:
        last = self.objects.get(name)
        self.objects[name] = Object(content, 1 if last is None else last.version + 1)

    def answer(self, method: str, target: str, part: str, body: bytes) -> Answer:
        raise NotImplementedError

    def under(
        self, prefix: str, delimiter: str, begin: str
    ) -> tuple[dict[str, Object | None], str]:
        """A page of a list: objects, and None for prefixes; and where the next page begins."""
        entries: dict[str, Object | None] = {}
        for name, thing in sorted(self.objects.items()):
            if not name.startswith(prefix):
                continue
            end = name.find(delimiter, len(prefix)) if delimiter else -1
            entries[name if end < 0 else name[: end + 1]] = thing if end < 0 else None
        first = int(begin or "0")
        page = dict(list(entries.items())[first : first + PAGE])
        return page, str(first + PAGE) if first + PAGE < len(entries) else ""

    def __enter__(self) -> FakeStore:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def handle_expect_100(self) -> bool:
                super().handle_expect_100()
                self.wfile.flush()  # the body comes when the client has this
                return True

            def handle_one(self) -> None:
                ranges = ("Range", "x-ms-range", "Content-Range")
                part = next(filter(None, map(self.headers.get, ranges)), "")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = f"{self.path} {part}".rstrip()
                fake.asked.append(request)
                answer = fake.before(request) or fake.answer(self.command, self.path, part, body)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in answer.headers:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        port: int = self._server.server_address[1]
        return port
