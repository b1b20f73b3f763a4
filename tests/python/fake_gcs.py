# SPDX-License-Identifier: Apache-2.0
"""A server that speaks as much of the API of Google Cloud Storage (JSON) as we need."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from fake_store import Answer, FakeStore, Object

WHEN = "2026-01-02T03:04:05.678Z"


class FakeGcs(FakeStore):
    """Of the bucket ``bucket``; nobody may read what begins with ``others/``."""

    def options(self, port: int) -> str:
        """What stands in a URL after the name, to be read from here."""
        return f"?scheme=http&endpoint_override=127.0.0.1:{port}"

    def answer(self, method: str, target: str, part: str, body: bytes) -> Answer:
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/upload/storage/v1/b/bucket/o":
            return self.uploaded(query, part, body)
        found = re.fullmatch(r"/storage/v1/b/([^/]+)(?:/o(?:/([^/]+))?)?", url.path)
        if found is None:
            return error(400, f"what is {target}?")
        if found[1] != "bucket":
            return error(404, "The specified bucket does not exist.")
        if found[2] is None:
            return self.listed(query)
        name = unquote(found[2])
        if name.startswith("others/"):
            return error(403, "nobody does not have storage.objects.get access.")
        thing = self.objects.get(name)
        wanted = query.get("generation")
        if thing is None or (wanted and int(wanted) != thing.version):
            return error(404, f"No such object: bucket/{name}")
        if method == "DELETE":
            del self.objects[name]
            return Answer(204)
        if query.get("alt") != "media":
            return Answer(200, json.dumps(resource(name, thing)).encode())
        headers = {"x-goog-generation": str(thing.version)}
        if not part:
            return Answer(200, thing.content, headers)
        piece = thing.part(part)
        if piece is None:
            return error(416, "The requested range cannot be satisfied.")
        return Answer(206, piece[0], {**headers, "Content-Range": piece[1]})

    def uploaded(self, query: dict[str, str], part: str, body: bytes) -> Answer:
        """Of an upload that begins, or of a piece of one."""
        name = query.get("name", "")
        if "upload_id" not in query:
            if query.get("uploadType") == "media":
                self.put(name, body)
                return Answer(200, json.dumps(resource(name, self.objects[name])).encode())
            self.pieces[name] = b""
            place = f"http://127.0.0.1:{self.port}/upload/storage/v1/b/bucket/o?upload_id=1&name="
            return Answer(200, b"", {"Location": place + quote(name, safe="")})
        self.pieces[name] += body
        size = len(self.pieces[name])
        if not re.fullmatch(rf"bytes (\*|\d+-{size - 1})/{size}", part):
            return Answer(308, b"", {"Range": f"bytes=0-{size - 1}"} if size else {})
        self.put(name, self.pieces.pop(name))
        return Answer(200, json.dumps(resource(name, self.objects[name])).encode())

    def listed(self, query: dict[str, str]) -> Answer:
        delimiter = query.get("delimiter", "")
        page, rest = self.under(query.get("prefix", ""), delimiter, query.get("pageToken", ""))
        said: dict[str, Any] = {"kind": "storage#objects"}
        said["items"] = [resource(name, thing) for name, thing in page.items() if thing]
        said["prefixes"] = [name for name, thing in page.items() if not thing]
        if rest:
            said["nextPageToken"] = rest
        return Answer(200, json.dumps(said).encode())


def error(status: int, message: str) -> Answer:
    said = {"error": {"code": status, "message": message, "errors": [{"message": message}]}}
    return Answer(status, json.dumps(said).encode())


def resource(name: str, thing: Object) -> dict[str, Any]:
    return {
        "kind": "storage#object",
        "id": f"bucket/{name}/{thing.version}",
        "name": name,
        "bucket": "bucket",
        "generation": str(thing.version),
        "metageneration": "1",
        "contentType": "application/octet-stream",
        "storageClass": "STANDARD",
        "size": str(len(thing.content)),
        "etag": f"etag{thing.version}",
        "timeCreated": WHEN,
        "updated": WHEN,
    }
