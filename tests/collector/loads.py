"""Senders that keep posting, and remember what was acknowledged."""

import http.client
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from untrackable.protocol.campaign import Campaign

SIZE = 22
"""Bytes of a report of the sample campaign."""


def fresh(count: int, round: int = 1) -> bytes:
    """Reports with new nonces; what they say is any of the 30 possible answers."""
    return b"".join(
        b"\1" + round.to_bytes(4, "little") + secrets.token_bytes(16) + bytes([2 + secrets.randbelow(30)])
        for _ in range(count)
    )


def split(body: bytes) -> list[bytes]:
    return [body[i : i + SIZE] for i in range(0, len(body), SIZE)]


@dataclass
class Sent:
    """What was sent, and what of it was acknowledged: report by report."""

    everything: set[bytes] = field(default_factory=set)
    acknowledged: set[bytes] = field(default_factory=set)
    refused: list[int] = field(default_factory=list)


class Senders:
    """Threads that post until they are told to stop, or the server is gone."""

    def __init__(self, asked: Campaign, sent: Sent, *, threads: int = 4, patient: bool = False) -> None:
        self._path, self._sent, self._patient = f"/campaigns/{asked.id}/reports", sent, patient
        self._count, self._ending = threads, threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, address: str) -> None:
        self._ending.clear()
        self._threads = [
            threading.Thread(target=self._work, args=(address, 1 if i % 2 else 20)) for i in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ending.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=120)
            assert not thread.is_alive()

    def _work(self, address: str, count: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        try:
            self._post(connection, count)
        finally:
            connection.close()

    def _post(self, connection: http.client.HTTPConnection, count: int) -> None:
        body = b""
        while not self._ending.is_set() or body:
            body = body or fresh(count)
            with self._lock:
                self._sent.everything.update(split(body))
            try:
                connection.request("POST", self._path, body, {"content-type": "application/octet-stream"})
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                if not self._patient:
                    return
                connection.close()
                time.sleep(0.05)
                continue
            if response.status == 204:
                with self._lock:
                    self._sent.acknowledged.update(split(body))
                body = b""
            else:
                assert response.status == 503, response.status
                assert int(response.headers["retry-after"]) > 0
                self._sent.refused.append(response.status)
                if not self._patient:
                    return
                time.sleep(0.05)


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
