import itertools
import math

import numpy as np
import pytest

from untrackable import Bitwise, Rappor
from untrackable.theory import Experiment, Factor
from untrackable.theory.experiment import Trackability, confidence_level, order_interval

PAPER = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)


def experiments(mechanism: Rappor, reports: int) -> list[Experiment]:
    found = [mechanism.tracking(reports=reports, split=i) for i in range(1, reports // 2 + 1)]
    assert all(isinstance(e, Experiment) for e in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("reports", "absolute", "signed", "grid"),
    [(2, 0.590, 0.315, 1 << 20), (7, 3.341, 2.667, 1 << 20), (15, 10.9829, 10.0986, 1 << 21)],
)
def test_exact_medians_of_rappor(reports: int, absolute: float, signed: float, grid: int) -> None:
    trials = [trial.with_grid(grid) for trial in experiments(PAPER, reports)]
    for variant, median in (("absolute", absolute), ("signed", signed)):
        found = Trackability(trials, variant).quantile(0.5)  # type: ignore[arg-type]
        assert median - 0.001 <= found.lower <= found.upper <= median + 0.001  # the bracket itself certifies it


def test_tau_against_enumeration_of_all_trials() -> None:
    """Two splits, two worlds each: the maximum over all combinations of four independent losses."""
    trials = [
        Experiment([(Factor([0.6, 0.4], [0.3, 0.7]), 2)]),
        Experiment([Factor([0.2, 0.3, 0.5], [0.25, 0.5, 0.25])]),
    ]
    laws = []
    for trial in trials:
        table = trial._table
        laws += [list(zip(table.loss, table.p, strict=True)), list(zip(table.loss, table.q, strict=True))]
    for variant in ("absolute", "signed"):
        law: dict[float, float] = {}
        for combination in itertools.product(*laws):
            losses = [loss for loss, _ in combination]
            tau = max(abs(x) for x in losses) if variant == "absolute" else max(0.0, *(-x for x in losses))
            law[tau] = law.get(tau, 0.0) + math.prod(p for _, p in combination)
        exact = Trackability(trials, variant)
        for at in (0.0, 0.1, 0.5, 0.9, 1.4, 2.0):
            total = sum(p for tau, p in law.items() if tau <= at + 1e-9)
            assert exact.cdf(at) == pytest.approx((total, total), abs=1e-9)
        ordered = sorted(law)
        cumulative = np.cumsum([law[tau] for tau in ordered])
        for level in (0.1, 0.33, 0.5, 0.77, 0.95):
            truth = ordered[int(np.searchsorted(cumulative, level))]
            found = exact.quantile(level)
            assert found.lower == pytest.approx(truth, abs=1e-8)
            assert found.upper == pytest.approx(truth, abs=1e-8)


@pytest.mark.parametrize("variant", ["absolute", "signed"])
def test_samples_follow_the_exact_law_and_no_other(variant: str) -> None:
    draws = 40_000
    exact = Trackability(experiments(PAPER, 5), variant)  # type: ignore[arg-type]
    wrong = Trackability(experiments(Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.74), 5), variant)  # type: ignore[arg-type]
    samples = exact.sample(np.random.default_rng(11), draws)
    inside, outside = 0, 0
    for level in (0.25, 0.5, 0.75, 0.9):
        # Ranks are binomial: seven standard deviations are exceeded with probability 3e-12.
        reach = 7 * math.sqrt(draws * level * (1 - level))
        low, high = samples[int(draws * level - reach)], samples[int(draws * level + reach)]
        right, off = exact.quantile(level), wrong.quantile(level)
        inside += low <= right.upper and right.lower <= high
        outside += off.upper < low or off.lower > high
    assert inside == 4
    assert outside >= 1


def test_confidence_levels_of_the_paper() -> None:
    assert confidence_level(10_000, 0.5, 4900, 5100) == pytest.approx(0.95449433663, abs=1e-10)
    assert confidence_level(10_000, 0.9, 8940, 9060) == pytest.approx(0.9545103468, abs=1e-10)


def test_confidence_level_against_binomial_sums() -> None:
    for quantile, low, high in ((0.5, 3, 8), (0.9, 7, 10), (0.2, 1, 4)):
        exact = sum(math.comb(10, i) * quantile**i * (1 - quantile) ** (10 - i) for i in range(low, high))
        assert confidence_level(10, quantile, low, high) == pytest.approx(exact)


def test_order_interval_reaches_its_level_and_no_more() -> None:
    ordered = np.arange(1.0, 10_001.0)
    interval = order_interval(ordered, 0.5)
    assert interval.sampled == 5000
    assert interval.level >= 0.95
    assert confidence_level(10_000, 0.5, int(interval.lower) + 1, int(interval.upper) - 1) < 0.95
    with pytest.raises(ValueError, match="too few"):
        order_interval(np.arange(5.0), 0.99)


def test_coverage_of_the_interval() -> None:
    """Uniform samples: the interval covers the true quantile at least as often as it says."""
    rng = np.random.default_rng(2)
    runs = 2000
    covered = 0
    for _ in range(runs):
        interval = order_interval(np.sort(rng.random(200)), 0.9)
        covered += interval.lower <= 0.9 <= interval.upper
    level = interval.level
    assert covered >= runs * level - 6 * math.sqrt(runs * level * (1 - level))
    assert covered <= runs * level + 6 * math.sqrt(runs * level * (1 - level))


def test_tiny_losses_have_tiny_quantiles() -> None:
    mechanism = Bitwise(eps_state=1, eps_report=3e-6)
    trial = mechanism.tracking(reports=2, split=1)
    assert isinstance(trial, Experiment)
    found = Trackability([trial]).quantile(0.1)
    assert found.lower == pytest.approx(1.7695e-12, rel=1e-3)
    assert found.upper == pytest.approx(1.7695e-12, rel=1e-3)
