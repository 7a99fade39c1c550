"""`untrackable simulate` and `untrackable estimate`, as a person uses them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.cli.commands import run
from untrackable import Deck, write_reports
from untrackable.encodings.days_of_use import ACTIVE_DAYS, RETENTION
from untrackable.encodings.numbers import IntegerRange

COLOURS = '{"type":"categories","version":1,"names":["red","green","blue"],"unknown":"other"}'


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.parquet"
    done = run(
        "simulate", "deck", "bits=4", "slots=9", "eps_report=2", "--people", 4000, "--rounds", 4, "--out", path
    )
    assert done.exit_code == 0, done.output
    return path


def test_from_simulation_to_answer(reports: Path, tmp_path: Path) -> None:
    done = run("estimate", reports, "--top", 3, "--consistent")
    assert done.exit_code == 0
    assert "4 rounds, 1 to 4, pooled: 16,000 reports counted" in done.output
    assert "█" in done.output
    assert "✓" in done.output
    assert "consistent" in done.output
    assert "(upper)" in done.output
    assert done.stderr == ""


def test_what_a_campaign_will_tell(tmp_path: Path) -> None:
    """Each person answers once: all rounds have as many reports as there are people, a third of them a third."""
    asked, held, path = tmp_path / "asked.json", tmp_path / "held.csv", tmp_path / "x.parquet"
    question = ("--question", "Dark?", "--category", "no", "--category", "yes", "--rounds", 12)
    assert run("campaign", "new", asked, *question, "--eps", 4).exit_code == 0
    held.write_text("value,count\nno,20000\nyes,10000\n")
    every = json.loads(run("simulate", asked, "--values", held, "--out", tmp_path / "all.parquet", "--json").output)
    assert (every["reports"], every["rounds"]) == (30_000, 12)
    done = run("simulate", asked, "--values", held, "--rounds", 4, "--out", path, "--json")
    told, declared = json.loads(done.output), json.loads(asked.read_text())
    assert told["mechanism"] == declared["mechanism"]
    assert told["encoding"]["names"] == ["no", "yes"]
    assert told["turns"] == {"rounds": 12, "share": "1"}
    # 30,000 draws with probability 1/3 have a standard deviation of 82. Six are passed once in 5·10^8 runs.
    assert abs(told["reports"] - 10_000) < 6 * 81.7
    again = run("simulate", asked, "--values", held, "--rounds", 4, "--out", tmp_path / "y.parquet")
    assert f"next: untrackable estimate {tmp_path / 'y.parquet'}\n" in again.output
    result = run("estimate", path)
    assert "those who answered are a random sample" in result.output
    assert run("estimate", path, "--turns", "12").output == result.output
    wrong = run("estimate", path, "--turns", "11").stderr
    assert wrong.startswith("Error: its reports were made with the turns ")
    assert "12" in wrong.partition(", not with ")[0]
    assert (tmp_path / "y.parquet").read_bytes() == path.read_bytes()
    refused = run("simulate", asked, "bits=1", "--out", tmp_path / "z.parquet")
    assert "a campaign says how reports are made: give no parameters" in refused.output
    more = run("simulate", asked, "--rounds", "13", "--out", tmp_path / "z.parquet")
    assert "--rounds must be at most 12, the rounds of this campaign, got 13" in more.output


def test_json_of_both(tmp_path: Path) -> None:
    path, held = tmp_path / "x.csv.gz", tmp_path / "held.csv"
    held.write_text("value,count\nred,3000\ngreen,1000\npink,500\n")
    done = run("simulate", "deck", "--encoding", COLOURS, "--values", held, "--out", path, "--json")
    told = json.loads(done.output)
    assert (told["people"], told["reports"], told["rounds"]) == (4500, 4500, 1)
    assert told["most_held_exact"][0] == {"value": "red", "share": 2 / 3}
    assert told["mechanism"]["bits"] == 2
    answer = json.loads(run("estimate", path, "--json", "--consistent", "--beta", 0.01).output)
    assert answer["mechanism"] == told["mechanism"]
    assert answer["encoding"] == json.loads(COLOURS)
    assert answer["files"] == [{"path": str(path), "reports": 4500, "sealed": True}]
    best = answer["pooled"]["top"][0]
    assert best["value"] == "red"
    assert best["lower"] < 2 / 3 < best["upper"]
    assert best["stands_out"]
    assert answer["pooled"]["beta"] == 0.01
    assert sum(row["consistent"] for row in answer["pooled"]["top"]) == pytest.approx(1)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".json"])
def test_consistent_frequencies_are_exported_where_asked_for(ending: str, reports: Path, tmp_path: Path) -> None:
    for asked in ([], ["--consistent"]):
        out = tmp_path / f"x{ending}"
        assert run("estimate", reports, *asked, "--export", out, "--force").exit_code == 0
        if ending == ".json":
            columns = json.loads(out.read_text())["columns"]
        elif ending == ".csv":
            columns = pyarrow.csv.read_csv(out).to_pydict()
        else:
            read = pyarrow.parquet.read_table if ending == ".parquet" else pyarrow.feather.read_table
            columns = read(out).to_pydict()
        assert ("consistent" in columns) == bool(asked)
    assert sum(columns["consistent"]) == pytest.approx(1)
    assert min(columns["consistent"]) >= 0


def test_a_parameter_that_there_is_not_and_a_count_that_cannot_be(tmp_path: Path) -> None:
    done = run("simulate", "deck", "slotz=3", "--people", 5, "--out", tmp_path / "x.csv")
    assert done.exit_code == 1
    assert "deck takes bits, slots, eps_report, when_empty, width: there is no slotz" in done.stderr
    (tmp_path / "held.csv").write_text("value,count\n1,-3\n")
    done = run(
        "simulate", "deck", "bits=4", "slots=3", "eps_report=1", "--values", tmp_path / "held.csv", "--out", "x.csv"
    )
    assert done.exit_code == 1
    assert "held.csv, line 2: count must be a whole number between 0 and 1099511627776" in done.stderr


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("rounds", ["1", "1-4"])
def test_pictures(ending: str, rounds: str, reports: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"x{ending}"
    done = run("estimate", reports, "--only-rounds", rounds, "--plot", picture)
    assert done.exit_code == 0, done.output
    assert picture.stat().st_size > 1000
    assert f"wrote {picture}" in done.output


def test_pictures_of_rounds_that_cannot_be_pooled(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    run("simulate", "biloloha", "--people", 500, "--rounds", 3, "--out", path)
    done = run("estimate", path, "--plot", tmp_path / "x.png")
    assert done.exit_code == 0, done.output
    assert "cannot be pooled" in done.output
    assert "here round 3" in done.output


@pytest.fixture(scope="module")
def stepping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of 8 rounds; from round 5 on, everybody holds 12 and not 3."""
    path = tmp_path_factory.mktemp("stepping") / "steps.parquet"
    deck = Deck(bits=4, slots=8, eps_report=3.0)
    values = np.where(np.arange(8) < 4, 3, 12)[None, :].repeat(600, axis=0)
    (batch,) = deck.simulate(values, rounds=8, seed=1)
    pieces = [(i + 1, batch.reports[:, i]) for i in range(8)]
    write_reports(path, pieces, mechanism=deck, encoding=IntegerRange(low=0, high=15))
    return path


