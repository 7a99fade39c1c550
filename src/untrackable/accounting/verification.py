"""Does a campaign keep what it declares? The full engine recomputes it from the mechanism's own parameters.

`client_check` asks the same on a client, with the standard library alone and in whole numbers rounded to the safe
side; the engine here is sharper and needs SciPy.
"""

from dataclasses import dataclass

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.tracking_delta import tracking_delta_beyond_engine
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND


@dataclass(frozen=True, slots=True)
class Verdict:
    """The recomputed deltas at the declared eps and gamma, and whatever is wrong, in words; nothing if it holds."""

    delta: Bracket | None
    tracking_delta: Bracket | None
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the declaration is no stronger than the truth."""
        return not self.problems


def verify(campaign: Campaign) -> Verdict:
    """Recompute the guarantee of all rounds of a campaign."""
    problems = []
    if not campaign.mechanism.has_room_for(campaign.encoding.values):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    declared = campaign.guarantee
    delta = tracked = None
    try:
        delta = _privacy(campaign)
    except ValueError as error:
        problems.append(f"its privacy cannot be recomputed: {error}")
    else:
        if delta.upper > declared.delta:
            problems.append(
                f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, and has up to {delta.upper:g}"
            )
    try:
        tracked = tracking(campaign).delta(declared.gamma)
    except ValueError as error:  # There are too many reports for the engine.
        reports = None if campaign.rounds is None else _reports(campaign)
        values = changing_values(campaign)
        tracked = tracking_delta_beyond_engine(campaign.mechanism, reports, values=values)
        if tracked.upper > declared.tracking_delta:
            problems.append(f"its untrackability cannot be recomputed: {error}")
    else:
        if tracked.upper > declared.tracking_delta:
            problems.append(
                f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
                f"and has up to {tracked.upper:g}"
            )
    return Verdict(delta, tracked, tuple(problems))


def tracking(campaign: Campaign) -> Pair:
    """One person against two who hold the same values, for all rounds of a campaign and the worst split of them."""
    return campaign.mechanism.tracking_upper(_reports(campaign), values=changing_values(campaign))


def changing_values(campaign: Campaign) -> int:
    """Between how many values a person may change; 1 if the guarantee is about a fixed value."""
    return 1 if campaign.guarantee.values == "fixed" else campaign.encoding.values


def _reports(campaign: Campaign) -> int:
    """Reports that one person may send: all rounds, two at least for there to be anything to tell apart."""
    return max(2, campaign.rounds or LAST_ROUND)


def _privacy(campaign: Campaign) -> Bracket:
    """For ever, if that is enough; else of as many reports as there are rounds."""
    declared, mechanism = campaign.guarantee, campaign.mechanism
    everlasting = mechanism.privacy(values=declared.values).delta(declared.eps)
    if everlasting.upper <= declared.delta or campaign.rounds is None:
        return everlasting
    return mechanism.privacy(reports=campaign.rounds, values=declared.values).delta(declared.eps)
