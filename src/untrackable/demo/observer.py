"""The observer of the demonstration: ten reports from home, ten from work; whose are whose?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import match
from untrackable.demo.homepage_question import HOMEPAGES, ROUNDS
from untrackable.mechanisms.interface import Mechanism

LINKED = 1_000
"""People who hold the same homepage, so that nothing but the reports' own noise tells them apart."""


def follow(mechanism: Mechanism, value: Any, seed: int, told: Callable[[float], None]) -> Matched:
    """How often everyone's two halves are each other's likeliest counterparts, when all hold this value."""
    told(0.0)
    same = np.full(LINKED, value)
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(same, rounds=ROUNDS, seed=seed + 1)])
    half = ROUNDS // 2
    found = match(mechanism.link_scores(reports[:, :half], reports[:, half:], value))
    told(1.0)
    return found


NAMED = HOMEPAGES[0]
"""What they hold, by its name, as RAPPOR takes it; for the deck it is value 0."""
