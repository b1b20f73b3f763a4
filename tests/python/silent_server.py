# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that falls silent, and never says another word."""

import contextlib
import re
import socket
import threading
from typing import Literal

# When it falls silent: before any answer, before the parts of the object that begin after LIMIT,
# in the middle of such a part, or in the middle of the headers of such an answer.
Moment = Literal["accept", "answer", "body", "headers"]

LINES = b"".join(b"%09d %s\n" % (number, b"x" * 90) for number in range(60_000))
LIMIT = 3 << 20


class SilentServer:
    """Gives parts of LINES. Close ends its connections."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._open = [socket.create_server(("127.0.0.1", 0))]
        self._lock = threading.Lock()
        self._closing = False
        self.silent = threading.Event()
        port = self._open[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/lines.txt"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        with self._lock:
            self._closing = True
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._open:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._open[0].accept()
            except OSError:
                return
            with self._lock:
                self._open.append(connection)
                self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
                self._threads[-1].start()
                if self._closing:
                    connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        received = b""
        with contextlib.suppress(OSError):
            while True:
                while b"\r\n\r\n" not in received:
                    more = connection.recv(1 << 16)
                    if not more:
                        return
                    received += more
                request, received = received.split(b"\r\n\r\n", 1)
                if not self._answer(connection, request):
                    self.silent.set()
                    while connection.recv(1 << 16):
                        pass
                    return

    def _answer(self, connection: socket.socket, request: bytes) -> bool:
        if self._moment == "accept":
            return False
        asked = re.search(rb"(?i)\nrange: bytes=(\d+)-(\d+)", request)
        if asked is None or b"lines.txt" not in request:
            connection.sendall(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")
            return True
        begin, end = int(asked[1]), min(int(asked[2]) + 1, len(LINES))
        head = (
            b'HTTP/1.1 206 Part\r\nETag: "1"\r\nContent-Length: %d\r\n'
            b"Content-Range: bytes %d-%d/%d\r\n\r\n" % (end - begin, begin, end - 1, len(LINES))
        )
        answer = head + LINES[begin:end]
        if begin < LIMIT:
            connection.sendall(answer)
            return True
        said = {"answer": 0, "headers": len(head) // 2, "body": (len(head) + len(answer)) // 2}
        connection.sendall(answer[: said[self._moment]])
        return False
