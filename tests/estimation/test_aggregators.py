"""From reports to frequencies: sums that add and merge, unbiased estimates, errors within their radius.

Every simulation here has a fixed seed, so nothing is random from run to run; the false-alarm rates in comments are
those of having met an unlucky seed when it was chosen.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta as beta_law
from scipy.stats import binom, chi2

from untrackable import (
    Bitwise,
    Dealt,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
)
from untrackable.errors import MergeError
from untrackable.estimation.aggregators import (
    Aggregator,
    BitAggregator,
    CandidateAggregator,
    InnerProductAggregator,
    Reports,
    Scope,
)
from untrackable.estimation.estimate import Estimate
from untrackable.kernels.counting import walsh_hadamard
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.rappor import RapporAggregator
from untrackable.theory.turns import Turns

RR = RandomizedResponse(eps=1.0)
NIP = NoisyInnerProduct(bits=3, eps=1.0, width=1)
RAPPOR = Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75)
CANDIDATES = ["Ada", "Grace", "Emmy", "Sofia"]
FADING = Fading(bits=2, eps=4.0, delta=0.01)

# mechanism, how many values, whether reports of different rounds may be added up
MECHANISMS: dict[str, tuple[Mechanism, int, bool]] = {
    "Bitwise": (Bitwise(eps_state=1.0, eps_report=1.5), 2, False),
    "InnerProduct": (InnerProduct(bits=3, slots=3, eps_report=1.0, width=1), 8, False),
    "Deck": (Deck(bits=3, slots=3, eps_report=1.0, width=1), 8, True),
    "Fading": (FADING, 4, False),
    "Rappor": (RAPPOR, 4, False),
    "Fresh, two bits at a time": (Fresh(NoisyInnerProduct(bits=3, eps=1.0, width=2)), 8, True),
    "Deck, three bits at a time": (Deck(bits=3, slots=3, eps_report=2.0, width=3), 8, True),
    "Fresh bit": (Fresh(RR), 2, True),
    "Fresh": (Fresh(NIP), 8, True),
    "Memoized bit": (Memoized(RR), 2, False),
    "Memoized": (Memoized(NIP), 8, False),
    "Stored": (Stored(RR, 3), 2, False),
    "Stored inner product of one bit": (Stored(NoisyInnerProduct(bits=1, eps=0.5, width=1), 3), 2, False),
    "Dealt": (Dealt(RR, 3), 2, True),
}
each = pytest.mark.parametrize("name", MECHANISMS)


def population(name: str, people: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Values of which half are 0, a quarter 1, an eighth 2, …; and their frequencies."""
    mechanism, count, _ = MECHANISMS[name]
    numbers = np.minimum(np.bitwise_count((np.arange(people) + 1) ^ np.arange(people)).astype(int) - 1, count - 1)
    frequencies = np.bincount(numbers, minlength=count) / people
    return np.array(CANDIDATES)[numbers] if isinstance(mechanism, Rappor) else numbers, frequencies


def reports_of(name: str, values: NDArray[Any], *, rounds: int = 1, seed: int) -> Reports:
    batches = MECHANISMS[name][0].simulate(values, rounds=rounds, seed=seed)
    return np.concatenate([batch.reports for batch in batches])


def estimate(aggregator: Aggregator, beta: float = 0.05) -> Estimate:
    if isinstance(aggregator, RapporAggregator):
        return aggregator.estimate(beta, CANDIDATES)
    assert isinstance(aggregator, (BitAggregator, InnerProductAggregator))
    return aggregator.estimate(beta)


def sums(aggregator: Aggregator) -> list[int]:
    """Everything an aggregator knows, n last."""
    if isinstance(aggregator, BitAggregator):
        return [aggregator.ones, aggregator.n]
    if isinstance(aggregator, InnerProductAggregator):
        return [*aggregator.sums.tolist(), aggregator.n]
    assert isinstance(aggregator, RapporAggregator)
    return [*aggregator.counts.tolist(), aggregator.n]


def as_sent(mechanism: Mechanism, reports: Reports) -> list[int]:
    """The integers that clients send."""
    if isinstance(mechanism, Rappor):
        return [int.from_bytes(row.tobytes(), "little") for row in reports.reshape(-1, reports.shape[-1])]
    return [int(report) for report in reports.reshape(-1)]


# --- adding and merging ----------------------------------------------------------------------------------------


