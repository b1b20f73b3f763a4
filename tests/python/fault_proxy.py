# SPDX-License-Identifier: Apache-2.0
"""What lies between a reader and a server: it cuts, stalls, and falsifies answers when told to."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO


def answer(status: str, *headers: str) -> bytes:
    return "\r\n".join(
        [f"HTTP/1.1 {status}", *headers, "Content-Length: 7", "", "trouble"]
    ).encode()


def replaced(pattern: bytes, by: Callable[[re.Match[bytes]], bytes]) -> Callable[[bytes], bytes]:
    """Replaces a part of a head, whatever the server wrote there."""
    return lambda head: re.sub(pattern, by, head, count=1, flags=re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """What happens to an answer."""

    instead: bytes = b""  # sent in its place
    head: Callable[[bytes], bytes] | None = None  # what becomes of its head
    end: str = ""  # what comes after half of its body: close, reset or stall
    slowly: bool = False  # its first bytes come one by one


# What goes away by itself: the next try brings the bytes.
PASSING = {
    "status 500": Fault(answer("500 Internal Server Error")),
    "status 429": Fault(answer("429 Too Many Requests", "Retry-After: 0")),
    "short body": Fault(end="close"),
    "reset": Fault(end="reset"),
    "stall": Fault(end="stall"),
    "slow start": Fault(slowly=True),
}

# What no second try repairs, and a pattern of the words for it.
LIES = {
    "other ETag": (
        Fault(head=replaced(rb'(?<=\r\nETag: ")', lambda _: b"0")),
        "the object was replaced after it was opened",
    ),
    "other range": (
        Fault(
            head=replaced(
                rb"(?<=\r\nContent-Range: bytes )\d+", lambda first: b"%d" % (int(first[0]) + 1)
            )
        ),
        "asked for bytes |does not say which part of the object it sends",
    ),
    "no range": (
        Fault(head=replaced(rb"\r\nContent-Range: [^\r]*", lambda _: b"")),
        "the server does not say which part of the object it sends",
    ),
    "other size": (
        Fault(
            head=replaced(
                rb"(?<=\r\nContent-Range: )([^/]*)/(\d+)",
                lambda range: range[1] + b"/%d" % (int(range[2]) + 1),
            )
        ),
        "the object was replaced after it was opened",
    ),
    "other length": (
        Fault(
            head=replaced(
                rb"(?<=\r\nContent-Length: )(\d+)", lambda length: b"%d" % (int(length[1]) + 1)
            )
        ),
        "the server says that bytes ",
    ),
}


class FaultProxy:
    """A proxy of one server, as a context. Requests have no bodies. Any thread."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()  # guards what is below
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._fault, self._first, self._count, self._requests = Fault(), 0, 0, 0
        self._mended = threading.Event()
        self._stalled = 0
        self._hit = False
        self._closing = False

    def __enter__(self) -> FaultProxy:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.mend()
        with self._lock:
            self._closing = True
            for open_one in [self._listener, *self._sockets]:
                with contextlib.suppress(OSError):  # the other side is gone
                    open_one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def spoil(self, fault: Fault, first: int = 0, count: int = 1 << 60) -> None:
        """Spoils ``count`` answers from number ``first`` on; the next one is number 0."""
        with self._lock:
            self._fault, self._first, self._count = fault, first, count
            self._requests, self._hit = 0, False
            self._mended = threading.Event()

    def mend(self) -> None:
        """Ends the fault, and the connections that have stalled."""
        with self._lock:
            self._count = 0
            self._mended.set()

    @property
    def hit(self) -> bool:
        """Whether an answer was spoiled."""
        return self._hit

    @property
    def stalled(self) -> int:
        """How many connections have stalled now."""
        return self._stalled

    def _start(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closing:
                    client.close()
                    return
                self._sockets.add(client)
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, client.makefile("rb") as requests, contextlib.suppress(OSError):
            while head := read_head(requests):
                with socket.create_connection(self._server) as server:
                    server.sendall(head)
                    with server.makefile("rb") as answers:
                        if not self._pass_on(answers, client, head.startswith(b"HEAD ")):
                            break
        with self._lock:
            self._sockets.discard(client)

    def _next(self) -> tuple[Fault, threading.Event]:
        with self._lock:
            spoiled = self._first <= self._requests < self._first + self._count
            self._requests += 1
            self._hit = self._hit or spoiled
            return (self._fault if spoiled else Fault()), self._mended

    def _pass_on(self, answers: BinaryIO, client: socket.socket, no_body: bool) -> bool:
        """Passes one answer on; returns whether the connection can be used again."""
        fault, mended = self._next()
        if fault.instead:
            head, end, _ = fault.instead.partition(b"\r\n\r\n")
            client.sendall(head + end if no_body else fault.instead)
            return True
        head = read_head(answers)
        length = re.search(rb"\r\nContent-Length: (\d+)", head, re.IGNORECASE)
        body = answers.read(int(length[1]) if length and not no_body else 0)
        client.sendall(fault.head(head) if fault.head else head)
        if fault.slowly:
            for i in range(20):
                client.sendall(body[i : i + 1])
                time.sleep(0.002)
            body = body[20:]
        if not fault.end:
            client.sendall(body)
            return b"connection: close" not in head.lower()
        client.sendall(body[: len(body) // 2])
        if fault.end == "stall":
            self._stall(client, mended)
        elif fault.end == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def _stall(self, client: socket.socket, mended: threading.Event) -> None:
        with self._lock:
            self._stalled += 1
        client.settimeout(0.05)
        while not mended.is_set():
            with contextlib.suppress(socket.timeout):
                if not client.recv(1):  # the reader has given up
                    break
        with self._lock:
            self._stalled -= 1


def read_head(stream: BinaryIO) -> bytes:
    """The head of a request or an answer, or what there is of it."""
    head = line = stream.readline()
    while line.strip():
        line = stream.readline()
        head += line
    return head
