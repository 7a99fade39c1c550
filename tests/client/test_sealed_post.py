"""Sealed reports on the wire, byte for byte, and what is believed of the answers."""

import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import HOME, Clock, campaign, client
from untrackable import strict_json
from untrackable.client.sending import (
    UNKNOWN_KEY,
    Address,
    Outcome,
    Post,
    Reply,
    deliver,
    sealed_post,
)
from untrackable.errors import CampaignRefused, SealingError
from untrackable.oblivious.binary_http import AUTHORITY, BinaryRequest, BinaryResponse
from untrackable.oblivious.sealing import SEALED_LENGTH, OpeningKey, open_request
from untrackable.protocol.campaign import Gateway, GatewayKey
from untrackable.protocol.wire import Wire

ID = "ab" * 32
KEYS = {number: OpeningKey.from_bytes(number, os.urandom(32)) for number in (1, 2, 3)}
GATEWAY = Gateway(tuple(GatewayKey(key.config.to_bytes(), first_round=number) for number, key in KEYS.items()))
"""Each key serves one round."""
BODY = Wire(3).encode(round=1, nonce=os.urandom(16), report=5)
COLLECTOR = Address.of("https://collect.example", ID)
PROBLEM = strict_json.write({"type": UNKNOWN_KEY, "title": "unknown", "status": 400}).encode()


def anyway(local: str, peer: str) -> bool:
    return True


def http(status: int, kind: str, content: bytes, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(content)}", *more, "", ""]
    return "\r\n".join(lines).encode() + content


def answered(request: bytes, status: int = 204, *fields: tuple[bytes, bytes]) -> bytes:
    """The gateway's sealed answer to a sealed request."""
    opened = open_request(KEYS, request)
    return http(200, "message/ohttp-res", opened.seal_answer(BinaryResponse(status, fields).to_bytes()))


class Relay:
    """Keeps the raw bytes of every connection, and answers as it is told to."""

    def __init__(self, reply: Callable[[bytes], bytes], context: ssl.SSLContext | None = None) -> None:
        self.seen: list[bytes] = []
        self.reply, self._context = reply, context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.address = Address("http", "127.0.0.1", self.port, "/gateways/study")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            try:
                if self._context is not None:
                    connection = self._context.wrap_socket(connection, server_side=True)
                with connection:
                    connection.settimeout(10)
                    data = b""
                    while len(data.partition(b"\r\n\r\n")[2]) < SEALED_LENGTH and (
                        more := connection.recv(1 << 16)
                    ):
                        data += more
                    self.seen.append(data)
                    if data:
                        connection.sendall(self.reply(data.partition(b"\r\n\r\n")[2]))
            except OSError:
                connection.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def bodies(self) -> list[bytes]:
        return [data.partition(b"\r\n\r\n")[2] for data in self.seen]


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    found = Relay(answered)
    yield found
    found.close()


def post(**named: Any) -> Post:
    return sealed_post(ID, GATEWAY, collector=COLLECTOR, **named)


def test_the_request_is_the_same_for_everyone_but_for_the_sealed_bytes(relay: Relay) -> None:
    sending = post()
    assert [sending(relay.address, BODY, anyway) for _ in range(3)] == [Reply(204)] * 3
    head = (
        f"POST /gateways/study HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nUser-Agent: untrackable\r\n"
        f"Content-Type: message/ohttp-req\r\nContent-Length: {SEALED_LENGTH}\r\nConnection: close\r\n\r\n"
    ).encode()
    assert all(data.startswith(head) for data in relay.seen)
    sealed = relay.bodies()
    assert {len(body) for body in sealed} == {SEALED_LENGTH}
    assert len({body[7:] for body in sealed}) == 3, "sealed anew for every attempt"
    opened = [BinaryRequest.from_bytes(open_request(KEYS, body).content) for body in sealed]
    path = f"/campaigns/{ID}/reports".encode()
    fields = ((b"content-type", b"application/octet-stream"),)
    assert opened == [BinaryRequest(b"POST", b"https", AUTHORITY, path, fields, BODY)] * 3


def test_nothing_of_the_report_is_in_the_clear(relay: Relay) -> None:
    post()(relay.address, BODY, anyway)
    (data,) = relay.seen
    for secret in (BODY, BODY[5:21], ID.encode(), bytes.fromhex(ID), AUTHORITY, b"collect.example", b"campaigns"):
        assert secret not in data


@pytest.mark.parametrize("bits", [1, 8, 300, 6000])
def test_all_campaigns_have_one_length(relay: Relay, bits: int) -> None:
    body = Wire(bits).encode(round=2, nonce=bytes(16), report=1)
    assert post()(relay.address, body, anyway) == Reply(204)
    assert len(relay.bodies()[0]) == SEALED_LENGTH


