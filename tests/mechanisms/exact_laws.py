"""Does a sample follow a law? A likelihood-ratio chi-square test whose error rates are proven, not asymptotic.

The statistic is n·KL(observed ‖ law), half of the G statistic. For n independent draws over k outcomes of
positive probability its moment generating function is at most that of a Gamma(k-1, 1) variable, so
P(n·KL ≥ x) ≤ e^-x·(e·x/(k-1))^(k-1) for x ≥ k-1 (Agrawal 2020, "Finite-sample concentration of the multinomial in
relative entropy", Theorem I.2). Pearson's statistic has no such bound: far out in the tail, where a rate of 1e-10
lies, its p-value is off by orders of magnitude unless every expected count is in the thousands.
"""

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from untrackable.arrays import FloatArray

ALARM = 1e-10
"""Probability, at most, that a right sampler fails one `agrees`: half for the law, half for the wrong one."""

Outcome = TypeVar("Outcome", bound=Hashable)


def agrees(counts: NDArray[np.int64], law: FloatArray, wrong: FloatArray) -> None:
    """The sample fits the law; and the same test finds that it does not fit the wrong one.

    That the wrong law will be found out is known before looking: the sample must be large enough for it.
    """
    n = int(counts.sum())
    assert missed(n, law, wrong) <= ALARM / 2, f"{n} draws cannot tell the wrong law: {missed(n, law, wrong):.1e}"
    assert not rejects(counts, law), f"{counts} of {n * law}: {distance(counts, law):.1f} > {critical(law):.1f}"
    assert rejects(counts, wrong), f"{counts} does not contradict {n * wrong}"


def rejects(counts: NDArray[np.int64], law: FloatArray) -> bool:
    """Whether the sample contradicts the law, at a false-alarm rate of ALARM/2."""
    return distance(counts, law) > critical(law)


def distance(counts: NDArray[np.int64], law: FloatArray) -> float:
    """n·KL(observed ‖ law); infinite when something impossible was observed."""
    assert counts.shape == law.shape
    assert math.isclose(law.sum(), 1, rel_tol=1e-12)
    seen = counts > 0
    if np.any(law[seen] <= 0):
        return math.inf
    share = counts[seen] / counts.sum()
    return float(counts[seen] @ np.log(share / law[seen]))


def critical(law: FloatArray) -> float:
    """The x at which e^-x·(e·x/(k-1))^(k-1) is ALARM/2; with one possible outcome the distance is always 0."""
    free = np.count_nonzero(law) - 1
    if free == 0:
        return 0.0
    return float(brentq(lambda x: -x + free * (1 + math.log(x / free)) - math.log(ALARM / 2), free, 2e3 + 9 * free))


def missed(n: int, law: FloatArray, wrong: FloatArray) -> float:
    """Bound on P(n draws from the law do not contradict the wrong one).

    The distance to the wrong law is at least the log-likelihood ratio Σ ln(law/wrong), so by Chernoff it stays
    below the critical x with probability at most e^(t·x)·(Σ law^(1-t)·wrong^t)^n for every t in (0, 1).
    """
    both = (law > 0) & (wrong > 0)
    p, q = law[both], wrong[both]
    exponents = [
        t * critical(wrong) + n * math.log(float((p ** (1 - t)) @ q**t)) for t in np.linspace(0.02, 0.98, 49)
    ]
    return math.exp(min(0.0, *exponents))


def tilted(law: FloatArray, by: float) -> FloatArray:
    """A law at total variation distance `by`: that much is taken from every second outcome for the others."""
    possible = np.flatnonzero(law)
    less, more = possible[0::2], possible[1::2]
    out = law.copy()
    out[less] *= 1 - by / law[less].sum()
    out[more] *= 1 + by / law[more].sum()
    return out


def arranged(law: Mapping[Outcome, float]) -> tuple[dict[Outcome, int], FloatArray]:
    """Where each outcome of a law stands, and the law as a vector."""
    return {outcome: i for i, outcome in enumerate(law)}, np.array(list(law.values()), dtype=np.float64)


def histogram(outcomes: NDArray[np.int64] | list[int], law: FloatArray) -> NDArray[np.int64]:
    """Counts of the outcomes 0 … k-1; anything else is an error."""
    counts = np.bincount(np.asarray(outcomes, dtype=np.int64).reshape(-1), minlength=law.size)
    assert counts.size == law.size, "an outcome that the law does not know"
    return counts.astype(np.int64)
