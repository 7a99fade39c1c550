"""The Worker script answers as the relay does, byte for byte, and passes on no more than that does."""

import asyncio
import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.test_sealed_post import certified
from tests.relay.gateways import SEALED, FakeGateway, answer, gateway, relay_process, sealed, threaded
from tests.relay.test_page_access import ASKING, ORIGIN
from tests.relay.test_relay_app import HEADERS, MARK
from tests.relay_worker.workers import FOLDER, SCRIPT, called, node, worker_process
from untrackable.relay import app
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.gateway import RelayProblem

OF_THE_SERVER = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}
"""Headers that each HTTP server writes in its own way."""
SET = answer(b"sealed", more="Set-Cookie: a=b\r\nEtag: x\r\nServer: y\r\nRetry-After: 4711\r\n")


@dataclass
class Both:
    """The script and the relay before one gateway."""

    gateway: FakeGateway
    worker: httpx.Client
    relay: httpx.Client

    def ask(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        reply: bytes | None = SET,
    ) -> httpx.Response:
        """The answer of the script, which is that of the relay."""
        self.gateway.reply = lambda request: reply
        self.gateway.seen.clear()
        mine, other = (
            each.request(method, path, content=content, headers=headers) for each in (self.worker, self.relay)
        )
        assert described(mine) == described(other)
        return mine


def described(found: httpx.Response) -> tuple[int, dict[str, object], object]:
    headers: dict[str, object] = {
        name: {part.strip().lower() for part in value.split(",")}
        for name, value in found.headers.items()
        if name not in OF_THE_SERVER
    }
    problem = found.headers.get("content-type") == "application/problem+json" and found.content
    return found.status_code, headers, found.json() if problem else found.content


@contextlib.contextmanager
def before(there: FakeGateway, *options: str) -> Iterator[Both]:
    options = ("--gateway", f"study=http://127.0.0.1:{there.port}", *options)
    with (
        worker_process(*options) as worker,
        relay_process(*options, "--per-minute", "10000") as relay,
        httpx.Client(base_url=worker, timeout=60) as http,
        httpx.Client(base_url=relay.address, timeout=60) as other,
    ):
        yield Both(there, http, other)


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with threaded(lambda request: SET) as there, before(there) as found:
        yield found


def test_the_gateway_gets_the_body_and_nothing_about_the_sender(both: Both) -> None:
    seen = []
    for headers in (HEADERS, SEALED):
        found = both.ask("POST", f"/gateways/study?{MARK}", sealed(7), headers)
        assert (found.status_code, found.content) == (200, b"sealed")
        seen.append(both.gateway.seen[0])
    assert seen[0] == seen[1], "whoever sends"
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert body == sealed(7)
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /.well-known/ohttp-gateway HTTP/1.1"
    sent = dict(line.lower().split(": ") for line in lines)
    assert (sent.pop("host"), sent.pop("content-type")) == (f"127.0.0.1:{both.gateway.port}", "message/ohttp-req")
    assert sent.pop("content-length") == str(SEALED_LENGTH)
    of_node = {"connection", "accept", "accept-language", "accept-encoding", "sec-fetch-mode", "user-agent"}
    assert set(sent) <= of_node


