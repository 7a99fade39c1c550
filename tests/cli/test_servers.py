"""Settings of `serve` and `relay` come from options, variables and a file. `gateway` makes and revokes keys."""

import functools
import socket
import stat
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.commands import run
from untrackable import strict_json
from untrackable.cli.servers import serve, settings_in_file
from untrackable.collector import app as collector_app
from untrackable.collector.settings import Settings
from untrackable.oblivious.gateway_keys import read_keys
from untrackable.relay import app as relay_app
from untrackable.relay.app import RelaySettings
from untrackable.relay.held_reports import HeldReports
from untrackable.relay.holding import HoldingSettings
from untrackable.serving import server

FILE = """
store = "sqlite:///{folder}/file.db"
host = "127.0.0.3"
port = 8003
workers = 3
minimum-reports = 13
grace = 30
early = 3.5
origin = ["https://a.example", "https://b.example"]
"""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `serve` was started with, without starting anything."""
    found: dict[str, Any] = {}

    def bind(host: str, port: int) -> socket.socket:
        found.update(host=host, port=port)
        return socket.socket()

    def start(store: str, bound: socket.socket, settings: Settings, *, workers: int) -> None:
        bound.close()
        found.update(store=store, workers=workers)
        found.update({field.name: getattr(settings, field.name) for field in fields(settings)})

    monkeypatch.setattr(server, "bind", bind)
    monkeypatch.setattr(collector_app, "serve", start)
    monkeypatch.setattr(server, "end_on_signals", lambda: None)
    monkeypatch.setattr(server, "address", lambda bound: "there")
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "collector.toml"
    found.write_text(FILE.format(folder=tmp_path))
    return found


def test_an_option_a_variable_the_file_and_the_default(served: dict[str, Any], file: Path, tmp_path: Path) -> None:
    variables = {
        "UNTRACKABLE_HOST": "127.0.0.2",
        "UNTRACKABLE_PORT": "8002",
        "UNTRACKABLE_MINIMUM_REPORTS": "12",
    }
    done = run("serve", "--config", str(file), "--host", "127.0.0.1", **variables)
    assert done.exit_code == 0, done.output
    assert served["host"] == "127.0.0.1"  # the option
    assert (served["port"], served["minimum_reports"]) == (8002, 12)  # the variables
    assert served["store"] == f"sqlite:///{tmp_path}/file.db"
    assert (served["workers"], served["grace"], served["early"]) == (3, 30.0, 3.5)
    assert served["origins"] == ("https://a.example", "https://b.example")
    assert served["sweep"] == Settings().sweep  # the default
    assert done.stderr == ""


def test_the_file_may_be_named_by_a_variable(served: dict[str, Any], file: Path, tmp_path: Path) -> None:
    done = run("serve", UNTRACKABLE_CONFIG=str(file), UNTRACKABLE_ORIGIN="https://c.example https://d.example")
    assert done.exit_code == 0, done.output
    assert (served["port"], served["origins"]) == (8003, ("https://c.example", "https://d.example"))


def test_other_commands_find_the_store_of_the_file(file: Path, tmp_path: Path) -> None:
    made = run("keys", "new", "--role", "reader", UNTRACKABLE_CONFIG=str(file))
    assert made.exit_code == 0, made.output
    assert (tmp_path / "file.db").exists()
    other = f"sqlite:///{tmp_path}/other.db"
    assert (
        run("keys", "new", "--role", "reader", UNTRACKABLE_CONFIG=str(file), UNTRACKABLE_STORE=other).exit_code == 0
    )
    assert (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("prot = 8000", "there is no setting 'prot'; the settings are connections, early, gateway-keys, grace,"),
        ("minimum_reports = 5", "there is no setting 'minimum_reports'"),
        ("json = true", "there is no setting 'json'"),
        ("config = 'x'", "there is no setting 'config'"),
        ("[serve]\nport = 1", "there is no setting 'serve'"),
        ("port = '8000'", "port must be a whole number"),
        ("port = true", "port must be a whole number"),
        ("grace = 'secret'", "grace must be a number"),
        ("store = 5", "store must be a text"),
        ("origin = '*'", "origin must be a list of texts"),
        ("store = secret", "is not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_an_error(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(line)
    failed = run("serve", "--config", str(file))
    assert failed.exit_code == 1
    assert failed.stderr.startswith(f"Error: {file}")
    assert words in failed.stderr
    assert "secret" not in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_a_value_out_of_range_names_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("port = 99999")
    assert "Invalid value for '--port' (in the file of --config)" in run("serve", "--config", str(file)).stderr
    assert (
        "'--port' (in the variable UNTRACKABLE_PORT)" in run("serve", UNTRACKABLE_PORT="tcp://10.0.0.1:80").stderr
    )
    missing = run("serve", "--config", str(tmp_path / "missing.toml"))
    assert (missing.exit_code, missing.stderr) == (
        1,
        f"Error: cannot read {tmp_path}/missing.toml: No such file or directory\n",
    )


def test_variables_that_are_no_settings_are_named(served: dict[str, Any], tmp_path: Path) -> None:
    done = run(
        "serve", UNTRACKABLE_PROT="1", UNTRACKABLE_STORE=f"sqlite:///{tmp_path}/x.db", UNTRACKABLE_FOLDER="x"
    )
    assert done.exit_code == 0
    assert done.stderr == "The environment variable UNTRACKABLE_PROT is not a setting, so it is ignored.\n"


def test_options_have_the_defaults_of_the_settings(tmp_path: Path) -> None:
    defaults = {field.name: field.default for field in fields(Settings)}
    compared = [option for option in serve.params if option.name in defaults]
    assert len(compared) >= 8
    for option in compared:
        assert option.default == defaults[option.name or ""], option.name


def test_every_setting_can_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    lines = []
    for option in serve.params:
        if isinstance(option, click.Option) and option.name not in (None, "config", "as_json", "help"):
            value = "x" if option.name in ("store", "gateway_keys") else option.default
            value = list(value) if isinstance(value, tuple) else value
            lines.append(f"{option.opts[0][2:]} = {'1.5' if value is None else repr(value)}")
    file.write_text("\n".join(lines))
    assert len(settings_in_file(file, serve)) == len(lines)


STUDY = "study=https://collect.example"


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `relay` was started with, without starting anything."""
    found: dict[str, Any] = {}

    def start(bound: socket.socket, settings: RelaySettings, held: HeldReports | None) -> None:
        bound.close()
        found.update(settings=settings, holds=held is not None)
        if held is not None:
            held.close()

    monkeypatch.setattr(relay_app, "serve_relay", start)
    monkeypatch.setattr(server, "end_on_signals", lambda: None)
    return found


