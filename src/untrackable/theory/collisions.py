"""Stored executions drawn with replacement: a slot that shows up on both sides gives a person away.

These experiments show the observer the whole pattern: which reports came from the same slot. That can only help the
observer, so the experiments dominate the mechanism's own for every base mechanism. They become exact as the base's
reports become unique.
"""

import math
from functools import lru_cache

import numpy as np

from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.monotone_search import smallest_integer

_REMEMBERED = 2048
"""Laws of up to this number of draws are cached, because a search over splits needs all of them."""
_COUNTED = 1500
"""Up to this many reports, slots that show up on both sides are counted for every split."""
_NEGLIGIBLE = 1e-18
"""Patterns rarer than this are counted as if they gave the person away."""


def occupancy(draws: int, slots: int) -> FloatArray:
    """The law of the number M of distinct slots among uniform draws, indexed by M = 0 … min(draws, slots)."""
    if slots == 1 and draws > 0:
        return np.array([0.0, 1.0])
    remembered = draws <= _REMEMBERED
    law = _occupancies(1 << draws.bit_length(), slots)[draws] if remembered else _after(draws, slots)
    return np.array(law[: min(draws, slots) + 1])


@lru_cache(maxsize=4)
def _occupancies(draws: int, slots: int) -> list[FloatArray]:
    """The laws after 0, 1, …, `draws` draws."""
    laws = [np.eye(1, min(draws, slots) + 1)[0]]
    for _ in range(draws):
        laws.append(_one_more(laws[-1], slots))
    return laws


def _after(draws: int, slots: int) -> FloatArray:
    law: FloatArray = np.eye(1, min(draws, slots) + 1)[0]
    for _ in range(draws):
        law = _one_more(law, slots)
    return law


def _one_more(law: FloatArray, slots: int) -> FloatArray:
    distinct = np.arange(law.size)
    after: FloatArray = law * distinct / slots
    after[1:] += law[:-1] * (slots - distinct[:-1]) / slots
    return after


def cross_probability(slots: int, reports: int, split: int) -> float:
    """P(cross) = 1 - E[(1 - M/L)^(k-j)], the probability that some slot is drawn on both sides of the split.

    L is the number of slots, k of reports, j of reports before the split, and M is the number of distinct slots
    among the first j draws. P(cross) ≤ j(k-j)/L always holds; [NV, tracking of RNIP] has k²/L + L²/2^d instead.
    """
    if split in (0, reports):
        return 0.0
    law = occupancy(split, slots)
    with np.errstate(divide="ignore"):
        missed = (reports - split) * np.log1p(-np.arange(law.size) / slots)
    return float(law @ -np.expm1(missed))


def crossing_upper(slots: int, reports: int) -> float:
    """P(cross) of the worst split; of very many reports the bound j(k-j)/L.

    It is delta at every gamma ≥ 0, as other patterns are likelier of two people.
    """
    half = reports // 2
    if reports > _COUNTED:
        return min(1.0, half * (reports - half) / slots)
    return max((cross_probability(slots, reports, split) for split in range(1, half + 1)), default=0.0)


@lru_cache(maxsize=256)
def fewest_slots(reports: int, advantage: float, most: int) -> int:
    """The fewest slots whose `crossing_upper` is at most `advantage`; ValueError if that takes more than `most`."""
    half = reports // 2

    def excess(slots: int) -> float:
        return math.log(crossing_upper(slots, reports) / advantage)

    guess = math.ceil(half * (reports - half) / -math.log1p(-advantage))
    return smallest_integer(excess, guess, low=1, high=most)


def repeat_probability(slots: int, draws: int) -> float:
    """The probability that some slot is drawn at least twice."""
    if draws > slots:
        return 1.0
    return float(-np.expm1(np.sum(np.log1p(-np.arange(draws) / slots))))


def stored_tracking(slots: int, reports: int, split: int) -> Experiment:
    """One person against two: the observer sees a cross, or the number of distinct slots on each side (upper).

    A pattern without a cross that has m and m' distinct slots on the two sides has
    P/Q = (L-m)!(L-m')! / ((L-m-m')! L!), which is at most 1.
    """
    p, q, loss = (table.ravel() for table in _patterns(slots, reports, split))
    usual = (p > _NEGLIGIBLE) & (q > _NEGLIGIBLE)
    q_lone = float(q[~usual].sum())
    p_lone = cross_probability(slots, reports, split) + float(p[~usual].sum())
    scale = (1 - p_lone) / p[usual].sum() if usual.any() else 0.0
    lone = [(p_lone, 0.0, np.inf)] * (p_lone > 0) + [(0.0, q_lone, -np.inf)] * (q_lone > 0)
    masses = np.array([*zip(scale * p[usual], q[usual], loss[usual], strict=True), *lone])
    return Experiment([Factor(*masses.T)], certainty="upper")


def stored_privacy(base: Factor, slots: int, reports: int) -> Mixture:
    """One fixed value against another, seen through the distinct slots among `reports` draws (upper)."""
    law = occupancy(reports, slots)
    rare = law <= _NEGLIGIBLE
    moved, law[rare] = law[rare].sum(), 0.0
    law[-1] += moved  # More slots reveal more, so this only overstates what is seen.
    return Mixture([(w, w, Experiment([(base, m)], certainty="upper")) for m, w in enumerate(law) if w > 0])


def stored_detection(base: Factor, slots: int, reports: int, split: int) -> Mixture:
    """One person against two with different values, the second of whom sends all but `split` reports (upper)."""
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
        # The mixture adds ln(w_p/w_q) to every loss of the component, so the factor itself must not contain it.
        pattern = Factor(in_p / w_p, in_q / w_q, loss[usual, m] - np.log(w_p / w_q))
        components.append((w_p, w_q, Experiment([pattern, (base, m)], certainty="upper")))
    lone = Experiment(certainty="upper")
    return Mixture([*components, (p_lone, 0.0, lone), (0.0, q_lone, lone)])


def _patterns(slots: int, reports: int, split: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses in P and in Q and losses of the patterns without a cross, by distinct slots on the two sides."""
    left, right = occupancy(split, slots), occupancy(reports - split, slots)
    drawn, avoided = np.arange(left.size - 1)[:, None], np.arange(right.size)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        one_by_one = np.where(avoided < slots - drawn, np.log1p(-avoided / (slots - drawn)), -np.inf)
    loss = np.vstack((np.zeros((1, right.size)), np.cumsum(one_by_one, axis=0)))
    q = np.outer(left, right)
    return q * np.exp(loss), q, loss
