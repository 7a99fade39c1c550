"""Plans, new campaigns and audits in words. The process for heavy work alone loads what they need."""

import shlex
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from untrackable import strict_json
from untrackable.accounting.check import make_campaign
from untrackable.auditing.attacks import PEOPLE, Followed, followed
from untrackable.auditing.audit import Audit, TurnsAudit, audit, audit_turns
from untrackable.brackets import at_most
from untrackable.collector.browser import takes_part
from untrackable.collector.dashboard.campaign_form import Asked
from untrackable.collector.dashboard.heavy_work import stop_if_outdated
from untrackable.display import plan as shown
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
    followed_rows,
    followed_words,
    following_chart,
)
from untrackable.display.page import grouped
from untrackable.display.svg import legend, svg_of
from untrackable.display.view import view_of
from untrackable.encodings.encoding import Choices
from untrackable.encodings.strings import HashedStrings
from untrackable.planning.goal_fields import GOALS, UNKNOWNS
from untrackable.planning.goals import Goals, rounded_up
from untrackable.planning.plan import Change, Plan, plan
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable


def shown_plan(goals: Goals) -> dict[str, Any]:
    """Plan for these goals, in the words that `untrackable plan` prints, as the parts of a page."""
    best = _planned(goals)
    told = [*shown.accuracy(best), shown.ranking(best)]
    figures, *ways = shown.plan_tables(best)
    return {
        "usable": best.met,
        "verdict": told if best.met else [f"Not met. {best.why}", *told],
        "learned": [*shown.observers(best), shown.relay(best)],
        "more": shown.details(best),
        "figures": figures,
        "ways": ways,
        "changes": [] if best.met else [(change.text, _use(change)) for change in best.changes],
        "parameters": strict_json.write(best.mechanism.to_json(), compact=True),
        "command": _command(goals),
    }


def shown_campaign(asked: Asked, gateway: str | None) -> dict[str, Any]:
    """The campaign of a plan: its exact document, and what it means, as the parts of a page.

    `gateway` has the public keys (JSON) for a campaign that relies on a crowd.
    """
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
    return {
        "id": made.id,
        "document": made.to_bytes().decode(),
        "answers": made.encoding.describe(),
        "schedule": schedule_words(made),
        "guarantee": guarantee_words(made, strict_json.write(verified.to_json())),
        "accuracy": accuracy_words(accuracy) if shares else shown.accuracy(best)[0].removesuffix("."),
        "spread": spread_words(accuracy) if shares else "",
        "usable": accuracy.usable or not shares,
        "in_pages": takes_part(made),
        "relayed": "" if keys is None else "the relay" if asked.relay else "a relay that the visitor trusts",
        "relay": list(filter(None, (relay_words(made), release_words(made)))),
    }


@lru_cache(maxsize=8)
def _planned(goals: Goals) -> Plan:
    """A plan. It is kept, because the preview of its campaign often comes next."""
    return plan(goals=goals, progress=lambda what, done: stop_if_outdated())


def _use(change: Change) -> str:
    """What a form sends to make a change of the goals; empty if no field does."""
    if change.goal in ("people", "rounds", "pooled"):
        return urlencode({change.goal: f"{change.value:,.0f}"})
    return (
        urlencode({"protection": "other", "eps": f"{rounded_up(change.value):g}"}) if change.goal == "eps" else ""
    )


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
    view = view_of(result)
    return {
        "lead": view.sentences[:2],
        "verdict": view.sentences[2:],
        "groups": grouped(view.tables[0])[1],
        "missing": view.notes,
        "no_attack": no_attack,
        "rival": at_most(campaign.guarantee.eps),
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
        "people": PEOPLE,
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
