"""The floor of tracking, against linear programs and random mechanisms: nothing is found below it.

For given laws of single reports, the least tracking over all joint laws of two or three rounds is a linear program:
privacy and sums are linear, and so are products of a single report with the others.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, identity, vstack

from untrackable.arrays import FloatArray
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor
from untrackable.theory.floor import (
    gamma_lower,
    independent_variance_lower,
    le_cam_lower,
    le_cam_upper,
    symmetric_variance_lower,
    tracking_lower,
    variance_lower,
)

Pair = tuple[FloatArray, FloatArray]
"""The laws for the two values."""


def le_cam(zero: FloatArray, one: FloatArray) -> float:
    """½·Σ (P₁-P₀)²/(P₁+P₀)."""
    both = zero + one
    return float(np.sum((one - zero)[both > 0] ** 2 / both[both > 0]) / 2)


def deltas(pair: Pair, eps: float) -> tuple[float, float]:
    """Hockey-stick divergences in both directions."""
    return tuple(float(np.maximum(0.0, p - math.exp(eps) * q).sum()) for p, q in (pair, pair[::-1]))  # type: ignore[return-value]


def random_pairs(seed: int, count: int) -> Iterator[Pair]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size = int(rng.integers(2, 6))
        zero = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])))
        tilt = np.exp(rng.uniform(-1, 1, size) * rng.exponential(1.0))
        yield zero, zero * tilt / (zero @ tilt)


def response(size: float, silent: float = 0.0) -> Pair:
    """The answers 0 and 1 with this gap between the values, or silence."""
    more, less = (1 - silent) * (1 + size) / 2, (1 - silent) * (1 - size) / 2
    last = [silent] if silent else []
    return np.array([more, less, *last]), np.array([less, more, *last])


# --- Lemmas


def test_accuracy_is_le_cam_divergence() -> None:
    """Lemma 1: the estimate h/(2·LC) has the smallest average variance, for one round and for several."""
    for zero, one in random_pairs(1, 50):
        found, middle = le_cam(zero, one), (zero + one) / 2
        best = (one - zero) / (zero + one) / (2 * found)
        assert (one - zero) @ best == pytest.approx(1)
        average = float(np.mean([law @ best**2 - (law @ best) ** 2 for law in (zero, one)]))
        assert average == pytest.approx(variance_lower(found))
        rng = np.random.default_rng(2)
        for _ in range(20):
            other = best + rng.normal(size=zero.size) * 0.3
            other -= (other @ (one - zero) - 1) * (one - zero) / ((one - zero) @ (one - zero))
            spread = np.mean([law @ other**2 - (law @ other) ** 2 for law in (zero, one)])
            assert spread >= average * (1 - 1e-9)
            assert middle @ other**2 - (middle @ other) ** 2 == pytest.approx(spread + 0.25)
        for rounds in (2, 3):
            many = le_cam(*(_power(law, rounds) for law in (zero, one)))
            assert many >= le_cam_lower(average, rounds) * (1 - 1e-12)


def _power(law: FloatArray, rounds: int) -> FloatArray:
    total = np.ones(1)
    for _ in range(rounds):
        total = np.outer(total, law).ravel()
    return total


def test_privacy_limits_le_cam_divergence() -> None:
    """Lemma 2, with the identity behind it."""
    for zero, one in random_pairs(3, 300):
        both, size = (zero + one) / 2, np.abs(one - zero) / (zero + one)
        for eps in (0.2, 1.0, 2.0):
            a, t = math.exp(eps), math.tanh(eps / 2)
            lost = deltas((zero, one), eps)
            assert sum(lost) == pytest.approx((1 + a) * float(both @ np.maximum(0.0, size - t)), abs=1e-14)
            assert le_cam(zero, one) <= le_cam_upper(eps, min(1.0, max(lost))) * (1 + 1e-12)


# --- Finite numbers of rounds: the least tracking by linear programs


def least_tracking(
    laws: Pair, rounds: int, eps: float, delta: float, *, alike: bool = False, gamma: float | None = None
) -> float | None:
    """The least tracking of all joint laws with these marginals; None if none is private.

    With `alike`, only laws that do not depend on the order of rounds. With `gamma`, delta at this gamma instead.
    """
    symbols = laws[0].size
    shape, size = (symbols,) * rounds, symbols**rounds
    everything = np.arange(size).reshape(shape)
    splits = [(0,)] if rounds == 2 else [(i,) for i in range(rounds)]
    # Variables: the two laws, what privacy lacks in both directions, what tracking sees, and its largest sum.
    seen = [(value, split, way) for value in (0, 1) for split in splits for way in ((0, 1) if gamma else (0,))]
    blocks = 4 + len(seen)
    count = blocks * size + 1
    eye = identity(size, format="csr")

    def at(block: int, matrix: Any) -> csr_array:
        part = coo_array(matrix)
        return csr_array((part.data, (part.row, part.col + block * size)), shape=(part.shape[0], count))

    less: list[csr_array] = []
    limits: list[FloatArray] = []
    last = csr_array(([1.0], ([0], [count - 1])), shape=(1, count))
    total = np.ones((1, size))
    for way in (0, 1):
        less += [at(way, eye) - math.exp(eps) * at(1 - way, eye) - at(2 + way, eye), at(2 + way, total)]
        limits += [np.zeros(size), np.array([delta])]
    for number, (value, (single,), way) in enumerate(seen):
        others = everything.sum(axis=single)
        assert others.size == size // symbols
        product = np.zeros((size, size))
        for place in np.ndindex(shape):
            rest = tuple(slice(None) if i == single else place[i] for i in range(rounds))
            product[everything[place], everything[rest]] = laws[value][place[single]]
        factor = math.exp(gamma or 0.0)
        here, there = (eye, product) if way == 0 else (product, eye)
        less += [at(value, here) - factor * at(value, there) - at(4 + number, eye), at(4 + number, total) - last]
        limits += [np.zeros(size), np.zeros(1)]
    equal: list[csr_array] = []
    fixed: list[FloatArray] = []
    for value, i, symbol in itertools.product((0, 1), range(rounds), range(symbols)):
        row = np.zeros((1, size))
        row[0, np.take(everything, symbol, axis=i).ravel()] = 1
        equal.append(at(value, row))
        fixed.append(laws[value][[symbol]])
    for place in np.ndindex(shape) if alike else ():
        for value in (0, 1):
            row = np.zeros((1, size))
            row[0, everything[place]] += 1
            row[0, everything[tuple(sorted(place))]] -= 1
            equal.append(at(value, row))
            fixed.append(np.zeros(1))
    solve: Any = linprog  # Its types do not know sparse matrices.
    found = solve(
        np.append(np.zeros(count - 1), 1.0),
        A_ub=vstack(less),
        b_ub=np.concatenate(limits),
        A_eq=vstack(equal),
        b_eq=np.concatenate(fixed),
    )
    return float(found.fun) if found.status == 0 else None


REPORTS = [response(size, silent) for size in (0.15, 0.3, 0.46) for silent in (0.0, 0.3)]
LAWS = [
    *REPORTS,
    (np.array([0.9, 0.1]), np.array([0.75, 0.25])),
    (np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.3, 0.4])),
]


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("eps", [0.7, 1.0])
@pytest.mark.parametrize("rounds", [2, 3])
def test_no_joint_law_is_below_the_floor(rounds: int, eps: float, delta: float) -> None:
    """Theorem 2. The floor is far below the truth here, as it is made for many rounds; but not always 0."""
    floors = []
    for laws in LAWS:
        truth = least_tracking(laws, rounds, eps, delta)
        if truth is None:
            continue
        floor = tracking_lower(variance_lower(le_cam(*laws)), eps=eps, delta=delta, reports=rounds)
        assert floor <= truth + 1e-8
        floors.append(floor)
    assert len(floors) >= 4
    assert max(floors) > 0


def test_a_known_case() -> None:
    size = 1 / math.sqrt(1 + 4 * 1.31)
    truth = least_tracking(response(size), 2, 1.0, 0.0)
    assert truth == pytest.approx(0.286, abs=1e-3)
    assert tracking_lower(1.31, eps=1.0, delta=0.0, reports=2) == pytest.approx(0.0214, abs=1e-4)


@pytest.mark.parametrize("laws", LAWS[:4])
def test_a_random_order_of_rounds_tracks_no_better(laws: Pair) -> None:
    """Why exchangeable laws are enough: with alike rounds, they reach the same least tracking."""
    plain, alike = (least_tracking(laws, 3, 1.0, 0.01, alike=how) for how in (False, True))
    assert plain == pytest.approx(alike, abs=1e-8)


@pytest.mark.parametrize("rounds", [2, 3])
def test_no_joint_law_has_a_smaller_gamma(rounds: int) -> None:
    """At the floor of gamma, some delta remains."""
    for size in (0.3, 0.46):
        floor = gamma_lower(variance_lower(size**2), eps=0.4, reports=rounds)
        assert floor > 0
        left = least_tracking(response(size), rounds, 0.4, 0.0, gamma=floor * (1 - 1e-6))
        assert left is None or left > 1e-9


def test_floors_are_the_best_over_all_numbers_of_rounds() -> None:
    """Against trying all of them."""
    for variance, eps, delta, reports in itertools.product(
        (0.5, 3.0, 40.0), (0.3, 1.0, 3.0), (0.0, 1e-3), (2, 7, 90)
    ):
        room = le_cam_upper(eps, delta)
        every = [(le_cam_lower(variance, b) - room) / (2 * (b - 1)) for b in range(2, reports + 1)]
        best = max(0.0, max(every) / (1 + math.tanh(eps / 2)))
        assert tracking_lower(variance, eps=eps, delta=delta, reports=reports) == pytest.approx(best, abs=1e-15)
        gammas = [
            (2 * math.atanh(math.sqrt(le_cam_lower(variance, b))) - eps) / (2 * (b - 1))
            for b in range(2, reports + 1)
        ]
        assert gamma_lower(variance, eps=eps, reports=reports) == pytest.approx(max(0.0, *gammas), abs=1e-15)


def test_the_order_of_the_floor_is_one_over_the_variance() -> None:
    t = math.tanh(0.5)
    found = tracking_lower(1e5, eps=1.0, delta=0.0, reports=10**7) * 1e5
    assert found == pytest.approx((1 - t) ** 2 / (8 * (1 + t)), rel=1e-3)
    for reports, variance, floor in ((20, 3, 0.0092), (365, 100, 2.5e-4), (20, 100, 0.0)):
        assert tracking_lower(variance, eps=1.0, delta=1e-6, reports=reports) == pytest.approx(floor, rel=0.02)


# --- Reports that are not trackable at all


def test_without_delta_a_deck_is_optimal() -> None:
    """Theorem 1: products of any laws that are private together."""
    for eps, rounds in itertools.product((0.5, 2.0), (2, 5)):
        least = independent_variance_lower(eps, rounds)
        reached = variance_lower(le_cam(*response(math.tanh(eps / rounds / 2))))
        assert least == pytest.approx(reached)
        for zero, one in random_pairs(5, 200):
            loss = np.abs(np.log(one / zero)).max() * rounds
            if loss > eps:
                # Mix the two until they are private enough.
                share = eps / loss
                middle = (zero + one) / 2
                zero, one = middle + share * (zero - middle), middle + share * (one - middle)
            if np.abs(np.log(one / zero)).max() * rounds <= eps:
                assert variance_lower(le_cam(zero, one)) >= least * (1 - 1e-9)


def two_sizes(small: float, large: float, share: float) -> Pair:
    """Symmetric reports: this share of them is of the large size, the others of the small one."""
    parts = [(1 - share, small), (share, large)]
    up, down = ([weight * (1 + side * size) / 2 for weight, size in parts] for side in (1, -1))
    return np.array([*up, *down]), np.array([*down, *up])


@pytest.mark.parametrize(("rounds", "delta"), [(3, 1e-2), (8, 1e-3), (20, 1e-6)])
def test_with_a_delta_symmetric_reports_keep_a_floor(rounds: int, delta: float) -> None:
    """Theorem 4: mixtures of two sizes, as loud as delta allows; the engine composes them."""
    floor, best = symmetric_variance_lower(1.0, delta, rounds), math.inf
    for small, large, share in itertools.product((0.02, 0.2), (0.3, 0.6, 1.0), (0.0, 0.5, 0.95)):
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = (low + high) / 2
            laws = two_sizes(middle * small, middle * large, share)
            private_enough = Experiment([(Factor(*laws), rounds)]).delta(1.0).upper <= delta
            low, high = (middle, high) if private_enough else (low, middle)
        if low > 0:
            found = variance_lower(le_cam(*two_sizes(low * small, low * large, share)))
            assert found >= floor
            best = min(best, found)
    assert best < 6 * floor


# --- For ever


def kept_tracking(zero: FloatArray, one: FloatArray) -> float:
    """Tracking of people who show a kept state for ever: its law for each of the two values."""
    return 1 - min(float(zero @ zero), float(one @ one))


def private(zero: FloatArray, one: FloatArray, eps: float) -> Pair:
    """Laws as far apart as these or less: their differences are scaled until they are eps-private."""
    middle, half = (zero + one) / 2, (one - zero) / 2
    largest = np.max(np.abs(half[middle > 0]) / middle[middle > 0])
    scale = min(1.0, math.tanh(eps / 2) / largest) if largest > 0 else 1.0
    return middle - scale * half, middle + scale * half


def rarely(variance: float, eps: float) -> Pair:
    """One randomised response for ever, or silence, at this variance."""
    square = math.tanh(eps / 2) ** 2
    return response(math.tanh(eps / 2), 1 - le_cam_lower(variance) / square)


@pytest.mark.parametrize("eps", [0.3, 1.0, 3.0])
def test_no_kept_state_is_below_the_floor(eps: float) -> None:
    """Theorem 3, at random: private laws of up to five states, most of them with a likely one."""
    rng = np.random.default_rng(7)
    closest = math.inf
    for _ in range(3_000):
        size = int(rng.integers(2, 6))
        middle = rng.dirichlet(np.full(size, rng.choice([0.05, 0.3, 1.0])))
        zero, one = (middle * np.exp(rng.normal(size=size) * eps) for _ in range(2))
        zero, one = private(zero / zero.sum(), one / one.sum(), eps)
        leak = rng.choice([0.0, 1e-3])
        zero, one = (np.append((1 - leak) * law, side) for law, side in ((zero, [leak, 0.0]), (one, [0.0, leak])))
        assert max(deltas((zero, one), eps)) <= leak + 1e-12
        shown = le_cam(zero, one)
        if shown > 1e-9:
            floor = tracking_lower(variance_lower(shown), eps=eps, delta=float(leak), reports=None)
            truth = kept_tracking(zero, one)
            assert floor <= truth * (1 + 1e-9)
            closest = min(closest, truth / floor)
    assert closest < 1.5


def test_rarely_attains_the_floor() -> None:
    for variance, ratio in ((10, 1.143), (100, 1.016), (1000, 1.0016), (6468, 1.0003)):
        zero, one = rarely(variance, 1.0)
        assert variance_lower(le_cam(zero, one)) == pytest.approx(variance)
        assert max(deltas((zero, one), 1.0)) < 1e-15
        found = kept_tracking(zero, one) / tracking_lower(variance, eps=1.0, delta=0.0, reports=None)
        assert 1 <= found <= ratio + 0.001


def test_an_attack_on_the_floor_finds_nothing_below() -> None:
    """A search over kept states, which starts from the best mechanism known and from elsewhere."""
    from scipy.optimize import minimize

    rng, eps = np.random.default_rng(11), 1.0
    lowest = math.inf
    for variance in (2.0, 30.0):

        def ratio(given: FloatArray, variance: float = variance) -> float:
            """Tracking over the floor of the laws that these numbers stand for; more if they miss the variance."""
            middle = np.exp(given[: given.size // 2])
            half = np.tanh(given[given.size // 2 :])
            half -= middle @ half / middle.sum()
            middle /= middle.sum()
            zero, one = private(middle * (1 - half), middle * (1 + half), eps)
            if min(zero.min(), one.min()) < 0:
                return 1e3
            shown = le_cam(zero, one)
            if shown < 1e-12:
                return 1e3
            floor = tracking_lower(variance_lower(shown), eps=eps, delta=0.0, reports=None)
            missed = abs(math.log(shown / le_cam_lower(variance)))
            return kept_tracking(zero, one) / floor + missed

        zero, one = (np.maximum(law, 1e-9) for law in rarely(variance, eps))
        known = np.concatenate((np.log((zero + one) / 2), np.arctanh((one - zero) / (one + zero) * 0.999)))
        for start in (known, *(rng.normal(size=2 * size) * 2 for size in (2, 3, 4))):
            found = minimize(ratio, start, method="Nelder-Mead", options={"maxiter": 600})
            assert found.fun >= 1 - 1e-9
            lowest = min(lowest, float(found.fun))
    assert lowest < 1.06


def test_floors_that_are_refused() -> None:
    with pytest.raises(ValueError, match="variance must be positive"):
        tracking_lower(0.0, eps=1.0, delta=0.0, reports=None)
    with pytest.raises(ValueError, match="reports must be at least 2"):
        tracking_lower(1.0, eps=1.0, delta=0.0, reports=1)
    with pytest.raises(ValueError, match="eps must"):
        tracking_lower(1.0, eps=-1.0, delta=0.0, reports=2)
    assert tracking_lower(1.0, eps=50.0, delta=0.0, reports=2) == 0.0
    assert tracking_lower(1e12, eps=1.0, delta=0.0, reports=None) == pytest.approx(2.34e-12, rel=1e-2)