def test_senders_share_a_connection(both: Both) -> None:
    both.ask("POST", "/gateways/study", sealed(1), SEALED)
    connections = both.gateway.connections
    for number in range(5):
        both.worker.post("/gateways/study", content=sealed(number), headers=SEALED)
    assert both.gateway.connections == connections


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "problem"),
    [
        ("POST", "/gateways/other", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("POST", "/gateways/study/", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("POST", "/gateways/__proto__", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("POST", "/.well-known/ohttp-gateway", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("GET", "/", b"", {}, RelayProblem.NOT_FOUND),
        ("GET", "/gateways/other/keys", b"", {}, RelayProblem.NOT_FOUND),
        ("GET", "/gateways/study", b"", ORIGIN, RelayProblem.METHOD_NOT_ALLOWED),
        ("PUT", "/gateways/study", sealed(1), SEALED, RelayProblem.METHOD_NOT_ALLOWED),
        ("OPTIONS", "/gateways/study", b"", ORIGIN, RelayProblem.METHOD_NOT_ALLOWED),
        ("POST", "/gateways/study/keys", b"", {}, RelayProblem.METHOD_NOT_ALLOWED),
        ("POST", "/healthz", b"", {}, RelayProblem.METHOD_NOT_ALLOWED),
        ("POST", "/gateways/study", sealed(1), {}, RelayProblem.MEDIA_TYPE),
        ("POST", "/gateways/study", sealed(1), {**ORIGIN, "content-type": "text/plain"}, RelayProblem.MEDIA_TYPE),
        ("POST", "/gateways/study", sealed(1)[1:], SEALED, RelayProblem.OTHER_LENGTH),
        ("POST", "/gateways/study", sealed(1) + b"x", SEALED, RelayProblem.OTHER_LENGTH),
        ("POST", "/gateways/study", b"", SEALED, RelayProblem.OTHER_LENGTH),
    ],
)
def test_what_is_not_passed_on(
    both: Both, method: str, path: str, content: bytes, headers: dict[str, str], problem: RelayProblem
) -> None:
    found = both.ask(method, path, content, headers)
    assert (found.status_code, found.json()["type"]) == (problem.status, problem.uri)
    assert both.gateway.seen == []


@pytest.mark.parametrize("length", [0, SEALED_LENGTH - 1, SEALED_LENGTH, SEALED_LENGTH + 1, 3_000_000])
def test_a_body_of_no_declared_length(both: Both, length: int) -> None:
    """The rest of a large one is not kept, and the answer arrives."""

    def parts() -> Iterator[bytes]:
        for at in range(0, length, 500):
            yield bytes(min(500, length - at))

    both.gateway.reply = lambda request: SET
    found = both.worker.post("/gateways/study", content=parts(), headers=SEALED)
    assert found.status_code == (200 if length == SEALED_LENGTH else 400)
    assert found.status_code == 200 or found.json()["type"] == RelayProblem.OTHER_LENGTH.uri
    assert both.worker.get("/healthz").json() == {"status": "ok"}


def test_the_server_outlives_broken_requests(both: Both) -> None:
    address = (both.worker.base_url.host, both.worker.base_url.port or 0)
    sealing = f"Content-Type: message/ohttp-req\r\nContent-Length: {SEALED_LENGTH}"
    for sent in (
        f"POST /gateways/study HTTP/1.1\r\nHost: x\r\n{sealing}\r\n\r\nhalf",
        "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET //[ HTTP/1.1\r\nHost: x\r\n\r\n",
        "nonsense",
    ):
        with socket.create_connection(address) as connection:
            connection.sendall(sent.encode())
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                connection.recv(1000)
    assert both.worker.get("/healthz").json() == {"status": "ok"}


def test_pages_may_send_sealed_reports_and_nothing_else(both: Both) -> None:
    allowed = both.worker.options("/gateways/study", headers=ASKING)
    assert allowed.headers.pop("cache-control") == "no-store"
    assert described(allowed) == described(both.relay.options("/gateways/study", headers=ASKING))
    for name, value in (
        ("method", "PUT"), ("headers", "content-type, authorization"), ("headers", ""), ("private-network", "true"),
    ):  # fmt: skip
        found = both.ask("OPTIONS", "/gateways/study", headers={**ASKING, f"access-control-request-{name}": value})
        assert (found.status_code, found.json()["type"]) == (400, RelayProblem.MALFORMED_REQUEST.uri)
    for path in ("/gateways/study/keys", "/healthz", "/gateways/"):
        both.ask("OPTIONS", path, headers=ASKING)
    assert both.ask("GET", "/healthz", headers=ORIGIN).json() == {"status": "ok"}
    assert both.gateway.seen == [], "a question is not passed on"


@pytest.mark.parametrize("status", ["400 Bad Request", "422 Unprocessable", "503 Unavailable"])
def test_a_problem_of_the_gateway_is_passed_on(both: Both, status: str) -> None:
    reply = answer(b'{"type":"x"}', status=status, kind="application/problem+json; charset=utf-8")
    found = both.ask("POST", "/gateways/study", sealed(1), SEALED, reply)
    assert (found.status_code, found.json()) == (int(status[:3]), {"type": "x"})


@pytest.mark.parametrize(
    "reply",
    [
        answer(b"x" * 5000),
        answer(b"<p>", kind="text/html"),
        answer(b"<p>", kind="text/html", status="500 Fault"),
        answer(b"x", status="201 Created"),
        answer(b"x" * 5000).replace(b"length: 5000", b"length: 9000"),
    ],
)
def test_an_answer_that_cannot_be_passed_on(both: Both, reply: bytes) -> None:
    found = both.ask("POST", "/gateways/study", sealed(1), {**SEALED, **ORIGIN}, reply)
    assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_ANSWER.uri)


def test_a_redirect_is_not_followed(both: Both) -> None:
    with threaded(lambda request: answer(b"sealed")) as elsewhere:
        for status in ("302 Found", "307 Temporary Redirect"):
            to = f"Location: http://127.0.0.1:{elsewhere.port}/\r\n"
            found = both.ask("POST", "/gateways/study", sealed(1), SEALED, answer(b"", status=status, more=to))
            assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_ANSWER.uri)
        assert elsewhere.seen == []


def test_a_gateway_that_is_not_there_or_breaks_off(both: Both) -> None:
    found = both.ask("POST", "/gateways/study", sealed(1), SEALED, reply=None)
    assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_UNREACHABLE.uri)
    both.gateway.reply = lambda request: b"nonsense\r\n\r\n"
    found = both.worker.post("/gateways/study", content=sealed(1), headers=SEALED)
    assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_UNREACHABLE.uri)
    with threaded(lambda request: None) as gone:
        pass
    with worker_process("--gateway", f"study=http://127.0.0.1:{gone.port}") as worker:
        found = httpx.post(f"{worker}/gateways/study", content=sealed(1), headers=SEALED)
    assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_UNREACHABLE.uri)
    assert "127.0.0.1" not in found.text


