"""One report about several consecutive rounds: the numbers, by closed form and by simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from untrackable import Goals, plan
from untrackable.encodings import Choices
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.planning.longer_looks import longer_looks

ALARM = 1e-6


@pytest.mark.parametrize(
    ("eps", "rounds", "error"), [(2.0, 2, 0.0061), (2.0, 1, 0.0070), (4.0, 4, 0.0032), (4.0, 1, 0.0055)]
)
def test_yes_no_in_twelve_rounds(eps: float, rounds: int, error: float) -> None:
    found = {
        look.rounds: look.standard_error for look in longer_looks(Goals(people=10**5, values=2, rounds=12, eps=eps))
    }
    assert set(found) == {1, 2, 3, 4, 6}
    assert found[rounds] == pytest.approx(error, abs=5e-5)
    assert found[4] <= 0.0033 or eps < 4


def test_a_path_by_enumeration() -> None:
    """All answers to a path of three rounds, each with its probability."""
    people, eps = 10**5, 3.0
    truth = math.exp(eps) / (math.exp(eps) + 7)
    law = {answer: truth if answer == 0 else (1 - truth) / 7 for answer in range(8)}
    right = sum(chance for answer, chance in law.items() if not answer & 1)
    noise = right * (1 - right) / (2 * right - 1) ** 2
    reports = people * 3 / 12
    variance = (noise + 0.25 * (1 - 3 / 12)) / reports
    goals = Goals(people=people, values=2, rounds=12, eps=eps)
    found = next(look for look in longer_looks(goals) if look.rounds == 3)
    assert found.standard_error <= math.sqrt(variance) * (1 + 1e-9)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-6)


def test_a_path_carried_out() -> None:
    people, rounds, block, trials = 3000, 4, 2, 3000
    goals = Goals(people=people, values=2, rounds=rounds, eps=4.0)
    promised = next(look for look in longer_looks(goals) if look.rounds == block).standard_error
    mechanism = Fresh(Views(bits=2, views=((0, 1),), eps=4.0, width=2))
    rng = np.random.default_rng(2)
    paths = np.arange(people) % 4
    errors = np.zeros(trials)
    for trial in range(trials):
        mine = paths[rng.integers(0, rounds // block, size=people) == 0]
        reports = np.concatenate([b.reports for b in mechanism.simulate(mine, rounds=1, seed=trial)])
        errors[trial] = mechanism.aggregator().add(reports[:, 0]).table((1,)).frequencies[1] - 0.5  # type: ignore[attr-defined]
    ratio = float((errors**2).sum() / promised**2)
    low, high = chi2.ppf(ALARM / 2, trials), chi2.isf(ALARM / 2, trials)
    assert low < ratio < high
    assert not low < ratio / 1.3 < high
    assert not low < ratio * 1.3 < high


def test_one_round_is_best_at_small_eps_and_other_figures_are_not_looked_at() -> None:
    assert longer_looks(Goals(people=10**5, values=2, rounds=12, eps=0.5))[0].rounds == 1
    assert longer_looks(Goals(people=10**5, encoding=Choices(names=["a", "b"]), rounds=12, eps=4)) == ()
    for values, eps in itertools.product((2, 16), (1, 4)):
        goals = Goals(people=10**5, values=values, rounds=12, eps=eps)
        one = next(look for look in longer_looks(goals) if look.rounds == 1)
        assert one.standard_error == pytest.approx(plan(goals=goals).one_round.standard_error, rel=0.02)
