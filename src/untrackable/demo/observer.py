"""The observer of the demonstration, who matches ten reports from home with ten from work."""

from collections.abc import Callable
from typing import Any

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import match
from untrackable.demo.homepage_question import HOMEPAGES, ROUNDS
from untrackable.mechanisms.interface import Mechanism

LINKED = 1_000
"""People who hold the same homepage, so that nothing but the reports' own noise tells them apart."""


def match_home_and_work(mechanism: Mechanism, value: Any, seed: int, show: Callable[[float], None]) -> Matched:
    """How often the reports from home are matched with the right ones from work, when all hold this value."""
    show(0.0)
    same = np.full(LINKED, value)
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(same, rounds=ROUNDS, seed=seed + 1)])
    half = ROUNDS // 2
    found = match(mechanism.link_scores(reports[:, :half], reports[:, half:], value))
    show(1.0)
    return found


HELD_HOMEPAGE = HOMEPAGES[0]
"""The homepage that all of them hold, as RAPPOR takes it; for the deck it is value 0."""
