# SPDX-License-Identifier: Apache-2.0
"""A server that speaks as much of the API of Google Cloud Storage (JSON) as readers need."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 3  # names in a list
WHEN = "2026-01-02T03:04:05.678Z"


@dataclass
class Object:
    content: bytes
    generation: int


@dataclass
class FakeGcs:
    """One bucket, named ``bucket``. Only the last generation of an object is kept."""

    objects: dict[str, Object] = field(default_factory=dict)
    forbidden: str = "others/"  # what nobody may read
    asked: list[str] = field(default_factory=list)  # the requests so far, with their ranges
    # Called with each request before it is answered; an answer (status, body) takes its place.
    before: Callable[[str], tuple[int, bytes] | None] = lambda _: None

    def put(self, name: str, content: bytes) -> None:
        last = self.objects.get(name)
        self.objects[name] = Object(content, 1 if last is None else last.generation + 1)

    def __enter__(self) -> FakeGcs:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802
                fake.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def port(self) -> int:
        port: int = self.server.server_address[1]
        return port

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        part = handler.headers.get("Range", "")
        self.asked.append(f"{handler.path} {part}".rstrip())
        status, body, headers = self.answer_to(handler.path, part)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def answer_to(self, target: str, part: str) -> tuple[int, bytes, dict[str, str]]:
        instead = self.before(target)
        if instead is not None:
            return *instead, {}
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        found = re.fullmatch(r"(?:/download)?(?:/storage/v1/b/([^/]+)/o(?:/([^/]+))?|/([^/]+)/(.+))", url.path)
        if found is None:
            return error(400, f"what is {target}?")
        bucket, name = unquote(found[1] or found[3]), found[2] or found[4]
        if bucket != "bucket":
            return error(404, "The specified bucket does not exist.")
        if name is None:
            return self.listed(query)
        name = unquote(name)
        if self.forbidden and name.startswith(self.forbidden):
            return error(403, "nobody does not have storage.objects.get access.")
        thing = self.objects.get(name)
        wanted = query.get("generation", query.get("ifGenerationMatch"))
        if thing is None or (wanted and int(wanted) != thing.generation):
            return error(404, f"No such object: bucket/{name}")
        if query.get("alt") != "media" and found[1]:
            return 200, json.dumps(resource(name, thing)).encode(), {}
        headers = {"x-goog-generation": str(thing.generation)}
        if not part:
            return 200, thing.content, headers
        first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", part).groups()  # type: ignore[union-attr]
        size = len(thing.content)
        if int(first) >= size:
            return error(416, "The requested range cannot be satisfied.")
        end = min(int(last), size - 1) if last else size - 1
        headers["Content-Range"] = f"bytes {first}-{end}/{size}"
        return 206, thing.content[int(first) : end + 1], headers

    def listed(self, query: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries: dict[str, Object | None] = {}
        for name, thing in sorted(self.objects.items()):
            if not name.startswith(prefix):
                continue
            end = name.find(delimiter, len(prefix)) if delimiter else -1
            if end < 0:
                entries[name] = thing
            else:
                entries[name[: end + 1]] = None
                if query.get("includeTrailingDelimiter") and name == name[: end + 1]:
                    entries[name] = thing
        begin = int(query.get("pageToken", "0"))
        page = list(entries.items())[begin : begin + PAGE]
        answer: dict[str, Any] = {"kind": "storage#objects"}
        answer["items"] = [resource(name, thing) for name, thing in page if thing is not None]
        answer["prefixes"] = [name for name, thing in page if thing is None]
        if begin + PAGE < len(entries):
            answer["nextPageToken"] = str(begin + PAGE)
        return 200, json.dumps(answer).encode(), {}


def error(status: int, message: str) -> tuple[int, bytes, dict[str, str]]:
    said = {"error": {"code": status, "message": message, "errors": [{"message": message}]}}
    return status, json.dumps(said).encode(), {}


def resource(name: str, thing: Object) -> dict[str, Any]:
    return {
        "kind": "storage#object",
        "id": f"bucket/{name}/{thing.generation}",
        "name": name,
        "bucket": "bucket",
        "generation": str(thing.generation),
        "metageneration": "1",
        "contentType": "application/octet-stream",
        "storageClass": "STANDARD",
        "size": str(len(thing.content)),
        "etag": base64.b64encode(str(thing.generation).encode()).decode(),
        "timeCreated": WHEN,
        "updated": WHEN,
    }
