"""Changes: which windows are compared, which changes are picked, and that no more are wrong than is stated."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Deck, Fresh, Memoized, NoisyInnerProduct, RandomizedResponse
from untrackable.estimation.rounds import (
    Change,
    Errors,
    RoundNumbers,
    Rounds,
    _Comparisons,
    adjacent_windows,
    all_windows,
    deviation_of,
    located_changes,
    round_comparisons,
)
from untrackable.mechanisms.interface import Mechanism


@pytest.mark.parametrize("rounds", range(2, 12))
def test_all_windows_of_powers_of_two_and_all_neighbours(rounds: int) -> None:
    powers = [length for length in (1, 2, 4, 8) if length < rounds]
    expected = {(i, i + length) for length in powers for i in range(rounds) if i + length <= rounds}
    start, end = all_windows(rounds)
    assert set(zip(start.tolist(), end.tolist(), strict=True)) == expected
    assert start.size == len(expected)
    before, after = adjacent_windows(rounds)
    pairs = {(a, b, c, d) for a, b in expected for c, d in expected if b == c}
    found = zip(
        start[before].tolist(), end[before].tolist(), start[after].tolist(), end[after].tolist(), strict=True
    )
    assert set(found) == pairs
    assert before.size == len(pairs)


def pursued(intervals: list[tuple[int, int, float]], first: int, last: int) -> list[tuple[int, int]]:
    """The definition: the shortest within, of the largest amount, then the same on either side."""
    inside = [(b - a, -amount, a, b) for a, b, amount in intervals if a >= first and b <= last]
    if not inside:
        return []
    *_, a, b = min(inside)
    return [*pursued(intervals, first, a), (a, b), *pursued(intervals, b, last)]


def test_the_shortest_stretches_are_picked_first() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        count, rounds = int(rng.integers(0, 12)), 10
        ends = np.sort(
            np.array([rng.choice(rounds, 2, replace=False) for _ in range(count)] or np.empty((0, 2), int))
        )
        amount = rng.random(count)
        signs = rng.choice([-1, 1], count)
        lower = np.where(signs > 0, amount, -2.0)
        upper = np.where(signs > 0, 2.0, -amount)
        first, last = ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
        compared = _Comparisons(first, first + 1, last, last + 1, signs * 1.0, lower, upper, lower > 0, upper < 0)
        found = located_changes(tuple(range(rounds)), compared)
        listed = [(int(a), int(b), float(m)) for a, b, m in zip(first, last, amount, strict=True)]
        assert [(change.first, change.last) for change in found] == pursued(listed, 0, rounds - 1)
        for change, later in itertools.pairwise(found):
            assert change.last <= later.first
        for change in found:
            assert (change.lower > 0) != (change.upper < 0)
            assert change.rose == (change.lower > 0)


def test_a_band_compares_round_comparisons() -> None:
    estimates = np.array([0.1, 0.5, 0.2])
    found = round_comparisons(estimates, estimates - 0.1, estimates + 0.1)
    assert found.start.tolist() == [0, 0, 1]
    assert found.resume.tolist() == [1, 2, 2]
    assert np.allclose(found.difference, [0.4, 0.1, -0.3])
    assert np.allclose(found.lower, [0.2, -0.1, -0.5])
    assert np.allclose(found.upper, [0.6, 0.3, -0.1])
    rose, fell = located_changes((3, 5, 9), found)
    assert (rose.first, rose.last, rose.at, rose.before, rose.after) == (3, 5, 5, (3, 3), (5, 5))
    assert (fell.first, fell.last, fell.rose) == (5, 9, False)


def exact(numbers: list[float], deviation: float = 1e-6) -> RoundNumbers:
    """Numbers that are known almost exactly."""
    estimates = np.array(numbers)
    errors = Errors.of_deviations(np.full(estimates.size, deviation))
    return RoundNumbers(
        rounds=tuple(range(1, estimates.size + 1)), estimates=estimates, errors=errors, independent=True
    )


def test_one_round_does_not_change() -> None:
    assert exact([0.5]).changes(0.05) == ()
    lower, upper = exact([0.5]).band(0.05)
    assert lower[0] < 0.5 < upper[0]


def test_exact_numbers_show_each_step() -> None:
    found = exact([0.1] * 5 + [0.3] * 6 + [0.2] * 4).changes(0.05)
    assert [(c.first, c.last, c.at, c.rose) for c in found] == [(5, 6, 6, True), (11, 12, 12, False)]
    assert found[0].lower == pytest.approx(0.2, abs=1e-4)
    assert found[1].upper == pytest.approx(-0.1, abs=1e-4)
    assert exact([0.4] * 9).changes(0.05) == ()


def test_bernstein_is_taken_where_it_is_smaller() -> None:
    errors = Errors(np.array([1.0, 1.0]), np.array([1.0, 1e-6]), np.array([1.0, 1e-6]))
    level = np.log(2 * 3 / 0.05)
    radius = errors.radius(0.05, 3)
    assert radius[0] == pytest.approx(np.sqrt(level / 2))
    assert radius[1] == pytest.approx(np.sqrt(2e-6 * level) + 1e-6 * level / 3)


def test_windows_are_weighted_means() -> None:
    rng = np.random.default_rng(2)
    squares, variances, pulls = rng.random(7) + 0.1, rng.random(7), rng.random(7)
    numbers = RoundNumbers(
        rounds=tuple(range(7)), estimates=rng.random(7), errors=Errors(squares, variances, pulls), independent=True
    )
    means, errors = numbers.windows()
    for i, (start, end) in enumerate(zip(*all_windows(7), strict=True)):
        weights = 1 / squares[start:end]
        weights /= weights.sum()
        assert means[i] == pytest.approx(weights @ numbers.estimates[start:end])
        assert errors.squares[i] == pytest.approx(weights**2 @ squares[start:end])
        assert errors.variances[i] == pytest.approx(weights**2 @ variances[start:end])
        assert errors.pulls[i] == pytest.approx((weights * pulls[start:end]).max())


# --- the stated error rate, by simulation -------------------------------------------------------------------------

TIMES, PEOPLE, ROUNDS, BETA = 200, 150, 8, 0.2

KINDS: dict[str, Mechanism] = {
    "fresh": Fresh(RandomizedResponse(eps=1.0)),
    "deck": Deck(bits=2, slots=ROUNDS, eps_report=1.0),
    "kept bit": Bitwise(eps_state=2.0, eps_report=1.0),
    "kept report": Memoized(NoisyInnerProduct(bits=2, eps=1.0)),
}


def shapes() -> dict[str, NDArray[np.float64]]:
    """The true share of the value 1 in each round."""
    place = np.arange(ROUNDS)
    return {
        "nobody": np.zeros(ROUNDS),
        "a third": np.full(ROUNDS, 1 / 3),
        "everybody": np.ones(ROUNDS),
        "step": np.where(place < 5, 0.1, 0.9),
        "line": (place + 1) / (ROUNDS + 2),
        "peak": np.where(place == 3, 0.9, 0.1),
    }


def trends(mechanism: Mechanism, shares: NDArray[np.float64], shrunk: float) -> list[RoundNumbers]:
    """The number in each of many populations, its errors made smaller than they are by a factor."""
    held = (np.arange(PEOPLE)[:, None] < np.rint(PEOPLE * shares)[None, :]).astype(np.int64)
    # Clients keep a state for each value, drawn independently.
    zero, one = (
        np.concatenate([b.reports for b in mechanism.simulate(np.full(TIMES * PEOPLE, v), rounds=ROUNDS, seed=v)])
        for v in (0, 1)
    )
    reports = np.where(np.tile(held, (TIMES, 1)) == 1, one, zero)
    found = []
    for part in reports.reshape(TIMES, PEOPLE, ROUNDS):
        each = {}
        for i in range(ROUNDS):
            sums: Any = mechanism.aggregator(i + 1)
            each[i + 1] = sums.add(part[:, i]).estimate()
        deviations = np.array([deviation_of(estimate)[1] for estimate in each.values()]) / shrunk
        found.append(
            RoundNumbers(
                rounds=tuple(each),
                estimates=np.array([estimate.frequencies[1] for estimate in each.values()]),
                errors=Errors.of_deviations(deviations),
                independent=Rounds(mechanism, each).independent(each),
            )
        )
    return found


def true(change: Change, shares: NDArray[np.float64]) -> bool:
    """Whether the statement holds. All rounds have the same number of people, so they weigh the same."""
    before, after = (shares[first - 1 : last].mean() for first, last in (change.before, change.after))
    within = shares[change.first - 1 : change.last]
    steps = np.diff(within) if change.rose else -np.diff(within)
    return bool(change.lower <= after - before <= change.upper and np.any(steps > 0))


def rates(mechanism: Mechanism, shares: NDArray[np.float64], shrunk: float = 1.0) -> tuple[int, int, int]:
    """In how many populations the band misses, a change is wrong, and there is a change."""
    missed = wrong = changed = 0
    for found in trends(mechanism, shares, shrunk):
        lower, upper = found.band(BETA)
        missed += bool(np.any((shares < lower) | (shares > upper)))
        changes = found.changes(BETA)
        wrong += not all(true(change, shares) for change in changes)
        changed += bool(changes)
    return missed, wrong, changed


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *((kind, "a third") for kind in KINDS),
        *((kind, shape) for kind in ("fresh", "kept bit") for shape in shapes() if shape != "a third"),
    ],
)
def test_bands_and_changes_are_wrong_as_rarely_as_stated(kind: str, shape: str) -> None:
    """At most beta of the populations, so at most so many, except with probability 1e-9."""
    shares = np.rint(PEOPLE * shapes()[shape]) / PEOPLE
    missed, wrong, changed = rates(KINDS[kind], shares)
    most = binom.isf(1e-9, TIMES, BETA)
    assert missed <= most
    assert wrong <= most
    if np.ptp(shares) == 0:
        assert changed == wrong


@pytest.mark.parametrize("kind", ["deck", "kept bit"])
def test_errors_that_are_too_small_are_noticed(kind: str) -> None:
    missed, wrong, _ = rates(KINDS[kind], np.full(ROUNDS, 1 / 3), shrunk=2.5)
    most = binom.isf(1e-9, TIMES, BETA)
    assert missed > most
    if kind == "deck":
        assert wrong > most


def test_a_step_is_found_and_located() -> None:
    """From 30 % to 48 % of 1,500 people: the band is wider than the step, and still it is nearly always found."""
    deck = Deck(bits=1, slots=16, eps_report=1.0)
    shares = np.where(np.arange(16) < 9, 0.3, 0.48)
    held = (np.arange(1500)[:, None] < 1500 * shares[None, :]).astype(np.int64)
    found = 0
    for seed in range(20):
        (batch,) = deck.simulate(held, rounds=16, seed=seed)
        each = {i + 1: deck.aggregator(i + 1).add(batch.reports[:, i]).estimate() for i in range(16)}
        numbers = RoundNumbers(
            rounds=tuple(each),
            estimates=np.array([estimate.frequencies[1] for estimate in each.values()]),
            errors=Errors.of_deviations(np.array([deviation_of(e)[1] for e in each.values()])),
            independent=True,
        )
        assert np.ptp(numbers.band(0.05), axis=0).min() > 0.18
        changes = numbers.changes(0.05)
        found += len(changes) == 1 and changes[0].rose and changes[0].first <= 9 < changes[0].last
        if changes:
            assert abs(changes[0].at - 10) <= 2
    assert found >= 19
