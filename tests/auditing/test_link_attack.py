"""Matching people: ties, intervals, all at once, values that differ, and the most that the engine allows."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tests import oracles
from untrackable import Bitwise, Deck, Memoized, NoisyInnerProduct, Rappor, Stored
from untrackable.auditing import attacks
from untrackable.auditing.attacks import link, match
from untrackable.mechanisms import Lgrr, Unary
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.kept_bit import Coin, Noise, tracking_factor


def test_ties_count_as_chance() -> None:
    assert match(np.zeros((1000, 1000))).sampled == pytest.approx(0.001)
    assert match(np.eye(50)).sampled == 1.0
    assert match(np.eye(4)[::-1].copy()).sampled == 0.0
    half = np.array([[1.0, 1.0], [0.0, 0.5]])
    assert match(half).sampled == pytest.approx(0.75)


def test_interval_is_clopper_pearson() -> None:
    scores = np.eye(10)
    scores[8:] = scores[8:, ::-1]
    result = match(scores)
    assert result.sampled == 0.8
    # published values for 8 of 10 at 95 %
    assert result.lower == pytest.approx(0.4439, abs=1e-4)
    assert result.upper == pytest.approx(0.9748, abs=1e-4)


def test_scores_must_be_square() -> None:
    with pytest.raises(ValueError, match="square"):
        match(np.zeros((2, 3)))


def test_rappor_scores_are_the_likelihood_ratios() -> None:
    """Each pair's score, place by place, from the factor that is itself tested against enumeration."""
    rappor = Rappor(bloom_bits=12, hashes=2, f=0.5, p=0.4, q=0.8)
    value = "here"
    (batch,) = rappor.simulate(np.array([value] * 6), rounds=5, seed=4)
    scores = rappor.link_scores(batch.reports[:, :2], batch.reports[:, 2:], value)
    bits = np.unpackbits(batch.reports.astype(np.uint8), axis=-1, count=12, bitorder="little")
    noise = Noise.of(0.8, 0.4)
    tables = {
        one: tracking_factor(Coin.of(0.75 if one else 0.25), noise, 5, 2).loss.reshape(3, 4)
        for one in (True, False)
    }
    for a in range(6):
        for b in range(6):
            total = 0.0
            for place in range(12):
                x, y = bits[a, :2, place].sum(), bits[b, 2:, place].sum()
                total += tables[bool(rappor.bloom(value) >> place & 1)][x, y]
            assert scores[a, b] == pytest.approx(total)


def test_the_published_parameters_of_rappor_are_followed_and_deck_is_not() -> None:
    """1,000 people with equal values, ten reports from each of two places."""
    result = link(Rappor.preset("paper"))
    assert 0.84 < result.top1.sampled < 0.93
    assert result.top1.lower < result.top1.sampled < result.top1.upper
    assert result.assignment is not None
    assert result.assignment.sampled > result.top1.sampled + 0.03
    assert result.top1_bound is not None
    assert result.top1.lower <= result.top1_bound.upper
    deck = link(Deck(bits=4, slots=20, eps_report=0.5))
    assert deck.top1.sampled == pytest.approx(0.001)
    assert deck.top5.sampled == pytest.approx(0.005)
    assert deck.auc.sampled == pytest.approx(0.5)
    assert deck.assignment is not None
    assert deck.assignment.sampled <= 0.01  # a random permutation has 1 hit in the mean; more than 10 once in 1e7


PEOPLE = 400
CASES: list[tuple[Mechanism, int]] = [
    (Unary.for_budget("L-SUE", values=8, eps=2, eps_report=1), 4),
    (Bitwise(eps_state=1, eps_report=1), 5),
    (Lgrr.for_budget(values=12, eps=3, eps_report=1.5, step="exact"), 5),
    (Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.3, q=0.8, cohorts=4), 3),
    (Memoized(NoisyInnerProduct(bits=6, eps=1)), 2),
]


