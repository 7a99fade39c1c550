"""`serve`, `relay`, `gateway`, `keys`, `manage` and `export`, as a person types them.

Settings of `serve` and `relay` come from options, variables and a file.
"""

import functools
import json
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import httpx
import numpy as np
import pytest

from tests.cli.commands import run
from tests.collector.loads import SIZE, fresh
from tests.collector.samples import DECK, campaign
from tests.collector.servers import process
from untrackable import strict_json
from untrackable.cli.collect import serve, settings_in_file
from untrackable.collector import app
from untrackable.collector import app as collector_app
from untrackable.collector.api import create_campaign, valid_key
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Round, StoredCampaign
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
    result: dict[str, Any] = {}

    def bind(host: str, port: int) -> socket.socket:
        result.update(host=host, port=port)
        return socket.socket()

    def start(store: str, bound: socket.socket, settings: Settings, *, workers: int) -> None:
        bound.close()
        result.update(store=store, workers=workers)
        result.update({field.name: getattr(settings, field.name) for field in fields(settings)})

    monkeypatch.setattr(server, "bind", bind)
    monkeypatch.setattr(collector_app, "serve", start)
    monkeypatch.setattr(server, "end_on_signals", lambda: None)
    monkeypatch.setattr(server, "address", lambda bound: "there")
    return result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    result = tmp_path / "collector.toml"
    result.write_text(FILE.format(folder=tmp_path))
    return result


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
        (
            "prot = 8000",
            "there is no setting 'prot'; the settings are ballots, connections, early, gateway-keys, grace,",
        ),
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
    result: dict[str, Any] = {}

    def start(bound: socket.socket, settings: RelaySettings, held: HeldReports | None) -> None:
        bound.close()
        result.update(settings=settings, holds=held is not None)
        if held is not None:
            held.close()

    monkeypatch.setattr(relay_app, "serve_relay", start)
    monkeypatch.setattr(server, "end_on_signals", lambda: None)
    return result


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


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/x.db"


def test_keys_are_shown_once_listed_and_revoked(url: str) -> None:
    made = run("keys", "new", "--role", "reader", "--store", url)
    assert made.exit_code == 0
    token = made.stdout.strip()
    id = token.split("_")[1]
    store = open_store(url)
    assert (found := valid_key(store, token)) is not None
    assert found.role == "reader"
    assert valid_key(store, token + "x") is None
    assert valid_key(store, "") is None
    assert token.encode() not in Path(url.removeprefix("sqlite:///")).read_bytes()
    assert all(token not in repr(key) for key in store.keys())  # noqa: SIM118 - not a dict
    listed = run("keys", "list", "--store", url, "--json")
    assert [(k["id"], k["role"], k["revoked"]) for k in json.loads(listed.stdout)] == [(id, "reader", False)]
    assert run("keys", "revoke", id, "--store", url).stdout == f"{id} is revoked.\n"
    assert valid_key(store, token) is None
    assert "revoked" in run("keys", "list", "--store", url).stdout
    wrong = run("keys", "revoke", "nothing", "--store", url)
    assert (wrong.exit_code, wrong.stderr) == (
        1,
        "Error: there is no key 'nothing'; `untrackable keys list` shows all\n",
    )
    store.close()


def test_a_campaign_from_file_to_closed_round(url: str, tmp_path: Path) -> None:
    asked = campaign(begin=int(time.time()) - 60)
    file = tmp_path / "campaign.json"
    file.write_bytes(asked.to_bytes())
    assert run("manage", "add", str(file), "--store", url).stdout == f"{asked.id} is added.\n"
    assert json.loads(run("manage", "add", str(file), "--store", url, "--json").stdout) == {
        "id": asked.id,
        "new": False,
    }
    assert "is published" in run("manage", "publish", asked.id, "--store", url).stdout
    assert "no longer" in run("manage", "publish", asked.id, "--not", "--store", url).stdout
    again = run("manage", "add", str(file), "--published", "--store", url)
    assert again.stdout == f"{asked.id} was there already and is published.\n"
    store = open_store(url)
    assert store.campaigns()[0].published
    rows = np.frombuffer(fresh(500), dtype=np.uint8).reshape(-1, SIZE)[:, 5:]
    store.add({Round(asked.id, 1): rows})

    reports = tmp_path / "reports.parquet"
    told = json.loads(run("export", asked.id, "1", str(reports), "--store", url, "--json").stdout)
    assert (told["what"], told["reports"]) == ("reports", 500)
    assert stat.S_IMODE(reports.stat().st_mode) == 0o600
    estimated = run("estimate", str(reports), "--json")
    assert estimated.exit_code == 0, estimated.output

    closed = run("manage", "close", asked.id, "1", "--store", url)
    assert closed.stdout == "Round 1 is closed, with 500 reports.\n"
    sums = tmp_path / "sums.parquet"
    assert "the sums of 500 reports" in run("export", asked.id, "1", str(sums), "--store", url).stdout
    assert stat.S_IMODE(sums.stat().st_mode) == 0o600

    from_sums, from_reports = (json.loads(run("estimate", str(file), "--json").stdout) for file in (sums, reports))
    assert from_sums.pop("files") != from_reports.pop("files")
    assert from_sums == from_reports
    assert "sums.parquet: 500 reports of Deck" in run("estimate", str(sums)).stdout
    failed = run("discover", str(sums))
    assert failed.exit_code == 1
    assert "these reports are not of strings to be discovered; `untrackable estimate` reads" in failed.stderr

    from pyarrow import parquet

    (row,) = parquet.read_table(sums).to_pylist()
    assert (row["campaign"], row["round"], row["reports"]) == (asked.id, 1, 500)
    assert (
        DECK.restore_sums(row["sums"]).to_bytes() == DECK.aggregator().add(rows[:, -1].astype(np.uint64)).to_bytes()
    )
    store.close()