def test_a_slow_gateway() -> None:
    with threaded(lambda request: SET) as there, before(there, "--gateway-seconds", "0.5") as both:
        for reply in (b"", b"HTTP/1.1 200 OK\r\ncontent-le", SET[:-2]):
            found = both.ask("POST", "/gateways/study", sealed(1), SEALED, reply)
            assert (found.status_code, found.json()["type"]) == (504, RelayProblem.GATEWAY_TOO_SLOW.uri)


def test_keys_are_asked_for_once_and_are_the_same_for_everybody() -> None:
    keys = [answer(content, kind=app.KEYS_MEDIA_TYPE) for content in (b"keys", b"keys", b"other")]
    with threaded(lambda request: keys[len(there.seen) - 1]) as there, before(there) as both:
        for headers in (HEADERS, {}, HEADERS):
            mine, other = (each.get("/gateways/study/keys", headers=headers) for each in (both.worker, both.relay))
            assert described(mine) == described(other)
            assert (mine.status_code, mine.content) == (200, b"keys")
        assert both.worker.head("/gateways/study/keys").status_code == 200
    assert len(there.seen) == 2
    assert there.seen[0].startswith(b"GET /.well-known/ohttp-gateway HTTP/1.1\r\n")
    assert MARK.encode() not in there.seen[0]


