"""What is asked of every command. A new command is refused here until the table says what it gives."""

import csv
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pyarrow.parquet
import pytest

from tests.cli.commands import run
from tests.cli.commands_page import PAGE, commands
from tests.rappor_decode.collected import collected, zipf
from tests.rappor_decode.samples import write_counts, write_params
from untrackable import DiscoveredStrings, Fresh, Rappor, write_reports
from untrackable.cli import JOBS, main
from untrackable.cli.terminal import PICTURES, TABLES, NewFile

COMMANDS = {name: each for name, each in commands(main).items() if not isinstance(each, click.Group)}

GIVES = {
    "demo": "json export plot",
    "campaign new": "json",
    "campaign show": "json",
    "campaign verify": "json",
    "campaign directory": "json",
    "campaign embed": "json",
    "preview": "json",
    "answer": "json",
    "send": "json",
    "policy show": "json",
    "policy set": "json",
    "serve": "json",
    "manage add": "json",
    "manage list": "json export",
    "manage publish": "json",
    "manage close": "json",
    "manage end": "json",
    "manage delete": "json",
    "keys new": "json",
    "keys list": "json export",
    "keys revoke": "json",
    "gateway new": "json",
    "gateway show": "json",
    "gateway revoke": "json",
    "export": "json",
    "relay": "json",
    "estimate": "json export plot",
    "discover": "json export plot",
    "rappor-decode": "json export plot",
    "audit": "json export plot html",
    "compare": "json export plot html",
    "audit-file": "json export plot",
    "audit-client": "json export plot",
    "plan": "json export plot html",
    "simulate": "json",
    "paper": "json export plot",
}
"""What each command gives of its result."""

WITHOUT = {
    "It makes or changes something, and its answer is one line.": (
        "campaign new", "campaign directory", "answer", "send", "policy set", "manage add", "manage publish",
        "manage close", "manage end", "manage delete", "keys new", "keys revoke", "gateway new", "gateway revoke",
    ),
    "It shows one document or one account, which is no table.": (
        "campaign show", "campaign verify", "campaign embed", "preview", "policy show", "gateway show",
    ),
    "It writes reports or sums, of which `estimate` makes a table and a picture.": ("export", "simulate"),
    "It runs until somebody stops it.": ("serve", "relay"),
    "Its table is a list of names, and there is nothing to draw.": ("manage list", "keys list"),
}  # fmt: skip
"""Why commands have no --plot. Those of the last reason have --export, the others have not."""

LONG = (
    "demo", "estimate", "discover", "rappor-decode", "audit", "compare", "audit-file", "audit-client", "plan",
    "simulate", "paper",
)  # fmt: skip
"""Commands whose work may be long, so that they say how long it takes and what is left."""

MEANINGS = {
    "--json": "Print JSON.",
    "--export": "Write a table: .csv, .parquet, .arrow or .json.",
    "--plot": "Write a picture: .svg, .pdf or .png.",
    "--html": "Write a page with charts.",
    "--force": "Replace files that exist.",
    "--preset": "Use published parameters instead of your own.",
    "--only-rounds": "Use the reports of these rounds.",
    "--assume-round": "The round, if the file does not say.",
}
"""Options that mean the same in every command."""


def options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: each
        for each in command.params
        if isinstance(each, click.Option) and not each.hidden
        for name in each.opts
        if name.startswith("--")
    }


def test_the_table_has_every_command() -> None:
    assert sorted(GIVES) == sorted(COMMANDS), "say in GIVES what the new command gives"


def test_commands_that_answer_give_everything_or_there_is_a_reason() -> None:
    excused = [name for names in WITHOUT.values() for name in names]
    assert len({*excused}) == len(excused)
    lists = [*WITHOUT.values()][-1]
    for name, gives in GIVES.items():
        assert "json" in gives
        assert ("plot" not in gives) == (name in excused), name
        assert ("export" not in gives) == (name in excused and name not in lists), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_gives_what_it_should(name: str) -> None:
    result = options(COMMANDS[name])
    assert {"json", "export", "plot", "html"} & {each[2:] for each in result} == {*GIVES[name].split()}
    for option, endings in (("--export", TABLES), ("--plot", PICTURES)):
        if option in result:
            kind = result[option].type
            assert isinstance(kind, NewFile)
            assert kind.endings == endings


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_means_one_thing(name: str) -> None:
    result = options(COMMANDS[name])
    for option, meaning in MEANINGS.items():
        address = option == "--json" and name in ("serve", "relay")
        assert option not in result or result[option].help == meaning or address, option
    assert "--round" not in result
    if "--rounds" in result:
        assert result["--rounds"].metavar in (None, "N"), "--rounds is how many rounds there are"
    if "--mechanism" in result:
        assert result["--mechanism"].metavar == "WORDS"
        assert "NAME key=value" in (result["--mechanism"].help or "")
    for each in ("--parameter", "--param", "-p"):
        assert each not in result, "parameters are words behind the name of a mechanism"


@pytest.mark.parametrize("name", COMMANDS)
def test_files_are_written_only_where_nothing_is_lost(name: str) -> None:
    for option, each in options(COMMANDS[name]).items():
        if option in ("--export", "--plot", "--html", "--out"):
            assert isinstance(each.type, NewFile), option
            assert "--force" in options(COMMANDS[name])


@pytest.mark.parametrize("name", LONG)
def test_long_work_shows_what_is_left(name: str) -> None:
    (module,) = [each for modules in JOBS.values() for each in modules if name in modules[each].split()]
    from untrackable.cli import terminal

    assert importlib.import_module(f"untrackable.cli.{module}").progress is terminal.progress


