"""Plans for means and quantiles: every mechanism that they list is carried out, and keeps its promise.

A figure misses its promise with probability at most beta. If all promises are kept, more misses than allowed happen
with probability at most 1e-7.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from untrackable import Deck, Fading, Goals, plan
from untrackable.encodings.categories import Categories
from untrackable.encodings.number_ranges import IntegerRange
from untrackable.estimation import Rounds
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.pooled_spread import PooledSpreads
from untrackable.estimation.spread import Spread
from untrackable.mechanisms import Loloha, wanted_figure
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.inner_product.budget_solver import largest_eps_report
from untrackable.mechanisms.inner_product.crowd_solver import largest_crowd_eps_report
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.ordered_catalogue import ORDERED
from untrackable.mechanisms.wanted_figure import wanted_curve, wanted_error
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.planning import suitability
from untrackable.planning.forecast import errors
from untrackable.planning.planned_campaign import draft
from untrackable.planning.plans import Option
from untrackable.planning.plans import option as option_of
from untrackable.planning.unknown_goal import solve

ENTRIES = {**ORDERED, **CATALOGUE}
BETA = 0.2
ALARM = 1e-7
TRIALS = 20
FAMILIES = {"views", "one-bit", "deck", "fading", "rnip", "memoized", "l-grr", "l-sue", "l-osue", "l-oue", "l-soue"}
"""The families that some of these plans list."""


def goals_of(seed: int, want: str, **changes: Any) -> Goals:
    rng = np.random.default_rng([31, seed])
    demands: dict[str, Any] = {
        "people": int(rng.integers(3_000, 6_000)),
        "values": int(rng.choice([5, 8, 16])),
        "rounds": 3,
        "eps": float(rng.uniform(4, 8)),
        "advantage": 1.0,
        "matched_by_answer": 1.0,
        "error": 0.999,
        "beta": BETA,
        "simultaneous": bool(seed % 2),
        "pooled": 1 + seed % 3,
        "recognition": 1.0,
        "want": want,
    }
    return Goals(**demands | changes)


def figure(option: Option, values: "np.ndarray[Any, Any]", seed: int) -> Estimate:
    mechanism, goals = option.mechanism, option.goals
    answered = np.random.default_rng([9, seed]).random((len(goals.figure), values.size)) < float(goals.answered)
    batches = list(mechanism.simulate(values, rounds=list(goals.figure), seed=seed))
    reports = np.concatenate([batch.reports for batch in batches])
    found = {
        r: mechanism.aggregator(r).add(reports[answered[i], i]).estimate(beta=BETA).of_everybody(goals.answered)
        for i, r in enumerate(goals.figure)
    }
    return Rounds(mechanism, found).pooled(beta=BETA) if mechanism.independent else found[goals.figure[-1]]


def missed(option: Option, seed: int) -> float:
    """The error of a figure over the promised one."""
    goals, rng = option.goals, np.random.default_rng([5, seed])
    values = rng.choice(goals.size, size=goals.people or 1, p=rng.dirichlet(np.full(goals.size, 0.7)))
    found = figure(option, values, seed).first(goals.size)
    if goals.want == "mean":
        off = abs(found.mean().value - values.mean()) / (goals.size - 1)
        return float(off) / option.error_upper
    truth = np.cumsum(np.bincount(values, minlength=goals.size))[:-1] / values.size
    apart = np.abs(found.distribution().shares - truth)
    return float(apart.max() if goals.simultaneous else apart[seed % apart.size]) / option.error_upper


@pytest.fixture(scope="module")
def trials() -> dict[str, list[float]]:
    options: dict[str, list[Option]] = {}
    for seed, want in ((0, "mean"), (1, "quantiles"), (2, "quantiles")):
        for option in plan(goals=goals_of(seed, want)).options:
            options.setdefault(option.name, []).append(option)
    for name, want in (("views", "quantiles"), ("one-bit", "mean"), ("deck", "quantiles")):
        attended = goals_of(1, want, people=20_000, rounds=8, recognition=0.004, advantage=0.02)
        options[name].append(option_of(name, solve(ENTRIES[name], attended)))
        assert options[name][-1].goals.answered < 1
    return {
        name: [missed(found[i % len(found)], 1000 * number + i) for i in range(TRIALS)]
        for number, (name, found) in enumerate(options.items())
    }


def test_every_family_that_is_listed_keeps_its_promises(trials: dict[str, list[float]]) -> None:
    assert set(trials) >= FAMILIES
    for name, ratios in trials.items():
        allowed = int(binom.isf(ALARM / len(trials), len(ratios), BETA))
        assert sum(ratio > 1 for ratio in ratios) <= allowed, name
        assert max(ratios) > 0.02, name  # none is free of error
    every = [ratio for ratios in trials.values() for ratio in ratios]
    assert sum(ratio > 1 for ratio in every) <= binom.isf(ALARM, len(every), BETA)
    assert sum(ratio > 0.2 for ratio in every) > binom.isf(ALARM, len(every), BETA)  # a fifth would be found out


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_estimates_promise_no_more_than_the_plan(want: str) -> None:
    goals = goals_of(2, want)
    for option in plan(goals=goals).options:
        if option.name not in ("views", "one-bit", "deck", "memoized"):
            continue
        values = np.arange(goals.people or 1) % goals.size
        found = figure(option, values, 1).first(goals.size)
        if want == "mean":
            radius = float(found.spread.of(np.linspace(-0.5, 0.5, goals.size)).radius(found.n, BETA))
        else:
            radius = float(found.spread.of_first(goals.size).radius(found.n, BETA).max())
        assert radius == pytest.approx(option.error_upper, rel=1e-6), option.name


def test_the_best_mechanism_depends_on_what_is_wanted() -> None:
    """One bit for a mean, views for shares up to any of many numbers, and plain buckets for frequencies."""

    def error(name: str, want: str) -> float:
        goals = Goals(people=10**8, values=1024, rounds=12, eps=2.0, recognition=1.0, want=want)  # type: ignore[arg-type]
        return option_of(name, solve(ENTRIES[name], goals)).error_upper

    assert error("one-bit", "mean") < error("views", "mean") < error("deck", "mean")
    assert error("views", "quantiles") < error("deck", "quantiles") / 3
    with pytest.raises(Unsuitable, match="tells the mean only"):
        error("one-bit", "quantiles")
    listed = plan(people=10**6, values=2, rounds=2, eps=2.0, recognition=1.0)
    names = {option.name for option in listed.options} | {refusal.name for refusal in listed.refusals}
    assert names == set(CATALOGUE)


def test_a_plan_becomes_a_campaign() -> None:
    """Its guarantee is confirmed by the engine and by a client."""
    encoding = IntegerRange(low=0, high=999)
    goals = Goals(people=10**7, encoding=encoding, rounds=12, eps=2.0, want="quantiles", recognition=1.0)
    found = solve(ENTRIES["views"], goals)
    drafted = draft(found.goals, found.mechanism, b"")
    assert isinstance(drafted.mechanism, Dealt)
    assert isinstance(drafted.mechanism.base, Views)
    assert drafted.guarantee is not None
    law = drafted.mechanism.integer_privacy(12, values="fixed", step=1.0)
    assert law is not None
    assert law.delta(2.0) <= 1e-6 * (1 + 1e-6)


def test_a_crowd_hides_views() -> None:
    """Loud and wide answers suit flat buckets. Plans say so up to thousands of them, and choose views for more."""
    goals = Goals(people=50_000, values=64, rounds=12, crowd_eps=1.0, eps=64.0, want="quantiles", recognition=1.0)
    found = option_of("views", solve(ENTRIES["views"], goals))
    assert found.in_crowd.eps is not None
    assert 0.5 < found.in_crowd.eps.lower <= found.in_crowd.eps.upper <= 1
    for values, best in ((64, "deck"), (1024, "deck"), (65_536, "views")):
        asked = goals.replace(values=values, people=100_000, error=0.999)
        errors = {name: option_of(name, solve(ENTRIES[name], asked)).error_upper for name in ("views", "deck")}
        assert min(errors, key=lambda name: errors[name]) == best
        if values == 1024:
            assert plan(goals=asked).options[0].name == best


@pytest.mark.parametrize("want", ["quantiles", "mean", "frequencies"])
@pytest.mark.parametrize(
    "budget", [{"crowd_eps": 1.0, "eps": 64.0}, {"eps": 6.0, "rounds": 1}, {"eps": 1.0}], ids=str
)
def test_the_width_suits_what_is_wanted(want: Any, budget: dict[str, Any]) -> None:
    """No other width of a deck's answers, set for the same budget, has a smaller error."""
    people = 5_000 if "crowd_eps" in budget else 50_000
    demands: dict[str, Any] = {"people": people, "values": 100, "rounds": 3, "error": 0.9999, "recognition": 1.0}
    goals = Goals(**demands | {"matched_by_answer": 1.0, "want": want} | budget)
    found = option_of("deck", solve(ENTRIES["deck"], goals))
    chosen = found.mechanism
    assert isinstance(chosen, Deck)
    for width in range(1, 8):
        if goals.crowd_eps is not None:
            eps = largest_crowd_eps_report(7, width, chosen.slots, found.goals.enrolled, 0.99, 1e-6, Fraction(1))
        else:
            eps = largest_eps_report(
                bits=7, slots=chosen.slots, eps=goals.eps or 0.0, delta=1e-6, accounting="exact", width=width
            )
        other = Deck(bits=7, slots=chosen.slots, eps_report=eps, width=width)
        assert found.error_upper <= errors(other, goals, people).figure * (1 + 1e-3)


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_curves_are_errors_for_every_number_of_reports(want: Any) -> None:
    """Pages compute errors from the terms of a curve."""
    made = [
        (Dealt(Views.prefixes(bits=6, eps=1.0, width=2), 3), [1], Fraction(1)),
        (Deck(bits=6, slots=3, eps_report=2.0), [1, 2], Fraction(1, 3)),
        (Fading(bits=6, eps=3.0, delta=1e-6), [2, 3], Fraction(1)),
        (Loloha(values=50, symbols=4, keep=0.9, tell=0.95), [1], Fraction(1)),
    ]
    for mechanism, rounds, share in made:
        asked: dict[str, Any] = {"values": 50, "rounds": rounds, "beta": 0.05, "participation": share}
        for together in (True, False):
            curve = wanted_curve(mechanism, want, simultaneous=together, **asked)
            assert len(curve) < 25
            for n in (3, 100, 10**4, 10**7):
                exact = wanted_error(mechanism, want, reports=n, simultaneous=together, **asked).radius
                root = math.sqrt(n)
                found = [t.bias + min(t.hoeffding / root, t.bernstein / root + t.part / n) for t in curve]
                assert max(found) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
