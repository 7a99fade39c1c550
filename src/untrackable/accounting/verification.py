"""Does a campaign keep what it declares? Recomputed by the engine, from the mechanism's own parameters."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.loloha import Loloha
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.mechanisms.others.fixed_vector import Questioned
from untrackable.mechanisms.others.one_change import OneChange
from untrackable.mechanisms.others.votes import Votes
from untrackable.mechanisms.wrappers.stored import Stored
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.dominating_experiment import dominating_experiment
from untrackable.theory.experiment import Experiment, Worst
from untrackable.theory.factor import Factor
from untrackable.theory.tracking_bounds import reports_of_two_values

MOST_VALUES = 100_000
"""That may change into each other and be reported twice each, more of which are not looked at."""
_FEW = 32
_SEARCHED = 500
"""Reports of a kept bit of which the engine searches all splits,"""
_SEARCHED_AGAIN = 128
"""and where it does so for many gammas."""
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
    except ValueError as error:
        problems.append(f"its untrackability cannot be recomputed: {error}")
    else:
        if tracked.upper > declared.tracking_delta:
            problems.append(
                f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
                f"and has up to {tracked.upper:g}"
            )
    return Verdict(delta, tracked, tuple(problems))


def tracking(campaign: Campaign) -> Pair:
    """One user against two who hold the same values, for all rounds of a campaign and the worst split of them.

    With values that change, clients keep a state for each value, and the reports of each value are an experiment of
    their own, independent of the others. The i-th most frequent value has at most k/i of k reports, and unless it
    is the only one with two of them at most k-2; a value of fewer tells nothing. So what one value tells, or the
    product of what so many tell, dominates whatever the values are (upper; docs/client.md).
    """
    return tracking_of(
        campaign.mechanism,
        _reports(campaign),
        values=1 if campaign.guarantee.values == "fixed" else campaign.encoding.values,
    )


def tracking_of(mechanism: Mechanism, reports: int, *, values: int) -> Pair:
    """The same for so many reports, and so many values that change into each other."""
    if values == 1 or follows(mechanism):
        return _of_one_value(mechanism, reports)
    if type(mechanism)._with_value is not Mechanism._with_value and not isinstance(mechanism, (Loloha, Questioned)):
        raise ValueError(f"what {type(mechanism).__name__} tells of values that change is not known")
    values = min(values, reports // 2)
    if isinstance(mechanism, Loloha):
        values = min(values, mechanism.symbols)  # it keeps one noisy symbol for each, and the seed
    if values < 2:
        return _of_one_value(mechanism, reports)
    if values > MOST_VALUES:
        raise ValueError(
            f"{values:,} values may be reported twice each, more than the {MOST_VALUES:,} that are looked at"
        )
    alone = _of_one_value(mechanism, reports)
    found = [*(alone.members if isinstance(alone, Worst) else [alone])]
    one = lru_cache(lambda size: dominating_experiment(_of_one_value(mechanism, size, _SEARCHED_AGAIN)))
    if values == 2:
        found += [one(some) + one(most) for some, most in reports_of_two_values(reports)]
    else:
        sizes = Counter(min(reports - 2, _rounded(reports // i)) for i in range(1, values + 1))
        found.append(sum((one(size) * count for size, count in sizes.items()), Experiment(certainty="upper")))
    return Worst(found)


def _rounded(size: int) -> int:
    """Upward, where there would be too many different ones."""
    return size if size <= _FEW else 1 << (size - 1).bit_length()


def follows(mechanism: Mechanism) -> bool:
    """Whether what a fixed value tells covers every sequence of values.

    Reports are independent given the values; or are signs of changes, as `OneChange` counts them; or fresh answers
    to the same question; or are drawn from slots, of which those of one value meet at least as often.
    """
    if isinstance(mechanism, Questioned):
        return mechanism.noise == "fresh"
    if isinstance(mechanism, Stored):
        return mechanism.slots > 1
    return mechanism.independent or isinstance(mechanism, (OneChange, Votes))


def _of_one_value(mechanism: Mechanism, reports: int, searched: int = _SEARCHED) -> Pair:
    """Of the worst value, where they are not all alike."""
    if isinstance(mechanism, Rappor):
        return mechanism.tracking(reports=reports, ones="worst")  # hashes that collide may be more trackable
    if isinstance(mechanism, Bitwise) and reports > searched:
        told = mechanism.tracking_advantage_upper(reports)  # whatever gamma is, it is no more
        factor = Factor([told, 1 - told, 0.0], [0.0, 1 - told, told], [math.inf, 0.0, -math.inf])
        return Experiment([factor], certainty="upper")
    return mechanism.tracking(reports=reports)


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
