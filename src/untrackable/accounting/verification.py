"""Checks a campaign's guarantee: the full engine recomputes it from the mechanism's parameters."""

from dataclasses import dataclass
from typing import Any

from untrackable.accounting.turn_check import eps_upper, turn_problems
from untrackable.brackets import Bracket, at_most
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.tracking_delta import tracking_delta_beyond_engine
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.crowd_counts import LARGEST_CROWD


@dataclass(frozen=True, slots=True)
class Verdict:
    """What everything that one person sends reveals, recomputed; and all problems in words.

    With turns, `eps` is that of everything that a person sends, and delta is 0. Else `delta` is that of all rounds
    at the declared eps, and `tracking_delta` at the declared gamma. `crowd` is delta at the eps that is declared
    for a crowd, and `crowd_throughout` the eps at that delta of somebody who is active in all rounds of turns.
    """

    delta: Bracket | None
    tracking_delta: Bracket | None
    problems: tuple[str, ...]
    eps: Bracket | None = None
    crowd: Bracket | None = None
    crowd_throughout: Bracket | None = None

    @property
    def holds(self) -> bool:
        """Whether the declared guarantee is no stronger than the truth."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The recomputed numbers, each with the kind of number it is."""
        always = {name: getattr(self, name) for name in ("delta", "tracking_delta")}
        known = {name: getattr(self, name) for name in ("eps", "crowd", "crowd_throughout")}
        numbers = {**always, **{name: number for name, number in known.items() if number is not None}}
        return {name: None if number is None else bracket_json(number) for name, number in numbers.items()}


def bracket_json(bracket: Bracket) -> dict[str, Any]:
    """A bracket as JSON."""
    return {"lower": bracket.lower, "upper": bracket.upper, "certainty": bracket.certainty}


def verify(campaign: Campaign) -> Verdict:
    """Recompute the guarantee of all rounds of a campaign."""
    return _verify_every_round(campaign) if campaign.turns is None else _verify_turns(campaign)


def _verify_turns(campaign: Campaign) -> Verdict:
    """One report: its largest loss, in closed form; and the crowd of one round."""
    problems = turn_problems(campaign)
    hidden, found = _crowd(campaign)
    throughout = None
    if hidden is not None and campaign.turns is not None and not campaign.turns.wipes:
        throughout = crowd_throughout(campaign)
    eps = eps_upper(campaign)
    nothing = Bracket(0.0, 0.0)
    return Verdict(nothing, nothing, (*problems, *found), Bracket(eps, eps), hidden, throughout)


def _verify_every_round(campaign: Campaign) -> Verdict:
    problems = []
    if not campaign.mechanism.has_room_for(campaign.encoding.values):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    last = campaign.mechanism.last_round
    if last is not None and (campaign.rounds or LAST_ROUND) > last:
        problems.append(f"the mechanism answers {last:,} rounds only, and the campaign has more")
    declared = campaign.guarantee
    delta = tracked = None
    try:
        delta = _privacy(campaign)
    except ValueError as error:
        problems.append(f"its privacy cannot be recomputed: {error}")
    else:
        if delta.upper > declared.delta:
            problems.append(
                f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, "
                f"and has up to {at_most(delta.upper)}"
            )
    try:
        tracked = tracking(campaign).delta(declared.gamma)
    except ValueError as error:  # There are too many reports for the engine.
        reports = None if campaign.rounds is None else _reports(campaign)
        values = campaign.changing_values
        tracked = tracking_delta_beyond_engine(campaign.mechanism, reports, values=values)
        if tracked.upper > declared.tracking_delta:
            problems.append(f"its untrackability cannot be recomputed: {error}")
    else:
        if tracked.upper > declared.tracking_delta:
            problems.append(
                f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
                f"and has up to {at_most(tracked.upper)}"
            )
    hidden, found = _crowd(campaign)
    return Verdict(delta, tracked, (*problems, *found), crowd=hidden)


def _crowd(campaign: Campaign) -> tuple[Bracket | None, list[str]]:
    """Delta at the eps that is declared for a crowd, if any, and what is wrong with it."""
    declared = campaign.guarantee.crowd
    if declared is None:
        return None, []
    try:
        hidden = crowd_delta(campaign)
    except ValueError as error:
        return None, [f"how well a crowd hides its reports cannot be recomputed: {error}"]
    if hidden.upper <= declared.delta:
        return hidden, []
    return hidden, [
        f"it declares delta = {declared.delta:g} at eps = {declared.eps:g} in a crowd of "
        f"{declared.reports:,} reports a round, and has up to {at_most(hidden.upper)}"
    ]


def crowd_delta(campaign: Campaign) -> Bracket:
    """Delta at the eps that is declared for a crowd, with as many reports in each round as declared.

    With turns it is that of the round in which a person answers, whatever the others do; or of as many rounds as a
    person answers whose storage is wiped, which are different ones. `ValueError` if the campaign declares none, or
    if the engine knows no bound.
    """
    declared = campaign.guarantee.crowd
    if declared is None:
        raise ValueError("the campaign does not rely on a crowd")
    ends = [end for end in (campaign.rounds, campaign.mechanism.last_round) if end is not None]
    reports = min(ends, default=None) if campaign.turns is None else campaign.turns.wipes + 1
    return campaign.mechanism.crowd(people=declared.reports, reports=reports).delta(declared.eps)


def crowd_throughout(campaign: Campaign) -> Bracket:
    """Eps at the declared delta of somebody who is active in all rounds of turns, in the crowd of all rounds.

    One turn each makes the whole campaign one shuffle of pairs of a round and a report, with at least as many as
    the rounds have together, if everybody's turns are uniform. Nothing is known for somebody with two answers.
    """
    declared, turns = campaign.guarantee.crowd, campaign.turns
    if declared is None or turns is None or turns.wipes:
        raise ValueError("the campaign must have turns without wipes, and rely on a crowd")
    people = min(LARGEST_CROWD, declared.reports * turns.rounds)
    return campaign.mechanism.crowd(people=people, reports=1).gamma(declared.delta)


def tracking(campaign: Campaign) -> Pair:
    """One person against two people with the same values, for all rounds of a campaign and the worst split."""
    return campaign.mechanism.tracking_upper(_reports(campaign), values=campaign.changing_values)


def _reports(campaign: Campaign) -> int:
    """The number of reports that one person may send: all rounds, and at least two, so that there are two sides."""
    return max(2, campaign.rounds or LAST_ROUND)


def _privacy(campaign: Campaign) -> Bracket:
    """Delta for ever, if that is small enough; else delta of the campaign's rounds."""
    declared, mechanism = campaign.guarantee, campaign.mechanism
    everlasting = mechanism.privacy(values=declared.values).delta(declared.eps)
    if everlasting.upper <= declared.delta or campaign.rounds is None:
        return everlasting
    return mechanism.privacy(reports=campaign.rounds, values=declared.values).delta(declared.eps)
