"""`untrackable plan`: as a person types it, for one question or several."""

import json
import re
from pathlib import Path

import click
import pytest

from tests.cli.commands import run
from untrackable.encodings import Categories
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.units import read_number

GOOD = ("--people", "100,000", "--values", "16", "--rounds", "52", "--eps", "4")
QUESTIONS = """
people = 100_000
rounds = 12
eps = 2
every = "7d"

[questions.smokes]
question = "Do you smoke?"
values = 2

[questions.age]
question = "How old are you?"
categories = ["young", "middle", "old"]
"""


def plan(*words: str) -> tuple[int, str]:
    done = run("plan", *words)
    return done.exit_code, done.output


def test_the_first_eight_lines_say_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    code, output = plan(*GOOD)
    assert code == 0
    lines = output.strip().splitlines()[:8]
    for line, begin in zip(
        lines,
        (
            "About 1,923 people answer one round: an answer that 5 % of people give, or fewer, is off by at most",
            "A quarter of the rounds, 13 together: ±0.564 points (upper; standard error 0.184, upper)",
            "All 52 rounds together: ±0.276 points",
            "Can answers be ranked? Yes: two shares that differ by more than 4.5 points in one round",
            "Nobody can follow a person: each sends one report",
            "The collector alone learns of a person's answer at most eps 4, for ever and with delta 0",
            "Relay and collector together learn no more than that",
            "A relay would change no error, only the collector's view: among the 1,729 reports",
        ),
        strict=True,
    ):
        assert line.startswith(begin), line
    assert "would be more accurate from eps 48.16 on" in output
    assert '"wipes":0' in output.replace(" ", "")
    assert "memoized" not in output