@pytest.mark.parametrize("width", [1, 2])
def test_rounds_that_are_not_alike_are_pooled_all_at_once(
    monkeypatch: pytest.MonkeyPatch, width: int, share: Fraction
) -> None:
    """The error is that of the rounds' own estimates, pooled, and no round is simulated for it."""
    mechanism, rounds, n, values = Fading(bits=6, eps=3.0, delta=1e-6, width=width), range(2, 9), 1000, 50
    estimates = {}
    for round in rounds:
        (batch,) = mechanism.simulate(np.zeros(n, dtype=int), rounds=[round], seed=1)
        estimates[round] = mechanism.aggregator(round).add(batch.reports[:, 0]).estimate().of_everybody(share)
    weights = np.array([mechanism.accuracy(n, round=r).standard_error ** -2.0 for r in rounds])
    parts = [
        (estimates[r].spread, n, np.full(values, weight))
        for r, weight in zip(rounds, weights / weights.sum(), strict=True)
    ]
    pooled = PooledSpreads(parts, independent=True)
    monkeypatch.setattr(Fading, "simulate", None)
    monkeypatch.setattr(wanted_figure, "_LARGEST_TABLE", 3 * values)
    wanted: list[tuple[Any, Spread]] = [
        ("quantiles", pooled.of_first(values)),
        ("mean", pooled.of(np.linspace(-0.5, 0.5, values))),
    ]
    for want, spread in wanted:
        found = wanted_error(
            mechanism,
            want,
            values=values,
            rounds=rounds,
            reports=n,
            beta=0.05,
            participation=share,
            simultaneous=False,
        )
        assert found.radius == pytest.approx(np.max(spread.radius(n * len(rounds), 0.05)), rel=1e-12)
        assert found.standard_error == pytest.approx(np.max(spread.standard_error(n * len(rounds))), rel=1e-12)


