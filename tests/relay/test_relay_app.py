"""What a relay passes on, byte for byte, and what it refuses."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.test_sealed_post import certified
from tests.relay.gateways import SEALED, FakeGateway, answer, gateway, relayed, sealed
from untrackable.oblivious import key_config, sealing
from untrackable.relay import app
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.gateway import RelayProblem

MARK = "RECOGNISABLE"
HEADERS = {
    **SEALED,
    "user-agent": f"{MARK}-agent",
    "cookie": f"{MARK}=1",
    "x-forwarded-for": "203.0.113.77",
    "forwarded": "for=203.0.113.77",
    "origin": f"https://{MARK}.example",
    "x-request-id": MARK,
    "accept-language": MARK,
}


def test_lengths_and_media_types_are_those_of_sealed_reports() -> None:
    assert SEALED_LENGTH == sealing.SEALED_LENGTH
    assert (app.REQUEST, app.ANSWER) == (sealing.REQUEST_MEDIA_TYPE, sealing.ANSWER_MEDIA_TYPE)
    assert app.KEYS_MEDIA_TYPE == key_config.MEDIA_TYPE
    assert sealing.SEALED_ANSWER_LENGTH < app._LARGEST_ANSWER


def test_the_gateway_gets_the_body_and_nothing_else() -> None:
    async def talk() -> tuple[httpx.Response, FakeGateway]:
        reply = answer(b"sealed", more="Set-Cookie: a=b\r\nEtag: x\r\nServer: y\r\nRetry-After: 4711\r\n")
        async with gateway(lambda request: reply) as there, relayed(there.port) as sender:
            async with sender("127.77.1.2") as http:
                for number in range(3):
                    path = f"/gateways/study?{MARK}"
                    found = await http.post(path, content=sealed(number), headers=HEADERS)
            return found, there

    found, there = asyncio.run(talk())
    first = (
        f"POST /.well-known/ohttp-gateway HTTP/1.1\r\nHost: 127.0.0.1:{there.port}\r\n"
        f"Content-Type: message/ohttp-req\r\nContent-Length: {SEALED_LENGTH}\r\n\r\n"
    ).encode()
    assert there.seen == [first + sealed(number) for number in range(3)]
    assert there.connections == 1, "it is kept open"
    assert (found.status_code, found.content) == (200, b"sealed")
    assert dict(found.headers) == {
        "content-type": "message/ohttp-res",
        "content-length": "6",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "retry-after",
        "vary": "Origin",
    }


def one(reply: bytes | None, **settings: Any) -> httpx.Response:
    """The answer to one request if the gateway gives this reply."""

    async def talk() -> httpx.Response:
        async with (
            gateway(lambda request: reply) as there,
            relayed(there.port, **settings) as sender,
            sender("192.0.2.1") as http,
        ):
            return await http.post("/gateways/study", content=sealed(1), headers=SEALED)

    return asyncio.run(talk())


@pytest.mark.parametrize("status", ["400 Bad Request", "422 Unprocessable", "503 Unavailable"])
def test_a_problem_of_the_gateway_is_passed_on(status: str) -> None:
    found = one(answer(b'{"type":"x"}', status=status, kind="application/problem+json; charset=utf-8"))
    assert found.status_code == int(status[:3])
    assert found.content == b'{"type":"x"}'
    assert found.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (None, RelayProblem.GATEWAY_UNREACHABLE),
        (b"", RelayProblem.GATEWAY_TOO_SLOW),
        (b"HTTP/1.1 200 OK\r\ncontent-le", RelayProblem.GATEWAY_TOO_SLOW),
        (b"nonsense\r\n\r\n", RelayProblem.GATEWAY_ANSWER),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000, RelayProblem.GATEWAY_ANSWER),
        (answer(b"x" * 5000), RelayProblem.GATEWAY_ANSWER),
        (answer(b"<p>", kind="text/html"), RelayProblem.GATEWAY_ANSWER),
        (
            answer(b"", status="302 Found", more="Location: https://elsewhere.example\r\n"),
            RelayProblem.GATEWAY_ANSWER,
        ),
        (answer(b"x", status="201 Created"), RelayProblem.GATEWAY_ANSWER),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", RelayProblem.GATEWAY_ANSWER),
    ],
)
def test_an_answer_that_cannot_be_passed_on(reply: bytes | None, problem: RelayProblem) -> None:
    found = one(reply, gateway_seconds=0.3)
    assert (found.status_code, found.json()["type"]) == (problem.status, problem.uri)
    assert found.headers["content-type"] == "application/problem+json"


def test_interim_answers_and_chunks_are_understood() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    chunked = b"HTTP/1.1 200 OK\r\ncontent-type: message/ohttp-res\r\ntransfer-encoding: chunked\r\n\r\n"
    found = one(early + chunked + b"3\r\nsea\r\n3\r\nled\r\n0\r\n\r\n")
    assert (found.status_code, found.content) == (200, b"sealed")


def test_a_gateway_that_is_not_there() -> None:
    async def talk() -> httpx.Response:
        async with gateway(lambda request: None) as there:
            port = there.port
        async with relayed(port) as sender, sender("192.0.2.1") as http:
            return await http.post("/gateways/study", content=sealed(1), headers=SEALED)

    found = asyncio.run(talk())
    assert (found.status_code, found.json()["type"]) == (502, RelayProblem.GATEWAY_UNREACHABLE.uri)
    assert "127.0.0.1" not in found.text


@pytest.mark.parametrize(
    ("names", "known", "expected"),
    [("DNS:localhost", True, 200), ("DNS:localhost", False, 502), ("DNS:other.example", True, 502)],
)
def test_the_certificate_of_a_gateway_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, known: bool, expected: int
) -> None:
    context = certified(tmp_path, names)
    if known:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))

    async def talk() -> tuple[int, int]:
        async with (
            gateway(lambda request: answer(b"sealed"), context) as there,
            relayed(there.port, "https://localhost") as sender,
            sender("192.0.2.1") as http,
        ):
            found = await http.post("/gateways/study", content=sealed(1), headers=SEALED)
            return found.status_code, len(there.seen)

    assert asyncio.run(talk()) == (expected, int(expected == 200))


def test_a_connection_that_the_gateway_closed_meanwhile_is_replaced() -> None:
    async def talk() -> tuple[list[int], FakeGateway]:
        async with gateway(lambda request: answer(b"sealed")) as there, relayed(there.port) as sender:
            there.closes = True  # without saying so before
            async with sender("192.0.2.1") as http:
                statuses = []
                for number in range(4):
                    found = await http.post("/gateways/study", content=sealed(number), headers=SEALED)
                    statuses.append(found.status_code)
            return statuses, there

    statuses, there = asyncio.run(talk())
    assert statuses == [200] * 4
    assert there.connections == 4
    assert [request[-SEALED_LENGTH:] for request in there.seen] == [sealed(number) for number in range(4)]


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "problem"),
    [
        ("POST", "/gateways/other", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("POST", "/gateways/study/", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("POST", "/.well-known/ohttp-gateway", sealed(1), SEALED, RelayProblem.NOT_FOUND),
        ("GET", "/gateways/other/keys", b"", {}, RelayProblem.NOT_FOUND),
        ("GET", "/gateways/study", b"", {}, RelayProblem.METHOD_NOT_ALLOWED),
        ("POST", "/gateways/study", sealed(1), {}, RelayProblem.MEDIA_TYPE),
        ("POST", "/gateways/study", sealed(1), {"content-type": "text/plain"}, RelayProblem.MEDIA_TYPE),
        ("POST", "/gateways/study", sealed(1)[1:], SEALED, RelayProblem.OTHER_LENGTH),
        ("POST", "/gateways/study", sealed(1) + b"x", SEALED, RelayProblem.OTHER_LENGTH),
        ("POST", "/gateways/study", b"", SEALED, RelayProblem.OTHER_LENGTH),
    ],
)
def test_what_is_not_passed_on(
    method: str, path: str, content: bytes, headers: dict[str, str], problem: RelayProblem
) -> None:
    async def talk() -> tuple[httpx.Response, FakeGateway]:
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port) as sender,
            sender("192.0.2.1") as http,
        ):
            return await http.request(method, path, content=content, headers=headers), there

    found, there = asyncio.run(talk())
    assert (found.status_code, found.json()["type"]) == (problem.status, problem.uri)
    assert there.seen == []


@pytest.mark.parametrize("length", [SEALED_LENGTH - 1, SEALED_LENGTH, SEALED_LENGTH + 1, 100_000])
def test_a_body_of_no_declared_length(length: int) -> None:
    async def parts() -> Any:
        for at in range(0, length, 500):
            yield bytes(min(500, length - at))

    async def talk() -> int:
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port) as sender,
            sender("192.0.2.1") as http,
        ):
            return (await http.post("/gateways/study", content=parts(), headers=SEALED)).status_code

    assert asyncio.run(talk()) == (200 if length == SEALED_LENGTH else 400)


def test_one_address_may_send_so_much_and_others_do_not_notice() -> None:
    async def talk() -> tuple[list[int], int, str]:
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port, per_minute=2, retry_after=7) as sender,
        ):
            async with sender("192.0.2.1") as http:
                many = [await http.post("/gateways/study", content=sealed(i), headers=SEALED) for i in range(3)]
            async with sender("192.0.2.2") as http:
                other = await http.post("/gateways/study", content=sealed(9), headers=SEALED)
            return [found.status_code for found in many], other.status_code, many[-1].headers["retry-after"]

    assert asyncio.run(talk()) == ([200, 200, 429], 200, "7")


def test_a_proxy_may_say_who_sends() -> None:
    async def talk() -> list[int]:
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port, per_minute=1, sender_header="x-relay-sender") as sender,
        ):
            async with sender("127.0.0.1") as http:
                statuses = []
                for given in (
                    ["192.0.2.1"], ["192.0.2.1"], ["192.0.2.2"], [], [],
                    ["192.0.2.9, 192.0.2.1"], ["192.0.2.9", "192.0.2.1"],  # A sender added the first one.
                    ["192.0.2.1", "192.0.2.3"],
                ):  # fmt: skip
                    headers = [*SEALED.items(), *(("x-relay-sender", address) for address in given)]
                    found = await http.post("/gateways/study", content=sealed(1), headers=headers)
                    statuses.append(found.status_code)
            assert not any(b"192.0.2" in request for request in there.seen)
            return statuses

    assert asyncio.run(talk()) == [200, 429, 200, 200, 429, 429, 429, 200]


def test_beyond_so_many_waiting_requests_the_relay_is_busy() -> None:
    async def talk() -> tuple[list[int], int]:
        go = asyncio.Event()
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port, waiting=2) as sender,
            sender("192.0.2.1") as http,
        ):
            there.pause = go.wait
            posts = [http.post("/gateways/study", content=sealed(number), headers=SEALED) for number in range(2)]
            waiting = [asyncio.create_task(post) for post in posts]
            while len(there.seen) < 2:
                await asyncio.sleep(0.01)
            busy = await http.post("/gateways/study", content=sealed(9), headers=SEALED)
            go.set()
            return [(await task).status_code for task in waiting], busy.status_code

    assert asyncio.run(talk()) == ([200, 200], 503)


def test_keys_are_asked_for_once_and_are_the_same_for_everybody() -> None:
    async def talk() -> tuple[list[httpx.Response], FakeGateway]:
        replies = iter(
            [answer(b"keys", kind="application/ohttp-keys"), answer(b"other", kind="application/ohttp-keys")]
        )
        async with (
            gateway(lambda request: next(replies)) as there,
            relayed(there.port) as sender,
            sender("192.0.2.1") as http,
            sender("192.0.2.2") as other,
        ):
            asked = [each.get("/gateways/study/keys", headers=HEADERS) for each in (http, other, http)]
            return list(await asyncio.gather(*asked)), there

    found, there = asyncio.run(talk())
    assert [(each.status_code, each.content) for each in found] == [(200, b"keys")] * 3
    assert found[0].headers["content-type"] == "application/ohttp-keys"
    assert there.seen == [
        f"GET /.well-known/ohttp-gateway HTTP/1.1\r\nHost: 127.0.0.1:{there.port}\r\n\r\n".encode()
    ]


@pytest.mark.parametrize(
    "reply", [answer(b"<p>", kind="text/html"), answer(b"x" * 20_000, kind="application/ohttp-keys"), None]
)
def test_a_gateway_without_keys_is_not_asked_for_each_who_asks(reply: bytes | None) -> None:
    async def talk() -> tuple[list[int], FakeGateway]:
        async with (
            gateway(lambda request: reply) as there,
            relayed(there.port) as sender,
            sender("192.0.2.1") as http,
        ):
            found = [await http.get("/gateways/study/keys") for _ in range(5)]
            return [each.status_code for each in found], there

    statuses, there = asyncio.run(talk())
    assert statuses == [502] * 5
    assert len(there.seen) == 1


def test_health_says_nothing_else() -> None:
    async def talk() -> httpx.Response:
        async with relayed(9) as sender, sender("192.0.2.1") as http:
            return await http.get("/healthz")

    assert asyncio.run(talk()).json() == {"status": "ok"}


def test_a_fault_is_a_problem_and_the_log_has_nothing_about_the_sender(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: Any) -> bytes:
        raise RuntimeError(f"{MARK} {request.client.host}")

    monkeypatch.setattr(app, "_sealed_body", broken)
    found = one(None)
    assert (found.status_code, found.json()["type"]) == (500, RelayProblem.INTERNAL.uri)
    assert "RuntimeError at " in caplog.text
    assert MARK not in caplog.text
    assert "192.0.2.1" not in caplog.text