def test_closing_says_so_if_nonces_are_left_in_the_log(url: str) -> None:
    store, asked = open_store(url), campaign(begin=int(time.time()) - 60)
    create_campaign(store, asked.to_bytes())
    rows = np.frombuffer(fresh(500), dtype=np.uint8).reshape(-1, SIZE)[:, 5:]
    store.add({Round(asked.id, 1): rows})
    reader = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM reports_1").fetchone()
    impatient = "from untrackable.cli import run; from untrackable.collector import sqlite; "
    script = impatient + "sqlite._TIDYING = 2; run()"
    command = [sys.executable, "-c", script, "manage", "close", asked.id, "1", "--store", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603
    assert said.stdout == "Round 1 is closed, with 500 reports.\n"
    assert said.stderr.startswith("The store's own log still contains nonces of a closed round: ")
    reader.close()
    store.close()


def test_what_is_wrong_is_said_in_one_line(url: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    asked = campaign(begin=int(time.time()) + 3600)
    good = tmp_path / "good.json"
    good.write_bytes(asked.to_bytes())
    run("manage", "add", str(good), "--store", url)
    for arguments, words in (
        (("manage", "add", str(bad)), f"{bad}: the version of a campaign must be 1"),
        (("manage", "close", asked.id, "499"), f"the campaign has rounds 1 to {asked.rounds}, and no round 499"),
        (("manage", "publish", asked.id[:7]), "or the first 8 or more of them"),
        (("manage", "publish", "A" * 64), "must be 64 digits from 0 to f"),
        (("manage", "close", "0" * 8, "1"), "there is no campaign whose id begins with 00000000"),
        (("manage", "close", "0" * 64, "1"), "there is no campaign"),
        (("manage", "close", asked.id, "1"), "round 1 has not begun yet"),
        (("manage", "publish", "0" * 64), "there is no campaign"),
        (("export", "0" * 64, "1", str(tmp_path / "x.parquet")), "there is no campaign"),
        (("export", asked.id, "1", str(tmp_path / "x.parquet")), "the store has no reports of round 1"),
        (("serve", "--port", "0", "--largest-body", str(1 << 30)), "largest_body must be at most room"),
        (("serve", "--port", "0", "--gateway-keys", str(tmp_path / "none")), "No such file or directory"),
        (("serve", "--port", "0", "--gateway-keys", str(good)), "must be for its owner alone"),
        (("serve", "--host", "203.0.113.1", "--port", "0"), "cannot listen at 203.0.113.1:0"),
    ):
        failed = run(*arguments, "--store", url)
        assert failed.exit_code == 1, arguments
        assert failed.stderr.startswith("Error: ")
        assert words in failed.stderr
        assert failed.stderr.count("\n") == 1
    failed = run("serve", "--store", "nonsense")
    assert (failed.exit_code, failed.stderr) == (
        1,
        "Error: the address of a store must be sqlite:///PATH or postgresql://…\n",
    )


def test_only_what_makes_a_store_makes_a_file(url: str, tmp_path: Path) -> None:
    path = Path(url.removeprefix("sqlite:///"))
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    id = "0" * 64
    for arguments in (
        ("keys", "list"),
        ("keys", "revoke", "1f2e3d4c5b6a"),
        ("manage", "list"),
        ("manage", "publish", id),
        ("manage", "close", id, "1"),
        ("manage", "end", id),
        ("manage", "delete", id, "--yes"),
        ("export", id, "1", str(tmp_path / "x.parquet")),
    ):
        failed = run(*arguments, "--store", url)
        assert (failed.exit_code, failed.stderr) == (
            1,
            f"Error: cannot open {path}: the file does not exist (`untrackable serve` creates it)\n",
        )
        assert not path.exists()
    assert run("manage", "add", str(bad), "--store", url).exit_code == 1
    assert not path.exists()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        failed = run("serve", "--store", url, "--port", str(taken.getsockname()[1]))
        assert "cannot listen at" in failed.stderr
    assert not path.exists()
    failed = run("keys", "new", "--role", "admin", "--store", f"sqlite:///{tmp_path}/missing/x.db")
    assert "its folder does not exist" in failed.stderr


def test_how_to_revoke_a_new_key(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/with space.db"
    made = run("keys", "new", "--role", "admin", "--store", url)
    id = made.stdout.split("_")[1]
    assert made.stderr == (
        f"A key for an admin, shown this once. To revoke it: untrackable keys revoke {id} --store '{url}'\n"
    )
    assert "A key for a reader" in run("keys", "new", "--role", "reader", "--store", url).stderr


def test_campaigns_are_listed_and_named_by_their_first_digits(url: str, tmp_path: Path) -> None:
    store = open_store(url)
    assert "There are no campaigns." in run("manage", "list", "--store", url).stderr
    asked = campaign(begin=int(time.time()) - 60)
    create_campaign(store, asked.to_bytes())
    rows = np.frombuffer(fresh(1), dtype=np.uint8).reshape(-1, SIZE)[:, 5:]
    store.add({Round(asked.id, 1): rows})
    short = asked.id[:8]
    listed = run("manage", "list", "--store", url).stdout
    assert listed == (
        f"{asked.id}  not published  rounds: 0 closed, 1 open of {asked.rounds}\n    {asked.question}\n"
    )
    told = run("export", short, "1", str(tmp_path / "one.parquet"), "--store", url).stdout
    assert "one.parquet: 1 report, " in told
    assert run("manage", "close", short, "1", "--store", url).stdout == "Round 1 is closed, with 1 report.\n"
    assert run("manage", "publish", short, "--store", url).stdout == f"{asked.id} is published.\n"
    assert json.loads(run("manage", "list", "--store", url, "--json").stdout) == [
        {
            "id": asked.id,
            "question": asked.question,
            "published": True,
            "rounds": asked.rounds,
            "last_round": None,
            "closed": 1,
            "small": 0,
            "open": 0,
        }
    ]
    twin = short + "0" * 56
    store.add_campaign(StoredCampaign(twin, asked.to_bytes(), "{}", False))
    failed = run("manage", "publish", short, "--store", url)
    assert failed.stderr == f"Error: 2 campaigns have ids that begin with {short}: give more digits\n"
    assert run("manage", "publish", asked.id, "--store", url).exit_code == 0
    store.close()


def test_serve_starts_with_nothing_heavy_and_ends_cleanly(url: str, tmp_path: Path) -> None:
    with process(url, log=tmp_path / "log") as server:
        assert httpx.get(f"{server.address}/healthz").status_code == 200
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert server.end() == 0
    for heavy in ("/scipy/", "/vl_convert", "/pyarrow/", "/numba/", "/llvmlite/"):
        assert heavy not in maps, heavy
    assert (tmp_path / "log").read_text() == ""


def test_a_collector_says_which_reports_it_cannot_open(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started all the same: its other campaigns go on, and the keys of past campaigns may be destroyed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "serve", lambda store, bound, settings, *, workers: bound.close())
    for name in ("gateway", "other"):
        public = run("gateway", "new", f"{name}.keys", "--keys", "1", "--json").stdout
        Path(f"{name}.json").write_text(public, encoding="utf-8")
    crowd = ["--rounds", "2", "--people", "4000", "--relay", "--gateway", "gateway.json"]
    asked = ["--question", "Which?", "--category", "a", "--category", "b"]
    assert run("campaign", "new", "c.json", *asked, *crowd).exit_code == 0
    assert "serve --gateway-keys" in run("manage", "add", "c.json", "--store", url).stdout
    serve = ("serve", "--store", url, "--port", "0")
    warning = "come sealed, and this collector has no key that opens them"
    assert warning in run(*serve).stderr
    assert warning in run(*serve, "--gateway-keys", "other.keys").stderr
    fitting = run(*serve, "--gateway-keys", "gateway.keys")
    assert (fitting.exit_code, fitting.stderr) == (0, "")
