"""The parts of uvicorn that the connection limits are built on: not promised to stay, so they are looked at."""

import asyncio
import importlib.metadata
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import uvicorn
from packaging.requirements import Requirement
from packaging.version import Version
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState
from uvicorn.supervisors import Multiprocess

from untrackable.collector.problems import Problem
from untrackable.collector.uploads import LimitedProtocol
from untrackable.serving import connections, small_posts
from untrackable.serving.connections import BoundedProtocol
from untrackable.serving.small_posts import SmallPostProtocol

ROOT = Path(__file__).parent.parent.parent


def declared() -> Requirement:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    [result] = [text for text in extras["collector"] if text.startswith("uvicorn")]
    return Requirement(result)


def test_the_installed_version_is_within_the_range_that_is_declared() -> None:
    assert declared().specifier.contains(importlib.metadata.version("uvicorn"))


def test_the_range_ends_before_versions_that_nobody_has_tested() -> None:
    """Releases with a new second number change uvicorn's inner parts."""
    release = Version(importlib.metadata.version("uvicorn")).release
    assert not declared().specifier.contains(f"{release[0]}.{release[1] + 1}.0")
    assert not declared().specifier.contains(f"{release[0] + 1}.0.0")


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_locked_version_is_within_the_range(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    [version] = [line.split("==")[1].split()[0] for line in lines if line.startswith("uvicorn==")]
    assert declared().specifier.contains(version)


def test_every_overridden_method_is_there_with_the_same_parameters() -> None:
    overridden = {
        name
        for known in (BoundedProtocol, SmallPostProtocol, LimitedProtocol)
        for name, result in vars(known).items()
        if inspect.isfunction(result) and not name.startswith("__") and hasattr(HttpToolsProtocol, name)
    }
    assert overridden == {
        "_start_asgi_task",
        "connection_lost",
        "connection_made",
        "data_received",
        "on_header",
        "on_headers_complete",
        "on_message_begin",
        "on_message_complete",
        "on_response_complete",
        "send_400_response",
    }
    for name in overridden:
        ours, theirs = (inspect.signature(getattr(of, name)) for of in (LimitedProtocol, HttpToolsProtocol))
        assert list(ours.parameters) == list(theirs.parameters), name
    for name in ("init_processes", "keep_subprocess_alive"):  # serving/http_server.py
        assert list(inspect.signature(getattr(Multiprocess, name)).parameters) == ["self"]


def test_our_own_names_hide_none_of_uvicorns() -> None:
    """A private attribute that a later version adds must not be one that is in use here."""
    source = inspect.getsource(connections) + inspect.getsource(small_posts) + inspect.getsource(LimitedProtocol)
    ours = set(re.findall(r"self\.(_\w+)", source))
    theirs = set(re.findall(r"self\.(_\w+)", inspect.getsource(HttpToolsProtocol))) | set(vars(HttpToolsProtocol))
    assert len(ours) > 5
    assert ours & theirs == set()


def test_a_request_goes_the_way_that_the_limits_rely_on() -> None:
    """The attributes that are read or set, and the order in which uvicorn calls what is overridden."""
    called: list[str] = []

    class Recorded(LimitedProtocol):
        def __getattribute__(self, name: str) -> Any:
            if name in ("on_message_begin", "on_header", "on_headers_complete", "on_message_complete"):
                called.append(name)
            return super().__getattribute__(name)

        def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
            called.append("_start_asgi_task")
            super()._start_asgi_task(cycle, app)

        def on_response_complete(self) -> None:
            called.append("on_response_complete")
            super().on_response_complete()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        config = uvicorn.Config(app, http=Recorded, ws="none", lifespan="off", log_config=None)
        state = ServerState()
        result = Recorded(config=config, server_state=state, app_state={}, _loop=asyncio.get_running_loop())
        transport = MagicMock(spec=asyncio.Transport)
        transport.is_closing.return_value = False
        transport.get_write_buffer_size.return_value = 0
        transport.get_extra_info.return_value = None
        result.connection_made(transport)
        assert result.connections is state.connections == {result}
        assert result.transport is transport
        assert isinstance(result.flow, FlowControl)
        assert vars(result)["cycle"] is None
        assert len(result.pipeline) == 0
        result.data_received(b"GET /there HTTP/1.1\r\nhost: x\r\n\r\n")
        assert result.url == b"/there"
        assert isinstance(result.cycle, RequestResponseCycle)
        answered = (result.cycle.response_started, result.cycle.response_complete, result.cycle.disconnected)
        assert answered == (False, False, False)
        await asyncio.sleep(0.05)
        assert result.cycle.response_started
        assert result.cycle.response_complete
        result.connection_lost(None)
        assert result.connections == set()

    asyncio.run(run())
    used = ["on_message_begin", "on_header", "on_headers_complete", "_start_asgi_task"]
    assert sorted(called) == sorted([*used, "on_message_complete", "on_response_complete"])
    assert called.index("_start_asgi_task") < called.index("on_response_complete")
    for problem in Problem:
        assert STATUS_LINE[problem.status].startswith(b"HTTP/1.1 %d " % problem.status)
