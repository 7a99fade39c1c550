"""With turns, estimates are of all who were active, and errors count who answered."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from untrackable import Deck, Fresh, NoisyInnerProduct
from untrackable.answers.answer import Question
from untrackable.encodings.encoding import Categories
from untrackable.estimation.estimate import Estimate, with_sampling
from untrackable.estimation.rounds import Rounds
from untrackable.mechanisms import RandomizedResponse, SubsetSelection
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.accuracy import count_interval
from untrackable.theory.turns import Turns

TIMES, PEOPLE, TURNS, BETA, ALARM = 600, 400, Turns(rounds=4), 0.2, 1e-9
VALUES = np.repeat([0, 1, 2, 3], [PEOPLE // 2, PEOPLE // 4, PEOPLE // 8, PEOPLE // 8])
LOUD = Fresh(NoisyInnerProduct(bits=2, eps=6.0, width=2))
TRUTH = np.bincount(VALUES) / PEOPLE


def by_turns(mechanism: Mechanism) -> list[Estimate]:
    """One round of one population, many times. Each person has their turn in it by chance."""
    rng = np.random.default_rng(5)
    question = Question(mechanism, Categories(names=["a", "b", "c", "d"]), turns=TURNS)
    found = []
    for seed in range(TIMES):
        answering = rng.random(PEOPLE) < float(TURNS.chance)
        reports = np.concatenate([b.reports for b in mechanism.simulate(VALUES[answering], rounds=1, seed=seed)])
        found.append(question.estimate(question.prepare(mechanism.aggregator()).add(reports), BETA))
    return found


@pytest.mark.parametrize(
    "mechanism",
    [
        LOUD,
        Fresh(NoisyInnerProduct(bits=2, eps=3.0, width=2)),
        Deck(bits=2, slots=3, eps_report=2.0, width=1),
    ],
)
def test_estimates_are_of_all_who_were_active(mechanism: Mechanism) -> None:
    found = by_turns(mechanism)
    errors = np.array([e.frequencies - TRUTH for e in found])
    claimed = np.array([e.standard_error for e in found])
    # Unbiased, except with probability 1e-9.
    assert np.all(np.abs(errors.mean(axis=0)) < 6.5 * errors.std(axis=0) / math.sqrt(TIMES))
    low, high = (math.sqrt(float(chi2.ppf(rate, TIMES - 1)) / (TIMES - 1)) for rate in (ALARM, 1 - ALARM))
    spread = errors.std(axis=0) / np.sqrt((claimed**2).mean(axis=0))
    assert np.all(low < spread)
    assert np.all(spread < high)
    missed = sum(bool(np.any(e.interval(simultaneous=True).lower > TRUTH)) for e in found)
    missed += sum(bool(np.any(e.interval(simultaneous=True).upper < TRUTH)) for e in found)
    assert missed <= binom.isf(ALARM, TIMES, BETA)


def test_the_noise_alone_is_too_small_an_error() -> None:
    """The test above would notice if who answered did not count."""
    found = by_turns(LOUD)
    errors = np.array([e.frequencies[0] - TRUTH[0] for e in found])
    noise = np.array([e.standard_error[0] ** 2 - 0.25 * 0.75 / e.n for e in found])
    assert errors.std() / math.sqrt(noise.mean()) > math.sqrt(float(chi2.ppf(1 - ALARM, TIMES - 1)) / (TIMES - 1))


def test_the_variance_of_a_sample_by_enumeration() -> None:
    """All ways in which two of four people answer, two of whom hold the value."""
    shares = [(a + b) / 2 for i, a in enumerate((1, 1, 0, 0)) for b in (1, 1, 0, 0)[i + 1 :]]
    assert with_sampling(0.0, 0.5, 2, 0.5) == pytest.approx(math.sqrt(0.5 * 0.5 * 0.5 / 2))
    assert with_sampling(0.1, 0.5, 2, 0.5) ** 2 == pytest.approx(0.1**2 + 0.125 / 2)
    exact = np.var(shares)  # (N - n)/(N - 1) in place of 1 - n/N
    assert exact == pytest.approx(0.125 / 2 * 4 / 3)


def test_all_rounds_together_do_not_tell_all_values() -> None:
    """Everybody is heard once in two rounds, but those who change their value are heard with one of two."""
    turns = Turns(rounds=2)
    for values, spread in (([(0, 0), (1, 1)] * 2, 0.0), ([(0, 1), (1, 0)] * 2, 0.5 * 0.5 / 4)):
        heard = [np.mean(each) for each in np.stack(np.meshgrid(*values), -1).reshape(-1, 4)]
        assert np.var(heard) == pytest.approx(spread)
        whole = Estimate(np.array([0.5]), 4, 0.1, np.zeros(1), span=np.ones(1)).of_active(turns, pooled=True)
        assert float(whole.standard_error[0]) ** 2 == pytest.approx(0.5 * 0.5 / 4), "upper for both"


def miss(groups: list[tuple[int, float, float]], lie: float, beta: float) -> float:
    """The larger probability with which an end of the pooled interval misses, by enumeration.

    A group has so many people, each heard in these rounds with some probability, and then with the value with
    another one, if they change it. The share is that of all reports that are expected.
    """
    most = sum(people for people, *_ in groups)
    law = np.zeros((most + 1, most + 1))
    law[0, 0] = 1
    for people, heard, held in groups:
        counts = lie + (1 - 2 * lie) * held
        for _ in range(people):
            law = (
                np.pad(law[:-1], ((1, 0), (0, 0))) * heard * (1 - counts)
                + law * (1 - heard)
                + (np.pad(law[:-1, :-1], ((1, 0), (1, 0))) * heard * counts)
            )
    share = sum(n * r * s for n, r, s in groups) / sum(n * r for n, r, _ in groups)
    low = high = 0.0
    for n in range(1, most + 1):
        ends = count_interval(np.arange(n + 1.0), n, beta, elsewhere=lie, span=1 / (1 - 2 * lie), sampled=True)
        low += float(law[n, : n + 1][ends[0] > share + 1e-12].sum())
        high += float(law[n, : n + 1][ends[1] < share - 1e-12].sum())
    return max(low, high)


GROUPS = [
    [(60, 1.0, 0.0), (60, 0.1, 1.0)],  # always active with 0, or seldom with 1: 9.1 %
    [(60, 1.0, 1.0), (60, 0.1, 0.0)],
    [(10, 1.0, 0.0), (90, 0.05, 1.0)],
    [(60, 1.0, 0.5), (60, 0.1, 0.1)],  # who change their value
    [(80, 1 / 12, 0.3)],
]


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("lie", [1e-9, 0.02, 0.27])
def test_pooled_intervals_hold_however_often_people_are_active(
    groups: list[tuple[int, float, float]], lie: float
) -> None:
    for beta in (0.2, 0.05):
        assert miss(groups, lie, beta) <= beta / 2


def test_an_interval_of_everybody_would_miss_pooled_rounds() -> None:
    """The same enumeration rejects intervals that count on having heard everybody: those of a larger beta."""
    assert miss([(100, 1.0, 0.5)], 1e-9, 0.35) > 0.2 / 2


@pytest.mark.parametrize("rounds", [12, 52])
@pytest.mark.parametrize("eps", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("values", [2, 16, 1024])
def test_intervals_are_within_1_3_times_the_normal_radius(rounds: int, eps: float, values: int) -> None:
    """In a round of 100,000 people, for rare and frequent values, of one value and of all at once."""
    shares = np.array([0.3, 0.7]) if values == 2 else np.resize([0.0, 0.05, 0.5, 0.2, 0.25], values)
    base = RandomizedResponse(eps=eps) if values == 2 else SubsetSelection(values=values, eps=eps)
    mechanism = Fresh(base)
    (batch,) = mechanism.simulate([0], rounds=1, seed=1)
    found = replace(mechanism.aggregator().add(batch.reports).estimate(), n=100_000 // rounds, frequencies=shares)
    found = found.of_active(Turns(rounds=rounds))
    lie, gap = np.asarray(found.chance), 1 / found.span
    truth = lie + gap
    variance = shares * truth * (1 - truth) + (1 - shares) * lie * (1 - lie) + shares * (1 - shares) * gap**2
    for together in (False, True):
        lower, upper = found.ends(simultaneous=together)
        level = found.beta / (found.statistics if together else 1)
        normal = norm.isf(level / 2) * np.sqrt(variance / found.n) / gap
        assert np.all((upper - lower) / 2 <= 1.1 * normal)  # The largest is 1.06.
        assert np.all((upper >= shares) & (lower <= shares))


def test_what_is_kept_and_what_is_told() -> None:
    mechanism = Deck(bits=2, slots=3, eps_report=1.0, width=1)
    turns = Turns(rounds=20)
    question = Question(mechanism, Categories(names=["a", "b", "c", "d"]), turns=turns)
    (batch,) = mechanism.simulate(VALUES, rounds=2, seed=1)
    alone = {}
    for i in (0, 1):
        alone[i + 1] = question.estimate(mechanism.aggregator(i + 1).add(batch.reports[:, i]), 0.05)
    assert alone[1].sampled
    assert alone[1].turns == turns
    one = replace(alone[1], turns=None).of_active(Turns(rounds=1))
    assert not one.sampled, "in the only round, everybody answered"
    assert np.array_equal(one.standard_error, alone[1].standard_error)
    pooled = Rounds(mechanism, alone).pooled()
    assert pooled.turns == turns
    merged = (
        mechanism.aggregator(1).add(batch.reports[:, 0]).merge(mechanism.aggregator(2).add(batch.reports[:, 1]))
    )
    added = question.estimate(merged, 0.05, pooled=True)
    np.testing.assert_allclose(pooled.frequencies, added.frequencies)
    np.testing.assert_allclose(pooled.standard_error, added.standard_error, rtol=0.01)