def test_a_report_that_does_not_fit_is_not_sent(relay: Relay) -> None:
    with pytest.raises(SealingError, match="at most 1024 bytes"):
        post()(relay.address, Wire(8192).encode(round=1, nonce=bytes(16), report=1), anyway)
    assert relay.seen == []


@pytest.mark.parametrize("status", [200, 204, 400, 409, 410, 422, 429, 500, 503])
def test_the_sealed_status_is_the_reply(relay: Relay, status: int) -> None:
    relay.reply = lambda request: answered(request, status, (b"retry-after", b"17"))
    assert post()(relay.address, BODY, anyway) == Reply(status, 17.0)


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "reply",
    [
        lambda request: flipped(answered(request)),
        lambda request: answered(request)[:-5],
        lambda request: answered(request).replace(b"Content-Length: 800", b"Content-Length: 700"),
        lambda request: http(200, "message/ohttp-res", b""),
        lambda request: http(200, "message/ohttp-res", bytes(800)),
        lambda request: http(200, "message/ohttp-res", bytes(100_000)),
        lambda request: http(204, "application/octet-stream", b""),
        lambda request: http(200, "application/json", b"{}"),
        lambda request: answered(request).replace(b"message/ohttp-res", b"message/other-res"),
        lambda request: http(400, "application/problem+json", b'{"type": "urn:other"}'),
        lambda request: http(422, "application/problem+json", b"{"),
        lambda request: http(404, "text/html", b"gone"),
        lambda request: http(302, "text/html", b"", "Location: https://collect.example/"),
        lambda request: b"HTTP/1.1 204 No Content\r\n\r\n",
        lambda request: b"nonsense",
        lambda request: b"",
    ],
)
def test_an_answer_that_does_not_open_is_none(relay: Relay, reply: Callable[[bytes], bytes]) -> None:
    """Whatever a relay says by itself: it is not the collector, so nothing is acknowledged and nothing refused."""
    relay.reply = reply
    found = post()(relay.address, BODY, anyway)
    assert found == Reply(None)
    assert found.outcome is None


def test_the_answer_to_another_request_is_none(relay: Relay) -> None:
    sending = post()
    assert sending(relay.address, BODY, anyway) == Reply(204)
    earlier = answered(relay.bodies()[0])
    relay.reply = lambda request: earlier
    assert sending(relay.address, BODY, anyway) == Reply(None)


@pytest.mark.parametrize("status", [429, 503])
def test_a_relay_that_is_busy_may_ask_for_a_delay(relay: Relay, status: int) -> None:
    relay.reply = lambda request: http(status, "application/problem+json", b"{}", "Retry-After: 5")
    assert post()(relay.address, BODY, anyway) == Reply(None, 5.0)


def test_answers_in_chunks_and_without_a_length_are_read(relay: Relay) -> None:
    def chunked(request: bytes) -> bytes:
        content = answered(request).partition(b"\r\n\r\n")[2]
        head = b"HTTP/1.1 200 X\r\nContent-Type: message/ohttp-res\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"64;x=y\r\n%b\r\n2bc\r\n%b\r\n0\r\n\r\n" % (content[:100], content[100:])

    def until_closed(request: bytes) -> bytes:
        return answered(request).replace(b"Content-Length: 800\r\n", b"")

    for relay.reply in (chunked, until_closed):
        assert post()(relay.address, BODY, anyway) == Reply(204)
    relay.reply = lambda request: chunked(request)[:-20]
    assert post()(relay.address, BODY, anyway) == Reply(None)
    lengths = [b"ffffffff", b"-1", b"-5", b"x", b""]
    relay.reply = lambda request: chunked(request).replace(b"2bc", lengths[0])
    while lengths:
        assert post()(relay.address, BODY, anyway) == Reply(None)
        lengths.pop(0)
    endless = b"HTTP/1.1 200 X\r\nContent-Type: message/ohttp-res\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
    relay.reply = lambda request: endless + bytes(1 << 22)
    assert post()(relay.address, BODY, anyway) == Reply(None)
    relay.reply = lambda request: b"HTTP/1.1 100 Continue\r\n\r\n" * (1 << 16) + answered(request)
    assert post()(relay.address, BODY, anyway) == Reply(None)


def test_the_key_is_that_of_the_round(relay: Relay) -> None:
    for round in (1, 2, 3):
        post()(relay.address, Wire(3).encode(round=round, nonce=bytes(16), report=1), anyway)
    assert [body[0] for body in relay.bodies()] == [1, 2, 3]


def test_a_revoked_key_is_followed_by_the_next_one(relay: Relay) -> None:
    def without_the_first(request: bytes) -> bytes:
        if request[0] == 1:
            return http(400, "application/problem+json", PROBLEM)
        return answered(request)

    relay.reply = without_the_first
    sending = post()
    assert [sending(relay.address, BODY, anyway) for _ in range(2)] == [Reply(None), Reply(204)]
    other = Wire(3).encode(round=1, nonce=bytes(16), report=5)
    assert post()(relay.address, other, anyway) == Reply(None)
    assert [body[0] for body in relay.bodies()] == [1, 2, 1]


