"""Makes plans and new campaigns, and puts them into words."""

import dataclasses
import re
import shlex
from functools import lru_cache

from untrackable import strict_json
from untrackable.accounting.verification import verify
from untrackable.collector.dashboard.outdated_jobs import stop_if_outdated
from untrackable.collector.dashboard.shown_plan import ShownCampaign, ShownChange, ShownPlan
from untrackable.collector.dashboard.typed_fields import Asked
from untrackable.display import plan_words, way_words
from untrackable.display.campaign_accuracy import accuracy_words, campaign_accuracy, spread_words
from untrackable.display.campaign_words import guarantee_words, schedule_words
from untrackable.encodings.choices import Choices
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.planning.goals import Goals
from untrackable.planning.nearest_changes import Change
from untrackable.planning.plans import Plan, plan
from untrackable.protocol.crowd_declaration import Gateway

_COLUMNS = ("mechanism", "people", "rounds", "eps alone", "eps in the crowd", "error of a figure", "answered",
            "recognised", "followed", "report", "state")  # fmt: skip
"""The columns that a page shows. Parameters stand below the table."""


def shown_plan(goals: Goals) -> ShownPlan:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    found = _planned(goals)
    nearest = [(refusal.name, tuple(map(_shown_change, refusal.nearest))) for refusal in found.refusals]
    first, *others = plan_words.verdict(found)
    kept = [plan_words.COLUMNS.index(name) for name in _COLUMNS]
    rows = [plan_words.cells(option) for option in found.options]
    usable = bool(found.options) or found.separately
    compared = found.compared
    return ShownPlan(
        usable=usable,
        verdict=(first, *(others if usable else others[-1:])),  # The changes say what is nearest.
        columns=_COLUMNS,
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
        caption=plan_words.table_caption(goals),
        parameters=tuple((row[0], row[-1]) for row in rows),
        ways=() if compared is None else (way_words.COLUMNS, *way_words.ways(compared)),
        ways_caption="" if compared is None else way_words.caption(compared),
        separately=found.separately,
        refusals=tuple(plan_words.refusals(found)),
        changes=() if usable else tuple((name, changes) for name, changes in nearest if changes),
        command=_command(goals),
    )


def shown_campaign(asked: Asked, gateway: str | None) -> ShownCampaign:
    """The campaign of a plan. `gateway` has the public keys (JSON) for a campaign that relies on a crowd."""
    found = _planned(asked.goals)
    if not found.options and found.separately:
        raise ValueError(
            "no single campaign meets these goals, and a campaign for each table is made on the command line"
        )
    if not found.options:
        raise ValueError("no mechanism meets these goals, so there is no campaign to create")
    draft, encoding = found.campaign(), asked.goals.encoding
    if isinstance(encoding, HashedStrings):  # Plans are made with a salt that says nothing.
        fresh = HashedStrings.fresh(bits=encoding.bits, longest=encoding.longest, too_long=encoding.too_long)
        draft = draft.with_encoding(fresh)
    if asked.wipes is not None:
        declared = dataclasses.replace(draft.guarantee, wipes=asked.wipes)
        draft = dataclasses.replace(draft, guarantee=declared)
    made = draft.campaign(
        question=asked.question,
        first_round=asked.first_round,
        round_seconds=asked.round_seconds,
        gateway=None if gateway is None else Gateway.from_json(strict_json.parse(gateway)),
    )
    verified = verify(made)
    if not verified.holds:
        raise ValueError(f"this campaign would not keep what it declares: {'; '.join(verified.problems)}")
    accuracy = campaign_accuracy(made, found.options[0].goals.people or 1)
    shares = asked.goals.want == "frequencies"
    return ShownCampaign(
        id=made.id,
        document=made.to_bytes().decode(),
        answers=made.encoding.describe(),
        schedule=schedule_words(made),
        guarantee=tuple(guarantee_words(made, strict_json.write(verified.to_json()))),
        accuracy=accuracy_words(accuracy) if shares else plan_words.verdict(found)[0].removesuffix("."),
        spread=spread_words(accuracy) if shares else "",
        usable=accuracy.usable or not shares,
    )


@lru_cache(maxsize=8)
def _planned(goals: Goals) -> Plan:
    """A plan. Somebody who looks at it often wants the campaign next."""
    return plan(goals=goals, progress=lambda what, done: stop_if_outdated())


def _shown_change(change: Change) -> ShownChange:
    """A change with what to type for it. Numbers are those in its words, which are rounded to the safe side."""
    number = re.search(r"[0-9][0-9,.e+-]*", change.text)
    match change.goal:
        case "people" | "rounds" | "pooled" if isinstance(change.value, int):
            return ShownChange(change.text, change.goal, f"{change.value:,}")
        case "eps" | "advantage" | "recognition" if number is not None:
            return ShownChange(change.text, change.goal, number[0])
        case "one_network":
            return ShownChange(change.text, change.goal, "on")
        case "changes":
            return ShownChange(change.text, change.goal, "")
    return ShownChange(change.text, "", "")


def _command(goals: Goals) -> str:
    """The command that prints the same plan."""
    words = ["untrackable", "plan", *_asked_words(goals)]
    given = {
        "--people": goals.people,
        "--rounds": goals.rounds,
        "--eps": goals.eps,
        "--error": goals.error,
        "--crowd-eps": goals.crowd_eps,
    }
    usual = Goals(values=2, people=1, rounds=1, eps=1.0)
    different = {
        "--delta": (goals.delta, usual.delta),
        "--crowd-delta": (goals.crowd_delta, usual.crowd_delta),
        "--margin": (float(goals.margin), float(usual.margin)),
        "--advantage": (goals.advantage, usual.advantage),
        "--recognition": (goals.recognition, usual.recognition),
        "--pooled": (goals.pooled, usual.pooled),
    }
    given |= {name: value for name, (value, default) in different.items() if value != default}
    for name, value in given.items():
        if value is not None:
            words += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    if goals.want != "frequencies":
        words += ["--want", goals.want]
    words += ["--changes"] * goals.changes + ["--one-network"] * goals.one_network
    return shlex.join(words)


def _asked_words(goals: Goals) -> list[str]:
    """What is asked, as the command takes it. Where each answer is one of a list, only their number counts."""
    if isinstance(goals.encoding, Choices):
        return [word for name in goals.encoding.names for word in ("--choice", name)]
    if goals.encoding is not None and goals.asked is not None:
        return ["--encoding", strict_json.write(goals.encoding.to_json(), compact=True)]
    return ["--values", str(goals.size)]
