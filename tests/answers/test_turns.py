"""Answers from turns: rounds are disjoint samples of the people, and nobody counts twice."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from tests.answered_turns import answered
from untrackable import Bit, Fresh, IntegerRange
from untrackable.answers.answer import Answer, Question, answer, pooled_estimate
from untrackable.answers.trend import mean_trend, people_trend, quantile_trend, share_trends
from untrackable.encodings.encoding import Presence
from untrackable.estimation.intervals import Spread
from untrackable.estimation.rounds import Errors, RoundNumbers
from untrackable.mechanisms import NoisyInnerProduct, Present, RandomizedResponse
from untrackable.theory.turns import Turns

ALARM = 1e-6
TWELVE = Turns(rounds=12)


def most(times: int, beta: float) -> int:
    """More misses have a probability below ALARM at a rate of beta."""
    return int(binom.isf(ALARM, times, beta))


def asked(
    mechanism: Any, encoding: Any, values: Any, turns: Turns, seed: int, *, beta: float = 0.05, **more: Any
) -> Answer:
    return answer(
        Question(mechanism, encoding, turns=turns), answered(mechanism, values, turns, seed, **more), beta=beta
    )


def test_pooled_rounds_weigh_people_by_how_often_they_are_active() -> None:
    """Half are always active and answer no, half are active in a tenth of the rounds and answer yes: 9.1 %."""
    people, turns, times, beta = 4_000, Turns(rounds=10), 100, 0.2
    mechanism = Fresh(RandomizedResponse(eps=4.0))
    values = np.arange(people) % 2
    active = np.ones((people, 10), dtype=bool)
    active[1::2] = np.arange(1, people, 2)[:, None] // 2 % 10 == np.arange(10)
    result = [asked(mechanism, Bit(), values, turns, seed, beta=beta, active=active).best for seed in range(times)]
    truth = 1 / 11
    errors = np.array([each.frequencies[1] - truth for each in result])
    assert abs(errors.mean()) < 5 * errors.std() / math.sqrt(times)
    missed = sum(not each.interval().lower[1] <= truth <= each.interval().upper[1] for each in result)
    assert missed <= most(times, beta)
    assert all(each.interval().upper[1] < 0.2 for each in result), "and not a half"
    # The error is an upper bound: those who are always active are heard for certain.
    said = math.sqrt(np.mean([each.standard_error[1] ** 2 for each in result]))
    assert errors.std() < said * math.sqrt(float(chi2.ppf(1 - ALARM, times - 1)) / (times - 1))
    assert said < 1.3 * errors.std() * math.sqrt((times - 1) / float(chi2.ppf(ALARM, times - 1)))


@pytest.mark.parametrize("rounds", [12, 52])
@pytest.mark.parametrize("eps", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("values", [2, 16, 1024])
def test_rounds_and_all_of_them_are_covered(rounds: int, eps: float, values: int) -> None:
    """Skewed shares that change: a round alone and all rounds pooled, all values at once."""
    people, turns, beta, times = 2_000, Turns(rounds=rounds), 0.2, 25
    bits = values.bit_length() - 1
    base = RandomizedResponse(eps=eps) if values == 2 else NoisyInnerProduct(bits=bits, eps=eps)
    mechanism, rng = Fresh(base), np.random.default_rng(7)
    question = Question(mechanism, IntegerRange(low=0, high=values - 1), turns=turns)
    skewed = np.minimum(rng.geometric(0.3, people) - 1, values - 1)
    later = (np.arange(rounds) >= rounds // 2) * (np.arange(people) % 3 == 0)[:, None]
    held = (skewed[:, None] + later) % values
    each = np.stack([np.bincount(held[:, t], minlength=values) for t in range(rounds)]) / people
    missed = np.zeros(2, dtype=int)
    for seed in range(times):
        sums = answered(mechanism, held, turns, seed)
        number, reports = min(sums), np.array([sums[t].n if t in sums else 0 for t in range(1, rounds + 1)])
        pooled = pooled_estimate(question, sums, beta).estimate
        assert pooled is not None
        assert pooled.n == reports.sum() == people, "each person once"
        truths = (each[number - 1], reports @ each / people)
        for i, (result, truth) in enumerate(
            zip((question.estimate(sums[number], beta), pooled), truths, strict=True)
        ):
            inside = result.interval(simultaneous=True)
            missed[i] += bool(np.any((inside.lower > truth) | (inside.upper < truth)))
    assert missed.max() <= most(times, beta)


def law(values: np.ndarray, lie: float) -> dict[tuple[tuple[int, ...], tuple[int, ...]], float]:
    """The joint law of the numbers of reports, and of those that say yes, of all rounds: by enumeration."""
    rounds = values.shape[1]
    result = {((0,) * rounds, (0,) * rounds): 1.0}
    for held in values:
        added: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (sent, yes), chance in result.items():
            for t in range(rounds):
                says = 1 - lie if held[t] else lie
                more = (*sent[:t], sent[t] + 1, *sent[t + 1 :])
                for key, share in (((more, yes), 1 - says), ((more, (*yes[:t], yes[t] + 1, *yes[t + 1 :])), says)):
                    added[key] = added.get(key, 0.0) + chance * share / rounds
        result = added
    return result


@pytest.mark.parametrize("lie", [1e-4, 0.05, 0.25])
@pytest.mark.parametrize(("people", "rounds"), [(10, 2), (6, 3)])
def test_differences_of_rounds_are_covered_by_enumeration(people: int, rounds: int, lie: float) -> None:
    """Rounds have nobody in common, so their errors are negatively correlated, and differences vary more."""
    still = np.tile(np.arange(people)[:, None] % 2, (1, rounds))
    one = np.tile(np.arange(people)[:, None] < 1, (1, rounds))
    for values in (still, one, (np.arange(people)[:, None] + np.arange(rounds)) % 2):
        for beta in (0.5, 0.05):
            missed = whole = 0.0
            for (sent, yes), chance in law(values, lie).items():
                if min(sent) > 0:
                    whole += chance
                    missed += chance * _misses(np.array(sent), np.array(yes), values.mean(axis=0), lie, beta)
            assert missed / whole <= beta


def _misses(sent: np.ndarray, yes: np.ndarray, truth: np.ndarray, lie: float, beta: float) -> bool:
    """Whether some interval of a difference of windows misses."""
    gap = 1 - 2 * lie
    spread = Spread.of_term(lie * (1 - lie) / gap**2, 1 / gap).of_sample(1.0)
    numbers = RoundNumbers(
        rounds=tuple(range(sent.size)),
        estimates=(yes / sent - lie) / gap,
        errors=Errors.of([spread] * sent.size, sent.tolist()),
        independent=True,
    )
    compared = numbers._window_differences(beta, 1)
    for start, middle, resume, end, low, high in zip(
        compared.start, compared.middle, compared.resume, compared.end, compared.lower, compared.upper, strict=True
    ):
        before, after = slice(start, middle), slice(resume, end)
        change = np.average(truth[after], weights=sent[after]) - np.average(truth[before], weights=sent[before])
        if not low - 1e-9 <= change <= high + 1e-9:
            return True
    return False


def test_a_difference_of_two_rounds_varies_as_if_people_were_drawn_with_replacement() -> None:
    """p(1-p)(1/m + 1/m'), without the part that each round alone is spared; the other law is rejected."""
    people, times, turns = 100, 600, Turns(rounds=2)
    mechanism = Fresh(RandomizedResponse(eps=12.0))
    values = np.arange(people) % 2
    scaled, spared = np.zeros(times), np.zeros(times)
    for seed in range(times):
        first, second = (sums.estimate() for sums in answered(mechanism, values, turns, seed).values())
        difference = float(second.frequencies[1] - first.frequencies[1])
        variance = 0.25 * (1 / first.n + 1 / second.n)
        scaled[seed] = difference / math.sqrt(variance)
        spared[seed] = difference / math.sqrt(variance - 0.25 * 2 / people)
    low, high = (math.sqrt(float(chi2.ppf(rate, times - 1)) / (times - 1)) for rate in (ALARM, 1 - ALARM))
    assert low < scaled.std() < high
    assert spared.std() > high


def test_changes_that_are_none_are_not_found_and_bands_hold() -> None:
    """People who never change: shares, means, medians and people, over twelve disjoint samples."""
    people, times, beta = 3_000, 30, 0.2
    encoding = IntegerRange(low=0, high=7)
    mechanism = Fresh(NoisyInnerProduct(bits=3, eps=4.0))
    values = np.minimum(np.random.default_rng(1).geometric(0.4, people) - 1, 7)
    shares = np.bincount(values, minlength=8) / people
    missed, alarms = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    for seed in range(times):
        result = asked(mechanism, encoding, values, TWELVE, seed)
        trends = [
            *share_trends(result, [0], beta=beta),
            mean_trend(result, beta=beta),
            quantile_trend(result, 0.5, beta=beta),
            people_trend(result, beta=beta),
        ]
        truths = (shares[0], values.mean(), float(np.sort(values)[people // 2 - 1]), people)
        for i, (trend, truth) in enumerate(zip(trends, truths, strict=True)):
            missed[i] += bool(np.any((trend.lower > truth) | (trend.upper < truth)))
            alarms[i] += bool(trend.changes)
    assert missed.max() <= most(times, beta)
    assert alarms.max() <= most(times, beta)


def test_a_change_is_found() -> None:
    people = 60_000
    values = (np.arange(people)[:, None] % 10 < np.where(np.arange(12) < 6, 2, 5)).astype(int)
    result = asked(Fresh(RandomizedResponse(eps=4.0)), Bit(), values, TWELVE, 1)
    (change,) = share_trends(result, [1])[0].changes
    assert change.rose
    assert change.first <= 7 <= change.last
    assert result.people().lower < people < result.people().upper


def test_people_are_counted_without_a_question() -> None:
    mechanism, turns = Fresh(Present()), Turns(rounds=4)
    assert mechanism.loss_of_one_report == 0
    active = np.ones((8_000, 4), dtype=bool)
    active[2_000:, 2:] = False
    result = asked(mechanism, Presence(), np.zeros(8_000, dtype=int), turns, 1, active=active)
    assert result.only_counts
    assert result.best.frequencies.tolist() == [1.0]
    trend = people_trend(result)
    assert np.all((trend.lower <= [8_000, 8_000, 2_000, 2_000]) & (trend.upper >= [8_000, 8_000, 2_000, 2_000]))
    (change,) = trend.changes
    assert not change.rose
    assert result.people().lower < 5_000 < result.people().upper
