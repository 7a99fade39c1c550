"""A campaign's audit for the page that says whether somebody could be followed."""

import math
from typing import Any, NamedTuple

from untrackable.auditing.attacks import PEOPLE, Followed, followed
from untrackable.auditing.audit import Audit, TurnsAudit, audit, audit_turns
from untrackable.display import audit as shown
from untrackable.display.audit import FOLLOWING_CAPTION, Line, followed_rows, followed_words, rival_words
from untrackable.protocol.campaign import Campaign
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable

_REPORTS = 16
"""How many reports of a person the observer of the audit holds."""
_MOST_ROUNDS = 3650
"""How many rounds of a campaign without end are looked at."""
_DELTA, _PEOPLE = 1e-6, 100_000
"""The delta, and the people who take part, of an audit if the campaign declares none."""
_WIDTH, _HEIGHT = 320, 210
_LOWEST = 0.5 / PEOPLE
"""Where the picture begins: a share of zero is drawn here."""
_ASIDE = 5
"""How far lines stand beside each other, so that no interval hides another."""


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
    rounds = campaign.last_round or _MOST_ROUNDS
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
    return own, followed("RAPPOR", rival, rounds=rounds), ""


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
    counts = sorted({point.reports for point in found.own + found.rival})
    return {
        "answer": followed_words(found.own, found.rival),
        "caption": FOLLOWING_CAPTION,
        "chart": _chart(found, counts),
        "table": {
            who: [(reports, own.get((reports, different)), rival.get((reports, different))) for reports in counts]
            for who, different in (
                ("People who hold the same value", False),
                ("People with different values", True),
            )
        },
    }


def _chart(found: Following, counts: list[int]) -> dict[str, Any]:
    """Lines over the number of reports, both axes logarithmic."""

    def across(reports: int) -> float:
        return round(_WIDTH * math.log(reports) / math.log(counts[-1]), 1)

    def up(share: float) -> float:
        return round(_HEIGHT * math.log(max(_LOWEST, share)) / math.log(_LOWEST), 1)

    lines: list[dict[str, Any]] = []
    for name, points in (("own", found.own), ("rival", found.rival)):
        for different in (False, True):
            aside = _ASIDE * (len(lines) - 1.5)
            chosen = [
                (across(point.reports) + aside, point.matched) for point in points if point.different == different
            ]
            lines.append(
                {
                    "name": name,
                    "different": different,
                    "points": [(x, up(matched.sampled)) for x, matched in chosen],
                    "reach": [(x, up(matched.lower), up(matched.upper)) for x, matched in chosen],
                }
            )
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "lines": lines,
        "across": [(across(reports), reports) for reports in counts],
        "up": [(up(share), f"{100 * share:g} %") for share in (1.0, 0.3, 0.1, 0.03, 0.01)],
        "guess": up(1 / PEOPLE),
    }