@each
def test_arrays_and_lists_add_up_alike(name: str) -> None:
    mechanism, _, _ = MECHANISMS[name]
    values, _ = population(name, 300)
    reports = reports_of(name, values, rounds=2, seed=1)[:, 0]
    sent = as_sent(mechanism, reports)
    whole = mechanism.aggregator().add(reports)
    assert whole.n == 300
    assert sums(mechanism.aggregator().add(sent)) == sums(whole)
    assert sums(mechanism.aggregator().add(iter(sent))) == sums(whole)
    one_by_one = mechanism.aggregator()
    for report in sent:
        one_by_one.add([report])
    assert sums(one_by_one.add([])) == sums(whole)
    assert sums(mechanism.aggregator().add(reports[:, None])) == sums(whole)


@each
def test_merging_is_adding_all_together(name: str) -> None:
    mechanism, _, _ = MECHANISMS[name]
    values, _ = population(name, 300)
    reports = reports_of(name, values, seed=1)
    parts = [mechanism.aggregator().add(reports[part]) for part in (slice(0, 7), slice(7, 200), slice(200, 300))]
    whole = mechanism.aggregator().add(reports)
    merged = mechanism.aggregator()
    for part in parts:
        assert merged.merge(part) is merged
    assert sums(merged) == sums(whole)
    assert sums(mechanism.aggregator().merge(parts[2]).merge(parts[0]).merge(parts[1])) == sums(whole)
    assert sums(parts[0]) == sums(mechanism.aggregator().add(reports[:7]))
    assert np.array_equal(estimate(merged).frequencies, estimate(whole).frequencies)


@each
def test_merging_rounds_only_where_they_are_independent(name: str) -> None:
    mechanism, _, together = MECHANISMS[name]
    values, _ = population(name, 100)
    reports = reports_of(name, values, rounds=2, seed=1)
    first = mechanism.aggregator(1).add(reports[:, 0])
    second = mechanism.aggregator(2).add(reports[:, 1])
    if together:
        assert sums(first.merge(second)) == sums(mechanism.aggregator().add(reports))
    else:
        before = sums(first)
        with pytest.raises(MergeError, match="parameters or rounds"):
            first.merge(second)
        assert sums(first) == before
    assert sums(mechanism.aggregator(2).merge(mechanism.aggregator(2).add(reports[:, 1]))) == sums(second)


def test_decks_that_are_replayed_do_not_merge_with_their_first_deal() -> None:
    mechanism = Deck(bits=3, slots=3, eps_report=1.0, when_empty="replay", width=1)
    mechanism.aggregator(4).merge(mechanism.aggregator(6))
    for first, second in ((1, 4), (3, 4), (6, 7)):
        with pytest.raises(MergeError):
            mechanism.aggregator(first).merge(mechanism.aggregator(second))


@each
def test_merging_refuses_other_parameters(name: str) -> None:
    """Also those that differ in nothing but a parameter that the sums do not show."""
    mechanism, _, _ = MECHANISMS[name]
    others: list[Mechanism] = [other for key, (other, _, _) in MECHANISMS.items() if key != name]
    others += [
        Bitwise(eps_state=1.0, eps_report=1.6),
        InnerProduct(bits=3, slots=4, eps_report=1.0, width=1),
        Deck(bits=3, slots=3, eps_report=1.0, when_empty="replay", width=1),
        Fresh(NoisyInnerProduct(bits=3, eps=1.1, width=1)),
        Rappor(bloom_bits=13, hashes=3, f=0.5, p=0.25, q=0.75),
        Stored(RR, 4),
    ]
    mine = mechanism.aggregator()
    for other in others:
        with pytest.raises(MergeError):
            mine.merge(other.aggregator())
    assert mine.n == 0


@each
def test_nothing_to_estimate_from(name: str) -> None:
    with pytest.raises(ValueError, match="no reports"):
        estimate(MECHANISMS[name][0].aggregator())


BAD: dict[str, list[Any]] = {
    "Bitwise": [[2], [0, 1, 5], np.array([1, 2], dtype=np.uint64), np.array([[0], [255]], dtype=np.uint8)],
    "InnerProduct": [
        *([0], [1], [3, 0], [16], [2, 3, 1 << 70], [-1], [5, -2]),
        *(np.array([5, bad], dtype=np.uint64) for bad in (0, 1, 16, (1 << 64) - 1)),
        np.array([5, -3]),
    ],
    "Rappor": [
        *([1 << 13], [5, 1 << 13], [5, -1], [1 << 300]),
        np.zeros((3, 1), dtype=np.uint8),
        np.zeros((3, 3), dtype=np.uint8),
        np.zeros((3, 2), dtype=np.uint64),
    ],
}
BAD["Deck"] = BAD["Fresh"] = BAD["Memoized"] = BAD["InnerProduct"]
BAD["Fresh bit"] = BAD["Memoized bit"] = BAD["Stored"] = BAD["Dealt"] = BAD["Bitwise"]


