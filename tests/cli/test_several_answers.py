"""Several answers at once, planned and made into campaigns as a person types it; in a crowd too; and bad input."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.commands import run
from tests.protocol.test_crowd_declaration import GATEWAY
from untrackable import Campaign, strict_json
from untrackable.encodings import Bit, Categories, Record
from untrackable.mechanisms.interface import from_json
from untrackable.theory.crowd import fewest_likely_reports

CHOICES = ("--choice", "search", "--choice", "export it", "--choice", "share")
GOOD = ("--people", "1000000", "--rounds", "4", "--eps", "2")
PERSON = Record(attributes={"system": Categories(names=["linux", "mac", "windows"]), "dark": Bit()})
FUTURE = ("--first", "2090-01-01", "--question", "Which?")


def flat(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    place = tmp_path / "gateway.json"
    place.write_text(strict_json.write(GATEWAY.to_json()), encoding="utf-8")
    return place


def test_the_plan_says_which_way_is_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = run("plan", *CHOICES, *GOOD)
    assert told.exit_code == 0, told.output
    words = flat(told)
    for part in (
        "the share of an answer is off by at most",
        "untrackable plan --people 1000000 --choice search --choice 'export it' --choice share",
        "untrackable campaign new campaign.json --plan plan.json",
    ):
        assert part in words


def planned(tmp_path: Path, *words: str) -> Any:
    """What a plan prints as JSON, also in a file."""
    told = run("plan", *words, "--json")
    assert told.exit_code == 0, told.output
    (tmp_path / "plan.json").write_text(told.output, encoding="utf-8")
    return json.loads(told.output)


def test_the_plan_becomes_a_campaign(tmp_path: Path) -> None:
    place, plan = tmp_path / "campaign.json", str(tmp_path / "plan.json")
    encoding = json.dumps(PERSON.to_json())
    result = planned(tmp_path, "--encoding", encoding, *GOOD)
    made = run("campaign", "new", str(place), "--plan", plan, *FUTURE, "--people", "1000000")
    assert made.exit_code == 0, made.output
    campaign = Campaign.from_bytes(place.read_bytes())
    assert campaign.encoding == PERSON
    assert campaign.mechanism == from_json(result["campaign"]["mechanism"])
    assert run("campaign", "verify", str(place)).exit_code == 0
    alone = result["promises"]["one_round"]["radius_upper"]
    accurate = json.loads(run("campaign", "new", f"{place}2", "--plan", plan, *FUTURE, "--json").output)
    assert accurate["accuracy"]["error_upper"] == pytest.approx(alone)  # It is for the people of the plan.


@pytest.mark.parametrize("eps", ["2", "64"], ids=["quiet", "loud"])
def test_a_campaign_with_a_relay(tmp_path: Path, keys: Path, eps: str) -> None:
    place = tmp_path / "crowd.json"
    crowd = ("--rounds", "3", "--people", "6000", "--relay", "--gateway", str(keys))
    made = run("campaign", "new", str(place), *CHOICES, *crowd, "--eps", eps, *FUTURE)
    assert made.exit_code == 0, made.output
    campaign = Campaign.from_bytes(place.read_bytes())
    assert campaign.guarantee.crowd is not None
    assert campaign.guarantee.crowd.reports == fewest_likely_reports(6000, Fraction(19, 60))
    assert campaign.guarantee.eps == float(eps)
    assert campaign.guarantee.crowd.eps <= float(eps)
    assert json.loads(run("campaign", "verify", str(place), "--json").output)["holds"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--choice", "one"), "names must have at least 2 entries; for one, ask a yes/no question"),
        (("--choice", "a", "--choice", "a"), "names must be different"),
        ((*CHOICES, "--values", "2"), "--choice says what the answers are; leave out --values"),
        ((*CHOICES, "--want", "mean"), "want must be frequencies if there are several answers at once"),
        ((*CHOICES, "--encoding", "{}"), "give the possible answers with one of"),
    ],
    ids=["one", "twice", "two questions", "mean", "two encodings"],
)
def test_bad_choices(words: tuple[str, ...], why: str) -> None:
    told = run("plan", *words, *GOOD)
    assert told.exit_code == 1
    assert why in flat(told)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tables": [["system", "age"]]}, "tables must be of attributes, and age is none"),
        ({"tables": [["system", "system"]]}, "must be different, and in the order of the record"),
        ({"attributes": PERSON.to_json()["attributes"][:1], "tables": []}, "attributes must be two or more"),
        ({"attributes": PERSON.to_json()["attributes"][:1] * 2}, "each attribute must have its own name"),
    ],
    ids=["missing", "twice", "one attribute", "one name"],
)
def test_bad_records(change: dict[str, Any], why: str) -> None:
    told = run("plan", "--encoding", json.dumps({**PERSON.to_json(), **change}), *GOOD)
    assert told.exit_code == 1
    assert why in flat(told)


def test_too_many_cells() -> None:
    wide = {"type": "integer-range", "version": 1, "low": 0, "high": 999, "below": "error", "above": "error"}
    attributes = [{"name": name, "encoding": wide} for name in ("first", "second")]
    record = {**PERSON.to_json(), "attributes": attributes, "tables": [["first", "second"]]}
    told = run("plan", "--encoding", json.dumps(record), *GOOD)
    assert told.exit_code == 1
    assert "a table must have at most 65,536 cells; first, second has more" in flat(told)
