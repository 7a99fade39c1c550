"""Whatever fails on the way: nothing acknowledged is lost, nothing counts twice, and nothing can be read."""

import contextlib
import http.client
import random
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.oblivious.key_lists import configs_from_bytes
from tests.relay.gateways import relay_process, threaded
from tests.relay.sealed_senders import SealedSenders, Study, check, free_port, study, wait_until
from untrackable import strict_json
from untrackable.client.sending import UNKNOWN_KEY, Address
from untrackable.oblivious.gateway_keys import write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.serving.server import ServerProcess

KIND = {"Content-Type": "message/ohttp-req"}


@contextlib.contextmanager
def relayed(asked: Study, port: int) -> Iterator[ServerProcess]:
    gateway = f"study=http://127.0.0.1:{asked.port}"
    options = ("--port", str(port), "--gateway", gateway, "--per-minute", "1000000")
    with relay_process(*options, log=asked.folder / "relay-log") as relay:
        yield relay


def test_relay_and_collector_are_killed_again_and_again(tmp_path: Path) -> None:
    asked, port = study(tmp_path), free_port()
    relay = Address("http", "127.0.0.1", port, "/gateways/study")
    with SealedSenders(asked, relay) as senders, asked.collector() as collector:
        with relayed(asked, port) as running:
            senders.wait_for(20)
            running.kill()
        with relayed(asked, port) as running:
            senders.wait_for(20)
            collector.kill()
            with asked.collector() as collector:
                senders.wait_for(20)
                assert running.end() == 0
                with relayed(asked, port):
                    senders.wait_for(20)
                    assert collector.end() == 0
    check(asked, senders.outcome)
    assert (tmp_path / "relay-log").read_text() == ""


def test_keys_are_added_and_revoked_under_way(tmp_path: Path) -> None:
    """Requests that are sealed with a revoked key are refused, and come again with the next listed one."""
    asked, port = study(tmp_path), free_port()
    relay = Address("http", "127.0.0.1", port, "/gateways/study")
    with asked.collector() as collector, relayed(asked, port), SealedSenders(asked, relay) as senders:
        senders.wait_for(10)
        more = asked.keys.with_list(2, 30)
        write_keys(asked.key_file, more)
        senders.wait_for(10)
        write_keys(asked.key_file, more.without({0}))

        def revoked() -> bool:
            return 0 not in {config.id for config in published(asked.port)}

        wait_until(revoked)
        senders.wait_for(10)
        assert collector.end() == 0
    check(asked, senders.outcome)


def published(port: int) -> tuple[KeyConfig, ...]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/.well-known/ohttp-gateway")
    found = configs_from_bytes(connection.getresponse().read())
    connection.close()
    return found


FAULTS = (
    "altered request",
    "cut request",
    "altered answer",
    "cut answer",
    "dropped request",
    "dropped answer",
    "delayed",
    "sent twice",
    "earlier request sent again",
    "earlier answer",
    "acknowledged by the relay",
    "refused by the relay",
    "key denied by the relay",
)


class BadRelay(ThreadingHTTPServer):
    """A relay that does what it should half of the time. It keeps everything that passes."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, gateway: int) -> None:
        super().__init__(("127.0.0.1", 0), _Meddling)
        self.gateway, self.source = gateway, random.Random(1)  # noqa: S311
        self.passed: list[bytes] = []
        self.seen: dict[str, int] = {}
        self.requests: list[bytes] = [bytes(1079)]
        self.answers: list[bytes] = [bytes(800)]
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    def __enter__(self) -> "BadRelay":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self._thread.join(30)
        self.server_close()

    def forward(self, body: bytes) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=30)
        try:
            connection.request("POST", "/.well-known/ohttp-gateway", body, KIND)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        self.passed += [body, content]
        self.requests.append(body)
        if response.status == 200:
            self.answers.append(content)
        return response.status, response.headers["content-type"], content


class _Meddling(BaseHTTPRequestHandler):
    server: BadRelay

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        relay = self.server
        relay.passed.append(str(self.headers).encode() + body)
        fault = relay.source.choice(FAULTS) if relay.source.random() < 0.5 else ""
        relay.seen[fault] = relay.seen.get(fault, 0) + 1
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._meddle(fault, body)

    def _meddle(self, fault: str, body: bytes) -> None:
        relay = self.server
        if fault == "altered request":
            self._say(*relay.forward(flipped(relay.source, body)))
        elif fault == "cut request":
            self._say(*relay.forward(body[: relay.source.randrange(len(body))]))
        elif fault == "altered answer":
            status, kind, content = relay.forward(body)
            self._say(status, kind, flipped(relay.source, content))
        elif fault == "cut answer":
            status, kind, content = relay.forward(body)
            self._say(status, kind, content[: relay.source.randrange(len(content))])
        elif fault == "dropped request":
            pass
        elif fault == "dropped answer":
            relay.forward(body)
        elif fault == "delayed":
            time.sleep(relay.source.random() / 10)
            self._say(*relay.forward(body))
        elif fault == "sent twice":
            relay.forward(body)
            self._say(*relay.forward(body))
        elif fault == "earlier request sent again":
            self._say(*relay.forward(relay.source.choice(relay.requests)))
        elif fault == "earlier answer":
            relay.forward(body)
            self._say(200, "message/ohttp-res", relay.source.choice(relay.answers[:-1]))
        elif fault == "acknowledged by the relay":
            self._say(204, "application/octet-stream", b"")
        elif fault == "refused by the relay":
            self._say(410, "application/problem+json", b'{"type":"urn:untrackable:problem:round-over"}')
        elif fault == "key denied by the relay":
            self._say(400, "application/problem+json", strict_json.write({"type": UNKNOWN_KEY}).encode())
        else:
            self._say(*relay.forward(body))

    def _say(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given: object) -> None:
        pass


def flipped(source: random.Random, data: bytes) -> bytes:
    """One bit is another."""
    at = source.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]


def test_a_relay_that_alters_delays_reorders_repeats_and_drops(tmp_path: Path) -> None:
    asked = study(tmp_path)
    with asked.collector() as collector:
        with (
            BadRelay(asked.port) as relay,
            SealedSenders(asked, Address("http", "127.0.0.1", relay.server_port, "/x")) as senders,
        ):
            wait_until(lambda: set(relay.seen) >= {*FAULTS, ""} and len(senders.outcome.acknowledged) >= 60)
        assert collector.end() == 0
    check(asked, senders.outcome)
    passed = b"\0".join(relay.passed)
    assert len(passed) > 100_000
    for secret in (asked.campaign.id.encode(), bytes.fromhex(asked.campaign.id), b"/campaigns/", b"/reports"):
        assert secret not in passed
    assert not [body for body in senders.outcome.sent if body in passed or body[5:21] in passed]
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize("status", [200, 204, 400])
def test_without_the_collector_nothing_is_acknowledged(tmp_path: Path, status: int) -> None:
    """A relay that answers by itself is not believed, whatever it says."""
    asked = study(tmp_path)
    said = (
        f"HTTP/1.1 {status} X\r\ncontent-type: message/ohttp-res\r\ncontent-length: 800\r\n\r\n".encode()
        + bytes(800)
    )
    with threaded(lambda request: said) as relay:
        post, address = asked.post(), Address("http", "127.0.0.1", relay.port, "/x")
        reply = post(address, b"\1\1\0\0\0" + bytes(17), lambda local, peer: True)
    assert reply.status is None
    assert reply.outcome is None
