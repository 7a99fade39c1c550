"""A crowd against the definition: all reports of everybody, as a multiset, enumerated."""

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.theory.enumerated_crowd import delta_of, multisets, parts_of
from untrackable.theory.crowd import (
    COARSE,
    FINEST,
    MARGIN,
    RARELY,
    CrowdParts,
    crowd_deltas,
    crowd_upper,
    fewest_likely_reports,
)

Law = tuple[Fraction, ...]
GAMMAS = (0.0, 0.05, 0.2, 0.5, 0.8, 1.2)


def randomised_response(values: int, ratio: Fraction) -> list[Law]:
    """The true value with probability e^eps/(e^eps + values - 1)."""
    whole = ratio + values - 1
    return [tuple((ratio if i == v else Fraction(1)) / whole for i in range(values)) for v in range(values)]


def noisy_inner_product(bits: int, ratio: Fraction) -> list[Law]:
    """A vector, and the noisy parity of the value's bits in it."""
    truth = ratio / (ratio + 1) / 2**bits
    lie = 1 / (ratio + 1) / 2**bits
    return [
        tuple(truth if (v & s).bit_count() % 2 == answer else lie for s in range(2**bits) for answer in (0, 1))
        for v in range(2**bits)
    ]


CASES = [
    (randomised_response(3, Fraction(27, 10)), 5),
    (randomised_response(2, Fraction(7)), 6),
    (randomised_response(4, Fraction(3)), 4),
    (noisy_inner_product(2, Fraction(4)), 3),
]


@pytest.mark.parametrize(("laws", "people"), CASES)
def test_the_bound_holds_whatever_the_others_hold(laws: list[Law], people: int) -> None:
    parts = parts_of(laws, 0, 1)
    bounds = crowd_deltas(parts, people, np.array(GAMMAS))
    worst = np.zeros(len(GAMMAS))
    for others in itertools.combinations_with_replacement(range(len(laws)), people - 1):
        rest = [laws[v] for v in others]
        one, two = multisets([laws[0], *rest]), multisets([laws[1], *rest])
        for i, gamma in enumerate(GAMMAS):
            worst[i] = max(worst[i], delta_of(one, two, gamma), delta_of(two, one, gamma))
    assert np.all(worst <= bounds * (1 + 1e-9))
    assert worst[0] > 0.5 * bounds[0]


def pair(parts: CrowdParts, people: int) -> tuple[list[float], list[float]]:
    """The probabilities of all numbers of reports, in both worlds."""
    first, third = parts.chances
    left = max(0.0, 1 - 2 * first - third)
    near, far = parts.other_ratio, parts.other_ratio / parts.ratio
    one, two = [], []
    for a, b, c in itertools.product(range(people + 1), repeat=3):
        rest = people - a - b - c
        if rest < 0:
            continue
        ways = math.factorial(people) // math.prod(math.factorial(i) for i in (a, b, c, rest))
        mass = ways * first ** (a + b) * third**c * left**rest / people
        one.append(mass * (near * a + far * b + near * c))
        two.append(mass * (far * a + near * b + near * c))
    return one, two


