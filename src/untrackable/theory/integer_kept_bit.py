"""One kept bit in whole numbers: a client keeps a noisy bit for ever and adds noise to every report.

The standard library is enough for this, so a client can recompute it. `theory.coordinate` and
`theory.kept_advantage` compute the same for the full engine, in floating point.
"""

import bisect
import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from untrackable.theory.integer_losses import LONGEST, STEPS, LossLaw, coarser, log_ratio
from untrackable.theory.tracking_bounds import reports_of_two_values

MOST_REPORTS = 256
"""Up to this many reports, every outcome is counted. With more, the observer is granted the kept bit itself."""

MOST_TRACKED = 128
"""The limit is lower for tracking, which has many more outcomes."""

MOST_TERMS = 1 << 16
"""At most this many terms of the advantage are summed, one for four reports. The last bounds all further ones."""

_WORD = 1 << 64
"""Probabilities are whole numbers over this."""
_UNIT = 1 << 192
"""The terms of the advantage are whole numbers over this, rounded up."""
_HAIR = 2.0**-46
"""The relative room for the rounding of floating-point numbers."""
_DOTS = sorted({0, STEPS, *(round(1.1**n) for n in range(math.floor(math.log(LONGEST, 1.1)) + 1))})
"""Delta is computed at these steps. It is convex, so straight lines between them are close to it."""


class KeptBit(NamedTuple):
    """The probabilities that the kept bit is not the true one, and that a report is not the kept one, over 2^64."""

    kept_lie: int
    report_lie: int


def response(threshold: int) -> LossLaw:
    """One randomised response that lies with probability threshold/2^64."""
    lie = Fraction(threshold, _WORD)
    return LossLaw.of(log_ratio(_WORD - threshold, threshold), {1: 1 - lie, -1: lie})


def privacy_of_one_value(bit: KeptBit, reports: int | None, step: float) -> LossLaw:
    """The loss from the kept bit, or from the number of ones among the reports, which reveals less.

    The law is on this step or a coarser one. An observer of more than `MOST_REPORTS` reports is granted the kept
    bit (upper).
    """
    everlasting = response(bit.kept_lie)
    if reports is None or reports > MOST_REPORTS:
        return everlasting
    lie, noise = bit.kept_lie, bit.report_lie
    pure, laws = Fraction(0), []
    whole = _WORD ** (reports + 1)
    for ones in range(reports + 1):
        ways = math.comb(reports, ones)
        of_one = (_WORD - noise) ** ones * noise ** (reports - ones)
        of_zero = noise**ones * (_WORD - noise) ** (reports - ones)
        here, there = (_WORD - lie) * of_one + lie * of_zero, lie * of_one + (_WORD - lie) * of_zero
        laws.append((Fraction(ways * here, whole), log_ratio(here, there)))
        pure = max(pure, laws[-1][1])
    step = coarser(step, float(pure))
    pieces: dict[int, int] = {}
    infinite = 0
    for chance, loss in laws:
        piece = (
            LossLaw.of(abs(loss), {(loss > 0) - (loss < 0): chance}).on(step)
            if loss
            else LossLaw.of(Fraction(step), {0: chance})
        )
        infinite += piece.infinite
        for position, mass in enumerate(piece.masses, piece.low):
            pieces[position] = pieces.get(position, 0) + mass
    low, high = min(pieces), max(pieces)
    masses = tuple(pieces.get(position, 0) for position in range(low, high + 1))
    return LossLaw(step, low, masses, infinite, pure)


def privacy_of_changing_values(bit: KeptBit, reports: int | None) -> LossLaw:
    """Any sequence of values, with a state for each value. One randomised response per report dominates it."""
    return LossLaw.everything() if reports is None else response(bit.report_lie) ** reports


def tracking_delta(bit: KeptBit, reports: int, gamma: float) -> float:
    """Delta at gamma of one person against two, for the worst split (upper; exact up to rounding at gamma 0)."""
    if gamma > 0 and reports <= MOST_TRACKED:
        return max(_splits(bit, reports, [gamma]))
    return min(_granted(bit, gamma), advantage(bit, reports))


@lru_cache(maxsize=64)
def tracking_law(bit: KeptBit, reports: int, step: float) -> LossLaw:
    """The tracking delta for every gamma, as a law that can be composed with others (upper)."""
    gammas = [position * step for position in _DOTS]
    if reports <= MOST_TRACKED:
        deltas = _splits(bit, reports, gammas)
    else:
        most = advantage(bit, reports)
        deltas = [min(_granted(bit, gamma), most) for gamma in gammas]
    deltas[0] = advantage(bit, reports)
    return LossLaw.profile(step, dict(zip(_DOTS, deltas, strict=True)))


