"""Checks a campaign's guarantee: the full engine recomputes it from the mechanism's parameters.

`client_check` does the same on a client, with the standard library alone and in whole numbers rounded to the safe
side. The engine here is sharper and needs SciPy.
"""

from dataclasses import dataclass
from typing import Any

from untrackable.accounting import wiped_storage
from untrackable.brackets import Bracket, at_most
from untrackable.mechanisms import attended_tracking
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.tracking_delta import tracking_delta_beyond_engine
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.attendance import AMONG


@dataclass(frozen=True, slots=True)
class Verdict:
    """The recomputed deltas at the declared eps and gamma, the recognition, and all problems in words.

    `recognition` counts reports and attendance: how often an observer of the declared places recognises a person
    among 1,000. It is recomputed for every campaign, and compared where one is declared. `crowd` is delta at the
    eps that is declared for a crowd; None if there is none, or if it cannot be recomputed.
    """

    delta: Bracket | None
    tracking_delta: Bracket | None
    recognition: Bracket
    problems: tuple[str, ...]
    crowd: Bracket | None = None

    @property
    def holds(self) -> bool:
        """Whether the declared guarantee is no stronger than the truth."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The recomputed numbers, each with the kind of number it is."""
        ends = {name: getattr(self, name) for name in ("delta", "tracking_delta", "recognition")}
        crowd = {} if self.crowd is None else {"crowd": bracket_json(self.crowd)}
        return {**{name: None if end is None else bracket_json(end) for name, end in ends.items()}, **crowd}


def bracket_json(bracket: Bracket) -> dict[str, Any]:
    """A bracket as JSON."""
    return {"lower": bracket.lower, "upper": bracket.upper, "certainty": bracket.certainty}


def verify(campaign: Campaign) -> Verdict:
    """Recompute the guarantee of all rounds of a campaign."""
    problems = wiped_storage.problem_of_any_number(campaign)
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
        tracked = _tracking_delta(campaign)
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
    recognised = recognition(campaign)
    if declared.recognition is not None and recognised.upper > declared.recognition:
        problems.append(
            f"it declares that at most {declared.recognition:g} of people are recognised among {AMONG:,}, "
            f"and has up to {at_most(recognised.upper)}"
        )
    hidden = None
    if declared.crowd is not None:
        try:
            hidden = crowd_delta(campaign)
        except ValueError as error:
            problems.append(f"how well a crowd hides its reports cannot be recomputed: {error}")
        else:
            if hidden.upper > declared.crowd.delta:
                problems.append(
                    f"it declares delta = {declared.crowd.delta:g} at eps = {declared.crowd.eps:g} in a crowd of "
                    f"{declared.crowd.people:,} people, and has up to {at_most(hidden.upper)}"
                )
    return Verdict(delta, tracked, recognised, tuple(problems), hidden)


def crowd_delta(campaign: Campaign) -> Bracket:
    """Delta of all rounds, at the eps that is declared for a crowd, in a crowd of as many people as declared.

    `ValueError` if the campaign declares none, or if the engine knows no bound.
    """
    declared = campaign.guarantee.crowd
    if declared is None:
        raise ValueError("the campaign does not rely on a crowd")
    ends = [end for end in (campaign.rounds, campaign.mechanism.last_round) if end is not None]
    hidden = campaign.mechanism.crowd(
        people=declared.people, reports=min(ends, default=None), participation=campaign.participation
    )
    return hidden.delta(declared.eps)


def recognition(campaign: Campaign) -> Bracket:
    """How often an observer of two places recognises a person among 1,000, by reports and attendance together.

    Where the engine knows no bound on what the reports say, people count as recognised (upper).
    """
    if campaign.states != 1:
        return Bracket(0.0, wiped_storage.recognition_upper(campaign))
    try:
        return attended_tracking.recognition(
            campaign.mechanism, campaign.attending, campaign.rounds, values=campaign.changing_values
        )
    except ValueError:
        return Bracket(0.0, 1.0)


def tracking(campaign: Campaign) -> Pair:
    """One person against two people with the same values, for all rounds of a campaign and the worst split."""
    return campaign.mechanism.tracking_upper(_reports(campaign), values=campaign.changing_values)


def _tracking_delta(campaign: Campaign) -> Bracket:
    """Delta of tracking at the declared gamma, of all states that the guarantee counts."""
    if campaign.states != 1:
        return Bracket(0.0, wiped_storage.tracking_delta_upper(campaign))
    return tracking(campaign).delta(campaign.guarantee.gamma)


def _reports(campaign: Campaign) -> int:
    """The number of reports that one person may send: all rounds, and at least two, so that there are two sides."""
    return max(2, campaign.rounds or LAST_ROUND)


def _privacy(campaign: Campaign) -> Bracket:
    """Delta for ever, if that is small enough; else delta of the campaign's rounds; or that of several states."""
    if campaign.states != 1:
        return Bracket(0.0, wiped_storage.delta_upper(campaign))
    declared, mechanism = campaign.guarantee, campaign.mechanism
    share = campaign.participation
    everlasting = mechanism.privacy(values=declared.values, participation=share).delta(declared.eps)
    if everlasting.upper <= declared.delta or campaign.rounds is None:
        return everlasting
    rounds = mechanism.privacy(reports=campaign.rounds, values=declared.values, participation=share)
    return rounds.delta(declared.eps)