@pytest.mark.parametrize(("laws", "people"), CASES)
def test_few_people_are_counted_exactly(laws: list[Law], people: int) -> None:
    parts = parts_of(laws, 0, 1)
    one, two = pair(parts, people)
    assert math.fsum(one) == pytest.approx(1)
    exact = [math.fsum(max(0.0, p - math.exp(g) * q) for p, q in zip(one, two, strict=True)) for g in GAMMAS]
    assert crowd_deltas(parts, people, np.array(GAMMAS)) == pytest.approx(exact, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("grown", ["ratio", "distance", "other_ratio"])
def test_delta_grows_with_every_part(grown: str) -> None:
    """So the largest of each over all pairs of values bounds every pair."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        ratio = 1 + rng.exponential(3)
        distance = rng.uniform(0.02, 0.98) * (ratio - 1) / (ratio + 1)
        small = CrowdParts(ratio, distance, ratio * rng.uniform(1, 2))
        factor = rng.uniform(1, 2)
        changed = {
            "ratio": {"ratio": min(ratio * factor, small.other_ratio), "distance": distance},
            "distance": {"distance": min(distance * factor, (ratio - 1) / (ratio + 1))},
            "other_ratio": {"other_ratio": small.other_ratio * factor},
        }
        large = replace(small, **changed[grown])
        people = int(rng.integers(2, 6))
        for gamma in (0.0, 0.1, 0.4, 1.0):
            less, more = (exact_delta(pair(parts, people), gamma) for parts in (small, large))
            assert less <= more * (1 + 1e-9) + 1e-15


def exact_delta(worlds: tuple[list[float], list[float]], gamma: float) -> float:
    return math.fsum(max(0.0, p - math.exp(gamma) * q) for p, q in zip(*worlds, strict=True))


@pytest.mark.parametrize("people", [50_000, 1_000_000])
def test_coarse_ranges_are_a_bound_as_well(people: int) -> None:
    parts = CrowdParts(16.0, 15 / 31 * 0.9, 16.0)
    gammas = parts.shift(people) * np.array([0.0, 1.0, 3.0])
    fine, coarse = (crowd_deltas(parts, people, gammas, how) for how in (FINEST, COARSE))
    assert np.all(fine <= coarse * (1 + 1e-9))
    assert np.all(coarse <= 1.3 * fine)


@pytest.mark.parametrize("rounds", [1, 2])
def test_rounds_multiply(rounds: int) -> None:
    laws = randomised_response(3, Fraction(27, 10))
    parts = parts_of(laws, 0, 1)
    one, two = pair(parts, 4)
    exact: list[tuple[float, float]] = [(1.0, 1.0)]
    for _ in range(rounds):
        exact = [(a * p, b * q) for a, b in exact for p, q in zip(one, two, strict=True) if p or q]
    found = crowd_upper({(parts, 4): rounds})
    for gamma in GAMMAS:
        truth = math.fsum(max(0.0, p - math.exp(gamma) * q) for p, q in exact)
        assert truth * (1 - 1e-9) <= found.delta(gamma).upper <= truth * 1.02 + 1e-12


def test_many_people_are_bounded_closely() -> None:
    """Against samples of the pair itself: above them, except for noise, and by a tenth at most."""
    parts, people = CrowdParts(16.0, 15 / 31 * 0.9, 16.0), 20_000
    first, third = parts.chances
    rng = np.random.default_rng(7)
    a, b, c, _ = rng.multinomial(people, [first, first, third, 1 - 2 * first - third], size=2_000_000).T
    near, far = parts.other_ratio, parts.other_ratio / parts.ratio
    one, two = near * a + far * b + near * c, far * a + near * b + near * c
    gammas = parts.shift(people) * np.array([0.0, 0.5, 1.0, 2.0])
    bounds = crowd_deltas(parts, people, gammas)
    for gamma, bound in zip(gammas, bounds, strict=True):
        lost = np.maximum(0.0, one - math.exp(gamma) * two) / people
        noise = lost.std() / math.sqrt(lost.size)
        assert lost.mean() - 6 * noise <= bound <= lost.mean() * 1.1 + 6 * noise


def published_delta(parts: CrowdParts, people: int, gamma: float) -> float:
    """The two-part reduction as published: reports of the third part are not counted, only a and b are."""
    first = parts.ratio * parts.distance / (parts.ratio - 1) / parts.other_ratio
    alpha = parts.distance / (parts.ratio - 1)
    mine = {(1, 0): (parts.ratio * alpha, alpha), (0, 1): (alpha, parts.ratio * alpha)}
    mine[0, 0] = (1 - (parts.ratio + 1) * alpha,) * 2
    one: dict[tuple[int, int], float] = defaultdict(float)
    two: dict[tuple[int, int], float] = defaultdict(float)
    others = people - 1
    for a, b in itertools.product(range(others + 1), repeat=2):
        if a + b > others:
            continue
        ways = math.comb(others, a) * math.comb(others - a, b)
        mass = ways * first ** (a + b) * (1 - 2 * first) ** (others - a - b)
        for (x, y), (p, q) in mine.items():
            one[a + x, b + y] += mass * p
            two[a + x, b + y] += mass * q
    return math.fsum(max(0.0, one[seen] - math.exp(gamma) * two[seen]) for seen in one)


def test_the_published_two_part_reduction_is_no_bound() -> None:
    """Randomised response with three values and eps = 1, five people: delta_of(0.8) is twice what it says."""
    laws = randomised_response(3, Fraction(math.exp(1.0)))
    parts = parts_of(laws, 0, 1)
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(3), 4):
        rest = [laws[v] for v in others]
        one, two = multisets([laws[0], *rest]), multisets([laws[1], *rest])
        worst = max(worst, delta_of(one, two, 0.8), delta_of(two, one, 0.8))
    published = published_delta(parts, 5, 0.8)
    assert worst == pytest.approx(0.0115, abs=1e-4)
    assert published == pytest.approx(0.0056, abs=1e-4)
    assert worst <= crowd_deltas(parts, 5, np.array([0.8]))[0]


def clones_delta(eps: float, people: int, gamma: float) -> float:
    """Feldman, McMillan and Talwar (2023): each other person is a clone with probability 2/(e^eps + 1).

    The observer sees A + Δ and C - A + 1 - Δ, where C counts clones, A is Bin(C, ½), and Δ is 1 with probability
    e^eps/(e^eps + 1), or with 1/(e^eps + 1) in the other world. It holds for everything that is eps-private.
    """
    from scipy.stats import binom

    ratio = math.exp(eps)
    truth, total = ratio / (ratio + 1), 0.0
    for clones, chance in enumerate(binom.pmf(np.arange(people), people - 1, 2 / (ratio + 1))):
        among = np.concatenate(([0.0], binom.pmf(np.arange(clones + 1), clones, 0.5), [0.0]))
        one, two = (t * among[:-1] + (1 - t) * among[1:] for t in (truth, 1 - truth))
        total += chance * math.fsum(np.maximum(0.0, one - math.exp(gamma) * two))
    return total


@pytest.mark.parametrize("people", [2, 7, 300])
def test_clones_are_the_case_without_a_third_part(people: int) -> None:
    """The peer, computed as published. The third part makes the bound smaller for reports that have one."""
    ratio = math.exp(1.5)
    clones = CrowdParts(ratio, (ratio - 1) / (ratio + 1), ratio)
    gammas = np.array([0.0, 0.02, 0.1, 0.3])
    found, smaller = (crowd_deltas(parts, people, gammas) for parts in (clones, replace(clones, distance=0.3)))
    published = [clones_delta(1.5, people, float(gamma)) for gamma in gammas]
    assert found == pytest.approx(published, rel=0.02, abs=1e-12)
    assert np.all(found >= np.array(published) * (1 - 1e-9))
    assert np.all(smaller < found)


def below(people: int, chance: Fraction, number: int) -> Fraction:
    """The probability of fewer reports than this number, by the definition of the binomial law."""
    terms = (math.comb(people, i) * chance**i * (1 - chance) ** (people - i) for i in range(number))
    return sum(terms, Fraction(0))


@pytest.mark.parametrize(
    "chance", [Fraction(1, 20), Fraction(1, 3), Fraction(19, 20), Fraction(999, 1000), Fraction(1)]
)
def test_the_fewest_likely_reports_are_a_quantile(chance: Fraction) -> None:
    for people in (*range(1, 30), 57, 200):
        found = fewest_likely_reports(people, chance)
        assert below(people, chance, found) <= Fraction(1, 100)
        assert found == people or below(people, chance, found + 1) > Fraction(1, 100)


def test_people_who_differ_have_no_more_small_rounds() -> None:
    """People who are there with different probabilities, as many on average: the law is a product of coins."""
    rng = np.random.default_rng(3)
    for people in (12, 40, 90):
        for spread in (0.2, 1.0, 20.0):
            chances = rng.beta(0.9 * spread, 0.1 * spread, people)
            law = np.ones(1)
            for chance in chances:
                law = np.convolve(law, [1 - chance, chance])
            found = fewest_likely_reports(people, Fraction(float(chances.mean())))
            assert found <= people * chances.mean()
            assert law[:found].sum() <= RARELY * (1 + 1e-9)


@pytest.mark.parametrize("chance", [Fraction(1, 20), Fraction(1, 6), Fraction(1)])
@pytest.mark.parametrize("off", [0.0, 0.02, 0.05])
def test_few_of_a_thousand_rounds_are_withheld(chance: Fraction, off: float) -> None:
    """A round is published from the fewest likely reports on. Their mean is often not reached.

    If one round in a hundred is withheld, more than 30 of 1,000 are with a probability below 1e-7.
    """
    people, rng = 10_000, np.random.default_rng([11, int(100 * off), chance.denominator])
    published = fewest_likely_reports(people, chance * (1 - MARGIN))
    reports = rng.binomial(people, float(chance) * (1 - off), size=1000)
    assert np.sum(reports < published) <= 30
    if off or chance < 1:
        assert np.sum(reports < float(chance * people)) > 400
