"""The guarantee of a campaign, recomputed: by a client in closed form, and by the full engine for everyone.

With turns, everything that a person ever sends is at most w + 1 reports, where w wipes of storage are allowed. Each
has the largest log ratio of its mechanism (pure local differential privacy), so all together have w + 1 times that.
A client checks this with the standard library alone, and counts on no crowd. If everybody answers every round, the
engine recomputes privacy and tracking from the mechanism's parameters.
"""

from dataclasses import dataclass
from typing import Any

from untrackable.brackets import Bracket, at_most
from untrackable.errors import ExtraMissing
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.tracking_delta import tracking_delta_beyond_engine
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.crowd_counts import LARGEST_CROWD


def client_problems(campaign: Campaign) -> tuple[str, ...]:
    """Why a client refuses a campaign: it declares more than is true, or that cannot be confirmed; or nothing."""
    if campaign.turns is not None:
        return _turn_problems(campaign)
    try:
        return verify(campaign).problems
    except (ExtraMissing, ImportError):
        name = type(campaign.mechanism).__name__
        return (f"the guarantee of {name} cannot be recomputed without the full package",)


def eps_upper(campaign: Campaign) -> float:
    """The eps of everything that a person sends in a campaign with turns, with delta 0 (upper)."""
    loss = campaign.mechanism.loss_of_one_report
    if campaign.turns is None or loss is None:
        raise ValueError("the campaign must have turns")
    return campaign.turns.eps_upper(loss)


def _turn_problems(campaign: Campaign) -> tuple[str, ...]:
    """Why the declared eps is smaller than the truth; nothing if it holds."""
    found, eps = _no_room(campaign), eps_upper(campaign)
    if eps > campaign.guarantee.eps:
        found.append(f"it declares eps = {campaign.guarantee.eps:g}, and has {at_most(eps)}")
    return tuple(found)


def _no_room(campaign: Campaign) -> list[str]:
    """That the mechanism does not take all values of the encoding, if so."""
    if campaign.mechanism.has_room_for(campaign.encoding.values):
        return []
    return [f"the mechanism does not take all {campaign.encoding.values} values of the encoding"]


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
        told: dict[str, Any] = {"delta": None, "tracking_delta": None}
        for name in ("delta", "tracking_delta", "eps", "crowd", "crowd_throughout"):
            if (found := getattr(self, name)) is not None:
                told[name] = {"lower": found.lower, "upper": found.upper, "certainty": found.certainty}
        return told


def verify(campaign: Campaign) -> Verdict:
    """Recompute the guarantee of all rounds of a campaign."""
    hidden, found = _crowd(campaign)
    if campaign.turns is None:
        delta, tracked, problems = _every_round(campaign)
        return Verdict(delta, tracked, (*problems, *found), crowd=hidden)
    throughout = None if hidden is None else _crowd_throughout(campaign)
    nothing, eps = Bracket(0.0, 0.0), eps_upper(campaign)
    return Verdict(nothing, nothing, (*_turn_problems(campaign), *found), Bracket(eps, eps), hidden, throughout)


def _every_round(campaign: Campaign) -> tuple[Bracket | None, Bracket, list[str]]:
    """Delta and tracking delta at what is declared, and what is wrong with it."""
    problems, declared, mechanism = _no_room(campaign), campaign.guarantee, campaign.mechanism
    delta = None
    last = mechanism.last_round
    if last is not None and (campaign.rounds or LAST_ROUND) > last:
        problems.append(f"the mechanism answers {last:,} rounds only, and the campaign has more")
    try:
        delta = _privacy(campaign)
        if delta.upper > declared.delta:
            problems.append(
                f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, "
                f"and has up to {at_most(delta.upper)}"
            )
    except ValueError as error:
        problems.append(f"its privacy cannot be recomputed: {error}")
    try:
        tracked = tracking(campaign).delta(declared.gamma)
        wrong = (
            f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
            f"and has up to {at_most(tracked.upper)}"
        )
    except ValueError as error:  # There are too many reports for the engine.
        reports = None if campaign.rounds is None else _reports(campaign)
        tracked = tracking_delta_beyond_engine(mechanism, reports, values=campaign.changing_values)
        wrong = f"its untrackability cannot be recomputed: {error}"
    if tracked.upper > declared.tracking_delta:
        problems.append(wrong)
    return delta, tracked, problems


def _crowd(campaign: Campaign) -> tuple[Bracket | None, list[str]]:
    """Delta at the eps that is declared for a crowd, if any, and what is wrong with it.

    With turns it is that of the round in which a person answers, whatever the others do; or of as many rounds as a
    person answers whose storage is wiped, which are different ones.
    """
    declared, mechanism = campaign.guarantee.crowd, campaign.mechanism
    if declared is None:
        return None, []
    ends = [end for end in (campaign.rounds, mechanism.last_round) if end is not None]
    reports = min(ends, default=None) if campaign.turns is None else campaign.turns.wipes + 1
    try:
        hidden = mechanism.crowd(people=declared.reports, reports=reports).delta(declared.eps)
    except ValueError as error:
        return None, [f"how well a crowd hides its reports cannot be recomputed: {error}"]
    if hidden.upper <= declared.delta:
        return hidden, []
    return hidden, [
        f"it declares delta = {declared.delta:g} at eps = {declared.eps:g} in a crowd of "
        f"{declared.reports:,} reports a round, and has up to {at_most(hidden.upper)}"
    ]


def _crowd_throughout(campaign: Campaign) -> Bracket | None:
    """Eps at the declared delta of somebody who is active in all rounds of turns, in the crowd of all rounds.

    One turn each makes the whole campaign one shuffle of pairs of a round and a report, with at least as many as
    the rounds have together, if everybody's turns are uniform. Nothing is known for somebody with two answers.
    """
    declared, turns = campaign.guarantee.crowd, campaign.turns
    if declared is None or turns is None or turns.wipes:
        return None
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