def test_each_round_and_what_changed(stepping: Path) -> None:
    done = run("estimate", stepping, "--by-round", "--top", 2, "--quantile", 0.25)
    assert done.exit_code == 0, done.output
    assert re.search(
        r"the share of 12 rose in round 5: rounds 5 to \d together are at least 8\d\.\d+ points above", done.output
    )
    assert "the share of 3 fell in round 5" in done.output
    for name in ("mean", "median", "25th percentile"):
        assert f"the {name} rose in round 5" in done.output
    assert "holds for all 8 rounds and all values together, except with probability 0.05 (upper)" in done.output
    still = run("estimate", stepping, "--by-round", "--only-rounds", "1-4", "--top", 2)
    assert "it is not certain that these changed: the mean, the median, the 95th percentile, the shares of 3" in (
        still.output
    )
    two = run("estimate", stepping, "--by-round", "--only-rounds", "1,2")
    assert "holds for both rounds together" in two.output
    one = run("estimate", stepping, "--by-round", "--only-rounds", "3")
    assert one.exit_code == 0, one.output


def test_numbers_by_round_are_a_short_table(stepping: Path) -> None:
    """A line for each round, and single values only if they are asked for."""
    done = run("estimate", stepping, "--by-round")
    (heading,) = [line for line in done.output.splitlines() if "reports " in line and "mean" in line]
    assert re.search(r"round +reports +mean +median +95th percentile", heading)
    rows = [line.split() for line in done.output.splitlines() if re.match(r"\d +\d", line)]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 9)]
    told = json.loads(run("estimate", stepping, "--by-round", "--json").output)
    for row, told_row in zip(rows, told["numbers"][0]["rounds"], strict=True):
        low, high = (float(cell.strip("()")) for cell in (row[3], row[5]))
        assert low <= told_row["lower"] + 1e-12
        assert told_row["upper"] <= high + 1e-12
        assert float(row[2]) == pytest.approx(told_row["estimate"], rel=0.005)
    assert "the share of" not in done.output
    assert "the shares of single values are in --json, --plot and --export, and shown with --top" in done.output
    assert len(done.output.splitlines()) < 30
    assert len(told["shares"]) == 16, "they are in the JSON"


