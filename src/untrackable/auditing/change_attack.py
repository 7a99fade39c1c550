"""An attack on undetectability: find whether and when a person's value changed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from untrackable import checks
from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import area, share
from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress

FloatArray = NDArray[np.float64]

FALSE_ALARMS = 0.05
"""The attack's threshold is such that this share of people without a change is suspected."""
_CERTAIN = 1e6
"""The log-likelihood ratio of a change that reports prove. It is finite, so that sums of scores stay numbers."""
_GRID = 1 << 14
"""Grid points of the engine. They are enough for a bound that is compared with a simulation."""


@dataclass(frozen=True, slots=True)
class Changed:
    """How well the attack found changes (sampled), and a bound for any attack (from the engine).

    `found` is the share of changes that the attack finds, with 5 % false alarms. `auc` is the probability that a
    person whose value changed has a higher score than a person whose value did not. `when` is the share of changes
    for which the attack names the right round. `auc_bound` is a bound on `auc`. It even holds for an observer who
    knows in which round the value may have changed.
    """

    people: int
    reports: int
    found: Matched
    auc: Matched
    when: Matched
    auc_bound: Bracket


def find_changes(
    mechanism: Mechanism,
    *,
    people: int = 1000,
    reports: int = 10,
    value: Any = 0,
    other: Any = 1,
    seed: int = 1,
    level: float = 0.95,
    progress: Progress = no_progress,
) -> Changed:
    """Simulate people of whom half change from `value` to `other` at a random time, and look for the changes.

    After the change, a fresh client sends the reports. The observer knows both values. The score of a person is the
    likelihood ratio of a change, averaged over all times at which it may have happened.
    """
    people, reports = checks.integer("people", people, low=8), checks.integer("reports", reports, low=2)
    # Simulation draws from [seed, number of the first client], so this stream is independent of it.
    rng = np.random.default_rng([checks.integer("seed", seed, low=0), 1, people])
    before, after = (
        np.concatenate([b.reports for b in mechanism.simulate(np.full(people, v), rounds=reports, seed=seed + i)])
        for i, v in enumerate((value, other))
    )
    times = rng.integers(1, reports, size=people)
    changes = np.arange(people) % 2 == 1
    late = changes[:, None] & (np.arange(reports) >= times[:, None])
    sent = np.where(late.reshape(late.shape + (1,) * (before.ndim - 2)), after, before)
    ratios = _ratios(mechanism, sent, value, other, progress)
    score = logsumexp(ratios, axis=0) - np.log(len(ratios))
    stayed, moved = score[~changes], score[changes]
    threshold = np.quantile(stayed, 1 - FALSE_ALARMS, method="higher")
    named = ratios[:, changes] == ratios[:, changes].max(axis=0)
    right = named[times[changes] - 1, np.arange(moved.size)] / named.sum(axis=0)
    return Changed(
        people,
        reports,
        share((moved > threshold).astype(np.float64), level),
        area(moved, stayed, level),
        share(right, level),
        _bound(mechanism, reports),
    )


def _ratios(mechanism: Mechanism, sent: NDArray[Any], value: Any, other: Any, progress: Progress) -> FloatArray:
    """The log-likelihood ratios of a change after t reports against no change, for t = 1 … k-1."""
    rounds = list(range(1, sent.shape[1] + 1))
    unchanged = mechanism.log_likelihood(sent, value, rounds)
    ratios = []
    for t in rounds[:-1]:
        early = mechanism.log_likelihood(sent[:, :t], value, rounds[:t])
        late = mechanism.log_likelihood(sent[:, t:], other, rounds[t:])
        # Some reports are impossible without a change. They show that there was one, but not when.
        ratios.append(early + late + np.where(np.isneginf(unchanged), _CERTAIN, -unchanged))
        progress("changes", t / (len(rounds) - 1))
    return np.array(ratios)


def _bound(mechanism: Mechanism, reports: int) -> Bracket:
    """The area under the curve for an observer who knows the time of the change, averaged over all times."""
    rounds = range(1, reports + 1)
    pairs = (mechanism.detection(rounds=rounds, first=range(1, t + 1)) for t in range(1, reports))
    areas = [pair.with_grid(_GRID).auc() for pair in pairs]
    lower, upper = (float(np.mean([getattr(a, end) for a in areas])) for end in ("lower", "upper"))
    return Bracket(lower, upper)
