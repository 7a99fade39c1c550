"""Does a campaign keep what it declares? Recomputed by the engine, from the mechanism's own parameters."""

from dataclasses import dataclass

import numpy as np

from untrackable.brackets import Bracket
from untrackable.campaign import LAST_ROUND, Campaign
from untrackable.mechanisms.base import Mechanism

_WIDEST_ARRAY = 63


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
    if not _fits(campaign):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    declared = campaign.guarantee
    delta = tracking = None
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
        tracking = campaign.mechanism.tracking(reports=_reports(campaign)).delta(declared.gamma)
    except ValueError as error:
        problems.append(f"its untrackability cannot be recomputed: {error}")
    else:
        if tracking.upper > declared.tracking_delta:
            problems.append(
                f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
                f"and has up to {tracking.upper:g}"
            )
    return Verdict(delta, tracking, tuple(problems))


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


def _fits(campaign: Campaign) -> bool:
    """Whether the mechanism takes the largest value of the encoding."""
    mechanism: Mechanism = campaign.mechanism
    taken = getattr(getattr(mechanism, "base", None), "values", None)
    if isinstance(taken, int):
        return campaign.encoding.values <= taken
    if campaign.encoding.bits > _WIDEST_ARRAY:
        return getattr(mechanism, "bits", None) == campaign.encoding.bits
    try:
        mechanism._population(np.array([campaign.encoding.values - 1], dtype=np.uint64), 1)
    except (TypeError, ValueError):
        return False
    return True
