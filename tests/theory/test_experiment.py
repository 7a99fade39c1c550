"""The engine itself: each method of evaluation against enumeration, against the others, and against a peer."""

import dataclasses
import functools
import itertools
import math
from unittest import mock

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from untrackable import Bracket, NoisyInnerProduct, Rappor
from untrackable.arrays import FloatArray
from untrackable.theory import Experiment, Factor, Mixture, Worst, convolution
from untrackable.theory import convolution as loss_grid
from untrackable.theory.experiment import Direction
from untrackable.theory.factor import World, is_symmetric, persistent_factor, response_factor

GAMMAS = (0.0, 0.1, 0.5, 1.0, 2.0)
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "both")
WORLDS: tuple[World, ...] = ("P", "Q")


def all_outcomes(factors: list[tuple[Factor, int]]) -> Factor:
    """The product, outcome by outcome, with no grouping at all."""
    p, q = np.ones(1), np.ones(1)
    for factor, count in factors:
        for _ in range(count):
            p, q = np.outer(p, factor.p).ravel(), np.outer(q, factor.q).ravel()
    return Factor(p / p.sum(), q / q.sum())


def brute_delta(factor: Factor, gamma: float) -> tuple[float, float]:
    forward = np.maximum(factor.p - math.exp(gamma) * factor.q, 0).sum()
    backward = np.maximum(factor.q - math.exp(gamma) * factor.p, 0).sum()
    return float(forward), float(backward)


@st.composite
def factors(draw: st.DrawFn, zeros: bool = True) -> Factor:
    size = draw(st.integers(2, 4))
    weights = st.integers(0 if zeros else 1, 9)
    p = np.array(draw(st.lists(weights, min_size=size, max_size=size).filter(any)), dtype=float)
    q = np.array(draw(st.lists(weights, min_size=size, max_size=size).filter(any)), dtype=float)
    return Factor(p / p.sum(), q / q.sum())


@given(st.lists(st.tuples(factors(), st.integers(1, 3)), min_size=1, max_size=2), st.sampled_from(GAMMAS))
def test_products_against_every_outcome(parts: list[tuple[Factor, int]], gamma: float) -> None:
    experiment, whole = Experiment(parts), all_outcomes(parts)
    forward, backward = brute_delta(whole, gamma)
    assert experiment.delta(gamma, "forward").upper == pytest.approx(forward, rel=1e-9, abs=1e-14)
    assert experiment.delta(gamma, "backward").lower == pytest.approx(backward, rel=1e-9, abs=1e-14)
    assert experiment.delta(gamma).upper == pytest.approx(max(forward, backward), rel=1e-9, abs=1e-14)
    assert experiment.pure() == pytest.approx(float(np.abs(whole.loss).max()), rel=1e-9, abs=1e-12)


@given(st.lists(st.tuples(factors(), st.integers(1, 3)), min_size=1, max_size=2), st.floats(1e-6, 0.9))
def test_gamma_is_the_inverse_of_delta(parts: list[tuple[Factor, int]], delta: float) -> None:
    experiment = Experiment(parts)
    gamma = experiment.gamma(delta)
    if gamma.upper < math.inf:
        assert experiment.delta(gamma.upper).upper <= delta
    if 0 < gamma.lower < math.inf:
        assert experiment.delta(gamma.lower * (1 - 1e-6)).upper >= delta * (1 - 1e-9)
    if gamma.upper == math.inf:
        assert experiment.delta(1e6).lower > delta * (1 - 1e-9)


