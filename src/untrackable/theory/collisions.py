"""Stored executions drawn with replacement: what gives a user away is a slot that shows up on both sides.

The observer is granted the whole pattern, that is which reports came from the same slot. That can only help,
so the experiments here dominate the mechanism's for every base, and are attained as the base's reports become
unique.
"""

import numpy as np
from scipy.special import gammaln

from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, FloatArray

_NEGLIGIBLE = 1e-18
"""Patterns rarer than this are counted as if they gave everything away."""


def occupancy(draws: int, slots: int) -> FloatArray:
    """Law of the number M of distinct slots among `draws` uniform draws, indexed by M = 0 … min(draws, slots)."""
    law = np.zeros(min(draws, slots) + 1)
    law[0] = 1.0
    distinct = np.arange(law.size)
    for _ in range(draws):
        seen_again = law * distinct / slots
        seen_again[1:] += law[:-1] * (slots - distinct[:-1]) / slots
        law = seen_again
    return law


def cross_probability(slots: int, reports: int, split: int) -> float:
    """P(cross) = 1 - E[(1 - M/L)^(k-j)], M being the distinct slots among the first j draws.

    [NV, tracking of RNIP] has k²/L + L²/2^d for it; P(cross) ≤ j(k-j)/L always suffices.
    """
    if split in (0, reports):
        return 0.0
    law = occupancy(split, slots)
    with np.errstate(divide="ignore"):
        missed = (reports - split) * np.log1p(-np.arange(law.size) / slots)
    return float(law @ -np.expm1(missed))


def repeat_probability(slots: int, draws: int) -> float:
    """Probability that some slot is drawn twice."""
    if draws > slots:
        return 1.0
    return float(-np.expm1(np.sum(np.log1p(-np.arange(draws) / slots))))


def stored_tracking(slots: int, reports: int, split: int) -> Experiment:
    """One user against two: the numbers of distinct slots on each side, or a cross.

    A pattern without a cross and with m and m' distinct slots has
    P/Q = (L-m)!(L-m')! / ((L-m-m')! L!), which is at most 1.
    """
    p, q, loss = _patterns(slots, reports, split)
    cross = cross_probability(slots, reports, split)
    factor = Factor(_completed(p.ravel(), cross), np.append(q.ravel(), 0.0), np.append(loss.ravel(), np.inf))
    return Experiment([factor], certainty="upper")


def stored_privacy(base: Factor, slots: int, reports: int) -> Mixture:
    """A fixed value against another, seen through the distinct slots among k draws."""
    law = occupancy(reports, slots)
    rare = law <= _NEGLIGIBLE
    moved, law[rare] = law[rare].sum(), 0.0
    law[-1] += moved  # the most slots, which reveal the most
    return Mixture([(w, w, Experiment([(base, m)], certainty="upper")) for m, w in enumerate(law) if w > 0])


def stored_detection(base: Factor, slots: int, reports: int, split: int) -> Mixture:
    """One user against a user for the first `split` reports and another, of another value, for the rest."""
    p, q, loss = _patterns(slots, reports, split)
    p_lone, q_lone = cross_probability(slots, reports, split), 0.0
    components: list[tuple[float, float, Experiment]] = []
    for m in range(q.shape[1]):
        usual = (p[:, m] > _NEGLIGIBLE) & (q[:, m] > _NEGLIGIBLE)
        p_lone += float(p[~usual, m].sum())
        q_lone += float(q[~usual, m].sum())
        if not usual.any():
            continue
        in_p, in_q = p[usual, m], q[usual, m]
        w_p, w_q = float(in_p.sum()), float(in_q.sum())
        # The mixture adds ln(w_p/w_q) to every loss in it, so the factor must not contain it.
        pattern = Factor(in_p / w_p, in_q / w_q, loss[usual, m] - np.log(w_p / w_q))
        components.append((w_p, w_q, Experiment([pattern, (base, m)], certainty="upper")))
    lone = Experiment(certainty="upper")
    return Mixture([*components, (p_lone, 0.0, lone), (0.0, q_lone, lone)])


def _patterns(slots: int, reports: int, split: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses without a cross in both worlds and their loss, by distinct slots on the two sides."""
    left, right = occupancy(split, slots), occupancy(reports - split, slots)
    m, n = np.ogrid[: left.size, : right.size]
    with np.errstate(invalid="ignore"):
        loss = gammaln(slots - m + 1.0) + gammaln(slots - n + 1.0) - gammaln(slots + 1.0)
        loss = np.where(m + n <= slots, loss - gammaln(np.maximum(slots - m - n, 0) + 1.0), -np.inf)
    loss = np.minimum(loss, 0.0)  # exact zeros where a side is empty, whatever gammaln rounds to
    q = np.outer(left, right)
    return q * np.exp(loss), q, loss


def _completed(masses: FloatArray, cross: float) -> FloatArray:
    """The masses without a cross, scaled to what the cross leaves, and the cross."""
    total = masses.sum()
    return np.append(masses * ((1 - cross) / total) if total > 0 else masses, cross)
