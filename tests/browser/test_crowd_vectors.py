"""The part of the browser's client for crowds: the vectors of the RFCs, and Python's gateway."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.built import ask, script
from tests.browser.questions import in_a_crowd, question
from tests.client.samples import GATEWAY, KEYS
from tests.oblivious import test_sealing as rfc
from untrackable.client.sending import UNKNOWN_KEY
from untrackable.errors import SealingError
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.key_config import KeyConfig, Suite
from untrackable.oblivious.sealing import SEALED_LENGTH, OpenedRequest, open_request
from untrackable.protocol.campaign import Gateway, GatewayKey, HoldingRelay
from untrackable.protocol.wire import Wire

CROWDED = in_a_crowd(question(), GATEWAY)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("browser"))


def public(secret: bytes) -> str:
    return str(rfc.key_pair(secret).public_key.to_public_bytes().hex())


def test_the_example_of_rfc_9458(program: Path) -> None:
    wrong = [
        rfc.SEALED_ANSWER[:i] + bytes([byte ^ 1]) + rfc.SEALED_ANSWER[i + 1 :]
        for i, byte in enumerate(rfc.SEALED_ANSWER)
    ]
    task = {
        "task": "sealed",
        "config": rfc.CONFIG.hex(),
        "request": rfc.REQUEST.hex(),
        "secret": rfc.EPHEMERAL.hex(),
        "open": rfc.SEALED[7:39].hex(),
        "answers": [each.hex() for each in (rfc.SEALED_ANSWER, *wrong, b"", rfc.SEALED_ANSWER[:16])],
    }
    ((body, answer, *others),) = ask(program, [task])
    assert body == rfc.SEALED.hex()
    assert answer == rfc.ANSWER.hex()
    assert others == [None] * (len(wrong) + 2)


def test_the_vectors_of_rfc_9180(program: Path) -> None:
    """Appendix A.1.1, as for the Python package."""
    task = {
        "task": "hpke",
        "publicKey": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        "info": b"Ode on a Grecian Urn".hex(),
        "secret": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        "open": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        "text": b"Beauty is truth, truth beauty".hex(),
        "associated": b"Count-0".hex(),
        "exported": ["", "00", b"TestContext".hex()],
    }
    assert ask(program, [task]) == [
        [
            "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
            "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
            "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee",
            "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5",
            "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931",
        ]
    ]


def test_keys_and_binary_http(program: Path) -> None:
    """Keys of everybody's cipher are read, and answers as the Python package reads them."""
    key = rfc.EXAMPLE.public_key
    good = [KeyConfig(1, key), rfc.EXAMPLE, KeyConfig(9, key, (Suite(2, 3), Suite(1, 1), Suite(1, 3)))]
    other = KeyConfig(1, key, (Suite(1, 3), Suite(1, 1)))
    cut = [good[0].to_bytes()[:-1], good[0].to_bytes() + b"\0\0\0\0", b"\x01\x00\x10" + good[0].to_bytes()[3:], b""]
    found = ask(program, [{"task": "config", "config": each.to_bytes().hex()} for each in (*good, other)])
    assert found[:-1] == [[each.id, key.hex()] for each in good]
    assert "cipher that browsers do not have" in found[-1]
    assert all(isinstance(each, str) for each in ask(program, [{"task": "config", "config": b.hex()} for b in cut]))

    content = bytes(range(200))
    task = {
        "authority": "collector.invalid",
        "path": "/x",
        "type": "application/octet-stream",
        "content": content.hex(),
    }
    fields = ((b"content-type", b"application/octet-stream"),)
    written = BinaryRequest(b"POST", b"https", b"collector.invalid", b"/x", fields, content).to_bytes()
    assert ask(program, [{"task": "binaryPost", **task}]) == [written.hex()]

    retry = BinaryResponse(503, ((b"retry-after", b"7"),), b"x" * 70).to_bytes()
    answers = [
        *(
            retry,
            retry + bytes(9),
            retry[:-1],
            retry[:-2],
            retry + b"\1",
            rfc.ANSWER,
            b"",
            b"\0\x40\xc8",
            b"\1\x40\x65",
        ),
        *(
            bytes.fromhex("01406603022d6100" + "40c8"),
            bytes.fromhex("0140c8030161ff"),
            b"\1\x42\x58",
            b"\1\x40\xc8\5",
        ),
        bytes.fromhex("01406600" + "40cc"),
        bytes.fromhex("0140c80401410161"),
        bytes.fromhex("0140c80401610120"),
    ]
    expected: list[list[Any] | None] = []
    for each in answers:
        try:
            read = BinaryResponse.from_bytes(each)
            expected.append([read.status, dict(read.fields).get(b"retry-after", b"").decode()])
        except SealingError:
            expected.append(None)
    assert [503, "7"] in expected
    assert expected.count(None) > 5
    assert ask(program, [{"task": "binaryAnswer", "content": each.hex()} for each in answers]) == expected
    sizes = [{"task": "tooLong", "config": rfc.CONFIG.hex(), "size": size} for size in (1024, 1025)]
    assert ask(program, sizes) == ["sealed", "the report is too long to be sealed"]