@settings(max_examples=40)
@given(factors(zeros=False), st.integers(5, 60), st.sampled_from(GAMMAS))
def test_grid_brackets_contain_the_truth(factor: Factor, count: int, gamma: float) -> None:
    merged = Experiment([(factor, count)])
    if not merged.factors:
        return
    exact = convolution.loss_by_enumeration(merged.factors)
    gridded = loss_grid.loss_on_grid(merged.factors, 0.0, 1 << 14)
    for truth, bracket in (
        (exact.delta_forward(gamma), gridded.delta_forward(gamma)),
        (exact.delta_backward(gamma), gridded.delta_backward(gamma)),
        (exact.cdf(0.3, "P"), gridded.cdf(0.3, "P")),
        (exact.cdf(-0.3, "Q"), gridded.cdf(-0.3, "Q")),
    ):
        assert bracket[0] <= truth[1] + 1e-15
        assert truth[0] <= bracket[1] + 1e-15


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=4), st.floats(0.0, 0.7), st.sampled_from([0.0, 0.3]))
def test_worlds_that_mirror_each_other_are_computed_once(losses: list[float], blank: float, shift: float) -> None:
    """And are the same as when they are computed one by one."""
    parts = []
    for loss in losses:
        told = (1 - blank) / (1 + math.exp(-loss))
        lie = 1 - blank - told
        parts.append((Factor([told, lie, blank], [lie, told, blank], [loss, -loss, 0.0]).merged(), 3))
    assert is_symmetric(parts)
    assert not is_symmetric([*parts, (Factor([0.6, 0.4], [0.5, 0.5]).merged(), 1)])
    once = loss_grid.loss_on_grid(parts, shift, 1 << 12)
    with mock.patch.object(loss_grid, "is_symmetric", return_value=False):
        both = loss_grid.loss_on_grid(parts, shift, 1 << 12)
    np.testing.assert_allclose(once.loss, both.loss, rtol=1e-9, atol=1e-9)
    for one, other in ((once.p, both.p), (once.q, both.q)):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-13)
    for here, there in ((once.p_shift, both.p_shift), (once.q_shift, both.q_shift)):
        assert dataclasses.astuple(here) == pytest.approx(dataclasses.astuple(there), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_lattice_and_enumeration_agree(count: int) -> None:
    lying = Factor([0.5, 0.2, 0.3], [0.2, 0.5, 0.3])
    parts = Experiment([(lying, count), (response_factor(math.log(2.5) * 2), 2)]).factors
    step = convolution._lattice_step(parts)
    assert step is not None
    assert step == pytest.approx(math.log(2.5))
    one, other = convolution.loss_on_lattice(parts, step), convolution.loss_by_enumeration(parts)
    for gamma in GAMMAS:
        assert one.delta_forward(gamma) == pytest.approx(other.delta_forward(gamma), rel=1e-9)
        assert one.delta_backward(gamma) == pytest.approx(other.delta_backward(gamma), rel=1e-9)


def test_binomial_sum_of_randomised_response_in_integers() -> None:
    """Exact rational arithmetic for e^eps = 3: delta of 200 repetitions at gamma = ln 3^190, far below 1e-14."""
    times, excess = 200, 190
    total = sum(
        math.comb(times, wins) * (3**wins - 3**excess * 3 ** (times - wins))
        for wins in range(times + 1)
        if 2 * wins - times > excess
    )
    exact = total / 4**times
    found = Experiment([(response_factor(math.log(3)), times)]).delta(excess * math.log(3))
    assert exact < 1e-17
    assert found.certainty == "exact"
    assert found.upper == pytest.approx(exact, rel=1e-9)


def test_infinite_losses_are_exact() -> None:
    factor = Factor([0.25, 0.75, 0.0], [0.0, 0.9, 0.1])
    experiment = Experiment([(factor, 3)])
    assert experiment.pure() == math.inf
    assert experiment.delta(50.0, "forward").upper == pytest.approx(1 - 0.75**3, rel=1e-12)
    assert experiment.delta(50.0, "backward").upper == pytest.approx(1 - 0.9**3, rel=1e-12)
    assert experiment.gamma(0.5).upper == math.inf
    assert experiment.gamma(0.6).upper < math.inf
    tiny = Factor([1e-12, 1 - 1e-12], [0.0, 1.0])
    assert Experiment([(tiny, 3)]).delta(1.0, "forward").upper == pytest.approx(3e-12, rel=1e-9)


def test_noise_is_called_noise() -> None:
    rappor = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
    far = rappor.tracking(reports=15, split=7).delta(120.0)
    assert far.certainty == "unresolved"
    assert far.upper < 1e-11
    assert "not resolved" in str(far)
    assert rappor.tracking(reports=15, split=7).delta(300.0).upper == 0.0


@pytest.mark.parametrize(("reports", "split"), [(7, 3), (15, 7)])
def test_brackets_overlap_with_dp_accounting(reports: int, split: int) -> None:
    """Its pessimistic and optimistic estimates, in both directions, on a coarser grid: they must enclose ours."""
    experiment = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75).tracking(reports=reports, split=split)
    assert isinstance(experiment, Experiment)
    for gamma in (2.0, 8.0):
        ends = []
        for pessimistic in (False, True):
            composed = [
                peer.from_two_probability_mass_functions(
                    dict(enumerate(np.log(factor.q))),
                    dict(enumerate(np.log(factor.p))),
                    pessimistic,
                    value_discretization_interval=1e-3,
                    symmetric=False,
                ).self_compose(count)
                for factor, count in experiment.factors
            ]
            ends.append(functools.reduce(lambda a, b: a.compose(b), composed).get_delta_for_epsilon(gamma))
        ours = experiment.delta(gamma)
        assert ends[0] <= ours.upper
        assert ours.lower <= ends[1]
        assert ours.width < ends[1] - ends[0]


