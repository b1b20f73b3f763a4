# SPDX-License-Identifier: Apache-2.0
"""What a message of protobuf is on the wire, for whoever has no schema of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def fields_of(content: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protobuf: integers, and bytes of all others."""
    at = 0

    def integer() -> int:
        nonlocal at
        value = shift = 0
        while True:
            at += 1
            value |= (content[at - 1] & 127) << shift
            shift += 7
            if content[at - 1] < 128:
                return value

    while at < len(content):
        tag = integer()
        kind = tag & 7
        assert kind in (0, 1, 2, 5)
        if kind == 0:
            yield tag >> 3, integer()
            continue
        size = integer() if kind == 2 else {1: 8, 5: 4}[kind]
        at += size
        yield tag >> 3, content[at - size : at]