relay = functools.partial(run, "relay", "--port", "0")


def test_options(relayed: dict[str, Any], tmp_path: Path) -> None:
    held = ("--hold-in", str(tmp_path / "held.db"), "--release-every", "600", "--release-ahead", "9")
    bounds = ("--keep-days", "3", "--most-held", "8", "--most-in-release", "7")
    done = relay("--gateway", STUDY, "--gateway", "other=https://other.example/x", *held, *bounds)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Relaying at http://127.0.0.1:")
    settings = relayed["settings"]
    assert [gateway.name for gateway in settings.gateways] == ["study", "other"]
    assert settings.holding == HoldingSettings(every=600, ahead=9, keep=3, most=8, most_of_one=7)
    assert (relayed["holds"], settings.per_minute) == (True, 60)
    assert relay("--gateway", STUDY, "--json").output.startswith('{"address": "http://127.0.0.1:')


def test_variables_and_a_file(relayed: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    file.write_text('gateway = ["a=https://a.example"]\nper-minute = 7\nkeep-days = 3\n')
    done = relay("--config", str(file), UNTRACKABLE_KEEP_DAYS="4", UNTRACKABLE_SENDER_HEADER="x-relay-sender")
    assert done.exit_code == 0, done.output
    settings = relayed["settings"]
    assert [gateway.name for gateway in settings.gateways] == ["a"]
    assert (settings.per_minute, settings.holding.keep, settings.sender_header) == (7, 4, "x-relay-sender")
    done = relay(UNTRACKABLE_GATEWAY=f"{STUDY} b=https://b.example", UNTRACKABLE_GATEWAYS="x")
    assert [gateway.name for gateway in relayed["settings"].gateways] == ["study", "b"]
    assert "UNTRACKABLE_GATEWAYS is not a setting" in done.output


def test_the_defaults_are_those_of_the_library(relayed: dict[str, Any]) -> None:
    relay("--gateway", STUDY)
    settings = relayed["settings"]
    assert settings == RelaySettings(gateways=settings.gateways)
    assert not relayed["holds"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing option '--gateway'"),
        (("--gateway", "https://collect.example"), "gateway must be a name"),
        (("--gateway", "study=http://collect.example"), "gateway study must be https"),
        (("--gateway", STUDY, "--gateway", STUDY), "gateways must have different names"),
        (("--gateway", STUDY, "--gateway-seconds", "60"), "gateway_seconds must be at most 55"),
        (
            ("--gateway", STUDY, "--release-every", "1"),
            "ahead must be at most 1 days with a release every 1 seconds",
        ),
        (("--gateway", STUDY, "--hold-in", "/missing/held.db"), "cannot open /missing/held.db: No such file"),
        (("--gateway", STUDY, "--sender-header", "two words"), "sender_header must be the name of a header"),
    ],
)
def test_what_cannot_work_is_an_error_in_one_line(
    relayed: dict[str, Any], arguments: tuple[str, ...], reason: str
) -> None:
    done = relay(*arguments)
    assert done.exit_code != 0
    assert reason in done.output
    assert relayed == {}