def test_composition_and_repetition() -> None:
    one, other = Factor([0.7, 0.3], [0.4, 0.6]), Factor([0.1, 0.9], [0.2, 0.8])
    together = Experiment([one]) * 3 + Experiment([other])
    assert together.delta(0.4) == Experiment([(one, 3), other]).delta(0.4)
    assert Experiment([one] * 3).factors[0][1] == 3
    assert (Experiment() + Experiment([one])).delta(0.1) == Experiment([one]).delta(0.1)
    assert Experiment([Factor([0.5, 0.5], [0.5, 0.5])]).factors == ()
    upper = Experiment([one], certainty="upper") + Experiment([other])
    assert upper.certainty == "upper"
    assert upper.delta(0.1).lower == 0


def test_mixture_is_the_union_of_its_components() -> None:
    one, other = Factor([0.7, 0.3], [0.4, 0.6]), Factor([0.1, 0.9], [0.2, 0.8])
    weights = (0.3, 0.6)
    mixture = Mixture([(0.3, 0.6, Experiment([one])), (0.7, 0.4, Experiment([other]))])
    union = Factor(
        np.concatenate((weights[0] * one.p, (1 - weights[0]) * other.p)),
        np.concatenate((weights[1] * one.q, (1 - weights[1]) * other.q)),
    )
    truth = Experiment([union])
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        assert mixture.delta(gamma, direction).upper == pytest.approx(truth.delta(gamma, direction).upper, rel=1e-9)
    assert mixture.pure() == pytest.approx(truth.pure())
    assert mixture.gamma(0.1).upper == pytest.approx(truth.gamma(0.1).upper, rel=1e-9)
    assert mixture.loss_quantiles([0.2, 0.5])[1].upper == pytest.approx(truth.loss_quantiles([0.5])[0].upper)
    extended = mixture + Experiment([one])
    assert extended.delta(0.3).upper == pytest.approx((truth + Experiment([one])).delta(0.3).upper, rel=1e-9)
    lone = Mixture([(0.2, 0.0, Experiment()), (0.8, 1.0, Experiment())])
    assert lone.pure() == math.inf
    assert lone.delta(3.0).upper == pytest.approx(0.2)


