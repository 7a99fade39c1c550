"""Reports about paths: the law of everything that a person sends, and estimates of each look and of all."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable.answers.answer import Answer, Question, answer
from untrackable.answers.trend import number_trends, people_trend, share_trends, trend
from untrackable.encodings import Bit, Encoding, IntegerRange, Path
from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.views import Views
from untrackable.theory.turns import Turns

ALARM = 1e-6


def about(path: Path, eps: float, width: int | None = None) -> Fresh:
    width = path.bits if width is None else width
    return Fresh(Views(bits=path.bits, views=path.asked.views, eps=eps, width=width))


@pytest.mark.parametrize(("rounds", "looks"), list(itertools.product((1, 2, 3), (2, 3))))
@pytest.mark.parametrize("eps", [0.5, 2.0, 4.0])
def test_everything_ever_sent_has_the_eps_of_one_report(rounds: int, looks: int, eps: float) -> None:
    """For all sequences of answers in all looks of all rounds: the largest ratio of any outcome's probabilities."""
    path = Path(of=Bit(), looks=looks)
    for width in range(1, looks + 1):
        base = about(path, eps, width).base
        reports = np.arange(1 << width * (looks + 1), dtype=np.uint64)
        fitting = []
        for report in reports:  # Vectors must be independent.
            try:
                base.aggregator(about(path, eps, width).aggregator().scope).add(np.array([report], dtype=np.uint64))
            except ValueError:
                continue
            fitting.append(report)
        outcomes = np.array(fitting, dtype=np.uint64)
        law = np.array([base.log_likelihood(outcomes, value) for value in range(1 << looks)])
        assert np.exp(law).sum(axis=1) == pytest.approx(np.ones(1 << looks))
        # In each round, the probability 1/k of the turn is the same for all sequences.
        sent = [
            np.concatenate(
                [law[sequence >> looks * t & ((1 << looks) - 1)] - math.log(rounds) for t in range(rounds)]
            )
            for sequence in range(1 << looks * rounds)
        ]
        largest = float(np.ptp(np.array(sent), axis=0).max())
        assert largest == pytest.approx(eps)
        assert largest <= Turns(rounds=rounds).eps_upper(about(path, eps, width).loss_of_one_report or 0.0) + 1e-12


def answers_of(
    path: Path, paths: list[NDArray[np.int64]], seed: int, eps: float = 3.0, width: int | None = None
) -> tuple[Answer, dict[int, Aggregator], Question]:
    """The answer of people with these paths in each round, of whom each has drawn one."""
    made, rounds = about(path, eps, width), len(paths)
    turn = np.random.default_rng(seed).integers(0, rounds, size=paths[0].size)
    question = Question(made, path, turns=Turns(rounds=rounds))
    sums = {}
    for number, held in enumerate(paths, 1):
        mine = held[turn == number - 1]
        reports = np.concatenate([b.reports for b in made.simulate(mine, rounds=1, seed=seed * 10 + number)])
        sums[number] = question.prepare(made.aggregator(number)).add(reports[:, 0])
    return answer(question, sums), sums, question


def changing(path: Path, people: int, rounds: int, seed: int) -> list[NDArray[np.int64]]:
    """People of whom a tenth change their answer from look to look."""
    rng = np.random.default_rng(seed)
    held = rng.integers(0, path.of.values, size=people)
    result = []
    for _ in range(rounds):
        looks = []
        for _ in range(path.looks):
            new = rng.random(people) < 0.1
            held = np.where(new, rng.integers(0, path.of.values, size=people), held)
            looks.append(held)
        result.append(np.sum([each << i * path.of.bits for i, each in enumerate(looks)], axis=0))
    return result


@pytest.mark.parametrize(
    ("of", "looks", "width"), [(Bit(), 2, 2), (Bit(), 3, 2), (IntegerRange(low=0, high=2), 2, 4)], ids=str
)
def test_intervals_hold_of_each_look_and_of_all_under_changing_answers(
    of: Encoding, looks: int, width: int
) -> None:
    path, people, rounds, trials = Path(of=of, looks=looks), 1500, 2, 100
    missed, missed_mean, missed_band = 0, 0, 0
    paths = changing(path, people, rounds, 1)
    mask = (1 << of.bits) - 1
    truth = np.array(
        [
            np.bincount(held >> i * of.bits & mask, minlength=of.values) / people
            for held in paths
            for i in range(looks)
        ]
    )
    for trial in range(trials):
        result, sums, question = answers_of(path, paths, trial, width=width)
        assert list(result.rounds) == list(range(1, rounds * looks + 1))
        for estimate, shares in zip(result.rounds.values(), truth, strict=True):
            low, high = estimate.interval(simultaneous=True)
            missed += bool(((shares < low) | (shares > high)).any())
        low, high = result.best.interval(simultaneous=True)
        # Everybody is active in all rounds, so rounds have about as many reports each.
        missed_mean += bool(((truth.mean(axis=0) < low) | (truth.mean(axis=0) > high)).any())
        if trial < 40:
            bands = trend(question, sums, range(of.values))
            lower, upper = (np.stack([getattr(each, end) for each in bands], axis=1) for end in ("lower", "upper"))
            missed_band += bool(((truth < lower) | (truth > upper)).any())
    assert missed <= binom.isf(ALARM, trials * rounds * looks, 0.05)
    assert missed_mean <= binom.isf(ALARM, trials, 0.05)
    assert missed_band <= binom.isf(ALARM, 40, 0.05)