def test_declarations_that_are_refused(program: Path) -> None:
    text = CROWDED.to_bytes().decode()
    keys = json.loads(text)["gateway"]["keys"]
    first, second = (key["config"] for key in keys)
    listed = json.dumps(keys, separators=(",", ":"))
    wrong = {
        "valid": text.replace('"reports":1000', '"reports":1'),
        "valid ": text.replace('"reports":1000', '"reports":1000.5'),
        "valid  ": text.replace('"crowd":{"delta":1e-06', '"crowd":{"delta":1'),
        "valid   ": text.replace('"first_round":3', '"first_round":1'),
        "valid    ": text.replace('"first_round":1}', '"first_round":2}'),
        "valid     ": text.replace(listed, "[]"),
        "the campaign's form": text.replace(',"gateway":{"keys":' + listed + "}", ""),
        "same number": text.replace(second, first),
        "X25519": text.replace(first, "010010" + first[6:]),
        "hexadecimal": text.replace(first, first.upper()),
        "cannot be used": text.replace(first, "010020" + "00" * 32 + first[70:]),
        "cipher": text.replace(first, first[:-4] + "0003"),
    }
    assert all(each != text for each in wrong.values())
    found = ask(program, [{"task": "problem", "campaign": each} for each in (text, *wrong.values())])
    assert found[0] is None
    for name, words in zip(wrong, found[1:], strict=True):
        assert name.strip() in words
    (words,) = ask(program, [{"task": "withoutCurve", "campaign": text}])
    assert words.startswith("this browser has no X25519")


Said = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""


def held_at(address: str, delay: object = 600) -> str:
    """The document of a campaign whose relay holds reports."""
    relay = HoldingRelay("https://relay.example/gateways/study", 600)
    text = replace(CROWDED, gateway=Gateway(GATEWAY.keys, relay)).to_bytes().decode()
    written = json.dumps({"address": address, "delay": delay}, separators=(",", ":"))
    return text.replace(json.dumps(relay.to_json(), separators=(",", ":")), written)


