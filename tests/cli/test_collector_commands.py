"""`serve`, `keys`, `manage` and `export`, as a person types them."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import CliRunner

from tests.collector.loads import SIZE, fresh
from tests.collector.samples import DECK, campaign
from tests.collector.servers import process
from untrackable.cli import main
from untrackable.collector.keys import role_of
from untrackable.collector.stores.opening import open_store
from untrackable.collector.stores.records import Round


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/x.db"


def test_keys_are_shown_once_listed_and_revoked(url: str) -> None:
    made = run("keys", "new", "--role", "reader", "--store", url)
    assert made.exit_code == 0
    token = made.stdout.strip()
    id = token.split("_")[1]
    store = open_store(url)
    assert role_of(store, token) == "reader"
    assert role_of(store, token + "x") is None
    assert role_of(store, "") is None
    assert token.encode() not in Path(url.removeprefix("sqlite:///")).read_bytes()
    assert all(token not in repr(key) for key in store.keys())  # noqa: SIM118 - not a dict
    listed = run("keys", "list", "--store", url, "--json")
    assert [(k["id"], k["role"], k["revoked"]) for k in json.loads(listed.stdout)] == [(id, "reader", False)]
    assert run("keys", "revoke", id, "--store", url).stdout == f"{id} is revoked.\n"
    assert role_of(store, token) is None
    assert "revoked" in run("keys", "list", "--store", url).stdout
    wrong = run("keys", "revoke", "nothing", "--store", url)
    assert (wrong.exit_code, wrong.stderr) == (1, "Error: there is no key 'nothing'\n")
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
    store = open_store(url)
    assert store.campaigns()[0].published
    rows = np.frombuffer(fresh(500), dtype=np.uint8).reshape(-1, SIZE)[:, 5:]
    store.add({Round(asked.id, 1): rows})

    reports = tmp_path / "reports.parquet"
    told = json.loads(run("export", asked.id, "1", str(reports), "--store", url, "--json").stdout)
    assert (told["what"], told["reports"]) == ("reports", 500)
    estimated = run("estimate", str(reports), "--json")
    assert estimated.exit_code == 0, estimated.output

    closed = run("manage", "close", asked.id, "1", "--store", url)
    assert closed.stdout == "Round 1 is closed, with 500 reports.\n"
    sums = tmp_path / "sums.parquet"
    assert "the sums of 500 reports" in run("export", asked.id, "1", str(sums), "--store", url).stdout

    from pyarrow import parquet

    (row,) = parquet.read_table(sums).to_pylist()
    assert (row["campaign"], row["round"], row["reports"]) == (asked.id, 1, 500)
    assert (
        DECK.restore_sums(row["sums"]).to_bytes() == DECK.aggregator().add(rows[:, -1].astype(np.uint64)).to_bytes()
    )
    store.close()


def test_what_is_wrong_is_said_in_one_line(url: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    asked = campaign(begin=int(time.time()) + 3600)
    good = tmp_path / "good.json"
    good.write_bytes(asked.to_bytes())
    run("manage", "add", str(good), "--store", url)
    for arguments, words in (
        (("manage", "add", str(bad)), "version of a campaign must be 1"),
        (("manage", "close", "0" * 64, "1"), "there is no campaign"),
        (("manage", "close", asked.id, "1"), "round 1 has not begun"),
        (("manage", "publish", "0" * 64), "there is no campaign"),
        (("export", "0" * 64, "1", str(tmp_path / "x.parquet")), "there is no campaign"),
        (("export", asked.id, "1", str(tmp_path / "x.parquet")), "there are no reports of round 1"),
        (("serve", "--port", "0", "--largest-body", str(1 << 30)), "largest_body must be at most room"),
        (("serve", "--host", "203.0.113.1", "--port", "0"), "cannot listen at 203.0.113.1:0"),
    ):
        failed = run(*arguments, "--store", url)
        assert failed.exit_code == 1, arguments
        assert failed.stderr.startswith("Error: ")
        assert words in failed.stderr
        assert failed.stderr.count("\n") == 1
    failed = run("serve", "--store", "nonsense")
    assert (failed.exit_code, failed.stderr) == (1, "Error: a store must be sqlite:///PATH or postgresql://…\n")


def test_serve_starts_with_nothing_heavy_and_ends_cleanly(url: str, tmp_path: Path) -> None:
    with process(url, log=tmp_path / "log") as server:
        assert httpx.get(f"{server.address}/healthz").status_code == 200
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert server.end() == 0
    for heavy in ("/scipy/", "/matplotlib/", "/pyarrow/", "/numba/", "/llvmlite/"):
        assert heavy not in maps, heavy
    assert (tmp_path / "log").read_text() == ""
