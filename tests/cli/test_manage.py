"""`serve`, `keys`, `manage` and `export`, as a person types them."""

import json
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.cli.commands import run
from tests.collector.loads import SIZE, fresh
from tests.collector.samples import DECK, campaign
from tests.collector.servers import process
from untrackable.collector import app
from untrackable.collector.api import create_campaign, valid_key
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, StoredCampaign


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
