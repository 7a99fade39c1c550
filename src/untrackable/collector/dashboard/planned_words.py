"""Makes plans and new campaigns, and puts them into words."""

import shlex
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from untrackable import strict_json
from untrackable.accounting.check import verify
from untrackable.collector.dashboard.outdated_jobs import stop_if_outdated
from untrackable.collector.dashboard.shown_plan import ShownCampaign, ShownChange, ShownPlan, ShownTable
from untrackable.collector.dashboard.typed_fields import Asked
from untrackable.display import plan_words
from untrackable.display.campaign_accuracy import accuracy_words, campaign_accuracy, spread_words
from untrackable.display.campaign_words import guarantee_words, schedule_words
from untrackable.encodings.choices import Choices
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.planning.goals import Goals
from untrackable.planning.nearest_changes import Change
from untrackable.planning.plans import Plan, plan
from untrackable.planning.rounding import rounded_up
from untrackable.protocol.crowd_declaration import Gateway


def shown_plan(goals: Goals) -> ShownPlan:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    found = _planned(goals)
    told = [*plan_words.accuracy(found), plan_words.ranking(found)]
    return ShownPlan(
        usable=found.met,
        verdict=tuple(told if found.met else [f"Not met. {found.why}", *told]),
        learned=(*plan_words.observers(found), plan_words.relay(found)),
        more=tuple(plan_words.details(found)),
        figures=ShownTable(plan_words.COLUMNS, tuple(plan_words.rows(found)), plan_words.caption(found)),
        ways=ShownTable(plan_words.WAY_COLUMNS, tuple(plan_words.way_rows(found.ways))) if found.ways else None,
        changes=() if found.met else tuple(map(_shown_change, found.changes)),
        parameters=strict_json.write(found.mechanism.to_json(), compact=True),
        command=_command(goals),
    )


def shown_campaign(asked: Asked, gateway: str | None) -> ShownCampaign:
    """The campaign of a plan. `gateway` has the public keys (JSON) for a campaign that relies on a crowd."""
    found = _planned(asked.goals)
    draft, encoding = found.campaign(), asked.goals.encoding
    if isinstance(encoding, HashedStrings):  # Plans are made with a salt that says nothing.
        fresh = HashedStrings.fresh(bits=encoding.bits, longest=encoding.longest, too_long=encoding.too_long)
        draft = draft.with_encoding(fresh)
    made = draft.campaign(
        question=asked.question,
        first_round=asked.first_round,
        round_seconds=asked.round_seconds,
        gateway=None if gateway is None else Gateway.from_json(strict_json.parse(gateway)),
    )
    verified = verify(made)
    if not verified.holds:
        raise ValueError(f"this campaign would not keep what it declares: {'; '.join(verified.problems)}")
    accuracy = campaign_accuracy(made, found.solved.people or 1)
    shares = asked.goals.want == "frequencies"
    return ShownCampaign(
        id=made.id,
        document=made.to_bytes().decode(),
        answers=made.encoding.describe(),
        schedule=schedule_words(made),
        guarantee=tuple(guarantee_words(made, strict_json.write(verified.to_json()))),
        accuracy=accuracy_words(accuracy) if shares else plan_words.accuracy(found)[0].removesuffix("."),
        spread=spread_words(accuracy) if shares else "",
        usable=accuracy.usable or not shares,
    )


@lru_cache(maxsize=8)
def _planned(goals: Goals) -> Plan:
    """A plan. Somebody who looks at it often wants the campaign next."""
    return plan(goals=goals, progress=lambda what, done: stop_if_outdated())


def _shown_change(change: Change) -> ShownChange:
    """A change, with what to send for it if a field makes it."""
    if change.goal in ("people", "rounds", "pooled"):
        return ShownChange(change.text, urlencode({change.goal: f"{change.value:,.0f}"}))
    if change.goal == "eps":
        return ShownChange(change.text, urlencode({"protection": "other", "eps": f"{rounded_up(change.value):g}"}))
    return ShownChange(change.text, "")


def _command(goals: Goals) -> str:
    """The command that prints the same plan."""
    words = ["untrackable", "plan", *_asked_words(goals)]
    given: dict[str, Any] = {
        "--people": goals.people,
        "--rounds": goals.rounds,
        "--eps": goals.eps,
        "--error": goals.error,
    }
    usual = Goals(values=2, people=1, rounds=1, eps=1.0)
    different = {
        "--share": (goals.share, usual.share),
        "--wipes": (goals.wipes, usual.wipes),
        "--pooled": (goals.pooled, usual.pooled),
        "--looks": (goals.looks, usual.looks),
        "--crowd-delta": (goals.crowd_delta, usual.crowd_delta),
        "--margin": (float(goals.margin), float(usual.margin)),
    }
    given |= {name: value for name, (value, default) in different.items() if value != default}
    for name, value in given.items():
        if value is not None:
            words += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    if goals.want != "frequencies":
        words += ["--want", goals.want]
    return shlex.join(words + ["--relay"] * goals.relay)


def _asked_words(goals: Goals) -> list[str]:
    """What is asked, as the command takes it. Where each answer is one of a list, only their number counts."""
    if isinstance(goals.encoding, Choices):
        return [word for name in goals.encoding.names for word in ("--choice", name)]
    if goals.encoding is not None and goals.asked is not None:
        return ["--encoding", strict_json.write(goals.encoding.to_json(), compact=True)]
    return ["--values", str(goals.size)]