@pytest.mark.parametrize("name", BAD)
def test_reports_out_of_range_are_refused_with_nothing_added(name: str) -> None:
    mechanism, _, _ = MECHANISMS[name]
    values, _ = population(name, 20)
    aggregator = mechanism.aggregator().add(reports_of(name, values, seed=1))
    before = sums(aggregator)
    for bad in BAD[name]:
        with pytest.raises(ValueError, match=r"^(a report|reports) must (be|have)"):
            aggregator.add(bad)
        assert sums(aggregator) == before


def test_inner_products_of_many_bits_have_no_dense_estimate() -> None:
    with pytest.raises(ValueError, match=r"bits must be at most 26 to estimate all 2\^bits values, got 27"):
        InnerProductAggregator(Scope(None, 0, pools=True), bits=27, flip=0.1)
    assert isinstance(Deck(bits=27, slots=3, eps_report=1.0, width=1).aggregator(), CandidateAggregator)


# --- unbiased --------------------------------------------------------------------------------------------------


@each
def test_estimates_are_unbiased(name: str) -> None:
    """Within 6 standard errors, 2e-9 each; and a bias of a few percent would be seen."""
    mechanism, _, together = MECHANISMS[name]
    values, truth = population(name, 400_000)
    rounds = 3 if together else 1
    result = estimate(mechanism.aggregator().add(reports_of(name, values, rounds=rounds, seed=11)))
    assert result.n == rounds * 400_000
    error = np.abs(result.frequencies - truth)
    assert np.all(error <= 6 * result.standard_error)
    assert np.all(error <= result.simultaneous_radius)
    assert np.all(result.standard_error < result.radius)
    assert np.all(result.radius <= result.simultaneous_radius)
    assert 12 * result.standard_error.max() < 0.08


@pytest.mark.parametrize("name", ["Bitwise", "InnerProduct", "Stored", "Rappor", "Fading"])
def test_later_rounds_are_estimated_as_well(name: str) -> None:
    mechanism, _, _ = MECHANISMS[name]
    values, truth = population(name, 200_000)
    reports = reports_of(name, values, rounds=3, seed=12)
    result = estimate(mechanism.aggregator(3).add(reports[:, 2]))
    assert np.all(np.abs(result.frequencies - truth) <= 6 * result.standard_error)


@pytest.mark.parametrize("mechanism", [Fresh(NIP), Deck(bits=3, slots=2, eps_report=1.0, width=1), FADING])
def test_changing_values_are_estimated_round_by_round(mechanism: Mechanism) -> None:
    values = np.stack([np.zeros(200_000, dtype=int), np.full(200_000, 3)], axis=1)
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=2, seed=13)])
    for i, value in enumerate((0, 3)):
        result = estimate(mechanism.aggregator(i + 1).add(reports[:, i]))
        truth = np.eye(result.frequencies.size)[value]
        assert np.all(np.abs(result.frequencies - truth) <= 6 * result.standard_error)


def test_client_reports_are_estimated() -> None:
    """The path of real clients, end to end; random, fails with probability 4·2e-9."""
    mechanism = Deck(bits=2, slots=1, eps_report=3.0, width=1)
    result = estimate(mechanism.aggregator().add(mechanism.client(i % 2).report(1) for i in range(20_000)))
    assert np.all(np.abs(result.frequencies - [0.5, 0.5, 0, 0]) <= 6 * result.standard_error)


def test_rappor_candidates_must_be_told_apart() -> None:
    aggregator = RAPPOR.aggregator().add([0, 1, 2])
    with pytest.raises(ValueError, match="candidates cannot be estimated"):
        aggregator.estimate(candidates=["Ada", "Grace", "Ada"])
    with pytest.raises(ValueError, match="f must be below 1"):
        Rappor(bloom_bits=13, hashes=2, f=1.0, p=0.25, q=0.75).aggregator().add([0, 1]).estimate(candidates=["Ada"])


# --- the transform ---------------------------------------------------------------------------------------------