def test_many_rounds_are_the_last_ones(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    run("simulate", "deck", "bits=1", "slots=30", "eps_report=2", "--people", 300, "--rounds", 30, "--out", path)
    done = run("estimate", path, "--by-round", "--top", 1)
    assert "the last 24 of 30 rounds; --json and --plot have all of them" in done.output
    assert re.search(r"^0 +7 ", done.output, re.MULTILINE)
    assert len(json.loads(run("estimate", path, "--by-round", "--json").output)["shares"][0]["rounds"]) == 30


def test_json_of_each_round(stepping: Path) -> None:
    told = json.loads(run("estimate", stepping, "--by-round", "--top", 1, "--json", "--beta", 0.01).output)
    assert told["beta"] == 0.01
    (share,) = told["shares"]
    assert [row["round"] for row in share["rounds"]] == list(range(1, 9))
    for row in share["rounds"]:
        assert row["lower"] <= min(1.0, max(0.0, row["estimate"])) <= row["upper"]
    (change,) = share["changes"]
    assert (change["first"], change["last"], change["before"][1], change["after"][0]) == (4, 5, 4, 5)
    assert [number["name"] for number in told["numbers"]] == ["mean", "median", "95th percentile"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".json"])
def test_exports_of_each_round(ending: str, stepping: Path, tmp_path: Path) -> None:
    out = tmp_path / f"x{ending}"
    done = run("estimate", stepping, "--by-round", "--export", out, "--consistent")
    assert f"wrote {out}" in done.output
    if ending == ".json":
        columns = json.loads(out.read_text())["columns"]
    elif ending == ".csv":
        columns = pyarrow.csv.read_csv(out).to_pydict()
    else:
        read = pyarrow.parquet.read_table if ending == ".parquet" else pyarrow.feather.read_table
        columns = read(out).to_pydict()
    assert columns["round"] == [number for number in range(1, 9) for _ in range(16)]
    assert set(columns["reports"]) == {600}
    all_told = json.loads(run("estimate", stepping, "--by-round", "--top", 1, "--json").output)
    for name, number in zip(("mean", "quantile_0.5", "quantile_0.95"), all_told["numbers"], strict=True):
        for end, key in (("", "estimate"), ("_lower", "lower"), ("_upper", "upper")):
            assert columns[name + end] == [row[key] for row in number["rounds"] for _ in range(16)]
    told = all_told["shares"][0]
    rows = [i for i, value in enumerate(columns["value"]) if str(value) == told["name"]]
    assert [columns["upper_simultaneous"][i] for i in rows] == [row["upper"] for row in told["rounds"]]
    assert all(a >= b for a, b in zip(columns["upper_simultaneous"], columns["upper"], strict=True))


