"""About how long the attacks of an audit take, from a trial with few people."""

import time
from typing import Any

import numpy as np

from untrackable.auditing.different_values import zipf_weights
from untrackable.auditing.mechanism_audit import MOST_SIMULATED
from untrackable.errors import UntrackableError
from untrackable.mechanisms.interface import Mechanism

_FEW = 64
_GROWTH = 1.25
"""The power of the number of people with which the time grows: each is simulated, and all pairs are scored."""


def attack_seconds(mechanism: Mechanism, *, reports: int, crowd: int) -> dict[str, float]:
    """Seconds of the steps that match people of equal and of different answers, by their names in `audit`.

    It is empty if the mechanism cannot be attacked in this way.
    """
    people, half = min(crowd, MOST_SIMULATED), max(1, reports // 2)
    few = min(people, _FEW)
    start = time.perf_counter()
    try:
        sent = [
            batch.reports for batch in mechanism.simulate(np.zeros(few, dtype=np.int64), rounds=2 * half, seed=1)
        ]
        both: Any = np.concatenate(sent)
        mechanism.link_scores(both[:, :half], both[:, half:], 0)
        answers = len(zipf_weights(mechanism))
    except (UntrackableError, NotImplementedError, TypeError, ValueError):
        return {}
    seconds = (time.perf_counter() - start) * (people / few) ** _GROWTH
    return {"matching": seconds, "matching, different answers": answers * seconds}