@given(st.integers(1, 10), st.floats(0.01, 20), st.data())
@settings(max_examples=60)
def test_inner_product_estimates_sum_to_one(bits: int, eps: float, data: st.DataObject) -> None:
    """Whatever the reports: no report has the zero vector, so the transform sums to zero, in integers."""
    reports = data.draw(st.lists(st.integers(2, (2 << bits) - 1), min_size=1, max_size=50))
    aggregator = NoisyInnerProduct(bits=bits, eps=eps, width=1).aggregator(Scope(None, 0, pools=True)).add(reports)
    assert isinstance(aggregator, InnerProductAggregator)
    transformed = walsh_hadamard(aggregator.sums)
    assert transformed.dtype == np.int64
    assert int(transformed.sum()) == 0
    frequencies = aggregator.estimate().frequencies
    rounding = np.abs(frequencies).sum() * 4 * np.finfo(float).eps
    assert abs(math.fsum(frequencies) - 1) <= max(1e-15, rounding)


@pytest.mark.parametrize("bits", [1, 8, 16])
def test_inner_product_estimates_of_a_population_sum_to_one(bits: int) -> None:
    mechanism = Deck(bits=bits, slots=1, eps_report=1.0, width=1)
    values = np.arange(300_000) % (1 << bits)
    aggregator = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=14):
        aggregator.add(batch.reports)
    assert isinstance(aggregator, InnerProductAggregator)
    assert int(walsh_hadamard(aggregator.sums).sum()) == 0
    assert abs(math.fsum(aggregator.estimate().frequencies) - 1) <= 1e-12


def test_inner_product_estimate_is_the_formula() -> None:
    """(2^d-1)/2^d·(e^eps+1)/(e^eps-1)·Σ_reports (-1)^(⟨v,u⟩ ⊕ b)/n + 2^-d, report by report."""
    eps, bits = 0.7, 3
    reports = np.random.default_rng(15).integers(2, 16, size=500).tolist()
    result = (
        NoisyInnerProduct(bits=bits, eps=eps, width=1)
        .aggregator(Scope(None, 0, pools=True))
        .add(reports)
        .estimate()
    )
    scale = 7 / 8 * (math.exp(eps) + 1) / (math.exp(eps) - 1)
    for u in range(8):
        mean = sum((-1) ** (bin((r >> 1) & u).count("1") + (r & 1)) for r in reports) / 500
        assert math.isclose(result.frequencies[u], scale * mean + 1 / 8, rel_tol=1e-12, abs_tol=1e-12)


# --- errors ----------------------------------------------------------------------------------------------------


def coth(eps: float) -> float:
    return (math.exp(eps) + 1) / (math.exp(eps) - 1)


@pytest.mark.parametrize(
    ("mechanism", "span", "values"),
    [
        (Bitwise(eps_state=1.0, eps_report=1.5), coth(1.0) * coth(1.5), 1),
        (Fresh(RR), coth(1.0), 1),
        (InnerProduct(bits=3, slots=3, eps_report=1.0, width=1), 2 * 7 / 8 * coth(1.0), 8),
        (Deck(bits=3, slots=3, eps_report=0.2, width=1), 2 * 7 / 8 * coth(0.2), 8),
    ],
)
def test_intervals_of_a_sample_are_clopper_and_pearsons(mechanism: Mechanism, span: float, values: int) -> None:
    """Those of a half, times the span, with β/values for all values at once; a bit's two frequencies are one."""
    result = estimate(mechanism.aggregator().add([2, 3] * 50 if values > 1 else [0, 1] * 50), beta=0.01)
    assert (result.n, result.beta) == (100, 0.01)
    sampled = result.of_active(Turns(rounds=2))
    for radius, beta in ((sampled.radius, 0.01), (sampled.simultaneous_radius, 0.01 / values)):
        assert np.allclose(radius, span * (0.5 - float(beta_law.ppf(beta / 2, 50, 51))), rtol=1e-6)
    assert np.all(result.radius <= sampled.radius)


def repeated(name: str, people: int, times: int, beta: float) -> tuple[NDArray[np.float64], list[Estimate]]:
    """The same small population, asked many times over; the truth, and an estimate for each time."""
    mechanism, _, _ = MECHANISMS[name]
    values, truth = population(name, people)
    reports = reports_of(name, np.tile(values, times), seed=16)
    parts = reports.reshape(times, people, *reports.shape[1:])
    return truth, [estimate(mechanism.aggregator().add(part), beta) for part in parts]