@pytest.mark.parametrize(
    "reply", [answer(b"<p>", kind="text/html"), answer(b"x" * 20_000, kind=app.KEYS_MEDIA_TYPE), None]
)
def test_a_gateway_without_keys_is_not_asked_for_each_who_asks(reply: bytes | None) -> None:
    begun = time.monotonic()
    with threaded(lambda request: reply) as there:
        with worker_process("--gateway", f"study=http://127.0.0.1:{there.port}") as worker:
            found = [httpx.get(f"{worker}/gateways/study/keys") for _ in range(5)]
        assert [each.status_code for each in found] == [502] * 5
        assert len(there.seen) == 1 or time.monotonic() > begun + app._FAILED_SECONDS


@pytest.mark.parametrize(
    ("names", "known", "expected"),
    [("DNS:localhost", True, 200), ("DNS:localhost", False, 502), ("DNS:other.example", True, 502)],
)
def test_the_certificate_of_a_gateway_is_verified(tmp_path: Path, names: str, known: bool, expected: int) -> None:
    context = certified(tmp_path, names)
    environment = {"NODE_EXTRA_CA_CERTS": str(tmp_path / "certificate")} if known else {}
    environment["NODE_OPTIONS"] = "--dns-result-order=ipv4first"  # Node.js 18 tries one address of localhost only.

    async def talk() -> tuple[int, int]:
        async with gateway(lambda request: SET, context) as there, httpx.AsyncClient(timeout=60) as http:
            options = ("--gateway", f"study=https://localhost:{there.port}")
            with worker_process(*options, environment=environment) as worker:
                found = await http.post(f"{worker}/gateways/study", content=sealed(1), headers=SEALED)
            return found.status_code, len(there.seen)

    assert asyncio.run(talk()) == (expected, int(expected == 200))


def test_it_needs_the_fetch_api_alone_and_logs_nothing() -> None:
    """The script itself is called here, without the server of the other tests."""
    source = SCRIPT.read_text(encoding="utf-8")
    assert not re.search(r"\bimport\b|\brequire\b|\bconsole\b|\bprocess\b", source)
    study = {"UNTRACKABLE_GATEWAY": "study=https://collect.example"}
    post = {"url": "https://relay.example/gateways/study", "method": "POST", "headers": SEALED}
    health = {"url": "https://relay.example/healthz", "method": "GET"}
    slow, well, none = called([{**post, "settings": study}, {**health, "settings": study}, health])
    assert (slow["status"], slow["type"]) == (408, RelayProblem.TOO_SLOW.uri)
    assert well == {"status": "ok"}
    assert (none["status"], none["type"]) == (500, RelayProblem.INTERNAL.uri)


def test_settings() -> None:
    nameless, plain = "each gateway must have its own name and an address", "gateway a must be https"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"UNTRACKABLE_GATEWAY": ""}, nameless),
        ({"UNTRACKABLE_GATEWAY": "collect.example"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "Study=https://collect.example"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "a=https://collect.example a=https://other.example"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "a=https://me@collect.example"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "a=https://collect.example/?x"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "a=ftp://collect.example"}, nameless),
        ({"UNTRACKABLE_GATEWAY": "a=http://collect.example"}, plain),
        ({"UNTRACKABLE_GATEWAY": "a=http://127.collect.example"}, plain),
        ({"UNTRACKABLE_GATEWAY": "a=https://b c=http://localhost:1 d=http://127.0.0.2 e=http://[::1]:3"}, ""),
        *(
            ({"UNTRACKABLE_GATEWAY": "a=https://b", "UNTRACKABLE_GATEWAY_SECONDS": seconds}, words)
            for seconds, words in ((56, "at most 55"), (0, "above 0"), ("x", "above 0"), ("55", ""))
        ),
    ]
    health = {"url": "https://relay.example/healthz", "method": "GET"}
    found = called([{**health, "settings": settings} for settings, _ in cases])
    for (settings, words), each in zip(cases, found, strict=True):
        assert each["status"] == (500 if words else "ok"), settings
        assert words in each.get("detail", ""), settings


def test_the_server_does_not_start_with_wrong_settings() -> None:
    command = [node(), str(FOLDER / "serve.mjs"), "--port", "0", "--gateway", "a=http://collect.example"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gateway a must be https; http is only for this machine\n"