def test_worst_asks_every_member_every_question() -> None:
    often, hard = Experiment([(response_factor(0.3), 5)]), Experiment([Factor([0.01, 0.99], [1e-6, 1 - 1e-6])])
    worst = Worst([often, hard])
    assert worst.pure() == hard.pure()
    assert worst.advantage() == often.advantage()
    for gamma in GAMMAS:
        assert worst.delta(gamma).upper == max(often.delta(gamma).upper, hard.delta(gamma).upper)
    assert (worst + often).advantage() == (often + often).advantage()
    with pytest.raises(TypeError, match="members"):
        worst.loss_quantiles([0.5])


@given(factors(zeros=False), st.integers(1, 4))
def test_roc_against_the_neyman_pearson_curve(factor: Factor, count: int) -> None:
    experiment = Experiment([(factor, count)])
    whole = all_outcomes([(factor, count)])
    order = np.argsort(-whole.loss)
    fpr = np.concatenate(([0.0], np.cumsum(whole.q[order])))
    tpr = np.concatenate(([0.0], np.cumsum(whole.p[order])))
    roc = experiment.roc(points=21)
    truth = np.interp(roc.fpr, fpr, tpr)
    assert np.all(roc.lower <= truth + 1e-9)
    assert np.all(truth <= roc.upper + 1e-9)
    assert float(np.max(roc.upper - roc.lower)) < 0.1


def test_quantiles_of_a_table_and_of_samples() -> None:
    rappor = Rappor(bloom_bits=32, hashes=2, f=0.5, p=0.5, q=0.75)
    experiment = rappor.tracking(reports=6, split=3)
    assert isinstance(experiment, Experiment)
    rng = np.random.default_rng(7)
    for world in WORLDS:
        levels = (0.1, 0.5, 0.9)
        samples = np.sort(experiment.sample(rng, 100_000, world))
        for level, bracket in zip(levels, experiment.loss_quantiles(levels, world), strict=True):
            # A sample quantile's rank is binomial: 6.5 standard deviations fail once in 10^10.
            reach = 6.5 * math.sqrt(100_000 * level * (1 - level))
            low, high = samples[int(100_000 * level - reach)], samples[int(100_000 * level + reach)]
            assert low <= bracket.upper
            assert bracket.lower <= high
            assert bracket.width < 0.01


def test_sampled_losses_reject_a_slightly_wrong_law() -> None:
    """Counts of the sampled loss against the table's masses: chi-square passes, and fails for 3 % off."""
    right = Factor([0.6, 0.4], [0.3, 0.7])
    wrong = Factor([0.62, 0.38], [0.3, 0.7])
    draws = 200_000
    ones = np.rint(
        (Experiment([(right, 4)]).sample(np.random.default_rng(3), draws) - 4 * right.loss[1])
        / (right.loss[0] - right.loss[1])
    ).astype(int)
    observed = np.bincount(ones, minlength=5)
    statistic = []
    for law in (right, wrong):
        expected = draws * np.array([math.comb(4, i) * law.p[0] ** i * law.p[1] ** (4 - i) for i in range(5)])
        statistic.append(float(np.sum((observed - expected) ** 2 / expected)))
    assert statistic[0] < 52  # chi-square with 4 degrees of freedom exceeds 52 with probability 1.4e-10
    assert statistic[1] > 200


