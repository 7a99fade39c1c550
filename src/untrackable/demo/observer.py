"""The observer of the demonstration. They match ten reports from home with ten from work."""

from collections.abc import Callable
from typing import Any

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import match
from untrackable.demo.homepage_question import HOMEPAGES, ROUNDS
from untrackable.mechanisms.interface import Mechanism

LINKED = 1_000
"""The number of people. All hold the same homepage, so only the noise of the reports differs between them."""


def match_home_and_work(mechanism: Mechanism, value: Any, seed: int, show: Callable[[float], None]) -> Matched:
    """The share of people whose reports from home are matched with the right ones from work."""
    show(0.0)
    same = np.full(LINKED, value)
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(same, rounds=ROUNDS, seed=seed + 1)])
    half = ROUNDS // 2
    found = match(mechanism.link_scores(reports[:, :half], reports[:, half:], value))
    show(1.0)
    return found


HELD_HOMEPAGE = HOMEPAGES[0]
"""The homepage that all of them hold, as text for RAPPOR. For the deck it is value 0."""
