"""`untrackable discover` and `rappor-decode`: strings as tables, JSON and files, and errors in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import run
from tests.rappor_decode.collected import collected, zipf
from tests.rappor_decode.samples import write_counts, write_map, write_params
from untrackable import Deck, DiscoveredStrings, Fresh, Rappor, Stored, write_reports
from untrackable.mechanisms import interface
from untrackable.mechanisms.interface import Mechanism
from untrackable.rappor_decode.files import CandidateMap
from untrackable.reports.files import Header
from untrackable.reports.sums import discover_files, write_sums

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
    result = run("discover", str(reports), "--leads", "2", COLUMNS="140")
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
    result = run("discover", str(reports), "--leads", "10", COLUMNS="140")
    listed = [line.split()[0] for line in result.output.splitlines() if "may be noise" in line]
    leads = {lead.string or "(empty)": lead for lead in discover_files([reports], leads=10).leads}
    strength = [(leads[name].p_value, -leads[name].frequency / leads[name].standard_error) for name in listed]
    assert len(listed) == 10
    assert strength == sorted(strength)


def test_json(reports: Path) -> None:
    result = run("discover", str(reports), "--json", "--alpha", "0.01")
    read = json.loads(result.stdout)
    assert [entry["string"] for entry in read["strings"]] == ["cabbag", "head"]
    assert read["alpha"] == 0.01


def test_settings_that_find_nothing_are_named(tmp_path: Path) -> None:
    few = DiscoveredStrings(salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=9)
    mechanism, path = Fresh(few.local(4.0)), tmp_path / "few.parquet"
    (batch,) = mechanism.simulate(few.encode_many(["cabbag"] * 3000), rounds=1, seed=1)
    write_reports(path, [(1, batch.reports[:, 0])], mechanism=mechanism, encoding=few)
    result = run("discover", str(path), COLUMNS="300")
    assert "a string of 6 symbols cannot be found with these settings, even if everyone" in result.output
    assert json.loads(run("discover", str(path), "--json").stdout)["findable"] is None


def test_rounds_and_files_are_pooled_where_they_may(tmp_path: Path) -> None:
    deck = WORDS.deck(slots=3, eps=6.0, delta=1e-6)
    assert interface.from_json(deck.to_json()) == deck
    path = written(tmp_path / "deck.arrow", deck, rounds=3)
    assert discover_files([path]).n == 3 * len(PEOPLE)
    assert discover_files([path], rounds=[2]).n == len(PEOPLE)
    again = written(tmp_path / "more.npz", deck, rounds=1)
    assert discover_files([path, again]).n == 4 * len(PEOPLE)
    stored = written(tmp_path / "stored.csv", Stored(WORDS.local(4.0), 5), rounds=2)
    with pytest.raises(ValueError, match="do not pool: choose one"):
        discover_files([stored])
    assert discover_files([stored], rounds=[1]).n == len(PEOPLE)
    result = run("discover", str(path), "--only-rounds", "1,3", "--json")
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
        result = run("discover", *arguments)
        assert result.exit_code == 1, result.output
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1
    reports.write_bytes(reports.read_bytes()[:-20])
    assert run("discover", str(reports)).exit_code == 1


def test_simulated_strings_are_found(tmp_path: Path) -> None:
    encoding, words, out = tmp_path / "words.json", tmp_path / "words.csv", tmp_path / "x.parquet"
    encoding.write_text(json.dumps(WORDS.to_json()))
    words.write_text("value,count\nabba,3000\ncab,2000\nb,1\n")
    arguments = ["--encoding", str(encoding), "--values", str(words), "--out", str(out), "--force"]
    done = run("simulate", "deck", "slots=2", "eps_report=4", "--rounds", "2", *arguments)
    assert done.exit_code == 0, done.output
    assert "most held (exact): abba 59.99 %, cab 39.99 %, b 0.02 %" in done.stdout
    assert f"next: untrackable discover {out}" in done.stdout
    assert [result.string for result in discover_files([out]).strings] == ["abba", "cab"]
    for name, given, message in (
        ("deck", ["eps_report=4"], "deck takes slots, eps_report"),
        ("rappor", [], "mechanism must be one of fresh, memoized, deck, rnip for strings to be discovered"),
        ("fresh", ["eps=4", "--values", "zipf:1.3"], "values must be a CSV file of value,count"),
        ("fresh", ["--preset", "x"], "strings to be discovered have no preset"),
    ):
        wrong = run("simulate", name, *arguments, *given)
        assert wrong.exit_code == 1
        assert message in wrong.stderr


NAMES = ["cat", "dog", "fish, $fried_", "[bold] 猫", "owl", "ant"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    held = zipf(NAMES[:4], 20_000, np.random.default_rng(1))
    write_params(tmp_path / "params.csv", params)
    write_counts(tmp_path / "counts.csv", collected(params, held, 1))
    write_map(tmp_path / "map.csv", params, CandidateMap.of(params, NAMES))
    (tmp_path / "words.txt").write_text("\n".join(NAMES), encoding="utf-8")
    return [str(tmp_path / name) for name in ("params.csv", "counts.csv", "map.csv", "words.txt")]


def test_in_words(files: list[str]) -> None:
    done = run("rappor-decode", *files[:3])
    assert done.exit_code == 0, done.output
    assert "4 of 6 candidates were found in 20,000 reports" in done.stdout
    assert "Everlasting eps is infinite: f = 0" in done.stdout
    assert "[bold]" in done.stdout
    assert "sampled" in done.stdout


def test_a_map_or_candidates_as_json_with_a_picture(files: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "found.png"
    first = run("rappor-decode", *files[:3], "--json", "--fdr", "--complete")
    again = ["rappor-decode", *files[:2], "--candidates", files[3], "--json", "--fdr", "--complete"]
    second = run(*again, "--plot", str(picture))
    data = json.loads(first.stdout)
    assert data == json.loads(second.stdout)
    assert data["correction"] == "fdr"
    assert data["everlasting_eps_exact"] == "inf"
    assert [one["name"] for one in data["candidates_sampled"] if one["found"]] == NAMES[:4]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_reports_are_counted_first(files: list[str], tmp_path: Path) -> None:
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    held = zipf(NAMES[:4], 3000, np.random.default_rng(1))
    rows = ["client,cohort,bloom,prr,irr"]
    for batch in params.simulate(held, rounds=1, seed=1):
        for report in batch.reports[:, 0]:
            number = int.from_bytes(report.tobytes(), "little")
            rows.append(f"0,{number >> 32},,,{number & (1 << 32) - 1:032b}")
    (tmp_path / "reports.csv").write_text("\n".join(rows))
    write_counts(tmp_path / "counts.csv", collected(params, held, 1))
    counted = run("rappor-decode", *files[:3], "--json")
    arguments = [files[0], str(tmp_path / "reports.csv"), files[2], "--reports", "--json"]
    done = run("rappor-decode", *arguments)
    assert json.loads(done.stdout) == json.loads(counted.stdout)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (0, "k,h,m\n", "line 1: the header must be k,h,m,p,q,f"),
        (0, "k,h,m,p,q,f\n32,2,8,.25,.75,1\n", "f must be below 1"),
        (1, "1,2\n", "line 1: 2 columns instead of 33"),
        (2, "a,1\n", "line 1: 2 columns instead of 17"),
    ],
)
def test_malformed_files_are_one_line(files: list[str], file: int, text: str, message: str) -> None:
    Path(files[file]).write_text(text)
    done = run("rappor-decode", *files[:3], "--json")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_arguments(files: list[str], tmp_path: Path) -> None:
    for arguments, message in (
        (files[:2], "give either MAP or --candidates"),
        ([*files[:3], "--candidates", files[3]], "give either MAP or --candidates"),
        ([*files[:3], "--alpha", "0"], "0.0 is not in the range"),
        ([*files[:3], "--plot", str(tmp_path / "none" / "a.png")], "there is no folder"),
    ):
        done = run("rappor-decode", *arguments)
        assert done.exit_code == 2
        assert message in done.stderr