def test_a_gaussian_shift_has_its_closed_form() -> None:
    for shift in (0.3, 1.0, 2.5):
        for gamma in (0.0, 0.5, 2.0):
            exact = ndtr(shift / 2 - gamma / shift) - math.exp(gamma) * ndtr(-shift / 2 - gamma / shift)
            found = Experiment(gaussian=shift).delta(gamma)
            assert exact in found
            assert found.width < 2e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], [0.5, 0.5]), "p must sum to 1"),
        (([0.5, 0.5], [0.5, 0.5, 0.0]), "same length"),
        (([-0.5, 1.5], [0.5, 0.5]), "non-negative"),
        (([], []), "non-empty"),
    ],
)
def test_bad_factors(arguments: tuple[list[float], list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Factor(*arguments)


def test_bad_questions() -> None:
    experiment = Experiment([response_factor(1.0)])
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        experiment.delta(-1)
    with pytest.raises(ValueError, match=r"delta must be between 0 and 1, got 1\.5"):
        experiment.gamma(1.5)
    with pytest.raises(ValueError, match="gamma must be at least 0, got nan"):
        experiment.delta(math.nan)
    with pytest.raises(ValueError, match="direction must be one of"):
        experiment.delta(1.0, "sideways")  # type: ignore[arg-type]


# --- what a hostile reader tried ----------------------------------------------------------------------------------


def test_infinite_components_of_a_mixture_stay_infinite() -> None:
    told = Experiment([Factor([1.0, 0.0], [0.0, 1.0])])
    mixture = Mixture([(0.0, 0.5, told), (1.0, 0.5, Experiment())])
    assert mixture.pure() == math.inf
    assert mixture.gamma(1e-3).upper == math.inf
    assert mixture.delta(1.0).upper == pytest.approx(0.5)
    assert told.delta(math.inf).upper == 1.0


def test_grids_of_what_is_hardly_finite_end() -> None:
    rare = Experiment([(Factor([0.3, 0.3, 0.4, 0.0], [0.35, 0.25, 0.0, 0.4]), 300)], gaussian=1.0)
    assert rare.delta(1.0).lower == pytest.approx(1.0)
    gone = Factor([0.5, 0.5, 0.0], [0.6, 0.4, 0.0], [math.log(0.5 / 0.6), math.log(0.5 / 0.4), -2000.0])
    other = Factor([0.2, 0.3, 0.5], [0.25, 0.35, 0.4])
    exact = Experiment([(Factor([0.5, 0.5], [0.6, 0.4]), 1000), (other, 50)])
    assert Experiment([(gone, 1000), (other, 50)]).advantage().upper == pytest.approx(
        exact.advantage().upper, abs=1e-3
    )


def test_trimmed_tails_are_counted_for_every_draw() -> None:
    rare = Factor([0.5, 0.5, 1e-61], [0.5, 0.5, 1e-61 * math.exp(-50)], [0.0, 0.0, 50.0])
    found = Experiment([(rare, 10**6)]).delta(20.0, "forward")
    assert found.upper >= 1e-55


def test_tiny_losses_are_neither_merged_nor_lost() -> None:
    tiny = Experiment([(NoisyInnerProduct(bits=8, eps=4e-14).privacy_factor(), 10**6)])
    # Nearly Gaussian: advantage ≈ σ/√(2π), σ² = n·ρ·eps².
    expected = math.sqrt(10**6 * 128 / 255) * 4e-14 / math.sqrt(2 * math.pi)
    assert tiny.advantage().upper == pytest.approx(expected, rel=1e-3)
    spaced = 9e-14 * np.arange(1, 1001)
    p = np.full(2000, 1 / 2000)
    q = p * np.exp(-np.concatenate((spaced, -spaced)))
    many = Factor(p, q / q.sum(), np.concatenate((spaced, -spaced)))
    assert many.merged().loss.size == 2000


def test_many_draws_widen_the_bracket_as_they_must() -> None:
    """A million draws: the value to twelve digits by exact summation in a hundred."""
    mpmath.mp.dps = 60
    count, gamma = 10**6, 6401.456997320369
    p, q = mpmath.mpf("0.3"), mpmath.mpf("0.25")
    up, down = mpmath.log(p / q), mpmath.log((1 - p) / (1 - q))
    start = int(mpmath.ceil((gamma - count * down) / (up - down)))
    mass = mpmath.binomial(count, start) * p**start * (1 - p) ** (count - start)
    total = mpmath.mpf(0)
    for ones in range(start, start + 12_000):
        total += mass * -mpmath.expm1(gamma - ones * up - (count - ones) * down)
        mass *= mpmath.mpf(count - ones) / (ones + 1) * p / (1 - p)
    found = Experiment([(Factor([0.3, 0.7], [0.25, 0.75]), count)]).delta(gamma, "forward")
    assert found.lower <= float(total) <= found.upper
    assert found.certainty in ("exact", "bracket")


def test_near_the_pure_bound_the_bracket_is_honest() -> None:
    pure = 50 * 0.3
    truth = (1 / (1 + math.exp(-0.3))) ** 50 * 1e-9
    found = Experiment([(response_factor(0.3), 50)]).delta(pure - 1e-9, "forward")
    assert found.lower <= truth * (1 + 1e-6)
    assert found.upper >= truth * (1 - 1e-7)


def test_a_quantile_on_a_step_is_a_bracket() -> None:
    even = Experiment([Factor([0.1] * 10, np.arange(1, 11) / 55)])
    found = even.loss_quantiles([0.8])[0]
    assert found.lower == pytest.approx(math.log(0.1 * 55 / 3))
    assert found.upper == pytest.approx(math.log(0.1 * 55 / 2))


def test_roc_ends_where_it_must() -> None:
    assert Experiment([response_factor(100.0)]).roc(points=3).lower[0] == 0.0
    assert Experiment(gaussian=30.0).roc(points=3).lower[0] < 1e-9
    one, other = Experiment([Factor([0.5, 0.5], [0.3, 0.7])]), Experiment([Factor([0.7, 0.3], [0.5, 0.5])])
    worst = Worst([one, other]).roc(points=21)
    best = np.maximum(one.roc(points=21).upper, other.roc(points=21).upper)
    assert np.all(worst.lower <= best + 1e-12)
    assert worst.upper == pytest.approx(best)


def test_an_upper_bound_has_no_quantiles() -> None:
    with pytest.raises(TypeError, match="only an exact experiment"):
        Experiment([response_factor(1.0)], certainty="upper").loss_quantiles([0.5])
    with pytest.raises(TypeError, match="levels must be a sequence"):
        Experiment([response_factor(1.0)]).loss_quantiles(0.5)  # type: ignore[arg-type]


def test_enumeration_does_not_ask_for_the_moon() -> None:
    rng = np.random.default_rng(1)
    wide = Factor(rng.dirichlet(np.ones(1999)), rng.dirichlet(np.ones(1999)))
    assert not convolution._enumerable(Experiment([(wide, 2)]).factors)
    assert convolution._enumerable(Experiment([(wide, 1)]).factors)


def test_the_largest_loss_is_a_quantile_like_any_other() -> None:
    found = Experiment([response_factor(3.0)]).loss_quantiles([0.9, 0.01])
    assert found[0].lower == pytest.approx(3.0)
    assert found[0].upper == pytest.approx(3.0)
    assert found[1].upper == pytest.approx(-3.0)


def test_gamma_just_below_the_advantage_and_of_tiny_losses() -> None:
    experiment = Experiment([response_factor(1.0)])
    delta = float(np.nextafter(experiment.advantage().upper, 0))
    assert 0 <= experiment.gamma(delta).upper < 1e-9
    tiny = Experiment([response_factor(1e-10)]).gamma(1e-11)
    assert tiny.upper == pytest.approx(8e-11, rel=1e-6)
    assert tiny.lower <= tiny.upper


def test_quantiles_beside_infinite_losses() -> None:
    partly = Experiment([Factor([0.5, 0.3, 0.2], [0.6, 0.4, 0.0])])
    found = partly.loss_quantiles([0.2, 0.7, 0.9])
    assert found[0].upper == pytest.approx(math.log(0.3 / 0.4), rel=1e-9)
    assert found[1].upper == pytest.approx(math.log(0.5 / 0.6), rel=1e-9)
    assert found[2].lower == found[2].upper == math.inf
    balanced = Experiment([Factor([0.25, 0.5, 0.25], [0.3, 0.5, 0.2])]).loss_quantiles([0.5])[0]
    assert balanced.lower == pytest.approx(0.0, abs=1e-10)
    assert balanced.upper == pytest.approx(0.0, abs=1e-10)


def _best_test(p: FloatArray, q: FloatArray, fpr: float) -> float:
    """Neyman and Pearson: take outcomes by falling p/q until the false positives are spent."""
    order = np.argsort(-np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0), kind="stable")
    power, left = 0.0, fpr
    for i in order:
        share = 1.0 if q[i] <= left else left / q[i]
        power, left = power + share * p[i], left - share * q[i]
    return float(power)


@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(0, 1))
def test_power_and_area_are_those_of_the_best_test(outcomes: int, seed: int, fpr: float) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(outcomes), size=2)
    if seed % 3 == 0:
        p[0], q[-1] = 0.0, 0.0
        p, q = p / p.sum(), q / q.sum()
    experiment = Experiment([Factor(p, q)])
    found = experiment.power(fpr)
    assert found.lower - 1e-9 <= _best_test(p, q, fpr) <= found.upper + 1e-9
    assert found.width < 0.05
    ratio = np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0)
    wins = (ratio[:, None] > ratio[None, :]) + 0.5 * (ratio[:, None] == ratio[None, :])
    area = experiment.auc()
    assert area.lower - 1e-9 <= float(p @ wins @ q) <= area.upper + 1e-9
    assert area.width < 2e-3


