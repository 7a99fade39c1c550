"""`untrackable discover`: files in, strings out; whatever is wrong in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from untrackable import Deck, DiscoveredStrings, Fresh, Stored, write_reports
from untrackable.cli import main
from untrackable.mechanisms import registry
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.file_answers import discover_files
from untrackable.reports.header import Header
from untrackable.reports.sums_file import write_sums

WORDS = DiscoveredStrings(
    salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=12, unknown="omit"
)
PEOPLE = ["cabbag"] * 3000 + ["head"] * 2000 + ["bad"] * 50


def written(path: Path, mechanism: Mechanism, rounds: int = 1) -> Path:
    (batch,) = mechanism.simulate(WORDS.encode_many(PEOPLE), rounds=rounds, seed=1)
    pieces = [(round, batch.reports[:, i]) for i, round in enumerate(batch.rounds)]
    write_reports(path, pieces, mechanism=mechanism, encoding=WORDS)
    return path


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return written(tmp_path / "reports.parquet", Fresh(WORDS.local(4.0)))


def test_a_table(reports: Path) -> None:
    result = CliRunner().invoke(main, ["discover", str(reports), "--leads", "2"], env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    assert (
        "5,050 reports; 2 strings that people hold (the probability that any is false is at most 0.05, upper)"
        in result.output
    )
    assert "a string of 6 symbols held by fewer than" in result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert [line[0] for line in lines if "%" in line][:2] == ["cabbag", "head"]
    assert result.output.count("may be noise") == 2


def test_leads_are_listed_the_strongest_first(reports: Path) -> None:
    result = CliRunner().invoke(main, ["discover", str(reports), "--leads", "10"], env={"COLUMNS": "140"})
    listed = [line.split()[0] for line in result.output.splitlines() if "may be noise" in line]
    leads = {lead.string or "(empty)": lead for lead in discover_files([reports], leads=10).leads}
    strength = [(leads[name].p_value, -leads[name].frequency / leads[name].standard_error) for name in listed]
    assert len(listed) == 10
    assert strength == sorted(strength)


def test_json(reports: Path) -> None:
    result = CliRunner().invoke(main, ["discover", str(reports), "--json", "--alpha", "0.01"])
    read = json.loads(result.stdout)
    assert [entry["string"] for entry in read["strings"]] == ["cabbag", "head"]
    assert read["alpha"] == 0.01


def test_settings_that_find_nothing_are_named(tmp_path: Path) -> None:
    few = DiscoveredStrings(salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=9)
    mechanism, path = Fresh(few.local(4.0)), tmp_path / "few.parquet"
    (batch,) = mechanism.simulate(few.encode_many(["cabbag"] * 3000), rounds=1, seed=1)
    write_reports(path, [(1, batch.reports[:, 0])], mechanism=mechanism, encoding=few)
    result = CliRunner().invoke(main, ["discover", str(path)], env={"COLUMNS": "300"})
    assert "a string of 6 symbols cannot be found with these settings, even if everyone" in result.output
    assert json.loads(CliRunner().invoke(main, ["discover", str(path), "--json"]).stdout)["findable"] is None


def test_rounds_and_files_are_pooled_where_they_may(tmp_path: Path) -> None:
    deck = WORDS.deck(slots=3, eps=6.0, delta=1e-6)
    assert registry.from_json(deck.to_json()) == deck
    path = written(tmp_path / "deck.arrow", deck, rounds=3)
    assert discover_files([path]).n == 3 * len(PEOPLE)
    assert discover_files([path], rounds=[2]).n == len(PEOPLE)
    again = written(tmp_path / "more.npz", deck, rounds=1)
    assert discover_files([path, again]).n == 4 * len(PEOPLE)
    stored = written(tmp_path / "stored.csv", Stored(WORDS.local(4.0), 5), rounds=2)
    with pytest.raises(ValueError, match="do not pool: choose one"):
        discover_files([stored])
    assert discover_files([stored], rounds=[1]).n == len(PEOPLE)
    result = CliRunner().invoke(main, ["discover", str(path), "--rounds", "1,3", "--json"])
    assert json.loads(result.stdout)["n"] == 2 * len(PEOPLE)


def test_sums_of_closed_rounds_are_searched_like_reports(tmp_path: Path) -> None:
    deck = WORDS.deck(slots=3, eps=6.0, delta=1e-6)
    (batch,) = deck.simulate(WORDS.encode_many(PEOPLE), rounds=3, seed=1)
    files, header = [], Header(mechanism=deck, encoding=WORDS)
    for i, number in enumerate(batch.rounds):
        sums = deck.aggregator(number).add(batch.reports[:, i])
        files.append(tmp_path / f"{number}.parquet")
        write_sums(files[-1], header, campaign="c", round=number, reports=sums.n, sums=sums.to_bytes())
    whole = discover_files([written(tmp_path / "deck.arrow", deck, rounds=3)])
    assert discover_files(files) == whole
    assert discover_files(files[1:], rounds=[2]).n == len(PEOPLE)


def test_what_is_wrong_is_said_in_one_line(reports: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    write_reports(other, [(1, np.array([2, 3]))], mechanism=Deck(bits=4, slots=1, eps_report=1.0, width=1))
    for arguments, message in (
        ([str(tmp_path / "none.parquet")], "cannot read"),
        ([str(other)], "not of strings to be discovered"),
        ([str(reports), str(reports)], "given twice"),
        ([str(reports), "--only-rounds", "9"], "no reports of these rounds"),
        ([str(reports), "--only-rounds", "one"], "rounds must be written 1-7,9"),
        ([str(reports), "--assume-round", "9"], "it is of another round than the one given"),
        ([str(reports), "--encoding", "{"], "--encoding must be JSON"),
    ):
        result = CliRunner().invoke(main, ["discover", *arguments])
        assert result.exit_code == 1, result.output
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1
    reports.write_bytes(reports.read_bytes()[:-20])
    assert CliRunner().invoke(main, ["discover", str(reports)]).exit_code == 1


def test_simulated_strings_are_found(tmp_path: Path) -> None:
    encoding, words, out = tmp_path / "words.json", tmp_path / "words.csv", tmp_path / "x.parquet"
    encoding.write_text(json.dumps(WORDS.to_json()))
    words.write_text("value,count\nabba,3000\ncab,2000\nb,1\n")
    arguments = ["--encoding", str(encoding), "--values", str(words), "--out", str(out), "--force"]
    run = CliRunner().invoke(main, ["simulate", "deck", "slots=2", "eps_report=4", "--rounds", "2", *arguments])
    assert run.exit_code == 0, run.output
    assert "most held (exact): abba 59.99 %, cab 39.99 %, b 0.02 %" in run.stdout
    assert f"next: untrackable discover {out}" in run.stdout
    assert [found.string for found in discover_files([out]).strings] == ["abba", "cab"]
    for name, given, message in (
        ("deck", ["eps_report=4"], "deck takes slots, eps_report"),
        ("rappor", [], "mechanism must be one of fresh, memoized, deck, rnip for strings to be discovered"),
        ("fresh", ["eps=4", "--values", "zipf:1.3"], "values must be a CSV file of value,count"),
        ("fresh", ["--preset", "x"], "strings to be discovered have no preset"),
    ):
        wrong = CliRunner().invoke(main, ["simulate", name, *arguments, *given])
        assert wrong.exit_code == 1
        assert message in wrong.stderr
