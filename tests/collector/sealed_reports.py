"""Sealed requests as a client makes them, and senders that keep posting them."""

import http.client
import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.collector.loads import Sent, fresh, split
from untrackable import strict_json
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.oblivious.sealing import SEALED_ANSWER_LENGTH, SealedRequest, seal_request
from untrackable.protocol.campaign import Campaign

GATEWAY = "/.well-known/ohttp-gateway"
SEALED = {"content-type": "message/ohttp-req"}
OHTTP_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key"


def new_keys(folder: Path, count: int = 3) -> tuple[Path, GatewayKeys]:
    path, keys = folder / "gateway.keys", GatewayKeys().with_list(count, 30)
    write_keys(path, keys)
    return path, keys


def inner(asked: Campaign | str, body: bytes, **changed: Any) -> bytes:
    """A request with reports for a campaign, as binary HTTP."""
    id = asked if isinstance(asked, str) else asked.id
    given: dict[str, Any] = {
        "method": b"POST",
        "scheme": b"https",
        "authority": b"collector.example",
        "path": f"/campaigns/{id}/reports".encode(),
        "fields": ((b"content-type", b"application/octet-stream"),),
        "content": body,
    }
    return BinaryRequest(**{**given, **changed}).to_bytes()


def sealed_reports(config: KeyConfig, asked: Campaign | str, body: bytes, **changed: Any) -> SealedRequest:
    return seal_request(config, inner(asked, body, **changed))


def opened_answer(sealed: SealedRequest, answer: bytes) -> tuple[int, str | None]:
    """The status of a sealed answer, and the slug of its problem if it has one. It always has one length."""
    assert len(answer) == SEALED_ANSWER_LENGTH
    response = BinaryResponse.from_bytes(sealed.open_answer(answer))
    if response.status == 204:
        return 204, None
    assert dict(response.fields)[b"content-type"] == b"application/problem+json"
    return response.status, strict_json.parse(response.content)["type"].removeprefix("urn:untrackable:problem:")


@dataclass
class SealedSenders:
    """Threads that post sealed reports until they are told to stop, with the first key that is not refused."""

    asked: Campaign
    configs: list[KeyConfig]
    sent: Sent
    threads: int = 4
    patient: bool = False
    unknown: int = 0
    """How often a key was refused."""
    _ending: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def start(self, address: str) -> None:
        self._running = [threading.Thread(target=self._work, args=(address,)) for _ in range(self.threads)]
        for thread in self._running:
            thread.start()

    def stop(self) -> None:
        self._ending.set()
        self.join()

    def join(self) -> None:
        for thread in self._running:
            thread.join(timeout=120)
            assert not thread.is_alive()

    def _work(self, address: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        body, key = b"", 0
        while not self._ending.is_set() or body:
            body = body or fresh(1 + secrets.randbelow(3))
            self.sent.everything.update(split(body))
            sealed = sealed_reports(self.configs[key], self.asked, body)
            try:
                connection.request("POST", GATEWAY, sealed.body, SEALED)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                if not self.patient:
                    return
                time.sleep(0.02)
                continue
            if response.status == 400:
                assert strict_json.parse(content)["type"] == OHTTP_KEY
                self.unknown += 1
                key += 1
            elif response.status == 200 and opened_answer(sealed, content)[0] == 204:
                self.sent.acknowledged.update(split(body))
                body = b""
            else:
                assert response.status in (200, 503)
                time.sleep(0.02)
        connection.close()