def test_a_person_counts_once_in_the_mean() -> None:
    """People who never change: all looks together say hardly more than one."""
    path = Path(of=Bit(), looks=4)
    steady = np.where(np.arange(20_000) % 2, 15, 0)
    result, _, _ = answers_of(path, [steady, steady], 1, eps=8.0)
    one, mean = result.rounds[1], result.best
    assert mean.n == 20_000
    assert one.n == pytest.approx(10_000, rel=0.05)
    # Of one round half of the people are heard, of all rounds every report is one person's.
    assert mean.standard_error[0] > 0.5 / math.sqrt(mean.n)
    assert result.people().lower <= 20_000 <= result.people().upper
    assert result.people().upper < 21_000
    assert not result.independent


def test_trends_are_over_looks() -> None:
    path = Path(of=IntegerRange(low=0, high=3), looks=2)
    paths = changing(path, 4000, 3, 5)
    result, sums, question = answers_of(path, paths, 3, eps=5.0)
    shares, _ = trend(question, sums, [0, 3])
    assert shares.rounds == (1, 2, 3, 4, 5, 6)
    assert not shares.independent
    again, _ = share_trends(result, [0, 3])
    assert again.rounds == shares.rounds
    assert again.estimates == pytest.approx(shares.estimates)
    means = next(each for each in number_trends(result) if "mean" in each.name)
    assert means.rounds == shares.rounds
    assert all(low <= 1.5 <= high for low, high in zip(means.lower + -0.1, means.upper + 0.1, strict=True))
    assert people_trend(result).reports[0] == people_trend(result).reports[1]


@pytest.mark.parametrize("of", [Bit(), IntegerRange(low=0, high=2)], ids=str)
def test_changes_are_within_their_intervals(of: Encoding) -> None:
    path, people, rounds, trials, missed, errors = Path(of=of, looks=2), 2000, 2, 200, 0, []
    paths = changing(path, people, rounds, 4)
    mask = (1 << of.bits) - 1
    truth = [float(np.mean((held & mask) != (held >> of.bits))) for held in paths]
    question = Question(about(path, 4.0), path, turns=Turns(rounds=rounds), table="changes")
    for trial in range(trials):
        result, sums, _ = answers_of(path, paths, trial, eps=4.0)
        told = answer(question, sums)
        for number, share in enumerate(truth, 1):
            estimate = told.rounds[number]
            low, high = estimate.interval()
            missed += not low[0] <= share <= high[0]
            errors.append((estimate.frequencies[0] - share) / estimate.standard_error[0])
            # The same people tell a change far better than the difference of two looks that others answer.
            looks = list(result.rounds.values())
            assert estimate.standard_error[0] < np.hypot(looks[0].standard_error[0], looks[1].standard_error[0])
    assert missed <= binom.isf(ALARM, 2 * trials, 0.05)
    assert 0.85 < np.std(errors) < 1.15


def test_tables_of_neighbouring_looks_tell_changes() -> None:
    path = Path(of=Bit(), looks=3)
    paths = changing(path, 30_000, 1, 8)
    _, sums, _ = answers_of(path, paths, 2, eps=6.0)
    question = Question(about(path, 6.0), path, turns=Turns(rounds=1), table="look 2, look 3")
    pairs = question.estimate(sums[1], 0.05)
    assert list(pairs.values or ()) == ["no × no", "no × yes", "yes × no", "yes × yes"]
    changed = float(np.mean((paths[0] >> 1 & 1) != (paths[0] >> 2 & 1)))
    assert pairs.frequencies[1] + pairs.frequencies[2] == pytest.approx(changed, abs=0.02)
    told = Question(about(path, 6.0), path, turns=Turns(rounds=1), table="changes").estimate(sums[1], 0.05)
    assert list(told.values or ()) == ["look 1 to 2", "look 2 to 3"]
    assert told.frequencies[1] == pytest.approx(pairs.frequencies[1] + pairs.frequencies[2])
    with pytest.raises(ValueError, match="candidates cannot be given"):
        Question(about(path, 6.0), path, [1])
