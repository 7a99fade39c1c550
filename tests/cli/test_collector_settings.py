"""Settings of `serve`: an option comes before a variable, a variable before a file, a file before the default."""

import socket
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from untrackable.cli import main
from untrackable.cli.collector_settings import settings_in_file
from untrackable.cli.serve import serve
from untrackable.collector.http import server
from untrackable.collector.settings import Settings
from untrackable.serving import http_server

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

    monkeypatch.setattr(http_server, "bind", bind)
    monkeypatch.setattr(server, "serve", start)
    monkeypatch.setattr(http_server, "end_on_signals", lambda: None)
    monkeypatch.setattr(http_server, "address", lambda bound: "there")
    return found


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner(env=environment).invoke(main, arguments)


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
