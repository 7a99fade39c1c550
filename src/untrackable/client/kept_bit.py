"""What reports of Bitwise tell: one bit, kept noisy for ever and reported through more noise."""

import math
from fractions import Fraction

from untrackable.client.laws import Law, log_ratio
from untrackable.mechanisms.bitwise import Bitwise

MOST_REPORTS = 256
"""Up to which all that reports can be is looked at; beyond, the kept bit itself is granted to the observer."""

MOST_TERMS = 1 << 16
"""Terms of the advantage that are summed, a quarter as many as reports; further ones are bounded by the last."""

_WORD = 1 << 64
_UNIT = 1 << 192
_HAIR = 2.0**-46


def response(threshold: int) -> Law:
    """One randomised response that lies with probability threshold/2^64."""
    lie = Fraction(threshold, _WORD)
    return Law.of(log_ratio(_WORD - threshold, threshold), {1: 1 - lie, -1: lie})


def fixed(mechanism: Bitwise, reports: int | None, step: float) -> Law:
    """The kept bit, or the number of ones among so many reports of it, which says less."""
    everlasting = response(mechanism.state_flip.threshold)
    if reports is None or reports > MOST_REPORTS:
        return everlasting
    lie, noise = mechanism.state_flip.threshold, mechanism.report_flip.threshold
    pure, laws = Fraction(0), []
    whole = _WORD ** (reports + 1)
    for ones in range(reports + 1):
        ways = math.comb(reports, ones)
        told = (_WORD - noise) ** ones * noise ** (reports - ones)
        lied = noise**ones * (_WORD - noise) ** (reports - ones)
        here, there = (_WORD - lie) * told + lie * lied, lie * told + (_WORD - lie) * lied
        laws.append((Fraction(ways * here, whole), log_ratio(here, there)))
        pure = max(pure, laws[-1][1])
    pieces: dict[int, int] = {}
    for chance, loss in laws:
        piece = (
            Law.of(abs(loss), {(loss > 0) - (loss < 0): chance}).on(step)
            if loss
            else Law.of(Fraction(step), {0: chance})
        )
        for place, mass in enumerate(piece.masses, piece.low):
            pieces[place] = pieces.get(place, 0) + mass
    low, high = min(pieces), max(pieces)
    masses = tuple(pieces.get(place, 0) for place in range(low, high + 1))
    return Law(step, low, masses, 0, pure)


def any_values(mechanism: Bitwise, reports: int | None) -> Law:
    """Any sequence of values, one state for each: no further apart than so many responses."""
    return Law.everything() if reports is None else response(mechanism.report_flip.threshold) ** reports


def tracking(mechanism: Bitwise, reports: int, gamma: float) -> float:
    """Delta at gamma of one user against two, for the worst split (upper; exact up to rounding at gamma 0)."""
    if gamma > 0 and reports <= MOST_REPORTS:
        return max((_split(mechanism, reports, first, gamma) for first in range(1, reports // 2 + 1)), default=0.0)
    return min(_granted(mechanism, gamma), advantage(mechanism, reports))


def advantage(mechanism: Bitwise, reports: int) -> float:
    """Delta at gamma 0, which bounds that at every other: 2a(1-a)·TV(j)·TV(k-j) of the worst split j of k.

    With q = 1 - p the chance of telling the kept bit, the likelier bit is the one of the majority, so that
    TV(2m+1) = TV(2m+2) = (q-p)·Σ C(2i, i)·(pq)^i for i from 0 to m. The terms fall, so these sums are concave in m,
    and the worst of all splits is the one in the middle.
    """
    if reports < 2:
        return 0.0
    state, noise = mechanism.state_flip.threshold, mechanism.report_flip.threshold
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


def _granted(mechanism: Bitwise, gamma: float) -> float:
    """An observer who is shown the kept bits: 1 and 1, 0 and 0, or different, which one user never has."""
    one = mechanism.state_flip.threshold / _WORD
    pairs = [(chance, chance**2) for chance in (one, 1 - one)]
    return _worse([*pairs, (0.0, 2 * one * (1 - one))], gamma)


def _split(mechanism: Bitwise, reports: int, first: int, gamma: float) -> float:
    """The numbers of ones on the two sides, of one kept bit or of two."""
    kept = (mechanism.state_flip.threshold / _WORD, (_WORD - mechanism.state_flip.threshold) / _WORD)
    left = [_binomials(size, mechanism.report_flip.threshold) for size in (first, reports - first)]
    pairs = []
    for one, zero in left[0]:
        alone = kept[0] * one + kept[1] * zero
        for other_one, other_zero in left[1]:
            together = kept[0] * one * other_one + kept[1] * zero * other_zero
            pairs.append((together, alone * (kept[0] * other_one + kept[1] * other_zero)))
    return _worse(pairs, gamma)


def _worse(pairs: list[tuple[float, float]], gamma: float) -> float:
    """The larger of Σ(P - e^γ·Q)⁺ and Σ(Q - e^γ·P)⁺, every term rounded up."""
    up, down = 1 + _HAIR, (1 - _HAIR) * math.exp(min(gamma, 700.0))
    forward = math.fsum(max(0.0, p * up - q * down) for p, q in pairs if p)
    backward = math.fsum(max(0.0, q * up - p * down) for p, q in pairs if q)
    return min(1.0, max(forward, backward) * up)


def _binomials(size: int, threshold: int) -> list[tuple[float, float]]:
    """Chances of 0, 1, … ones among so many reports of a kept 1, and of a kept 0."""
    whole = _WORD**size
    chances = [
        math.comb(size, ones) * (_WORD - threshold) ** ones * threshold ** (size - ones) / whole
        for ones in range(size + 1)
    ]
    return list(zip(chances, reversed(chances), strict=True))
