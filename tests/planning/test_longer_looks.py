"""One report about several consecutive rounds: the numbers, by enumeration and by people that are simulated."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from untrackable import Goals, plan
from untrackable.encodings import Bit, Choices, HashedStrings, IntegerRange, Path, Presence
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import path_chances
from untrackable.mechanisms.views import Views
from untrackable.planning.forecast import best_look
from untrackable.planning.plan import Plan

ALARM = 1e-6
ASKED: dict[str, Any] = {"people": 10**5, "values": 2, "rounds": 12}


@pytest.mark.parametrize(
    ("eps", "looks", "best", "error"),
    [(2.0, 2, True, 0.0061), (2.0, 1, False, 0.0070), (4.0, 4, True, 0.0032), (4.0, 1, False, 0.0055)],
)
def test_yes_no_in_twelve_rounds(eps: float, looks: int, best: bool, error: float) -> None:
    result = plan(**ASKED, eps=eps, looks=None if best else looks)
    assert (result.looks, result.turns.rounds) == (looks, 12 // looks)
    assert result.one_round.standard_error == pytest.approx(error, abs=5e-5)
    assert result.one_round.certainty == "exact"
    assert result.eps_alone == pytest.approx(eps)


def test_other_plans_are_not_worse() -> None:
    assert plan(people=10**5, values=16, rounds=52, eps=4).one_round.standard_error <= 0.0067
    assert plan(people=10**4, values=2, rounds=12, eps=1).all_rounds.standard_error <= 0.011
    for eps, values in itertools.product((0.5, 1.0, 2.0, 4.0), (2, 3, 4, 16)):
        goals = Goals(people=10**5, values=values, rounds=12, eps=eps, error=0.9)
        assert plan(goals=goals).error_upper <= plan(goals=goals.replace(looks=1)).error_upper
    assert plan(**ASKED, eps=0.5).looks == 1


@pytest.mark.parametrize(("bits", "looks", "eps"), [(1, 2, 2.0), (1, 3, 0.7), (2, 2, 3.0)])
def test_chances_by_enumeration(bits: int, looks: int, eps: float) -> None:
    """All reports about a path: what each names, and what it adds to the mean of all looks."""
    whole = bits * looks
    base = Views(bits=whole, views=(tuple(range(whole)),), eps=eps, width=whole)
    chances = path_chances(base, looks)
    assert chances is not None
    lie = 1 / (math.exp(eps) + 2**whole - 1)
    mask = (1 << bits) - 1
    answers = [[path >> i * bits & mask for i in range(looks)] for path in range(1 << whole)]
    for mine in answers:
        law = [math.exp(eps) * lie if path == mine else lie for path in answers]
        for look in range(looks):
            named = sum(chance for chance, path in zip(law, answers, strict=True) if path[look] == 1)
            assert named == pytest.approx(chances.there if mine[look] == 1 else chances.elsewhere)
        means = np.array([path.count(1) / looks for path in answers])
        mean, square = float(means @ law), float(means**2 @ np.array(law))
        share = mine.count(1) / looks
        assert (mean - (1 - chances.kept) * chances.rest) / chances.kept == pytest.approx(share)
        assert (square - mean**2) / chances.kept**2 == pytest.approx(chances.noise_of_mean(share))
        assert chances.noise_of_mean(share) <= chances.spread_of_mean().variance
    assert path_chances(Views(bits=2, views=((0, 1),), eps=1.0), 2) is None
    assert path_chances(NoisyInnerProduct(bits=2, eps=1.0, width=2), 2) is None


def reported(result: Plan, paths: np.ndarray, rng: np.random.Generator, seed: int) -> Any:
    """The sums of each stretch, if each person draws one of them; `paths` has a row for each stretch."""
    turn = rng.integers(0, result.turns.rounds, size=paths.shape[1])
    sums = []
    for stretch, mine in enumerate(paths):
        made = result.mechanism.simulate(mine[turn == stretch], rounds=1, seed=seed * 100 + stretch)
        sums.append(result.mechanism.aggregator().add(np.concatenate([b.reports for b in made])[:, 0]))
    return sums


@pytest.mark.parametrize("steady", [False, True])
def test_errors_of_a_round_and_of_all_are_those_of_simulated_people(steady: bool) -> None:
    """People who change their answer by chance, and people who never do, whose answers are one answer."""
    people, trials, looks = 2000, 1500, 2
    result = plan(people=people, values=2, rounds=4, eps=4.0, looks=looks, error=0.999)
    rng = np.random.default_rng(2)
    ones, alls = np.zeros(trials), np.zeros(trials)
    for trial in range(trials):
        if steady:
            held = np.arange(people) % 2
            paths = np.stack([held * 3, held * 3])
        else:
            paths = np.stack([np.arange(people) % 4, rng.permutation(people) % 4])
        sums = reported(result, paths, rng, trial)
        ones[trial] = sums[0].table((1,)).frequencies[1] - 0.5
        pooled = sums[0].merge(sums[1])
        alls[trial] = np.mean([pooled.table((look,)).frequencies[1] for look in range(looks)]) - 0.5
    low, high = chi2.ppf(ALARM / 2, trials), chi2.isf(ALARM / 2, trials)
    ratio = (ones**2).sum() / result.one_round.standard_error**2
    assert low < ratio < high
    assert not low < ratio / 1.4 < high
    assert not low < ratio * 1.4 < high
    assert (np.abs(ones) > result.one_round.radius_upper).mean() < 0.05
    assert (np.abs(alls) > result.all_rounds.radius_upper).mean() < 0.05
    ratio = (alls**2).sum() / result.all_rounds.standard_error**2
    assert ratio < high
    if steady:  # Who is heard matters as much as if each person gave one answer. Here everybody is heard.
        assert ratio > 0.05 * trials


def test_what_is_possible() -> None:
    def looks(**changes: Any) -> list[int | None]:
        return [each.looks for each in Goals(**{**ASKED, "eps": 4.0, **changes}).with_looks()]

    assert looks() == [1, 2, 3, 4, 6]
    assert looks(values=16) == [1, 2]
    assert looks(values=17) == [1]
    assert looks(rounds=7) == [1, 7]
    assert looks(pooled=4) == [1, 2, 4]
    assert looks(looks=3) == [3]
    for alone in (
        {"values": None, "encoding": Choices(names=["a", "b"])},
        {"values": None, "encoding": Presence()},
        {"values": None, "encoding": HashedStrings(bits=2, longest=9, salt=bytes(16))},
        {"values": None, "strings": 4},
        {"values": None, "encoding": IntegerRange(low=0, high=3), "want": "mean"},
    ):
        assert looks(**alone) == [1]
        with pytest.raises(ValueError, match="looks must be 1"):
            looks(**alone, looks=2)
    for wrong, message in (
        ({"looks": 5}, "rounds must be a multiple of looks, 5, got 12"),
        ({"looks": 12}, "looks must be at most 8 for this many answers, got 12"),
        ({"looks": 4, "pooled": 6}, "pooled must be 1 or a multiple of looks, 4, got 6"),
        ({"looks": 0}, "looks must be between 1"),
        ({"values": None, "encoding": Path(of=Bit(), looks=2)}, "encoding must be that of one answer"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            looks(**wrong)


def test_what_is_left_open_is_solved_with_the_best_number_of_looks() -> None:
    goals: dict[str, Any] = {"people": 10**5, "values": 2, "eps": 4.0, "error": 0.01}
    most = plan(**goals)
    assert most.met
    assert (most.solved.rounds, most.looks) == (24, 4)
    assert (plan(**goals, looks=1).solved.rounds or 0) < 24
    for looks in (1, 2, 3, 4, 5, 6, 7, 8):
        more = Goals(**goals, rounds=looks * (24 // looks + 1), looks=looks)
        assert best_look(more)[1].law.figure_radius(more) > 0.01
    assert (plan(values=2, rounds=12, eps=4.0, error=0.01).solved.people or 0) < 10**5 / 2
    assert plan(people=10**5, values=2, rounds=12, error=0.01).solved.eps == pytest.approx(2.66, abs=0.01)


def test_the_campaign_asks_for_paths() -> None:
    draft = plan(**ASKED, eps=4.0, relay=True).campaign()
    assert draft.encoding == Path(of=Bit(), looks=4)
    assert draft.rounds == 3
    assert draft.turns is not None
    assert draft.turns.rounds == 3
    assert draft.guarantee.eps == 4.0


def test_what_no_round_can_tell_is_planned_for_all_rounds_together() -> None:
    """Few people in many rounds: two looks have the smaller error of a round, and neither tells anything."""
    rare, pairs = (plan(people=1000, values=2, rounds=52, eps=1, looks=looks) for looks in (1, 2))
    assert 0.45 < pairs.one_round.radius_upper < rare.one_round.radius_upper
    result = plan(people=1000, values=2, rounds=52, eps=1)
    assert result.all_rounds == rare.all_rounds
    assert result.all_rounds.radius_upper < 0.7 * pairs.all_rounds.radius_upper