def test_changes_that_are_not_understood_are_refused_before_the_engine_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goals = Goals(people=10**6, values=257, rounds=1000, eps=1.4, changes=True, want="quantiles", error=0.2)
    monkeypatch.setattr(suitability, "everlasting", None)
    for name in ("l-sue", "l-osue", "l-oue", "l-soue", "memoized"):
        with pytest.raises(Unsuitable, match="earlier answer is visible"):
            solve(ENTRIES[name], goals)


def test_wants_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="want must be one of"):
        goals_of(0, "median")
    with pytest.raises(ValueError, match="not numbers"):
        goals_of(0, "mean", values=None, encoding=Categories(names=["a", "b"]))
    with pytest.raises(ValueError, match="if strings are discovered"):
        goals_of(0, "quantiles", values=None, strings=4)


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_mechanisms_that_estimate_answers_one_by_one_are_refused_in_words(want: str) -> None:
    goals = goals_of(0, want, people=10**9)
    for name in ("rappor", "cms", "hcms"):
        with pytest.raises(Unsuitable, match="sums over many answers are not planned"):
            option_of(name, solve(ENTRIES[name], goals))


def test_the_unknown_is_solved_for() -> None:
    goals = goals_of(1, "quantiles", people=None, error=0.05, advantage=0.01, values=64)
    for unknown in ("people", "eps", "rounds"):
        asked = goals.replace(**{"people": 10**6, "eps": 6.0, "rounds": 3, unknown: None}, pooled=1)
        found = option_of("views", solve(ENTRIES["views"], asked))
        assert found.error_upper <= 0.05 * (1 + 1e-9)
        assert math.isfinite(float(getattr(found.goals, unknown)))