def test_power_on_a_grid_agrees_with_the_sampled_test() -> None:
    """RAPPOR, ten reports each: the threshold that 0.1 % of strangers pass, and how many friends do."""
    experiment = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75).tracking(reports=20, split=10)
    assert isinstance(experiment, Experiment)
    rng = np.random.default_rng(8)
    strangers, friends = (experiment.sample(rng, 200_000, world) for world in WORLDS[::-1])
    threshold = np.quantile(strangers, 0.999)
    passed = float((friends > threshold).mean())
    found = experiment.power(0.001)
    assert found.width < 2e-3
    # the threshold's own rate is 0.001 ± 0.0003 but for a chance of 1e-5; the power there moves by less than 0.03
    assert abs(passed - found.upper) < 0.03
    wins = np.searchsorted(np.sort(strangers), friends) / strangers.size
    assert abs(float(wins.mean()) - experiment.auc().upper) < 1e-3


def test_nothing_to_see_is_chance() -> None:
    assert Experiment().power(0.001) == Bracket.point(0.001)
    assert Experiment().auc() == Bracket.point(0.5)
    with pytest.raises(ValueError, match="fpr must be between 0 and 1, got 2"):
        Experiment().power(2)


def test_the_worst_of_several_has_the_largest_area_and_not_that_of_a_patched_curve() -> None:
    steep, late = Factor([0.5, 0.5], [0.0, 1.0]), Factor([1.0, 0.0], [0.5, 0.5])
    members = [Experiment([steep]), Experiment([late])]
    found = Worst(members).auc()
    assert found.lower <= 0.75 <= found.upper
    assert found.upper < 0.76
    assert Worst(members).power(0.5).upper == pytest.approx(1.0)


def test_tiny_false_positive_rates() -> None:
    """One of 2^200 tags: recognised with probability 1e-70·2^200 at such a rate, and no more."""
    found = Experiment([persistent_factor(2.0**200)]).power(1e-70)
    assert found.lower <= 1e-70 * 2.0**200 * (1 + 1e-9) <= found.upper * (1 + 1e-6)
    assert found.upper < 1e-9
    assert Experiment([persistent_factor(2.0**200)]).power(0.0).upper < 1e-10


def test_many_members_do_not_keep_their_tables() -> None:
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.4, q=0.7)
    worst = rappor.detection(reports=6)
    assert isinstance(worst, Worst)
    worst.gamma(1e-6)
    worst.advantage()
    kept = sum("_table" in member.__dict__ for member in worst.members)
    assert kept <= 16 < len(worst.members)
