# SPDX-License-Identifier: Apache-2.0
"""A server that speaks as much of the API of Azure's blobs as we need."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from fake_store import Answer, FakeStore, Object

WHEN = "Fri, 02 Jan 2026 03:04:05 GMT"


class FakeAzure(FakeStore):
    """Of the container ``bucket`` of the account ``me``; nobody may read what begins with
    ``others/``."""

    def options(self, port: int) -> str:
        """What stands in a URL after the name, to be read from here."""
        address = f"127.0.0.1:{port}"
        return (
            f"?blob_storage_authority={address}&dfs_storage_authority={address}"
            "&enable_tls=false&credential_kind=anonymous"
        )

    def answer(self, method: str, target: str, part: str, body: bytes) -> Answer:
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        name = unquote(url.path).removeprefix("/me/bucket").removeprefix("/")
        if not url.path.startswith("/me/bucket"):
            return error(404, "ContainerNotFound", method)
        if query.get("comp") == "list":
            return self.listed(query)
        if not name or "action" in query:
            return error(404, "ResourceNotFound", method)
        if name.startswith("others/"):
            return error(403, "AuthorizationFailure", method)
        if method == "PUT":
            return self.uploaded(name, query, body)
        thing = self.objects.get(name)
        if thing is None:
            return error(404, "BlobNotFound", method)
        if method == "DELETE":
            del self.objects[name]
            return Answer(202)
        headers = properties(thing)
        if method == "HEAD":
            return Answer(200, b"", {**headers, "Content-Length": str(len(thing.content))})
        piece = thing.part(part)
        if piece is None:
            return error(416, "InvalidRange")
        return Answer(206, piece[0], {**headers, "Content-Range": piece[1]})

    def uploaded(self, name: str, query: dict[str, str], body: bytes) -> Answer:
        """Of a blob as a whole, a block of one, the list of its blocks, or a lease of it."""
        if query.get("comp") == "lease":
            if name not in self.objects:
                # Without a body: Azure's library loses four bytes of one after a "100 Continue".
                return error(404, "BlobNotFound", "HEAD")
            return Answer(201, b"", {**properties(self.objects[name]), "x-ms-lease-id": "1"})
        if query.get("comp") == "block":
            self.pieces[name + query["blockid"]] = body
        elif query.get("comp") == "blocklist":
            blocks = re.findall(r"<(?:Latest|Uncommitted|Committed)>([^<]*)<", body.decode())
            self.put(name, b"".join(self.pieces[name + block] for block in blocks))
        else:
            self.put(name, body)
        return Answer(201, b"", properties(self.objects.get(name) or Object(b"", 0)))

    def listed(self, query: dict[str, str]) -> Answer:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        page, rest = self.under(prefix, delimiter, query.get("marker", ""))
        blobs = "".join(
            f"<Blob><Name>{escape(name)}</Name>{described(thing)}</Blob>"
            if thing
            else f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
            for name, thing in page.items()
        )
        said = (
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="bucket">'
            f"<Prefix>{escape(prefix)}</Prefix><Blobs>{blobs}</Blobs>"
            f"<NextMarker>{rest}</NextMarker></EnumerationResults>"
        )
        return Answer(200, said.encode(), {"Content-Type": "application/xml"})


def described(thing: Object) -> str:
    return (
        f"<Properties><Last-Modified>{WHEN}</Last-Modified><Etag>0x8D{thing.version}</Etag>"
        f"<Creation-Time>{WHEN}</Creation-Time><Content-Length>{len(thing.content)}</Content-Length>"
        "<BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus>"
        "<LeaseState>available</LeaseState></Properties>"
    )


def properties(thing: Object) -> dict[str, str]:
    return {
        "ETag": f'"0x8D{thing.version}"',
        "Last-Modified": WHEN,
        "x-ms-creation-time": WHEN,
        "x-ms-blob-type": "BlockBlob",
        "x-ms-lease-state": "available",
        "x-ms-lease-status": "unlocked",
        "x-ms-server-encrypted": "true",
        "x-ms-request-server-encrypted": "true",
        "Content-Type": "application/octet-stream",
    }


def error(status: int, code: str, method: str = "GET") -> Answer:
    if method == "HEAD":
        return Answer(status, b"", {"x-ms-error-code": code})
    said = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'
    return Answer(
        status, said.encode(), {"x-ms-error-code": code, "Content-Type": "application/xml"}
    )