def test_a_relay_is_not_its_own_gateway(relayed: dict[str, Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    done = run("relay", "--port", port, "--gateway", f"study=http://localhost:{port}")
    assert (done.exit_code, relayed) == (1, {})
    assert "gateway study is this relay itself" in done.output


gateway = functools.partial(run, "gateway")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "gateway.keys"
    assert gateway("new", path, "--keys", 3, "--every", 30).exit_code == 0
    return path


def test_new_keys(tmp_path: Path) -> None:
    path = tmp_path / "gateway.keys"
    made = gateway("new", path, "--keys", 2, "--every", 7, "--json")
    assert made.exit_code == 0, made.output
    keys = read_keys(path)
    assert strict_json.parse(made.stdout) == keys.public_list(1)
    assert [key.first_round for key in keys.keys] == [1, 8]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = gateway("new", path, "--keys", 1, "--json")
    assert strict_json.parse(again.stdout) == read_keys(path).public_list(2)
    assert read_keys(path).keys[:2] == keys.keys


def test_no_command_prints_a_secret(keys: Path) -> None:
    secrets = [key.secret.hex() for key in read_keys(keys).keys if key.secret is not None]
    said = [
        gateway("show", keys),
        gateway("show", keys, "--json"),
        gateway("new", keys),
        gateway("revoke", keys, 0),
    ]
    assert all(result.exit_code == 0 for result in said)
    assert not any(secret in result.output for result in said for secret in secrets)


def test_show(keys: Path) -> None:
    gateway("revoke", keys, "0")
    shown = gateway("show", keys).stdout.splitlines()
    assert shown[0] == "List 1"
    assert [line.split()[:5] for line in shown[1:]] == [
        ["key", str(id), "from", "round", str(first)] for id, first in enumerate((1, 31, 61))
    ]
    assert [line.endswith("revoked") for line in shown[1:]] == [True, False, False]
    assert strict_json.parse(gateway("show", keys, "--json").stdout) == read_keys(keys).public_list(1)
    assert gateway("show", keys, "--list", 1).stdout.splitlines() == shown
    assert "no list 2" in gateway("show", keys, "--list", 2).stderr


def test_revoke(keys: Path) -> None:
    assert strict_json.parse(gateway("revoke", keys, 2, "--json").stdout) == {"revoked": [2], "left": [0, 1]}
    assert gateway("revoke", keys, "--before", 31).stdout == "Revoked: 0.\n"
    assert gateway("revoke", keys, "--before", 31).stdout == "Revoked: none that was not revoked before.\n"
    assert [key.revoked for key in read_keys(keys).keys] == [True, False, True]
    before = keys.read_bytes()
    assert "no key 7" in gateway("revoke", keys, 1, 7).stderr
    assert gateway("revoke", keys).exit_code == 2
    assert keys.read_bytes() == before


def test_a_wrong_file_is_an_error_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("{}")
    assert "chmod 600" in gateway("show", path).stderr
    path.chmod(0o600)
    for arguments in (["show"], ["new"], ["revoke", "--before", 2]):
        result = gateway(arguments[0], path, *arguments[1:])
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        assert "not a file with a gateway's keys" in result.stderr
    assert path.read_text() == "{}"
    assert "No such file" in gateway("show", tmp_path / "missing").stderr
    assert "No such file" in gateway("new", tmp_path / "missing" / "keys").stderr