def test_numbers_that_the_reports_of_a_round_cannot_tell_are_not_invented(tmp_path: Path) -> None:
    path, table, picture = tmp_path / "weak.parquet", tmp_path / "x.csv", tmp_path / "x.png"
    asked = ("deck", "bits=4", "slots=3", "eps_report=0.05", "--people", 200, "--rounds", 3)
    run("simulate", *asked, "--buckets", "50ms:20s:14:log", "--out", path)
    done = run("estimate", path, "--by-round", "--top", 1, "--export", table, "--plot", picture)
    assert done.exit_code == 0, done.output
    assert " ".join(done.output.split()).count("cannot tell (0.05 … 20)") == 9
    assert "cannot tell: the band of that round leaves out less than a tenth of what is possible" in done.output
    assert "changes: all of them are real" in done.output
    told = json.loads(run("estimate", path, "--by-round", "--json").output)["numbers"]
    assert {row["estimate"] for each in told for row in each["rounds"]} == {None}
    columns = pyarrow.csv.read_csv(table).to_pydict()
    assert set(columns["mean"]) == set(columns["quantile_0.95"]) == {None}
    assert set(columns["quantile_0.5_lower"]) == {50.0}


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_pictures_of_each_round(ending: str, stepping: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"x{ending}"
    done = run("estimate", stepping, "--by-round", "--plot", picture)
    assert done.exit_code == 0, done.output
    assert picture.stat().st_size > 1000
    if ending == ".svg":
        drawn = picture.read_text()
        for words in (
            "95th percentile",
            "holds for all rounds together",
            "for certain within the rounds of its bar",
        ):
            assert words in drawn


def test_days_of_use(tmp_path: Path) -> None:
    path, held = tmp_path / "x.csv", tmp_path / "held.csv"
    held.write_text("value,count\n0,3000\n20,9000\n")
    run("simulate", "deck", "--encoding", json.dumps(ACTIVE_DAYS.to_json()), "--values", held, "--out", path)
    assert "14 or more" in run("estimate", path).output
    shares = json.loads(run("estimate", path, "--json").output)["days"]
    assert [share["days"] for share in shares] == [1, 7, 14, 28]
    assert shares[2]["lower"] <= 0.75 <= shares[2]["upper"]
    held.write_text("value,count\nday 1 yes,3000\nday 1 no,9000\n")
    encoding = json.dumps(RETENTION.to_json())
    run("simulate", "deck", "--encoding", encoding, "--values", held, "--out", path, "--force")
    done = run("estimate", path)
    assert "D28: back on that day" in done.output
    assert "those who removed the program do not answer" in done.output


def _read_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, float_precision="round_trip")


def test_exports(reports: Path, tmp_path: Path) -> None:
    frames = {}
    for ending, read in ((".csv", _read_csv), (".parquet", pd.read_parquet), (".arrow", pd.read_feather)):
        path = tmp_path / f"all{ending}"
        assert run("estimate", reports, "--export", path).exit_code == 0
        frames[ending] = read(path).astype({"value": str})
    assert run("estimate", reports, "--export", tmp_path / "all.json").exit_code == 0
    columns = json.loads((tmp_path / "all.json").read_text())["columns"]
    for frame in frames.values():
        assert len(frame) == 16
        assert frame["frequency"].tolist() == columns["frequency"]
        assert frame["value"].tolist() == columns["value"]


def test_files_that_do_not_say_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("report\n5\n6\n7\n")
    given = ("--mechanism", "deck bits=3 slots=2 eps_report=1 width=1")
    done = run("estimate", path, *given, "--assume-round", 1)
    assert done.exit_code == 0, done.output
    assert "has no checksum" in done.output
    assert "does not say of which round" in run("estimate", path, *given).stderr
    assert "does not say which mechanism" in run("estimate", path).stderr
    assert "--preset needs --mechanism" in run("estimate", path, "--preset", "paper").stderr
    assert "must be a mechanism, such as" in run("estimate", path, "--mechanism", "").stderr
    assert "No closing quotation" in run("estimate", path, "--mechanism", "deck 'bits=3").stderr