CLIENT = """
import random
coin = random.SystemRandom()

def make(value):
    kept = value ^ (coin.random() < 0.25)
    return lambda: kept
"""


def _estimate(folder: Path) -> list[str]:
    made = ["simulate", "deck", "bits=2", "slots=3", "eps_report=2", "--people", "500", "--out", "reports.csv"]
    assert run(*made).exit_code == 0
    return ["estimate", "reports.csv"]


def _estimate_by_round(folder: Path) -> list[str]:
    words = ["deck", "bits=2", "slots=3", "eps_report=2", "--people", "500", "--rounds", "3"]
    assert run("simulate", *words, "--out", "rounds.csv").exit_code == 0
    return ["estimate", "rounds.csv", "--by-round"]


def _discover(folder: Path) -> list[str]:
    words = DiscoveredStrings(
        salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=12, unknown="omit"
    )
    mechanism = Fresh(words.local(4.0))
    (batch,) = mechanism.simulate(words.encode_many(["cabbag"] * 2000), rounds=1, seed=1)
    write_reports(folder / "strings.parquet", [(1, batch.reports[:, 0])], mechanism=mechanism, encoding=words)
    return ["discover", "strings.parquet"]


def _rappor_decode(folder: Path) -> list[str]:
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    names = ["cat", "dog", "owl"]
    write_params(folder / "params.csv", params)
    write_counts(folder / "counts.csv", collected(params, zipf(names[:2], 5000, np.random.default_rng(1)), 1))
    (folder / "words.txt").write_text("\n".join(names))
    return ["rappor-decode", "params.csv", "counts.csv", "--candidates", "words.txt"]


def _audit_file(folder: Path) -> list[str]:
    rows = [f"{who},{place},{who % 7}" for who in range(40) for place in "ab" for _ in range(3)]
    (folder / "recorded.csv").write_text("\n".join(["user,place,report", *rows]))
    return ["audit-file", "recorded.csv"]


def _audit_client(folder: Path) -> list[str]:
    (folder / "module_of_demands.py").write_text(CLIENT)
    words = ["--value", "0", "--value", "1", "--reports", "3", "--clients", "64"]
    return ["audit-client", "module_of_demands:make", *words]


def _manage_list(folder: Path) -> list[str]:
    words = ["--question", "Dark?", "--category", "no", "--category", "yes", "--rounds", "3"]
    assert run("campaign", "new", "asked.json", *words).exit_code == 0
    assert run("manage", "add", "asked.json", "--store", "sqlite:///a.db").exit_code == 0
    return ["manage", "list", "--store", "sqlite:///a.db"]


def _keys_list(folder: Path) -> list[str]:
    assert run("keys", "new", "--role", "admin", "--store", "sqlite:///k.db").exit_code == 0
    return ["keys", "list", "--store", "sqlite:///k.db"]


def _audit(folder: Path) -> list[str]:
    return ["audit", "deck", "bits=2", "slots=3", "eps_report=1", "--reports", "2", "--no-attack"]


def _compare(folder: Path) -> list[str]:
    return ["compare", "--values", "2", "--reports", "2"]


def _plan(folder: Path) -> list[str]:
    return ["plan", "--people", "1000000", "--values", "2", "--rounds", "4", "--eps", "2"]


ANSWERING = {
    "estimate": _estimate,
    "estimate --by-round": _estimate_by_round,
    "discover": _discover,
    "rappor-decode": _rappor_decode,
    "audit": _audit,
    "compare": _compare,
    "audit-file": _audit_file,
    "audit-client": _audit_client,
    "plan": _plan,
    "manage list": _manage_list,
    "keys list": _keys_list,
}
"""A small question to each command that answers. Those of `paper` and `demo` are in tests of their own."""


def test_every_command_with_a_table_is_asked() -> None:
    asked = {name.removesuffix(" --by-round") for name in ANSWERING}
    assert asked | {"demo", "paper"} == {name for name, gives in GIVES.items() if "export" in gives}


@pytest.mark.parametrize(("name", "asking"), ANSWERING.items())
def test_an_answer_is_printed_and_written(
    name: str, asking: Callable[[Path], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    question = asking(tmp_path)
    gives = GIVES[name.removesuffix(" --by-round")].split()
    (tmp_path / "x.csv").write_text("mine")
    refused = run(*question, "--export", "x.csv")
    assert refused.exit_code == 2
    assert "x.csv exists already" in refused.stderr
    assert (tmp_path / "x.csv").read_text() == "mine"

    plot = ["--plot", "x.svg"] if "plot" in gives else []
    done = run(*question, "--json", "--export", "x.csv", *plot, "--force")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    json.loads(done.stdout)
    with (tmp_path / "x.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert rows
    assert len({*header}) == len(header)
    assert all(title.isidentifier() and title == title.lower() for title in header)
    (documented,) = re.findall(rf"^\| `{re.escape(name)}` \|.*\| (.*) \|$", PAGE.read_text(), re.MULTILINE)[-1:]
    assert {*re.findall(r"`(\w+)`", documented)} <= {*header}
    if plot:
        assert "</svg>" in (tmp_path / "x.svg").read_text()
    assert not list(tmp_path.glob(".*.part"))

    if name in ("compare", "plan", "discover", "audit-client"):
        return  # once is enough where the work takes seconds, or is different each time
    done = run(*question, "--export", "x.parquet")
    assert done.exit_code == 0, done.output
    assert "wrote x.parquet" in done.stdout
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert table.column_names == header
    assert table.num_rows == len(rows)
