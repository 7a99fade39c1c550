"""Tables of parts of a value: unbiased, within their radii, consistent with each other."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from untrackable import Deck, Fresh
from untrackable.answers.answer import Question, spreads_of_cells
from untrackable.encodings import Bit, Categories, Choices, Encoding, Record
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.views import Views
from untrackable.theory.turns import Turns

FEATURES = Choices(names=[f"feature {i}" for i in range(6)])
PERSON = Record(attributes={"system": Categories(names=["linux", "mac", "windows"]), "dark": Bit(), "new": Bit()})
PEOPLE = 4000


def fresh(encoding: Encoding, eps: float = 2.0) -> Mechanism:
    assert encoding.asked is not None
    return Fresh(Views(bits=encoding.bits, views=encoding.asked.views, eps=eps))


def estimates(encoding: Encoding, held: np.ndarray, runs: int, table: str | None = None) -> list[Estimate]:
    mechanism = fresh(encoding)
    question = Question(mechanism, encoding, table=table)
    result = []
    for run in range(runs):
        sums = question.prepare(mechanism.aggregator())
        for batch in mechanism.simulate(held, rounds=[1], seed=run):
            sums.add(batch.reports[:, 0])
        result.append(question.estimate(sums, 0.3))
    return result


def test_choices_are_estimated_together() -> None:
    """Means over runs are right, and intervals for all names at once fail in at most 30 % of runs.

    A mean of 60 runs is off by more than five of its standard errors in one of 6 names once in 3·10^5. More than 36
    of 60 runs fail once in 10^6 if each does with probability 0.3; with a third of the radius they nearly all do.
    """
    rng = np.random.default_rng(3)
    shares = np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.97])
    chosen = rng.random((PEOPLE, 6)) < shares
    held = (chosen @ (1 << np.arange(6))).astype(np.uint64)
    truth = chosen.mean(axis=0)
    result = estimates(FEATURES, held, 60)
    assert list(result[0].values or ()) == list(FEATURES.names)
    errors = np.array([each.frequencies - truth for each in result])
    stated = result[0].standard_error
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * stated / np.sqrt(60))
    assert np.all((errors.std(axis=0) > 0.6 * stated) & (errors.std(axis=0) < 1.5 * stated))
    radius = result[0].simultaneous_radius
    assert np.count_nonzero(np.any(np.abs(errors) > radius, axis=1)) <= 36
    assert np.count_nonzero(np.any(np.abs(errors) > radius / 3, axis=1)) > 36


@pytest.mark.parametrize("table", ["system, dark", "dark, new", "system", "new"])
def test_tables_of_a_record(table: str) -> None:
    rng = np.random.default_rng(4)
    records = [
        {
            "system": system,
            "dark": int(rng.random() < (0.7 if system == "mac" else 0.2)),
            "new": int(rng.random() < 0.4),
        }
        for system in rng.choice(["linux", "mac", "windows"], PEOPLE, p=[0.5, 0.3, 0.2])
    ]
    held = PERSON.encode_many(records)
    names = table.split(", ")
    counted = [
        " × ".join(PERSON.attribute(name).label(PERSON.attribute(name).encode(r[name])) for name in names)
        for r in records
    ]
    result = estimates(PERSON, held, 30, table)
    truth = np.array([counted.count(label) / PEOPLE for label in result[0].values or ()])
    assert truth.sum() == pytest.approx(1)
    errors = np.array([each.frequencies - truth for each in result])
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * result[0].standard_error / np.sqrt(30))
    assert np.count_nonzero(np.any(np.abs(errors) > result[0].simultaneous_radius, axis=1)) <= 20


def test_tables_agree_where_they_show_the_same() -> None:
    held = np.random.default_rng(5).integers(0, 3, PEOPLE).astype(np.uint64)
    mechanism = fresh(PERSON)
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(held, rounds=[1], seed=1):
        sums.add(batch.reports[:, 0])
    both, alone = (
        Question(mechanism, PERSON, table=name).estimate(sums, 0.05) for name in ("system, dark", "system")
    )
    linux = sum(
        f for f, label in zip(both.frequencies, both.values or (), strict=True) if label.startswith("linux")
    )
    assert alone.frequencies[0] == pytest.approx(linux)


def test_turns_widen_the_error_and_not_the_shares() -> None:
    held = np.zeros(PEOPLE, dtype=np.uint64) + 5
    mechanism = fresh(FEATURES)
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(held, rounds=[1], seed=1):
        sums.add(batch.reports[:, 0])
    all_of_them, some = (
        Question(mechanism, FEATURES, turns=turns).estimate(sums, 0.05) for turns in (None, Turns(rounds=9))
    )
    assert np.array_equal(all_of_them.frequencies, some.frequencies)
    assert np.all(some.standard_error >= all_of_them.standard_error)


@pytest.mark.parametrize("turns", [Turns(rounds=2), None])
def test_another_beta_keeps_the_smaller_bound(turns: Turns | None) -> None:
    """Reports about one of six names vary far less than they span, at another beta and by round as well."""
    mechanism = fresh(FEATURES, eps=0.5)
    question = Question(mechanism, FEATURES, turns=turns)
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(np.arange(PEOPLE) % 64, rounds=[1], seed=1):
        sums.add(batch.reports[:, 0])
    wide, narrow = question.estimate(sums, 0.3), question.estimate(sums, 0.01)
    result = replace(wide, beta=0.01)
    for name in ("radius", "simultaneous_radius"):
        np.testing.assert_allclose(getattr(result, name), getattr(narrow, name), rtol=0.01)
    one_name = wide.spread.of(2.0 * np.eye(6)[3])
    assert one_name.standard_error(wide.n) < 0.3 * float(one_name.span) / np.sqrt(wide.n)
    with pytest.raises(ValueError, match="several cells"):
        wide.spread.of(np.ones(6))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="others were not asked for"):
        Question(fresh(PERSON), PERSON, table="dark, system")
    with pytest.raises(ValueError, match="one table only"):
        Question(Deck(bits=1, slots=3, eps_report=1.0), Bit(), table="x")
    with pytest.raises(ValueError, match="asks for tables"):
        Question(fresh(FEATURES), FEATURES, [["feature 1"]])
    whole = Deck(bits=6, slots=3, eps_report=1.0, width=1)
    sums = whole.aggregator().add([2])
    with pytest.raises(ValueError, match="not about the tables"):
        Question(whole, FEATURES).estimate(sums, 0.05)


def test_cells_are_within_1_3_times_the_normal_radius() -> None:
    """For loud and quiet reports of one bit each: a cell by itself, and all cells at once. Bernstein's had 1.4."""
    encodings: list[Encoding] = [
        FEATURES,
        PERSON,
        Record(attributes={name: Categories(names=[f"{name} {i}" for i in range(16)]) for name in "ab"}),
    ]
    for encoding in encodings:
        assert encoding.asked is not None
        for eps in (0.1, 1.0, 2.0, 4.0, 8.0):
            views = Views(bits=encoding.bits, views=encoding.asked.views, eps=eps)
            for table in encoding.asked.tables:
                bits = table.cells[0].bits
                (law,) = views.entry_laws((bits,))
                for share, together in itertools.product((0.0, 0.05, 0.2, 0.5), (1, len(table.cells))):
                    result = Estimate(
                        np.array([share]),
                        100_000,
                        0.05 / together,
                        np.zeros(1),
                        span=np.array([law.span]),
                        spread=spreads_of_cells([law.spread]),
                    )
                    lower, upper = result.ends()
                    variance = share * law.held + (1 - share) * law.elsewhere  # The same for all other entries.
                    normal = norm.isf(result.beta / 2) * np.sqrt(variance / result.n)
                    # The part outside [0, 1] is cut off.
                    assert min(normal, 1 - share) <= upper[0] - share < 1.3 * normal
                    assert min(normal, share) <= share - lower[0] < 1.3 * normal
