"""`untrackable relay`: settings from options, variables and a file, and errors in one line."""

import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from untrackable.cli import main
from untrackable.relay import relay_server
from untrackable.relay.relay_settings import RelaySettings
from untrackable.serving import http_server

STUDY = "study=https://collect.example"


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `relay` was started with, without starting anything."""
    found: dict[str, Any] = {}

    def start(bound: socket.socket, settings: RelaySettings) -> None:
        bound.close()
        found["settings"] = settings

    monkeypatch.setattr(relay_server, "serve_relay", start)
    monkeypatch.setattr(http_server, "end_on_signals", lambda: None)
    return found


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner(env=environment).invoke(main, ["relay", "--port", "0", *arguments])


def test_options(relayed: dict[str, Any]) -> None:
    more = ("--gateway", "other=https://other.example/x", "--hold-until", "20", "--hold-at-most", "5")
    done = run("--gateway", STUDY, *more)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Relaying at http://127.0.0.1:")
    settings = relayed["settings"]
    assert [gateway.name for gateway in settings.gateways] == ["study", "other"]
    assert (settings.hold_until, settings.hold_at_most, settings.per_minute) == (20, 5.0, 60)
    assert run("--gateway", STUDY, "--json").output.startswith('{"address": "http://127.0.0.1:')


def test_variables_and_a_file(relayed: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    file.write_text('gateway = ["a=https://a.example"]\nper-minute = 7\nhold-until = 3\n')
    done = run("--config", str(file), UNTRACKABLE_HOLD_UNTIL="4", UNTRACKABLE_SENDER_HEADER="x-relay-sender")
    assert done.exit_code == 0, done.output
    settings = relayed["settings"]
    assert [gateway.name for gateway in settings.gateways] == ["a"]
    assert (settings.per_minute, settings.hold_until, settings.sender_header) == (7, 4, "x-relay-sender")
    done = run(UNTRACKABLE_GATEWAY=f"{STUDY} b=https://b.example", UNTRACKABLE_GATEWAYS="x")
    assert [gateway.name for gateway in relayed["settings"].gateways] == ["study", "b"]
    assert "UNTRACKABLE_GATEWAYS is not a setting" in done.output


def test_the_defaults_are_those_of_the_library(relayed: dict[str, Any]) -> None:
    run("--gateway", STUDY)
    settings = relayed["settings"]
    assert settings == RelaySettings(gateways=settings.gateways)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing option '--gateway'"),
        (("--gateway", "https://collect.example"), "gateway must be a name"),
        (("--gateway", "study=http://collect.example"), "gateway study must be https"),
        (("--gateway", STUDY, "--gateway", STUDY), "gateways must have different names"),
        (("--gateway", STUDY, "--hold-until", "2", "--hold-at-most", "40"), "at most 55 seconds together"),
        (("--gateway", STUDY, "--sender-header", "two words"), "sender_header must be the name of a header"),
    ],
)
def test_what_cannot_work_is_an_error_in_one_line(
    relayed: dict[str, Any], arguments: tuple[str, ...], reason: str
) -> None:
    done = run(*arguments)
    assert done.exit_code != 0
    assert reason in done.output
    assert relayed == {}


def test_a_relay_is_not_its_own_gateway(relayed: dict[str, Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    done = CliRunner().invoke(main, ["relay", "--port", port, "--gateway", f"study=http://localhost:{port}"])
    assert (done.exit_code, relayed) == (1, {})
    assert "gateway study is this relay itself" in done.output