def test_a_mechanism_is_written_in_one_way(tmp_path: Path) -> None:
    path, described = tmp_path / "x.csv", tmp_path / "deck.json"
    path.write_text("report\n5\n6\n7\n")
    deck = Deck(bits=3, slots=2, eps_report=1.0, width=1).to_json()
    described.write_text(json.dumps(deck))
    words = ("bits=3", "slots=2", "eps_report=1", "width=1")
    ways = [" ".join(("deck", *words)), str(described), json.dumps(deck)]
    told = [run("estimate", path, "--assume-round", 1, "--json", "--mechanism", way) for way in ways]
    assert len({done.stdout for done in told}) == 1
    assert [done.stderr for done in told] == ["", "", ""]
    more = run("estimate", path, "--mechanism", f"{described} bits=4")
    assert "JSON says all parameters of a mechanism" in more.stderr
    assert "cannot read no.json" in run("estimate", path, "--mechanism", "no.json").stderr


def test_candidates_of_hashed_strings_and_of_rappor(tmp_path: Path) -> None:
    held, listed, path = tmp_path / "held.csv", tmp_path / "listed.txt", tmp_path / "x.npz"
    held.write_text("value,count\ncat,3000\ndog,1500\n")
    listed.write_text("dog\ncat\ncow\n")
    hashed = json.dumps(
        {"type": "hashed-strings", "version": 1, "bits": 40, "salt": "00" * 16, "longest": 9, "too_long": "error"}
    )
    commands = (
        ("fresh", "bits=40", "eps=4", "--encoding", hashed),
        ("rappor", "--preset", "paper"),
    )
    for command in commands:
        done = run("simulate", *command, "--values", held, "--out", path, "--force")
        assert done.exit_code == 0, done.output
        answer = json.loads(run("estimate", path, "--candidates", listed, "--json").output)
        rows = sorted(answer["pooled"]["top"], key=lambda row: -row["unclamped"])
        assert [row["value"] for row in rows[:2]] == ["cat", "dog"]
        assert "candidates must be given" in run("estimate", path).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "poker", "--out", "x.csv"], "mechanism must be one of"),
        (["simulate", "deck", "bits=99999", "--out", "x.csv"], "deck takes bits"),
        (["simulate", "deck", "--out", "x.txt", "--people", "5"], "must end in one of"),
        (["simulate", "deck", "--out", "x.csv"], "people must be given"),
        (["simulate", "deck", "--out", "x.csv", "--values", "normal"], "values must be uniform, zipf"),
        (["simulate", "deck", "--out", "x.csv", "--encoding", "{"], "--encoding must be JSON"),
        (["simulate", "deck", "--out", "x.csv", "--encoding", "no.json"], "cannot read no.json"),
        (["simulate", "deck", "--out", "x.csv", "--encoding", '{"type": "x"}'], "type must be one of"),
        (["estimate", "no.csv"], "cannot read no.csv: No such file"),
        (["estimate", "."], "Is a directory"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_no_answer(reports: Path) -> None:
    reports.write_bytes(reports.read_bytes()[:-100])
    for more in ((), ("--json",)):
        done = run("estimate", reports, *more)
        assert done.exit_code == 1
        assert done.stdout == ""
        assert "is damaged or truncated" in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--only-rounds", "x"), "rounds must be written 1-7,9"),
        (("--only-rounds", "1-99999999"), "with at most 1,048,576 numbers"),
        (("--only-rounds", "7"), "no reports in these rounds"),
        (("--plot", "x.txt"), "must end in one of .svg, .pdf, .png"),
        (("--export", "no/x.csv"), "there is no folder"),
        (("--candidates", "no.txt"), "cannot read no.txt"),
        (("--mechanism", "deck"), "made with the mechanism Deck(bits=4"),
        (("--encoding", '{"type":"bit","version":1,"zero":"no","one":"no"}'), "different names"),
        (("--beta", "0"), "not in the range"),
    ],
)
def test_options_that_are_wrong(option: tuple[str, str], message: str, reports: Path) -> None:
    done = run("estimate", reports, *option)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert done.stdout == ""


def test_a_pipe_sees_numbers_only(tmp_path: Path) -> None:
    """As a program: nothing on standard error unless it is a terminal, no escape codes on standard output."""
    path = tmp_path / "x.parquet"
    for command in (["simulate", "deck", "--people", "1000", "--out", str(path)], ["estimate", str(path)]):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "untrackable", *command],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "80"},
        )
        assert done.stderr == ""
        assert "\x1b" not in done.stdout
    rows = done.stdout.splitlines()[2:-6]
    assert len(rows) > 16
    assert max(map(len, rows)) <= 80
