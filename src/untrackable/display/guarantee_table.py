"""A campaign's guarantee as tables: what each observer may learn, and what each round costs."""

from typing import NamedTuple

from untrackable.brackets import at_most
from untrackable.display.campaign_words import guess_bound
from untrackable.display.numbers import odds_factor, shown, upper
from untrackable.display.truth_words import share
from untrackable.protocol.campaign import Campaign

_FEW = 10
"""The number of rounds whose cost is shown beside that of one and of all."""


class Observer(NamedTuple):
    """What one observer may learn from all reports ever: all numbers are upper bounds."""

    who: str
    eps: str
    delta: str
    odds: str
    guess: str


class Cost(NamedTuple):
    """What the first rounds of a campaign reveal, to each observer: an eps, and how well it is known.

    Only campaigns in which every round is answered have costs: with turns, everything is one report.
    """

    rounds: int
    alone: tuple[str, str]
    crowd: tuple[str, str] | None


def observers(campaign: Campaign) -> list[Observer]:
    """The declared guarantee for both observers, or for the one that there is without a relay."""
    declared, crowd = campaign.guarantee, campaign.guarantee.crowd
    if crowd is None:
        yours = "which report is yours" if campaign.turns else "which reports are yours"
        return [_observer(f"The collector, which knows {yours}", declared.eps, declared.delta)]
    return [
        _observer("The collector alone, which does not know who sent which report", crowd.eps, crowd.delta),
        _observer("The collector together with the relay", declared.eps, declared.delta),
    ]


def no_relay_words(campaign: Campaign) -> str:
    """Why there is one observer only; empty if there are two."""
    if campaign.guarantee.crowd is not None:
        return ""
    return (
        "This campaign does not rely on a relay. So nothing is assumed about who else is there: the guarantee "
        "holds against a collector that knows which reports are yours, and all the more against one that does not."
    )


def costs(campaign: Campaign) -> list[Cost]:
    """The eps of the first round, of some rounds and of all rounds, at the declared deltas; nothing with turns."""
    if campaign.turns is not None:
        return []
    last = campaign.rounds if campaign.mechanism.last_round is None else campaign.mechanism.last_round
    if campaign.rounds is not None and last is not None:
        last = min(last, campaign.rounds)
    counts = sorted({1, _FEW, last} if last is not None else {1, _FEW})
    return [_cost(campaign, count) for count in counts if last is None or count <= last]


def _cost(campaign: Campaign, rounds: int) -> Cost:
    from untrackable.auditing.audit_questions import pure_bracket

    declared = campaign.guarantee
    pair = campaign.mechanism.privacy(reports=rounds, values=declared.values)
    alone = pair.gamma(declared.delta) if declared.delta else pure_bracket(pair)
    crowd = None
    if declared.crowd is not None:
        hidden = campaign.mechanism.crowd(people=declared.crowd.reports, reports=rounds)
        crowd = upper(hidden.gamma(declared.crowd.delta).upper), "upper"
    return Cost(rounds, shown(alone), crowd)


def cost_words(campaign: Campaign) -> str:
    """How to read the costs."""
    declared = campaign.guarantee
    if campaign.turns is not None:
        return "Each person answers once, so all rounds together cost what one report costs: the guarantee above."
    deltas = f"delta = {at_most(declared.delta, 4)}"
    if declared.crowd is not None:
        deltas += f", and {at_most(declared.crowd.delta, 4)} for the collector alone"
    return (
        f"The eps that the first rounds spend, at {deltas}. The total over all rounds is what counts: it is at "
        "most the guarantee above, and clients refuse a campaign whose total exceeds what their person allows."
    )


def _observer(who: str, eps: float, delta: float) -> Observer:
    return Observer(
        who,
        at_most(eps),
        at_most(delta, 4) if delta else "0",
        odds_factor(eps),
        share(guess_bound(eps, delta), "up"),
    )