@contextmanager
def relay(said: Callable[[bytes], Said], paths: list[str] | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """A relay that says what it is told to. Its address, and the bodies that it got. `paths` are filled."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["content-type"] == "message/ohttp-req"
            if paths is not None:
                paths.append(self.path)
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            status, headers, content = said(bodies[-1])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/gateways/study", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def report(round: int) -> bytes:
    return Wire(report_bits=3).encode(round=round, nonce=os.urandom(16), report=5)


def test_the_gateway_opens_it_and_the_client_its_answers(program: Path) -> None:
    """The next listed key follows on an unknown one, for this report only. Other words of relays do not count."""
    third = replace(KEYS[1].config, id=3)
    asked = replace(CROWDED, gateway=Gateway((*GATEWAY.keys, GatewayKey(third.to_bytes(), first_round=5))))
    opened: list[OpenedRequest] = []
    first, other = report(1), report(3)
    problem = json.dumps({"type": UNKNOWN_KEY}).encode()

    def sealed(body: bytes, status: int, *fields: tuple[bytes, bytes]) -> Said:
        opened.append(open_request(KEYS, body))
        answer = opened[-1].seal_answer(BinaryResponse(status, fields).to_bytes())
        return 200, {"content-type": "Message/OHTTP-res; x=y"}, answer

    script: list[Callable[[bytes], Said]] = [
        lambda body: sealed(body, 503, (b"retry-after", b"9")),
        lambda body: (400, {"content-type": "application/problem+json"}, problem),
        lambda body: (400, {"content-type": "application/problem+json"}, b"{garbage"),
        lambda body: (429, {"content-type": "application/problem+json", "retry-after": "4"}, b"{}"),
        lambda body: (204, {}, b""),
        lambda body: (302, {"location": "/elsewhere"}, b""),
        lambda body: (200, {"content-type": "message/ohttp-res"}, bytes(800)),
        lambda body: (200, {"content-type": "message/ohttp-res"}, bytes(1 << 15)),
        lambda body: sealed(body, 204),
        lambda body: sealed(body, 400),
    ]
    calls = iter(script)
    bodies = [first] * 9 + [other]
    address = f"https://collect.example/x/campaigns/{asked.id}"
    with relay(lambda body: next(calls)(body)) as (at, seen):
        task = {"campaign": asked.to_bytes().decode(), "relays": [at], "address": address}
        (found,) = ask(program, [{"task": "relayed", **task, "bodies": [body.hex() for body in bodies]}])
    silent = {"status": None, "retryAfter": 0}
    assert found == [
        {"status": 503, "retryAfter": 9},
        silent,
        silent,
        {"status": None, "retryAfter": 4},
        silent,
        silent,
        {"status": None},
        {"status": None},
        {"status": 204, "retryAfter": 0},
        {"status": 400, "retryAfter": 0},
    ]
    assert [len(body) for body in seen] == [SEALED_LENGTH] * len(script)
    assert [body[0] for body in seen] == [1, 1, *[2] * 7, 2]
    assert len({body[7:39] for body in seen}) == len(seen)
    requests = [BinaryRequest.from_bytes(each.content) for each in opened]
    assert [each.content for each in requests] == [first, first, other]
    expected = BinaryRequest(
        b"POST",
        b"https",
        b"collector.invalid",
        f"/campaigns/{asked.id}/reports".encode(),
        ((b"content-type", b"application/octet-stream"),),
        first,
    )
    assert requests[0] == expected


def test_a_relay_that_holds_acknowledges_by_itself(program: Path) -> None:
    """Nothing else is believed, whoever may have said it."""
    answers: list[Said] = [
        (200, {"content-type": "message/ohttp-res"}, bytes(800)),
        (400, {"content-type": "application/problem+json"}, json.dumps({"type": UNKNOWN_KEY}).encode()),
        (503, {"content-type": "application/problem+json", "retry-after": "4"}, b"{}"),
        (204, {}, b""),
        (410, {"content-type": "application/problem+json"}, b"{}"),
        (202, {}, b""),
    ]
    calls, paths = iter(answers), list[str]()
    with relay(lambda body: next(calls), paths) as (at, seen):
        task = {"task": "relayed", "campaign": held_at(at), "relays": ["https://other.example", at]}
        bodies = [report(2).hex()] * len(answers)
        address = f"https://collect.example/campaigns/{CROWDED.id}"
        (found, refused) = ask(
            program,
            [
                {**task, "address": address, "bodies": bodies},
                {**task, "address": address, "bodies": [], "relays": ["https://other.example"]},
            ],
        )
    silent = {"status": None, "retryAfter": 0}
    assert found == [silent, silent, {"status": None, "retryAfter": 4}, silent, silent, {"status": 202}]
    assert {body[0] for body in seen} == {KEYS[1].config.id}, "no other key is tried: nobody says whose fault it is"
    assert set(paths) == {f"/gateways/study/releases/{CROWDED.begins(3) + 600}"}
    assert f"answered through the relay {at} alone" in refused


def test_a_relay_that_holds_is_checked(program: Path) -> None:
    good = "https://relay.example/gateways/study"
    wrong = [
        held_at(good, -1),
        held_at(good, 31 * 86_400),
        held_at(good, 0.5),
        held_at(good, None),
        held_at(good).replace('"delay":600', '"delay":600,"more":1'),
        held_at("http://relay.example"),
        held_at("relay"),
    ]
    found = ask(program, [{"task": "problem", "campaign": each} for each in (held_at(good), *wrong)])
    assert found[0] is None
    assert all(found[1:])


def test_relays_that_are_refused(program: Path) -> None:
    asked = CROWDED
    given = {
        "names none": [],
        "must not be the collector": ["https://collect.example/r"],
        "must not be the collector ": ["https://collect.example:8443/r", "https://COLLECT.example"],
        "plain characters": ["https://collect.example./r"],
        "https address": ["http://relay.example/r"],
        "https address ": ["https://user@relay.example/r", "https://relay.example/?x"],
        "Invalid URL": ["relay"],
    }
    task = {"task": "relayed", "campaign": asked.to_bytes().decode(), "bodies": []}
    address = f"https://collect.example/campaigns/{asked.id}"
    good = ["https://collect.example", "https://relay.example/gateways/study"]
    local = f"http://127.0.0.1:80/campaigns/{asked.id}"
    found = ask(
        program,
        [
            *({**task, "address": address, "relays": relays} for relays in given.values()),
            {**task, "address": address, "relays": good},
            {**task, "address": local, "relays": ["http://127.0.0.1:81/r"]},
            {**task, "address": local, "relays": ["http://127.0.0.1/r"]},
        ],
    )
    for reason, words in zip(given, found, strict=False):
        assert reason.strip() in words
    assert found[len(given) :][:2] == [[], []]
    assert "must not be the collector" in found[-1]
