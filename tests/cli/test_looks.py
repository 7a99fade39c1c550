"""Campaigns that ask for paths, from the plan to the estimate, by commands."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import output
from untrackable.protocol.campaign import Campaign

ANSWERS = ("--question", "Do you smoke?", "--category", "no", "--category", "yes")


def test_a_plan_becomes_a_campaign_with_looks(tmp_path: Path) -> None:
    plan, campaign = tmp_path / "plan.json", tmp_path / "c.json"
    plan.write_text(output("plan", "--people", "1e5", "--values", 2, "--rounds", 12, "--eps", 4, "--json"))
    assert json.loads(plan.read_text())["solved"]["looks"] == 4
    shown = output("campaign", "new", campaign, *ANSWERS, "--plan", plan, "--every", "1w")
    assert "3 in all. Each has 4 looks of 7 days." in shown
    made = Campaign.from_bytes(campaign.read_bytes())
    assert (made.rounds, made.looks, made.round_seconds) == (3, 4, 4 * 7 * 86_400)
    assert made.answers.describe() in shown
    assert "it keeps what it declares" in output("campaign", "verify", campaign)


def test_looks_are_given(tmp_path: Path) -> None:
    campaign = tmp_path / "c.json"
    given = ("campaign", "new", campaign, *ANSWERS, "--rounds", 12, "--eps", 4)
    assert "--rounds must be a multiple of --looks, 5, got 12" in output(*given, "--looks", 5, code=1)
    assert "standard error of a round is 0.0061" in output(*given, "--looks", 2, "--people", 40_000)
    assert Campaign.from_bytes(campaign.read_bytes()).rounds == 6
    reports = tmp_path / "r.parquet"
    output("simulate", campaign, "--people", 20_000, "--out", reports)
    assert "yes" in output("estimate", reports)
    pairs = output("estimate", reports, "--table", "look 1, look 2")
    assert "no × yes" in pairs
    assert "look 1 to 2" in output("estimate", reports, "--table", "changes")


@pytest.mark.parametrize("more", [["--every-round"], ["--want", "mean"]])
def test_looks_are_for_one_turn_and_shares(more: list[str], tmp_path: Path) -> None:
    given = ("campaign", "new", tmp_path / "c.json", "--question", "Age?", "--encoding")
    age = '{"type":"integer-range","version":1,"low":0,"high":3,"below":"error","above":"error"}'
    assert "looks" in output(*given, age, "--rounds", 12, "--looks", 4, *more, code=1)
