"""A campaign's audit for the page that says whether somebody could be followed."""

from typing import Any, NamedTuple

from untrackable.auditing.attacks import Followed, followed
from untrackable.auditing.audit import Audit, TurnsAudit, audit, audit_turns
from untrackable.display import audit as shown
from untrackable.display.audit import (
    FOLLOWING_CAPTION,
    Line,
    followed_rows,
    followed_words,
    following_chart,
    rival_words,
)
from untrackable.display.svg import legend, svg_of
from untrackable.protocol.campaign import Campaign
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable

_REPORTS = 16
"""How many reports of a person the observer of the audit holds."""
_MOST_ROUNDS = 3650
"""How many rounds of a campaign without end are looked at."""
_DELTA, _PEOPLE = 1e-6, 100_000
"""The delta, and the people who take part, of an audit if the campaign declares none."""


class Following(NamedTuple):
    """The result: the verdict and its table, and the attack on the campaign and on RAPPOR, or why there is none."""

    verdict: list[str]
    lines: list[Line]
    missing: dict[str, str]
    own: list[Followed]
    rival: list[Followed]
    no_attack: str
    eps: float


def audit_campaign(document: bytes) -> Following:
    """Audit a campaign, and attack it beside RAPPOR with the same eps for ever. It takes seconds."""
    campaign = Campaign.from_bytes(document)
    mechanism, crowd = campaign.mechanism, campaign.guarantee.crowd
    rounds = min(campaign.rounds or _MOST_ROUNDS, mechanism.last_round or _MOST_ROUNDS)
    result: Audit | TurnsAudit
    own: list[Followed] = []
    rival: list[Followed] = []
    if campaign.turns is not None:
        delta = _DELTA if crowd is None else crowd.delta
        result = audit_turns(mechanism, campaign.turns, delta=delta, reports=campaign.fewest_reports or None)
        why = "nobody sends two reports, so there is nothing to match"
    else:
        result = audit(
            mechanism,
            reports=max(2, min(_REPORTS, rounds)),
            rounds=max(2, rounds),
            delta=campaign.guarantee.delta or _DELTA,
            people=campaign.fewest_reports or _PEOPLE,
        )
        own, rival, why = _attacked(campaign, rounds)
    verdict, lines = shown.verdict(result), shown.lines(result)
    return Following(verdict, lines, result.missing, own, rival, why, campaign.guarantee.eps)


def _attacked(campaign: Campaign, rounds: int) -> tuple[list[Followed], list[Followed], str]:
    """The attack on the campaign, and on RAPPOR with the same eps for ever; or why there is none."""
    try:
        own = followed("this campaign", campaign.mechanism, rounds=rounds)
        rival = CATALOGUE["rappor"].for_budget(Budget(eps=campaign.guarantee.eps, reports=rounds))
    except (ValueError, Unsuitable) as error:
        return [], [], str(error)
    if not own:
        return [], [], "following takes at least two rounds"
    return own, followed("RAPPOR, the same privacy", rival, rounds=rounds), ""


def shown_audit(found: Following) -> dict[str, Any]:
    """The parts of the page: texts and numbers, and nothing that needs this module."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in found.lines:
        groups.setdefault(line.heading, []).append((line.what, line.number, line.certainty, line.meaning))
    return {
        "lead": found.verdict[:2],
        "verdict": found.verdict[2:],
        "groups": groups,
        "missing": found.missing,
        "no_attack": found.no_attack,
        "rival": rival_words(found.eps),
        **(_attack_shown(found) if found.own else {}),
    }


def _attack_shown(found: Following) -> dict[str, Any]:
    own, rival = followed_rows(found.own), followed_rows(found.rival)
    chart = following_chart([*found.own, *found.rival])
    label = "The share of people that an attack matches, by the number of reports; the table below has the numbers"
    counts = sorted({point.reports for point in found.own + found.rival})
    return {
        "answer": followed_words(found.own, found.rival),
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