@pytest.mark.parametrize(("mechanism", "reports"), CASES, ids=lambda case: type(case).__name__)
def test_attacks_do_what_the_engine_says(mechanism: Mechanism, reports: int) -> None:
    """Ten independent crowds: the area agrees with the engine's, matching never exceeds its bound.

    The standard error over the crowds is estimated from them; beyond eight of them (Student, nine degrees of
    freedom) lies a probability of 2e-5, twice five cases.
    """
    runs = [link(mechanism, people=PEOPLE, reports=reports, seed=seed) for seed in range(10)]
    bound = runs[0]
    assert bound.auc_bound is not None
    assert bound.top1_bound is not None
    assert bound.top5_bound is not None
    areas = np.array([run.auc.sampled for run in runs])
    off = 8 * areas.std(ddof=1) / math.sqrt(10) + 1e-4
    assert bound.auc_bound.lower - off <= areas.mean() <= bound.auc_bound.upper + off
    # and an engine that is off by a quarter of what there is to see would be noticed
    assert off < 0.25 * (bound.auc_bound.upper - 0.5)
    for name in ("top1", "top5"):
        shares = np.array([getattr(run, name).sampled for run in runs])
        limit = getattr(bound, f"{name}_bound").upper
        assert shares.mean() <= limit + 8 * shares.std(ddof=1) / math.sqrt(10) + 1e-9
        assert shares.mean() >= 1 / PEOPLE


def test_many_people_are_matched_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Unary.for_budget("L-SUE", values=8, eps=2, eps_report=1)
    whole = link(mechanism, people=300, reports=4)
    monkeypatch.setattr(attacks, "LARGEST_ASSIGNMENT", 100)
    monkeypatch.setattr(attacks, "_SCORES", 300 * 7)
    blocks = link(mechanism, people=300, reports=4)
    assert whole.assignment is not None
    assert blocks.assignment is None
    assert (blocks.top1, blocks.top5) == (whole.top1, whole.top5)
    assert blocks.auc.sampled == pytest.approx(whole.auc.sampled, abs=1e-12)
    monkeypatch.setattr(attacks, "_STRANGERS", 300 * 50)
    some = link(mechanism, people=300, reports=4)
    assert some.top1 == whole.top1
    assert some.auc.sampled == pytest.approx(whole.auc.sampled, abs=0.02)


def test_scores_for_a_distribution_of_values() -> None:
    """Ln of one person with an unknown value over two, each with their own: from the enumerated streams."""
    mechanism, oracle = Bitwise(eps_state=1.5, eps_report=0.7), oracles.bitwise(1.5, 0.7)
    weights = np.array([0.3, 0.7])
    streams = list(itertools.product((0, 1), repeat=2))
    table = np.array(streams, dtype=np.uint64)
    result = attacks._rows(mechanism, table, table, None, weights)(slice(None))
    for (i, first), (j, second) in itertools.product(enumerate(streams), repeat=2):
        one = two = other = 0.0
        for value, weight in enumerate(weights):
            law: Any = oracle.streams(value, [1, 2, 3, 4])
            half: Any = oracle.streams(value, [1, 2])
            one += weight * law[first + second]
            two += weight * half[first]
            other += weight * half[second]
        assert result[i, j] == pytest.approx(math.log(one / (two * other)), abs=1e-9)


def test_values_that_differ_help_to_match() -> None:
    mechanism = Deck(bits=4, slots=10, eps_report=2.0)
    assert link(mechanism, people=200, reports=5).auc.sampled == pytest.approx(0.5)
    apart = link(mechanism, people=200, reports=5, distribution=[1.0] * 16)
    assert apart.auc.lower > 0.6
    assert apart.top1_bound is not None
    assert apart.top1.lower <= apart.top1_bound.upper < 1
    assert apart.auc_bound is None
    same = link(mechanism, people=200, reports=5, distribution=[0.0, 1.0])
    assert same.auc.sampled == pytest.approx(0.5)


def test_refusals() -> None:
    deck = Deck(bits=4, slots=10, eps_report=1.0)
    with pytest.raises(ValueError, match="people must be at least 2, got 1"):
        link(deck, people=1, reports=2)
    with pytest.raises(ValueError, match="distribution must be a list of weights"):
        link(deck, people=10, reports=2, distribution=[-1.0, 2.0])
    with pytest.raises(ValueError, match="round must be between 1 and 10"):
        link(deck, people=10, reports=6)


