"""Reports that arrive whole are held without a task, and answered in the same way as all others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.relay.gateways import sealed
from tests.relay.test_holding import AT, NOW, Clock
from untrackable.relay import app as relay_app
from untrackable.relay.app import RelayProtocol, RelaySettings, create_relay
from untrackable.relay.gateway import GatewayAddress
from untrackable.relay.held_reports import HeldReports, HoldingFailed, Release
from untrackable.relay.holding import HoldingSettings
from untrackable.serving.small_posts import SmallPost


def post(number: int, path: str, *lines: str, body: bytes | None = None, kind: str = "message/ohttp-req") -> bytes:
    content = sealed(number) if body is None else body
    head = (f"POST {path} HTTP/1.1", "Host: x", *lines, f"Content-Type: {kind}", f"Content-Length: {len(content)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


class Sender:
    """A connection to a relay, and how many requests became tasks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self.tasks = reader, writer, 0

    async def send(self, request: bytes, *, whole: bool = True) -> bytes:
        """Send a request, at once or in two parts. Its answer is without the time, and what is for caches."""
        for part in (request,) if whole else (request[:50], request[50:]):
            self._writer.write(part)
            await asyncio.sleep(0 if whole else 0.05)
        async with asyncio.timeout(10):
            head = await self._reader.readuntil(b"\r\n\r\n")
            lines = [line for line in head.lower().split(b"\r\n") if not line.startswith((b"date:", b"vary:"))]
            sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
            return b"\n".join([lines[0], *sorted(lines[1:])]) + await self._reader.readexactly(sizes[0])


@asynccontextmanager
async def connected(
    held: HeldReports | None, monkeypatch: pytest.MonkeyPatch, holding: HoldingSettings, **settings: Any
) -> AsyncIterator[Sender]:
    chosen = RelaySettings(
        gateways=(GatewayAddress.parse("study=http://127.0.0.1:9"),), holding=holding, **settings
    )
    app, state = create_relay(chosen, held, Clock()), ServerState()
    counted: Any = None

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        counted.tasks += 1
        await app(scope, receive, send)

    config = uvicorn.Config(noted, http=RelayProtocol, lifespan="off", log_config=None)
    config.load()
    monkeypatch.setattr(RelayProtocol, "settings", chosen, raising=False)
    monkeypatch.setattr(RelayProtocol, "relay", app.state.relay)
    async with app.router.lifespan_context(app):
        server = await asyncio.get_running_loop().create_server(
            lambda: RelayProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        counted = Sender(reader, writer)
        yield counted
        writer.close()
        server.close()
        await asyncio.sleep(0.05)
        assert state.tasks == set()


def test_reports_that_come_whole_need_no_task_and_have_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in two parts go through all layers."""
    one = f"/gateways/study/releases/{AT}"
    requests = [
        post(1, one),
        post(2, f"/gateways/study/releases/{AT + 1}"),
        post(3, f"/gateways/other/releases/{AT}"),
        post(4, f"/gateways/study/releases/{NOW}"),
        post(5, one, kind="text/plain"),
        post(6, one, body=b"short"),
        post(7, f"/gateways/study/releases/0{AT}"),
    ]

    async def talk() -> tuple[list[bytes], list[bytes], list[int]]:
        held, tasks = HeldReports(tmp_path / "held.db"), []
        async with connected(held, monkeypatch, HoldingSettings()) as sender:
            whole = []
            for request in requests:
                whole.append(await sender.send(request))
                tasks.append(sender.tasks)
            parts = [await sender.send(request, whole=False) for request in requests]
            tasks.append(sender.tasks)
        return whole, parts, tasks

    whole, parts, tasks = asyncio.run(talk())
    assert whole == parts
    assert [each.split()[1] for each in whole] == [b"202", b"400", b"404", b"410", b"415", b"400", b"202"]
    assert tasks[:2] == [0, 0], "those that can be held, and those that are too late or too early"
    held = HeldReports(tmp_path / "held.db")
    assert held.counts() == {Release("study", AT): 4}
    held.close()


def test_senders_are_counted_by_the_last_address_that_a_proxy_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = f"/gateways/study/releases/{AT}"
    names = (
        "192.0.2.1",
        "192.0.2.2, 192.0.2.1",
        "192.0.2.1, 192.0.2.3",
        "192.0.2.2,192.0.2.1 ",
        "::ffff:192.0.2.1",
    )

    async def talk(*, whole: bool) -> list[bytes]:
        held = HeldReports(tmp_path / f"held-{whole}.db")
        proxied = {"sender_header": "X-Relay-Sender", "per_minute": 2}
        async with connected(held, monkeypatch, HoldingSettings(), **proxied) as sender:
            requests = [post(1, one, f"x-RELAY-sender: {name}") for name in names]
            requests.append(post(1, one, "x-relay-sender: 192.0.2.1", "x-relay-sender: 192.0.2.9"))
            return [(await sender.send(each, whole=whole)).split()[1] for each in requests]

    expected = [b"202", b"202", b"202", b"429", b"429", b"202"]
    assert asyncio.run(talk(whole=True)) == asyncio.run(talk(whole=False)) == expected


@pytest.mark.parametrize(("holding", "waiting", "status"), [({"most": 1}, 2000, b"507"), ({}, 1, b"503")])
def test_what_waits_and_what_is_held_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holding: Any, waiting: int, status: bytes
) -> None:
    async def talk() -> list[bytes]:
        held = HeldReports(tmp_path / "held.db")
        async with connected(held, monkeypatch, HoldingSettings(**holding), waiting=waiting) as sender:
            relay = RelayProtocol.relay
            assert isinstance(relay, relay_app._Relay)
            assert relay.holding is not None
            found: list[Any] = []
            small = SmallPost(f"/gateways/study/releases/{AT}", b"message/ohttp-req", sealed(9), b"")
            with relay.holding._held.adding:  # Nothing is stored meanwhile.
                assert relay.hold_small(small, None, found.append)
                answer = await sender.send(post(1, small.path))
            async with asyncio.timeout(10):
                while found != [None]:
                    await asyncio.sleep(0.01)
            return [answer.split()[1], (await sender.send(post(2, small.path))).split()[1]]

    assert asyncio.run(talk())[0] == status


def test_a_disk_that_fails_is_told_without_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: HeldReports, reports: Any) -> None:
        raise HoldingFailed("disk is full", full=True)

    async def talk() -> tuple[bytes, int]:
        async with connected(HeldReports(tmp_path / "held.db"), monkeypatch, HoldingSettings()) as sender:
            with monkeypatch.context() as failing:
                failing.setattr(HeldReports, "add", fails)
                refused = await sender.send(post(1, f"/gateways/study/releases/{AT}"))
            assert b"urn:untrackable:problem:full" in refused
            return await sender.send(post(1, f"/gateways/study/releases/{AT}")), sender.tasks

    stored, tasks = asyncio.run(talk())
    assert (stored.split()[1], tasks) == (b"202", 0)
