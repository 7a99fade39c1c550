"""Plans, new campaigns and audits in words. The process for heavy work alone loads what they need."""

import shlex
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from untrackable import strict_json
from untrackable.accounting.check import make_campaign
from untrackable.auditing.attacks import Followed, followed
from untrackable.auditing.audit import Audit, TurnsAudit, audit, audit_turns
from untrackable.collector.browser import takes_part
from untrackable.collector.dashboard.campaign_form import Asked, ShownCampaign, ShownChange, ShownPlan
from untrackable.collector.dashboard.heavy_work import stop_if_outdated
from untrackable.display import plan as shown
from untrackable.display.audit import lines as audit_lines
from untrackable.display.audit import verdict as audit_verdict
from untrackable.display.campaign import (
    accuracy_words,
    campaign_accuracy,
    guarantee_words,
    relay_words,
    release_words,
    schedule_words,
    spread_words,
)
from untrackable.display.observer import (
    FOLLOWING_CAPTION,
    followed_rows,
    followed_words,
    following_chart,
    rival_words,
)
from untrackable.display.svg import legend, svg_of
from untrackable.display.view import Table
from untrackable.encodings.encoding import Choices
from untrackable.encodings.strings import HashedStrings
from untrackable.planning.goal_fields import GOALS, UNKNOWNS
from untrackable.planning.goals import Goals, rounded_up
from untrackable.planning.plan import Change, Plan, plan
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable


def shown_plan(goals: Goals) -> ShownPlan:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    best = _planned(goals)
    told = [*shown.accuracy(best), shown.ranking(best)]
    return ShownPlan(
        usable=best.met,
        verdict=tuple(told if best.met else [f"Not met. {best.why}", *told]),
        learned=(*shown.observers(best), shown.relay(best)),
        more=tuple(shown.details(best)),
        figures=Table(shown.COLUMNS, tuple(shown.rows(best)), shown.caption(best)),
        ways=Table(shown.WAY_COLUMNS, tuple(shown.way_rows(best.ways))) if best.ways else None,
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
    keys = None if gateway is None else Gateway.from_json(strict_json.parse(gateway))
    made, verified = make_campaign(
        draft,
        question=asked.question,
        first_round=asked.first_round,
        round_seconds=asked.round_seconds,
        gateway=None if keys is None else replace(keys, relay=asked.relay),
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
        relay=tuple(filter(None, (relay_words(made), release_words(made)))),
    )


def _page_words(made: Campaign) -> str:
    """What the campaign asks of a web page."""
    if not takes_part(made):
        return "Web pages cannot ask this: their client does not know this kind of campaign. Programs can."
    trusted = "the relay" if made.relay is not None else "a relay that the visitor trusts"
    relay = f" It must name {trusted}." if made.gateway is not None else ""
    return (
        "A page needs the lines that the campaign’s own page will show, and the visitor’s answer. It asks each "
        "visitor first, stores the answer in their browser, and sends one report. Questions for the same time must "
        f"be one campaign, a set.{relay}"
    )


@lru_cache(maxsize=8)
def _planned(goals: Goals) -> Plan:
    """A plan. It is kept, because the preview of its campaign often comes next."""
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


_REPORTS = 16
"""How many reports of a person the observer of the audit holds."""
_MOST_ROUNDS = 3650
"""How many rounds of a campaign without end are looked at."""
_DELTA, _PEOPLE = 1e-6, 100_000
"""Delta and number of people of an audit, if the campaign declares none."""


def shown_audit(document: bytes) -> dict[str, Any]:
    """An audit of a campaign, and an attack on it beside RAPPOR, as the parts of a page. It takes seconds."""
    campaign = Campaign.from_bytes(document)
    mechanism, crowd = campaign.mechanism, campaign.guarantee.crowd
    rounds = campaign.last_round or _MOST_ROUNDS
    result: Audit | TurnsAudit
    if campaign.turns is not None:
        delta = _DELTA if crowd is None else crowd.delta
        result = audit_turns(mechanism, campaign.turns, delta=delta, reports=campaign.fewest_reports or None)
    else:
        result = audit(
            mechanism,
            reports=max(2, min(_REPORTS, rounds)),
            rounds=max(2, rounds),
            delta=campaign.guarantee.delta or _DELTA,
            people=campaign.fewest_reports or _PEOPLE,
        )
    own, rival, no_attack = attacked(campaign)
    verdict = audit_verdict(result)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in audit_lines(result):
        groups.setdefault(line.heading, []).append((line.what, line.number, line.certainty, line.meaning))
    return {
        "lead": verdict[:2],
        "verdict": verdict[2:],
        "groups": groups,
        "missing": result.missing,
        "no_attack": no_attack,
        "rival": rival_words(campaign.guarantee.eps),
        **(_attack_shown(own, rival) if own else {}),
    }


def attacked(campaign: Campaign) -> tuple[list[Followed], list[Followed], str]:
    """The attack on a campaign, and on RAPPOR with the same eps for ever; or why there is none."""
    if campaign.turns is not None:
        return [], [], "nobody sends two reports, so there is nothing to match"
    rounds = campaign.last_round or _MOST_ROUNDS
    try:
        own = followed("this campaign", campaign.mechanism, rounds=rounds)
        rival = CATALOGUE["rappor"].for_budget(Budget(eps=campaign.guarantee.eps, reports=rounds))
    except (ValueError, Unsuitable) as error:
        return [], [], str(error)
    if not own:
        return [], [], "following takes at least two rounds"
    return own, followed("RAPPOR, the same privacy", rival, rounds=rounds), ""


def _attack_shown(ours: list[Followed], theirs: list[Followed]) -> dict[str, Any]:
    own, rival = followed_rows(ours), followed_rows(theirs)
    chart = following_chart([*ours, *theirs])
    label = "The share of people that an attack matches, by the number of reports; the table below has the numbers"
    counts = sorted({point.reports for point in ours + theirs})
    return {
        "answer": followed_words(ours, theirs),
        "caption": FOLLOWING_CAPTION,
        "chart": svg_of(chart.drawing, label),
        "legend": legend(chart.drawing.legend()),
        "table": {
            who: [(reports, own.get((reports, different)), rival.get((reports, different))) for reports in counts]
            for who, different in (
                ("People who hold the same value", False),
                ("People with different values", True),
            )
        },
    }