def test_attacks_draw_from_a_stream_of_their_own() -> None:
    """Values that share random words with the noise would spoil the law of reports given the value."""
    mechanism = Bitwise(eps_state=1, eps_report=3)
    runs = [link(mechanism, people=400, reports=4, distribution=[1, 1], seed=seed) for seed in range(6)]
    areas = np.array([run.auc.sampled for run in runs])
    # By simulation with values drawn elsewhere: the same area, within eight standard errors of the difference.
    truth = []
    for seed in range(6):
        values = np.random.default_rng(10_000 + seed).integers(0, 2, size=400)
        (batch,) = mechanism.simulate(values, rounds=8, seed=seed)
        scores = attacks._rows(mechanism, batch.reports[:, :4], batch.reports[:, 4:], None, np.array([0.5, 0.5]))
        table = scores(slice(None))
        own = np.diag(table)
        others = table[~np.eye(400, dtype=bool)]
        truth.append(attacks.area(own, others).sampled)
    reach = 8 * math.hypot(areas.std(ddof=1), float(np.std(truth, ddof=1))) / math.sqrt(6)
    assert abs(areas.mean() - np.mean(truth)) < reach
    assert reach < 0.06  # shared words made it 0.068 too small
    assert not np.array_equal(
        np.random.default_rng([1, 1, 400]).integers(0, 1 << 62, 4),
        np.random.default_rng([1, 0]).integers(0, 1 << 62, 4),
    )


def test_a_filter_with_fewer_ones_has_its_own_bound() -> None:
    """Eight hashes into eight places; this value sets three, and is easier to follow than one that sets eight."""
    rappor = Rappor(bloom_bits=8, hashes=8, f=0.2, p=0.001, q=0.5)
    value = next(v for v in range(200) if rappor.bloom(v).bit_count() == 3)
    usual = rappor.tracking(reports=10, split=5).auc()
    own = rappor.tracking_of(value, rounds=range(1, 11), first=range(1, 6)).auc()
    assert own.lower > usual.upper + 0.01
    result = link(rappor, people=300, reports=5, value=value)
    assert result.auc_bound == own
    assert result.auc.lower <= own.upper


def test_reports_without_noise_are_scored_by_their_likelihood() -> None:
    """A reported 1 that only a kept 1 can make is certainty, not a missing number."""
    for mechanism in (
        Rappor(bloom_bits=8, hashes=2, f=0.2, p=0.0, q=0.5),
        Unary(values=4, keep=0.9, add=0.2, q=0.8, p=0.0),
        Unary(values=4, keep=0.9, add=0.2, q=1.0, p=0.3),
    ):
        (batch,) = mechanism.simulate(np.zeros(40, dtype=int), rounds=6, seed=3)
        scores = mechanism.link_scores(batch.reports[:, :3], batch.reports[:, 3:], 0)
        rounds = list(range(1, 7))
        left = mechanism.log_likelihood(batch.reports[:, :3], 0, rounds[:3])
        right = mechanism.log_likelihood(batch.reports[:, 3:], 0, rounds[3:])
        for i, j in itertools.product(range(40), repeat=2):
            pair: Any = np.concatenate((batch.reports[i : i + 1, :3], batch.reports[j : j + 1, 3:]), axis=1)
            one = mechanism.log_likelihood(pair, 0, rounds)[0]
            assert scores[i, j] == pytest.approx(one - left[i] - right[j], abs=1e-9)
        assert np.isfinite(np.diag(scores)).all()


@pytest.mark.parametrize(
    "mechanism", [Stored(NoisyInnerProduct(bits=8, eps=1.0), 200), Memoized(NoisyInnerProduct(bits=8, eps=1.0))]
)
def test_hundreds_of_reports_are_scored(mechanism: Mechanism) -> None:
    result = link(mechanism, people=30, reports=160)
    assert result.top1.sampled > 0.85
    assert result.auc.sampled > 0.99


def test_replayed_decks_are_not_called_unrecognisable() -> None:
    deck = Deck(bits=8, slots=5, eps_report=1.0, when_empty="replay")
    with pytest.raises(ValueError, match="reports must be of one deck, 5 in all"):
        link(deck, people=20, reports=5)
    (batch,) = deck.simulate(np.zeros(10, dtype=int), rounds=10, seed=1)
    once = deck.log_likelihood(batch.reports[:, :5], 0, range(1, 6))
    assert deck.log_likelihood(batch.reports, 0, range(1, 11)) == pytest.approx(once)
    other = batch.reports.copy()
    other[:, 7] ^= np.uint64(2)
    assert np.isneginf(deck.log_likelihood(other, 0, range(1, 11))).all()
