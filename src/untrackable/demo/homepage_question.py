"""The question of the demonstration, "which of 16 homepages is yours?", and the people who answer it."""

import dataclasses
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.categories import Categories
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway
from untrackable.theory.crowd_counts import MARGIN, fewest_likely_reports
from untrackable.theory.turns import Turns

WEEKS, QUARTER = 52, 13
"""The rounds of the campaign, one a week, and how many of them are a quarter of a year."""
EPS = 2.0
"""Whatever is sent changes the odds between two answers by a factor of at most e² ≈ 7.4, for ever. With eps = 4 it
would be 55: intervals would be half as wide, but that is not what one would choose for one's own family."""
DELTA = 1e-6
TENTH = 10
"""The same question is also asked of one person in this many."""
HOMEPAGES = (
    "news", "mail", "search", "video", "social", "maps", "weather", "shop",
    "wiki", "games", "bank", "travel", "sport", "music", "school", "blank",
)  # fmt: skip
LEFT, JOINED = 0, 3
"""Half of the people with the first homepage change to the other, in the second or the third quarter."""
_WEEK = 7 * 86_400


def report() -> Fresh:
    """The one report that a person ever sends."""
    return Fresh(NoisyInnerProduct(bits=(len(HOMEPAGES) - 1).bit_length(), eps=EPS))


def homepage_campaign(now: float, question: str = "Which homepage is yours?") -> Campaign:
    """A weekly question that each person answers once. All of its rounds are over."""
    return Campaign(
        question=question,
        encoding=Categories(names=HOMEPAGES, unknown="error"),
        mechanism=report(),
        first_round=(int(now) // _WEEK - WEEKS) * _WEEK,
        round_seconds=_WEEK,
        rounds=WEEKS,
        guarantee=Guarantee(eps=EPS),
        turns=Turns(rounds=WEEKS),
    )


def promised_crowd(people: int) -> CrowdGuarantee:
    """What a collector learns at most that does not know who sent which of a week's reports (upper).

    The crowd that is promised is the smallest that is likely; few weeks have fewer reports.
    """
    reports = max(2, fewest_likely_reports(people, Fraction(1, WEEKS) * (1 - MARGIN)))
    eps = report().crowd(people=reports, reports=1).gamma(DELTA).upper
    return CrowdGuarantee(eps=eps, delta=DELTA, reports=reports)


def relayed_campaign(now: float, people: int, gateway: Gateway) -> Campaign:
    """The same question through a relay."""
    guarantee = Guarantee(eps=EPS, crowd=promised_crowd(people))
    return dataclasses.replace(homepage_campaign(now), guarantee=guarantee, gateway=gateway)


class Population(NamedTuple):
    """Everybody's homepage before and after the week in which they change it. Most never do."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    week: NDArray[np.int64]

    @staticmethod
    def of(people: int, seed: int) -> "Population":
        """A few homepages are popular, and one of them becomes less so."""
        rng = np.random.default_rng([seed, 1, people])
        weights = np.arange(1.0, len(HOMEPAGES) + 1) ** -0.8
        before = rng.choice(len(HOMEPAGES), size=people, p=weights / weights.sum())
        changes = (before == LEFT) & (rng.random(people) < 0.5)
        week = rng.integers(QUARTER + 1, 3 * QUARTER, size=people, endpoint=True)
        return Population(before, np.where(changes, JOINED, before), np.where(changes, week, WEEKS + 1))

    def part(self, which: slice) -> "Population":
        """Some of the people."""
        return Population(*(each[which] for each in self))

    def at(self, week: int) -> NDArray[np.int64]:
        """Everybody's homepage in a week."""
        return np.where(week < self.week, self.before, self.after)

    def shares(self) -> NDArray[np.float64]:
        """The true share of each homepage (column) in each week (row)."""
        size = len(HOMEPAGES)
        return np.array([np.bincount(self.at(week), minlength=size) for week in range(1, WEEKS + 1)]) / len(
            self.before
        )
