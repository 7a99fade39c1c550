"""`untrackable plan`: as a person types it."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from untrackable import Categories
from untrackable.cli import main
from untrackable.theory.crowd_counts import MARGIN, counted_crowd


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["plan", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


GOOD = ("--people", "100000000", "--values", "16", "--rounds", "12", "--eps", "2")


def test_a_table_a_recommendation_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, output = run(*GOOD)
    assert code == 0
    assert output.splitlines()[1].startswith("deck: frequencies are off by at most")
    for part in (
        "(upper; all values at once",
        "advantage 0 (exact)",
        '"mechanism": "deck"',
        "The paper's own selection",
    ):
        assert part in " ".join(output.split())
    assert "memoized: Its reports can be followed: advantage is at least" in output


@pytest.mark.parametrize("width", ["60", "100"])
def test_narrow_terminals(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, output = run(*GOOD, "--advantage", "0")
    assert code == 0
    assert max(len(line) for line in output.splitlines()) <= int(width)
    assert "  deck: bits=4, slots=12, eps_report=" in output


def test_json_has_everything(tmp_path: Path) -> None:
    encoding = tmp_path / "encoding.json"
    encoding.write_text(json.dumps(Categories(names=["a", "b", "c"]).to_json()), encoding="utf-8")
    code, output = run(
        "--encoding", str(encoding), "--rounds", "12", "--eps", "2", "--error", "0.05", "--advantage", "0", "--json"
    )
    found = json.loads(output)
    assert code == 0
    assert found["unknown"] == "people"
    best = found["options"][0]
    assert best["name"] == found["campaign"]["mechanism"]["mechanism"] == "deck"
    assert best["tracked"] == {"lower": 0.0, "upper": 0.0, "certainty": "exact"}
    assert best["error_upper"] <= 0.05
    assert found["campaign"]["encoding"]["names"] == ["a", "b", "c"]
    assert found["campaign"]["guarantee"] == {
        "eps": 2.0,
        "delta": 1e-6,
        "values": "fixed",
        "gamma": 0.0,
        "tracking_delta": 0.0,
        "recognition": 0.001736,
    }
    assert found["campaign"]["attendance"]["participation"] == best["participation"] == "1/6"
    assert best["recognised"]["recognition"]["upper"] <= 0.001736
    assert found["goals"]["places"] == ["1/2", "1/2"]
    assert {r["binding"] for r in found["refusals"]} >= {"tracking", "privacy", "values"}


@pytest.mark.parametrize(
    "words",
    [  # the cases of docs/planning.md, and one whose mechanism leaves traces, with eps solved for
        "--people 1000000 --values 2 --rounds 365 --eps 1 --changes --pooled 30",
        "--values 1024 --rounds 52 --eps 2 --error 0.01",
        "--people 50000000 --strings 20 --rounds 12 --eps 4 --changes",
        "--people 1000000 --values 2 --rounds 365 --eps 1 --error 0.3",
        "--people 1000000 --values 2 --rounds 30 --error 0.1 --reports 5 --matched 0.01",
    ],
)
def test_from_a_plan_to_a_campaign(words: str, tmp_path: Path) -> None:
    planned, place = tmp_path / "plan.json", tmp_path / "campaign.json"
    code, output = run(*words.split(), "--json")
    assert code == 0
    planned.write_text(output, encoding="utf-8")
    new = ["campaign", "new", str(place), "--plan", str(planned), "--question", "Which?", "--every", "1w"]
    made = CliRunner().invoke(main, new)
    assert made.exit_code == 0, made.output
    document, fragment = json.loads(place.read_text("utf-8")), json.loads(output)["campaign"]
    assert {name: document[name] for name in fragment} == fragment
    verified = CliRunner().invoke(main, ["campaign", "verify", str(place)])
    assert verified.exit_code == 0, verified.output


IN_CROWD = ("--people", "100000", "--values", "16", "--rounds", "12", "--crowd-eps", "1", "--eps", "64")


def test_from_a_plan_for_a_crowd_to_a_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that a plan prints, one after the other."""
    monkeypatch.chdir(tmp_path)
    invoke = CliRunner().invoke
    Path("plan.json").write_text(run(*IN_CROWD, "--json")[1], encoding="utf-8")
    public = invoke(main, ["gateway", "new", "gateway.keys", "--keys", "3", "--every", "4", "--json"]).stdout
    Path("gateway.json").write_text(public, encoding="utf-8")
    new = ["campaign", "new", "campaign.json", "--plan", "plan.json", "--question", "Which?"]
    for options, words in (
        ([], "needs the public keys of the collector's gateway"),
        (["--gateway", "gateway.keys"], "Give what `untrackable gateway show KEYS --json` prints"),
        (["--gateway", "gateway.json", "--crowd-people", "5"], "--plan already sets --crowd-people"),
    ):
        refused = invoke(main, [*new, *options])
        assert refused.exit_code == 1
        assert words in refused.stderr
        assert not Path("campaign.json").exists()
    made = invoke(main, [*new, "--gateway", "gateway.json"])
    assert made.exit_code == 0, made.output
    document = json.loads(Path("campaign.json").read_text("utf-8"))
    fragment = json.loads(Path("plan.json").read_text("utf-8"))["campaign"]
    assert {name: document[name] for name in fragment} == fragment
    counted = counted_crowd(100_000, Fraction(document["attendance"]["participation"]), MARGIN)
    assert document["guarantee"]["crowd"] == {"eps": 1, "delta": 1e-6, "people": counted}
    assert document["gateway"] == json.loads(public)
    verified = invoke(main, ["campaign", "verify", "campaign.json"])
    assert verified.exit_code == 0, verified.output
    assert "if relay and collector work together: " in verified.output
    assert f"in a crowd of {counted:,} (a round is published from " in verified.output