@lru_cache(maxsize=64)
def tracking_law_of_changing_values(bit: KeptBit, reports: int, step: float) -> LossLaw:
    """The tracking law when values change. Each value has its own kept bit, so two laws are composed (upper)."""
    largest = reports // 2 * response(bit.report_lie).step
    # A coarser step keeps the two laws short.
    step_of_each = max(step, min(largest, LONGEST * step) / STEPS)
    laws = [tracking_law(bit, reports, step)]
    for sizes in reports_of_two_values(reports):
        fewer, more = (tracking_law(bit, size, step_of_each) for size in sizes)
        laws.append(fewer * more)
    return LossLaw.profile(step, {position: max(law.delta(position * step) for law in laws) for position in _DOTS})


def advantage(bit: KeptBit, reports: int) -> float:
    """Delta at gamma 0, which bounds delta at every gamma: 2a(1-a)·TV(j)·TV(k-j) for the worst split j of k.

    q = 1 - p is the probability of reporting the kept bit. The majority of the reports is the likelier bit, so
    TV(2m+1) = TV(2m+2) = (q-p)·Σ C(2i, i)·(pq)^i for i from 0 to m. The terms fall, so these sums are concave in m,
    and the worst split is the one in the middle.
    """
    if reports < 2:
        return 0.0
    state, noise = bit.kept_lie, bit.report_lie
    total = reports // 2 - 1
    few, many = (_distance(noise, terms) for terms in (total // 2, total - total // 2))
    found = Fraction(2 * state * (_WORD - state), _WORD**2) * few * many
    return 0.0 if found == 0 else min(1.0, math.nextafter(float(found), math.inf))


def _distance(noise: int, last: int) -> Fraction:
    """TV(2·last + 1), rounded up."""
    both = noise * (_WORD - noise)
    term = summed = _UNIT
    for i in range(min(last, MOST_TERMS)):
        term = -(-(term * both * 2 * (2 * i + 1)) // ((i + 1) * _WORD**2))
        summed += term
    summed += term * max(0, last - MOST_TERMS)
    return min(Fraction(1), Fraction(abs(_WORD - 2 * noise) * summed, _WORD * _UNIT))


def _granted(bit: KeptBit, gamma: float) -> float:
    """Delta for an observer who sees the kept bits of both sides. One person's are always equal."""
    one = bit.kept_lie / _WORD
    pairs = [(chance, chance**2) for chance in (one, 1 - one)]
    return _worse([*pairs, (0.0, 2 * one * (1 - one))], [gamma])[0]


def _splits(bit: KeptBit, reports: int, gammas: list[float]) -> list[float]:
    """Deltas of the worst split. The observer sees the numbers of ones on both sides, from one kept bit or two."""
    kept = (bit.kept_lie / _WORD, (_WORD - bit.kept_lie) / _WORD)
    sizes = {size: _binomials(size, bit.report_lie) for size in range(1, reports)}
    worst = [0.0] * len(gammas)
    for first in range(1, reports // 2 + 1):
        right = [(one, zero, kept[0] * one + kept[1] * zero) for one, zero in sizes[reports - first]]
        pairs = []
        for one, zero in sizes[first]:
            alone, with_one, with_zero = kept[0] * one + kept[1] * zero, kept[0] * one, kept[1] * zero
            pairs += [(with_one * a + with_zero * b, alone * both) for a, b, both in right]
        for i, delta in enumerate(_worse(pairs, gammas)):
            worst[i] = max(worst[i], delta)
    return worst


def _worse(pairs: list[tuple[float, float]], gammas: list[float]) -> list[float]:
    """The larger of Σ(P - e^γ·Q)⁺ and Σ(Q - e^γ·P)⁺. Every term is rounded up."""
    return [
        max(ends) for ends in zip(_ahead(pairs, gammas), _ahead([(q, p) for p, q in pairs], gammas), strict=True)
    ]


def _ahead(pairs: list[tuple[float, float]], gammas: list[float]) -> list[float]:
    """Σ(P - e^γ·Q)⁺ over the outcomes with P/Q above e^γ. Sums are integers over 2^80."""
    ordered = sorted((-p / q if q else -math.inf, p, q) for p, q in pairs if p)
    here = list(accumulate((int(math.ldexp(p, 80)) + 1 for _, p, _ in ordered), initial=0))
    there = list(accumulate((int(math.ldexp(q, 80)) for *_, q in ordered), initial=0))
    up, down = 1 + _HAIR, 1 - _HAIR
    deltas = []
    for gamma in gammas:
        factor = math.exp(min(gamma, 700.0)) * down
        last = bisect.bisect_right(ordered, (-factor / up, math.inf))
        ahead = here[last] * up - there[last] * factor
        deltas.append(min(1.0, max(0.0, math.ldexp(ahead, -80) * up)))
    return deltas


def _binomials(size: int, threshold: int) -> list[tuple[float, float]]:
    """The probabilities of 0, 1, … ones among `size` reports of a kept 1, and of a kept 0."""
    whole = _WORD**size
    chances = [
        math.comb(size, ones) * (_WORD - threshold) ** ones * threshold ** (size - ones) / whole
        for ones in range(size + 1)
    ]
    return list(zip(chances, reversed(chances), strict=True))
