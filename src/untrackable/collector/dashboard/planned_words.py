"""Makes plans and new campaigns, and puts them into words."""

import shlex
from functools import lru_cache
from urllib.parse import urlencode

from untrackable import strict_json
from untrackable.accounting.check import make_campaign
from untrackable.collector.browser import takes_part
from untrackable.collector.dashboard.campaign_form import Asked, ShownCampaign, ShownChange, ShownPlan, ShownTable
from untrackable.collector.dashboard.heavy_work import stop_if_outdated
from untrackable.display import plan as shown
from untrackable.display.campaign import guarantee_words, schedule_words
from untrackable.display.campaign_accuracy import accuracy_words, campaign_accuracy, spread_words
from untrackable.encodings.encoding import Choices
from untrackable.encodings.strings import HashedStrings
from untrackable.planning.goal_fields import GOALS, UNKNOWNS
from untrackable.planning.goals import Goals, rounded_up
from untrackable.planning.plan import Change, Plan, plan
from untrackable.protocol.campaign import Campaign, Gateway


def shown_plan(goals: Goals) -> ShownPlan:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    best = _planned(goals)
    told = [*shown.accuracy(best), shown.ranking(best)]
    return ShownPlan(
        usable=best.met,
        verdict=tuple(told if best.met else [f"Not met. {best.why}", *told]),
        learned=(*shown.observers(best), shown.relay(best)),
        more=tuple(shown.details(best)),
        figures=ShownTable(shown.COLUMNS, tuple(shown.rows(best)), shown.caption(best)),
        ways=ShownTable(shown.WAY_COLUMNS, tuple(shown.way_rows(best.ways))) if best.ways else None,
        changes=() if best.met else tuple(map(_shown_change, best.changes)),
        parameters=strict_json.write(best.mechanism.to_json(), compact=True),
        command=_command(goals),
    )


def shown_campaign(asked: Asked, gateway: str | None) -> ShownCampaign:
    """The campaign of a plan. `gateway` has the public keys (JSON) for a campaign that relies on a crowd."""
    best = _planned(asked.goals)
    draft, encoding = best.campaign(), asked.goals.encoding
    if isinstance(encoding, HashedStrings):  # Plans are made with a salt that says nothing.
        fresh = HashedStrings.fresh(bits=encoding.bits, longest=encoding.longest, too_long=encoding.too_long)
        draft = draft.with_encoding(fresh)
    made, verified = make_campaign(
        draft,
        question=asked.question,
        first_round=asked.first_round,
        round_seconds=asked.round_seconds,
        gateway=None if gateway is None else Gateway.from_json(strict_json.parse(gateway)),
    )
    accuracy = campaign_accuracy(made, best.solved.people or 1)
    shares = asked.goals.want == "frequencies"
    return ShownCampaign(
        id=made.id,
        document=made.to_bytes().decode(),
        answers=made.encoding.describe(),
        schedule=schedule_words(made),
        guarantee=tuple(guarantee_words(made, strict_json.write(verified.to_json()))),
        accuracy=accuracy_words(accuracy) if shares else shown.accuracy(best)[0].removesuffix("."),
        spread=spread_words(accuracy) if shares else "",
        usable=accuracy.usable or not shares,
        in_pages=_page_words(made),
    )


def _page_words(made: Campaign) -> str:
    """What the campaign asks of a web page."""
    if not takes_part(made):
        return "Web pages cannot ask this: their client does not know this kind of campaign. Programs can."
    relay = " It must name a relay that the visitor trusts." if made.gateway is not None else ""
    return (
        "A page needs the lines that the campaign’s own page will show, and the visitor’s answer. It asks each "
        "visitor first, stores the answer in their browser, and sends one report. Questions for the same time must "
        f"be one campaign, a set.{relay}"
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
    usual = Goals(values=2, people=1, rounds=1, eps=1.0)
    for name, field in GOALS.items():
        value = getattr(goals, name)
        if name not in UNKNOWNS and (field.scope == "each" or value == getattr(usual, name)):
            continue
        if isinstance(value, bool):
            words.append(field.option)
        elif value is not None:
            words += [field.option, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


def _asked_words(goals: Goals) -> list[str]:
    """What is asked, as the command takes it. Where each answer is one of a list, only their number counts."""
    if isinstance(goals.encoding, Choices):
        return [word for name in goals.encoding.names for word in ("--choice", name)]
    if goals.encoding is not None and goals.asked is not None:
        return ["--encoding", strict_json.write(goals.encoding.to_json(), compact=True)]
    return ["--values", str(goals.size)]