@each
def test_errors_stay_within_the_radius_and_have_the_standard_error(name: str) -> None:
    times, people, beta, alarm = 2000, 256, 0.2, 1e-9
    truth, results = repeated(name, people, times, beta)
    errors = np.array([r.frequencies for r in results]) - truth
    # At most beta of them are outside, so at most this many of them, except with probability `alarm`.
    most = binom.isf(alarm, times, beta)
    radius, together = (np.array([getattr(r, name) for r in results]) for name in ("radius", "simultaneous_radius"))
    outside = (np.abs(errors) > radius).sum(axis=0)
    assert outside.max() <= most < 0.26 * times
    assert (np.abs(errors) > together).any(axis=1).sum() <= most
    # The radius is a radius and not just a large number: half of it would be left more often than never.
    assert (np.abs(errors) > radius / 2).sum() > 0
    spread = (errors**2).mean(axis=0)
    stated = np.mean([r.standard_error**2 for r in results], axis=0)
    assert np.all(plausible(spread / stated, times))
    for factor in (0.8, 1.25):
        assert not np.any(plausible(spread / (factor**2 * stated), times))


SLACK = 0.02
"""Share of a variance that stating it from a clipped frequency of few people may add or take."""


def band(times: int, alarm: float) -> tuple[float, float]:
    """Where the variance of nearly normal estimates lies: chi-square of `times` degrees, as the truth is known."""
    low, high = float(chi2.ppf(alarm / 2, times)), float(chi2.isf(alarm / 2, times))
    return low / times * (1 - SLACK), high / times * (1 + SLACK)


def plausible(ratio: NDArray[np.float64], times: int) -> NDArray[np.bool_]:
    """ObservedRounds variances over stated ones that are no reason for alarm, at a rate of 1e-9 each."""
    low, high = band(times, 1e-9)
    return (low <= ratio) & (ratio <= high)


def test_a_wrong_standard_error_is_noticed_almost_surely() -> None:
    """Off by a fifth down or a quarter up: missed with probability below 1e-8."""
    low, high = band(2000, 1e-9)
    assert chi2.sf(low * 2000 * 1.25**2 / (1 + SLACK), 2000) < 1e-8
    assert chi2.cdf(high * 2000 * 0.8**2 / (1 - SLACK), 2000) < 1e-8


@pytest.mark.parametrize(
    "mechanism", [Fresh(RR), Fresh(NoisyInnerProduct(bits=3, eps=1.0, width=1))], ids=["bit", "inner"]
)
@pytest.mark.parametrize("reports", [[0.7], [2.7], np.array([0.7]), np.array([1.0]), ["1"]])
def test_reports_must_be_integers(mechanism: Mechanism, reports: Any) -> None:
    sums = mechanism.aggregator()
    with pytest.raises(TypeError):
        sums.add(reports)
    assert sums.n == 0


@pytest.mark.parametrize("reports", [[-1], [1 << 64], np.array([-1, -1]), np.array([2], dtype=np.uint8)])
def test_bits_must_be_bits(reports: Any) -> None:
    sums = Fresh(RR).aggregator()
    with pytest.raises(ValueError, match="a report must be between 0 and 1"):
        sums.add(reports)
    assert sums.n == 0


def test_rappor_reports_have_no_surplus_bits() -> None:
    rappor = Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75)
    sums = rappor.aggregator()
    for bad in (np.array([[0xFF, 0xFF]], dtype=np.uint8), [0xFFFF]):
        with pytest.raises(ValueError, match="a report must have 13 bits and no more"):
            sums.add(bad)
    assert sums.n == 0
    assert sums.add(np.array([[0xFF, 0x1F]], dtype=np.uint8)).add([np.int64(3)]).n == 2  # type: ignore[list-item]


def test_rounds_that_do_not_pool_are_refused() -> None:
    for mechanism in (Memoized(RR), Bitwise(eps_state=1, eps_report=1), Stored(RR, 2), FADING):
        (batch,) = mechanism.simulate(np.zeros(50, dtype=int), rounds=3, seed=1)
        sums = mechanism.aggregator(2)
        with pytest.raises(ValueError, match="of 3 rounds, which do not pool"):
            sums.add(batch.reports)
        assert sums.n == 0
        assert sums.add(batch.reports[:, 1]).n == 50
        assert sums.add(batch.reports[:, [1]]).n == 100
    rappor = Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75)
    (batch,) = rappor.simulate(np.zeros(50, dtype=int), rounds=3, seed=1)
    with pytest.raises(ValueError, match="do not pool"):
        rappor.aggregator().add(batch.reports)
    assert rappor.aggregator().add(batch.reports[:, 0]).n == 50
    deck = Deck(bits=3, slots=3, eps_report=1.0, width=1)
    (batch,) = deck.simulate(np.zeros(50, dtype=int), rounds=3, seed=1)
    assert deck.aggregator().add(batch.reports).n == 150


def test_an_aggregate_does_not_count_itself_twice() -> None:
    sums = Fresh(RR).aggregator().add([1, 0])
    with pytest.raises(MergeError, match="with itself"):
        sums.merge(sums)
    assert sums.n == 2
