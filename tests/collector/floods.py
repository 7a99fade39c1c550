"""Connections that keep sending requests without waiting for answers."""

import contextlib
import re
import selectors
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

_AT_ONCE = 1 << 18
"""Bytes that are sent or read at once."""


class Flood:
    """A thread that sends on many connections for as long as the block lasts, and reads the answers or not."""

    def __init__(self, address: str, request: Callable[[], bytes], *, connections: int, reads: bool) -> None:
        host, port = urlsplit(address).netloc.split(":")
        self._address, self._request = (host, int(port)), request
        self._connections, self._reads = connections, reads
        self.sent = self.opened = 0
        self._ending = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> "Flood":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            self._drop(key.fileobj)
        self._selector.close()

    def _open(self) -> None:
        with contextlib.suppress(OSError):
            plain = socket.create_connection(self._address, timeout=10)
            plain.setblocking(False)
            self.opened += 1
            events = selectors.EVENT_WRITE | (selectors.EVENT_READ if self._reads else 0)
            self._selector.register(plain, events, bytearray())

    def _drop(self, plain: object) -> None:
        assert isinstance(plain, socket.socket)
        self._selector.unregister(plain)
        plain.close()

    def _work(self) -> None:
        while not self._ending.is_set():
            for _ in range(self._connections - len(self._selector.get_map())):
                self._open()
            for key, events in self._selector.select(timeout=0.05):
                assert isinstance(key.fileobj, socket.socket)
                try:
                    if events & selectors.EVENT_READ and not key.fileobj.recv(_AT_ONCE):
                        raise ConnectionError
                    if events & selectors.EVENT_WRITE:
                        self._send(key.fileobj, key.data)
                except BlockingIOError:
                    continue
                except OSError:
                    self._drop(key.fileobj)

    def _send(self, plain: socket.socket, left: bytearray) -> None:
        if not left:
            one = self._request()
            left += one * (_AT_ONCE // len(one))
        sent = plain.send(left)
        self.sent += sent
        del left[:sent]


def resident(pid: int) -> float:
    """The resident memory of a process, in MB."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) / 1000 if match else 0.0