@pytest.mark.parametrize("width", ["60", "100"])
def test_narrow_terminals(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    code, output = plan(*GOOD)
    assert code == 0
    assert max(len(line) for line in click.unstyle(output).splitlines()) <= int(width)


def test_every_round_is_computed_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, output = plan("--people", "1e5", "--values", "2", "--rounds", "4", "--eps", "1", "--all")
    assert code == 0
    told = output[output.index("everybody in every round instead") :]
    assert re.search(r"^deck +[\d.]+", told, re.M)
    assert re.search(r"^memoized +[\d.]+ +yes", told, re.M)
    result = json.loads(
        plan("--people", "1e5", "--values", "2", "--rounds", "4", "--eps", "1", "--all", "--json")[1]
    )
    assert {row["name"] for row in result["every_round"]} >= {"deck", "fading", "rnip"}
    assert "every_round" not in json.loads(plan(*GOOD, "--json")[1])


def test_json_has_everything(tmp_path: Path) -> None:
    encoding = tmp_path / "encoding.json"
    encoding.write_text(json.dumps(Categories(names=["a", "b", "c"]).to_json()), encoding="utf-8")
    asked = ("--encoding", str(encoding), "--rounds", "12", "--eps", "2", "--error", "0.05", "--relay", "--json")
    code, output = plan(*asked)
    result = json.loads(output)
    assert code == 0
    assert (result["unknown"], result["met"], result["changes"]) == ("people", True, [])
    assert result["solved"]["people"] > 1000
    assert result["promises"]["figure"]["radius_upper"] <= 0.05
    assert result["crowd"]["everybody"]["certainty"] == "bracket"
    draft = CampaignDraft.from_json(result["campaign"])
    assert draft.guarantee.eps == 2
    assert draft.guarantee.crowd is not None
    assert result["campaign"]["guarantee"]["crowd"]["reports"] == result["crowd"]["reports"]


def test_numbers_as_people_type_them() -> None:
    result = [
        json.loads(plan("--people", people, "--values", "4", "--rounds", rounds, "--eps", eps, "--json")[1])[
            "solved"
        ]
        for people, rounds, eps in (("1000000", "1000", "2"), ("1e6", "1e3", "2.0"), ("1,000,000", "1,000", "2e0"))
    ]
    assert result[0] == result[1] == result[2]
    assert [read_number(text) for text in ("1_000", "2.5e3", ".5")] == [1000, 2500, read_number("0.5")]
    for wrong in ("1,00", "1e", "ten", "1,000,00", "", "nan", "inf"):
        with pytest.raises(ValueError, match="is not a number such as"):
            read_number(wrong)


def test_goals_that_are_not_met_name_the_nearest_changes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    asked = ("--people", "1e5", "--values", "1024", "--rounds", "52", "--eps", "1.5", "--error", "0.08")
    code, output = plan(*asked)
    assert code == 1
    lines = output.strip().splitlines()
    assert lines[0] == "Not met. The error would be ±12.6 points (upper), and ±8 points is asked for."
    assert lines[1] == "Instead: rounds 2.37 times as long: 22 instead of 52 in the same time."
    assert lines[2] == "Instead: 3 rounds pooled for one figure."
    assert lines[3] == "Instead: at most 11 answers."
    assert lines[4] == "Instead: eps 2.26."
    assert lines[5].startswith("Instead: 234,")
    assert lines[6].startswith("A relay would not change the error.")
    assert "campaign new" not in output
    assert json.loads(plan(*asked, "--json")[1])["campaign"] is None


def test_the_next_commands_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = [line.strip() for line in plan(*GOOD, "--relay")[1].splitlines()]
    assert "untrackable plan --people 100000 --values 16 --rounds 52 --eps 4 --relay --json > plan.json" in lines
    assert "untrackable gateway new gateway.keys --json > gateway.json" in lines
    assert any(line.startswith("untrackable campaign new campaign.json --plan plan.json") for line in lines)
    assert "with any visit in their round if the relay holds reports." in " ".join(lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--people", "10", "--values", "2", "--rounds", "5", "--eps", "0"), "--eps must be positive"),
        (
            ("--values", "2", "--rounds", "5", "--eps", "1"),
            "--people and --error are missing: one of --people, --rounds, --eps and --error may",
        ),
        (("--people", "10", "--rounds", "5", "--eps", "1"), "give one of --encoding, --values, --bits"),
        (("--people", "10", "--values", "2", "--rounds", "often", "--eps", "1"), "is not a number such as 100000"),
        (("--people", "1.5", "--values", "2", "--rounds", "3", "--eps", "1"), "'1.5' is not a whole number"),
        ((*GOOD, "--share", "2"), "--share must be between 0 and 1"),
        ((*GOOD, "--wipes", "-1"), "--wipes must be between 0 and 100"),
        ((*GOOD, "--choice", "a"), "--choice says what the answers are"),
        ((*GOOD, "--campaign", "x.json"), "--campaign goes with --together"),
        ((*GOOD, "--html", "/no/such/folder/x.html"), "there is no folder"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], message: str) -> None:
    code, output = plan(*words)
    assert code != 0
    assert message in output


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_a_mean_or_quantiles_may_be_wanted(want: str, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    asked = ("--people", "1e6", "--values", "8", "--rounds", "3", "--eps", "2", "--want", want)
    code, output = plan(*asked, "--html", str(page))
    assert code == 0, output
    said = " ".join(output.split())
    assert {"quantiles": "the shares of people up to any number", "mean": "the mean, in hundredths"}[want] in said
    assert "What will this campaign tell?" in page.read_text("utf-8")


def test_strings_and_several_answers() -> None:
    said = " ".join(plan("--people", "1e8", "--strings", "8", "--rounds", "4", "--eps", "4")[1].split())
    assert "of people hold are found (predicted)" in said
    assert "Web pages cannot ask this" in said
    several = ("--people", "1e6", "--choice", "a", "--choice", "b", "--choice", "c", "--rounds", "4", "--eps", "4")
    said = " ".join(plan(*several)[1].split())
    assert "Best way to ask: one report about all questions together." in said
    assert "divide" in said
    assert "A web page needs a few lines" in said
    assert "sends one report, with a visit late enough in their round." in said


def test_questions_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file, place, page = tmp_path / "q.toml", tmp_path / "c.json", tmp_path / "p.html"
    file.write_text(QUESTIONS, encoding="utf-8")
    code, output = plan("--together", str(file), "--campaign", str(place), "--html", str(page))
    assert code == 0, output
    assert "2 questions in one campaign, with one turn for all of them." in output
    made = Campaign.from_bytes(place.read_bytes())
    assert made.question == "smokes: Do you smoke? age: How old are you?"
    assert made.turns is not None
    assert (made.turns.rounds, made.round_seconds, made.guarantee.eps) == (12, 7 * 86400, 2)
    assert "What will these questions tell?" in page.read_text("utf-8")
    result = json.loads(plan("--together", str(file), "--json")[1])
    assert set(result["questions"]) == {"smokes", "age"}
    assert {way["name"] for way in result["ways"]} == {"draw", "groups", "joint", "divide"}
    code, output = plan("--together", str(file), "--campaign", str(place))
    assert code != 0
    assert "exists already" in output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("eps = 2", "epsilon = 2", "epsilon is not known; known are people, rounds, eps"),
        ("values = 2", "values = 2\neps = 1", "question smokes: eps is for all questions together"),
        ("values = 2", 'choices = ["a", "b"]', "question smokes: choices is not known"),
        ('question = "Do you smoke?"', "", "question smokes: its text is missing"),
        ("[questions.age]", '[questions."a b"]', "a name has letters, digits, - and _ only"),
        ("values = 2", "values = 1", "question smokes: values must be at least 2"),
        ("eps = 2", "eps = 2\nrelay = true", "needs the public keys of the collector's gateway"),
        ("[questions", "[other", "has no questions"),
    ],
)
def test_wrong_files_of_questions(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "q.toml"
    file.write_text(QUESTIONS.replace(old, new), encoding="utf-8")
    code, output = plan("--together", str(file), "--campaign", str(tmp_path / "c.json"))
    assert code != 0
    assert message in output
    assert not (tmp_path / "c.json").exists()


def test_other_options_do_not_go_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "q.toml"
    file.write_text(QUESTIONS, encoding="utf-8")
    code, output = plan("--together", str(file), "--eps", "1")
    assert code != 0
    assert "--eps does not go with --together: the file says what is asked for" in output