def test_a_plan_for_a_crowd_says_what_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*IN_CROWD)[1].splitlines()
    said = " ".join(" ".join(lines).split())
    assert "all reports ever have eps at most 0.9659 (upper; at least 0.95" in said
    assert "Up to 5 % of 100,000 people may be missing from a round." in said
    assert "(exact) at delta = 1e-06, which is hardly any protection; the limit is 64." in said
    assert "by other answers at most 1;" not in said
    assert "mechanism eps alone crowd figure answered recognised followed" in [" ".join(x.split()) for x in lines]
    assert "  untrackable gateway new gateway.keys --json > gateway.json" in lines
    assert '--plan plan.json --question "…" \\ --gateway gateway.json' in said


def test_a_plan_with_answers_of_ones_own(tmp_path: Path) -> None:
    fragment = json.dumps(json.loads(run(*GOOD, "--json")[1])["campaign"])
    place = tmp_path / "campaign.json"
    new = ["campaign", "new", str(place), "--plan", fragment, "--question", "Which?"]
    done = CliRunner().invoke(main, [*new, "--category", "a", "--category", "b"])
    assert done.exit_code == 0, done.output
    assert json.loads(place.read_text("utf-8"))["encoding"]["names"] == ["a", "b"]
    place.unlink()
    too_many = [word for i in range(17) for word in ("--category", f"answer {i}")]
    done = CliRunner().invoke(main, [*new, *too_many])
    assert done.exit_code == 1
    assert "does not take all 17 values" in done.output
    assert not place.exists()


def test_attendance_is_asked_for_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, output = run(*GOOD, "--places", "0.8,0.2", "--persistence", "3", "--advantage", "0")
    assert code == 0
    said = " ".join(output.split())
    assert "Each person answers about one round in" in said
    assert "where people are 4/5 and 1/5 of the time for 3 rounds at a time" in said
    assert "--persistence 3 " in said
    assert "--places 0.8,0.2 " in said
    code, output = run(*GOOD, "--recognition", "1", "--advantage", "0", "--json")
    assert json.loads(output)["options"][0]["participation"] == "1"
    code, output = run(*GOOD, "--participation", "1/2", "--advantage", "0")
    assert code == 1
    assert "It needs a participation of 1/6, or clients that answer from one network only" in " ".join(
        output.split()
    )


def test_the_next_commands_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = [line.strip() for line in run(*GOOD, "--advantage", "0")[1].splitlines()]
    assert f"untrackable plan {' '.join(GOOD)} --advantage 0 --json > plan.json" in lines
    assert 'untrackable campaign new campaign.json --plan plan.json --question "…"' in lines
    typed = (
        "--buckets",
        "50ms:20s:14:log",
        "--above",
        "clamp",
        "--people",
        "1000000",
        "--rounds",
        "1",
        "--eps",
        "1",
    )
    lines = [line.strip() for line in run(*typed)[1].splitlines()]
    assert f"untrackable plan {' '.join(typed)} --json > plan.json" in lines


def test_nothing_does_it() -> None:
    code, output = run("--people", "1000", "--values", "16", "--rounds", "300", "--eps", "0.5", "--error", "0.01")
    assert code == 1
    assert output.lstrip().startswith("Not usable: the error would be more than ±1, and it must be at most ±0.01.")
    assert "No mechanism meets these goals." in " ".join(output.split())
    assert "The nearest is deck. It needs" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--people", "10", "--values", "2", "--rounds", "5", "--eps", "0"), "--eps must be positive"),
        (
            ("--values", "2", "--rounds", "5", "--eps", "1"),
            "--people and --error are missing: one of --people, --rounds, --eps and --error may",
        ),
        (("--people", "10", "--rounds", "5", "--eps", "1"), "give one of --encoding, --values, --bits"),
        (("--people", "10", "--values", "2", "--rounds", "often", "--eps", "1"), "neither a number nor forever"),
        ((*GOOD, "--advantage", "0.1", "--matched", "0.1"), "contradict each other"),
        ((*GOOD, "--places", "0.9,0.9"), "--places must be shares of at most 1"),
        ((*GOOD, "--participation", "2"), "--participation must be between 0 and 1"),
        ((*GOOD, "--html", "/no/such/folder/x.html"), "there is no folder"),
        ((*GOOD, "--observer", "alone", "--crowd-eps", "1"), "--crowd-eps is for --observer crowd"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], message: str) -> None:
    code, output = run(*words)
    assert code != 0
    assert message in output


def test_a_file_that_is_no_encoding(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"type": "nothing"}', encoding="utf-8")
    code, output = run("--encoding", str(path), "--people", "10", "--rounds", "5", "--eps", "1")
    assert code != 0
    assert "type must be one of" in output


def test_users_is_another_word_for_people() -> None:
    assert run("--users", *GOOD[1:], "--json")[0] == 0
    help_text = " ".join(run("--help")[1].split())
    assert "--people N People who take part." in help_text


def test_a_mean_or_quantiles_may_be_wanted(tmp_path: Path) -> None:
    question = ("--people", "10000000", "--values", "8", "--rounds", "3", "--eps", "2")
    asked = (*question, "--advantage", "0", "--recognition", "1", "--want")
    found = json.loads(run(*asked, "quantiles", "--json")[1])
    assert found["goals"]["want"] == "quantiles"
    assert "views" in {option["name"] for option in found["options"]}
    assert "shares of people up to a number are off by at most" in found["verdict"][0]
    page = tmp_path / "plan.html"
    code, output = run(*asked, "mean", "--html", str(page))
    assert code == 0, output
    assert "one-bit" in page.read_text("utf-8")
    assert "of the mean, as a share of the range of numbers" in page.read_text("utf-8")