def test_a_relay_that_claims_that_no_key_is_known_gets_listed_keys_only(relay: Relay) -> None:
    relay.reply = lambda request: http(400, "application/problem+json", PROBLEM)
    sending = post()
    assert [sending(relay.address, BODY, anyway) for _ in range(5)] == [Reply(None)] * 5
    assert [body[0] for body in relay.bodies()] == [1, 2, 3, 3, 3]


def test_nothing_is_sent_from_another_network(relay: Relay) -> None:
    assert post()(relay.address, BODY, lambda local, peer: False) == Reply(None)
    assert post()(relay.address, BODY, anyway) == Reply(204)
    assert [bool(data) for data in relay.seen] == [False, True]


def test_a_relay_that_is_not_there_or_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address("http", "127.0.0.1", silent.getsockname()[1], "/x")
        assert post(timeout=0.2)(address, BODY, anyway) == Reply(None)
    assert post()(address, BODY, anyway) == Reply(None)


def certified(folder: Path, names: str) -> ssl.SSLContext:
    subject = ("-subj", "/CN=x", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    files = ("-keyout", f"{folder}/key", "-out", f"{folder}/certificate", "-addext", f"subjectAltName={names}")
    subprocess.run(["openssl", "req", "-x509", *subject, *files], check=True, capture_output=True)  # noqa: S603, S607
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


@pytest.mark.parametrize(
    ("names", "known", "expected"),
    [
        ("DNS:localhost", True, Reply(204)),
        ("DNS:localhost", False, Reply(None)),
        ("DNS:other.example", True, Reply(None)),
        ("DNS:localhost,DNS:collect.example", True, None),
        ("DNS:localhost,DNS:*.example", True, None),
        ("DNS:localhost,DNS:*.other.example", True, Reply(204)),
    ],
)
def test_tls_is_verified_and_a_relay_with_the_collectors_certificate_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, known: bool, expected: Reply | None
) -> None:
    context = certified(tmp_path, names)
    if known:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    relay = Relay(answered, context)
    address = Address("https", "localhost", relay.port, "/gateways/study")
    try:
        if expected is None:
            with pytest.raises(CampaignRefused, match="certificate for the collector's name"):
                post()(address, BODY, anyway)
        else:
            assert post()(address, BODY, anyway) == expected
    finally:
        relay.close()
    assert bool([data for data in relay.seen if data]) is (expected == Reply(204))


@pytest.mark.parametrize(
    ("relay", "reason"),
    [
        ("http://relay.example/x", "relay must be https"),
        ("https://collect.example/gateways/x", "relay must not be the collector"),
        ("https://COLLECT.example:8443", "relay must not be the collector"),
        ("https://me@relay.example", "relay must have no user name"),
        ("relay.example", "relay must be an address"),
    ],
)
def test_what_is_no_relay(relay: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Address.of_relay(relay, COLLECTOR)


def test_on_this_machine_another_port_is_another_server() -> None:
    here = Address.of("http://127.0.0.1:8000", ID)
    assert Address.of_relay("http://127.0.0.1:8100/gateways/x", here) == Address(
        "http", "127.0.0.1", 8100, "/gateways/x"
    )
    assert Address.of_relay("https://relay.example", here).path == "/"
    with pytest.raises(ValueError, match="relay must not be the collector"):
        Address.of_relay("http://127.0.0.1:8000/gateways/x", here)


def test_a_report_is_tried_again_with_the_same_bytes_until_the_collector_itself_answers(
    relay: Relay, tmp_path: Path
) -> None:
    clock = Clock()
    member = client(tmp_path / "c", campaign(), clock)
    member.answer(2)
    clock.now = member.due() or 0.0
    replies: Iterator[Callable[[bytes], bytes]] = iter(
        [
            lambda request: http(204, "text/plain", b""),
            lambda request: http(400, "application/problem+json", PROBLEM),
            lambda request: flipped(answered(request)),
            answered,
        ]
    )
    relay.reply = lambda request: next(replies)(request)
    sending = sealed_post(member.campaign.id, GATEWAY, collector=COLLECTOR)

    def delivered() -> Outcome:
        outcome, _ = deliver(
            member._attempt, relay.address, post=sending, look=lambda *_: HOME, clock=clock, sleep=clock.sleep
        )
        return outcome

    assert delivered() is Outcome.ACCEPTED
    assert delivered() is Outcome.NOTHING
    opened = [BinaryRequest.from_bytes(open_request(KEYS, body).content) for body in relay.bodies()]
    assert len(opened) == 4
    assert len({request.content for request in opened}) == 1
    assert len(set(relay.bodies())) == 4
