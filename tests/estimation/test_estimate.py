"""What an estimate says of itself: intervals, shifts, consistent values, what stands out, tables."""

import csv
import dataclasses
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from untrackable import Bitwise, Deck, Fresh, NoisyInnerProduct, RandomizedResponse, Rappor
from untrackable.estimation import estimate
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import certain_order
from untrackable.mechanisms import CountMeanSketch, DBitFlip, Lgrr, Loloha, OneChange, Unary
from untrackable.mechanisms.interface import Mechanism

DECK = Deck(bits=3, slots=2, eps_report=1.0, width=1)


def estimated(mechanism: Mechanism, values: Any, *, seed: int = 1, **how: Any) -> Estimate:
    sums: Any = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=seed):
        sums.add(batch.reports)
    result = sums.estimate(**how)
    assert isinstance(result, Estimate)
    return result


# --- intervals -------------------------------------------------------------------------------------------------


def test_intervals_are_the_radii_within_bounds() -> None:
    found = estimated(DECK, np.zeros(5000, dtype=int))
    alone, together = found.interval(), found.interval(simultaneous=True)
    assert np.all(alone.lower >= np.clip(found.frequencies - found.radius, 0, 1) - 1e-15)
    assert np.all(together.upper <= np.clip(found.frequencies + found.simultaneous_radius, 0, 1) + 1e-15)
    ends = [np.abs(end - found.frequencies) for end in found.ends()]
    assert np.array_equal(np.maximum(*ends), found.radius)
    assert np.all(together.lower <= alone.lower)
    assert np.all(alone.upper <= together.upper)


# --- dishonest clients -----------------------------------------------------------------------------------------


SMALL: list[tuple[Mechanism, range, dict[str, Any]]] = [
    (Fresh(RandomizedResponse(eps=1.0)), range(2), {}),
    (Bitwise(eps_state=1.0, eps_report=0.5), range(2), {}),
    (Fresh(NoisyInnerProduct(bits=2, eps=0.7, width=1)), range(2, 8), {}),
    (Fresh(NoisyInnerProduct(bits=2, eps=0.7, width=2)), range(1 << 6), {}),
    (Unary(values=3, keep=0.9, add=0.2, q=0.8, p=0.3), range(8), {}),
    (Lgrr(values=3, keep=0.9, tell=0.8), range(3), {}),
    (DBitFlip(buckets=3, sampled=2, eps=1.0), range(1 << 5), {}),
    (Rappor(bloom_bits=4, hashes=2, f=0.25, p=0.25, q=0.75), range(16), {"candidates": ["Ada", "Grace"]}),
]


@pytest.mark.parametrize(("mechanism", "reports", "how"), SMALL, ids=lambda x: type(x).__name__)
def test_the_shift_is_what_one_report_can_do(mechanism: Mechanism, reports: range, how: dict[str, Any]) -> None:
    """All pairs of one report among three honest ones tried: the largest change is the shift, exactly."""
    possible, found = [], []
    for report in reports:
        sums: Any = mechanism.aggregator()
        try:
            sums.add([report])
        except ValueError:
            continue
        possible.append(report)
    for report in possible:
        sums = mechanism.aggregator()
        found.append(sums.add([*possible[:1] * 3, report]).estimate(**how))
    for value in range(found[0].frequencies.size):
        changes = [abs(a.frequencies[value] - b.frequencies[value]) for a, b in itertools.combinations(found, 2)]
        assert math.isclose(max(changes), found[0].shift(1)[value], rel_tol=1e-9)
    assert np.allclose(found[0].shift(2), 2 * found[0].shift(1))
    assert not found[0].shift(0).any()
    with pytest.raises(ValueError, match="dishonest must be between 0 and 4"):
        found[0].shift(5)


@pytest.mark.parametrize(
    ("mechanism", "exact"),
    [
        (Fresh(RandomizedResponse(eps=1.0)), True),
        (Unary(values=3, keep=0.9, add=0.2, q=0.8, p=0.3), True),
        (Lgrr(values=3, keep=0.9, tell=0.8), True),
        (Fresh(NoisyInnerProduct(bits=2, eps=1.5, width=2)), False),
        (DBitFlip(buckets=3, sampled=2, eps=2.0), False),
    ],
    ids=lambda x: type(x).__name__,
)
def test_fewer_invented_reports_move_no_share_by_its_interval(mechanism: Mechanism, exact: bool) -> None:
    """All reports are tried, one less often than it says: none moves a share so far.

    Where reports are counted, one of them does as often as it says, so the number is the right one.
    """
    honest: Any = mechanism.aggregator()
    for batch in mechanism.simulate(np.arange(30_000) % 2, rounds=1, seed=3):
        honest.add(batch.reports)
    before = honest.estimate()
    invented = before.invented()
    assert invented is not None
    told = np.flatnonzero(before.tells())
    moved = {-1: 0.0, 0: 0.0}
    for report in range(1 << 6):
        for more in moved:
            sums: Any = mechanism.aggregator()
            try:
                sums.add([report] * (invented.reports + more)).merge(honest)
            except ValueError:
                continue
            by = np.abs(sums.estimate().frequencies - before.frequencies)[told]
            moved[more] = max(moved[more], float((by / before.simultaneous_radius[told]).max()))
    assert moved[-1] < 1
    assert moved[0] < 1.01
    if exact:
        assert moved[0] >= 1 - 1e-9


def test_nothing_is_said_of_invented_reports_if_no_share_is_told() -> None:
    assert estimated(DECK, np.zeros(20, dtype=int)).invented() is None


def test_a_liar_may_sign_every_interval() -> None:
    mechanism = OneChange(rounds=4, changes=1, eps=1.0)
    values = np.zeros((50, 4), dtype=int)
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=4, seed=1)])
    honest = mechanism.aggregator(3).add(reports[:, 1:3]).estimate()
    ends = {end: mechanism._encoded(end, level, 0) for level, end in [(1, 2), (0, 3)]}
    first = [[ends[2] | sign, ends[3] | sign] for sign in (0, 1)]
    low, high = (
        mechanism.aggregator(3).add(np.vstack((reports[:-1, 1:3], lie)).astype(np.uint64)).estimate()
        for lie in first
    )
    assert math.isclose(high.frequencies[1] - low.frequencies[1], honest.shift(1)[1], rel_tol=1e-9)


# --- consistent ------------------------------------------------------------------------------------------------


def test_consistent_frequencies() -> None:
    found = estimated(DECK, np.zeros(300, dtype=int))
    nearest = found.consistent()
    assert found.frequencies.min() < 0 <= nearest.min()
    assert math.isclose(nearest.sum(), 1)
    truth = np.eye(8)[0]
    assert np.linalg.norm(nearest - truth) < np.linalg.norm(found.frequencies - truth)


def test_a_list_of_candidates_need_not_be_everything() -> None:
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.25, p=0.25, q=0.75)
    found = estimated(rappor, np.array(["Ada", "Grace", "Emmy"] * 2000), candidates=["Ada", "Grace", "Sofia"])
    assert found.consistent().sum() <= 1
    assert [row.value for row in found.top(3)][2] == "Sofia"


# --- what stands out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "tail"),
    [
        (Fresh(RandomizedResponse(eps=1.0)), "exact binomial"),
        (Bitwise(eps_state=1.0, eps_report=2.0), "exact binomial"),
        (Fresh(NoisyInnerProduct(bits=3, eps=1.0, width=1)), "exact binomial"),
        (Fresh(NoisyInnerProduct(bits=1, eps=1.0, width=1)), "exact binomial"),
        (Unary(values=8, keep=0.9, add=0.2, q=0.8, p=0.3), "exact binomial"),
        (Lgrr(values=8, keep=0.9, tell=0.8), "exact binomial"),
        (DBitFlip(buckets=8, sampled=2, eps=2.0), "upper, Hoeffding"),
        (Loloha(values=8, symbols=2, keep=0.9, tell=0.95), "upper, from the radius"),
        (Fresh(CountMeanSketch(hashes=64, width=64, eps=2.0, values=8)), "upper, from the radius"),
    ],
    ids=lambda x: repr(x)[:40],
)
def test_p_values_of_values_that_nobody_holds(mechanism: Mechanism, tail: str) -> None:
    """P(p ≤ x) ≤ x, over 3000 populations of 80 who all hold 1: a deviation of 0.07 has probability below 1e-12.

    Exact ones are not far below x either; others are bounds.
    """
    times, people = 3000, 80
    reports = np.concatenate(
        [b.reports for b in mechanism.simulate(np.ones(times * people, int), rounds=1, seed=3)]
    )
    parts = reports.reshape(times, people, *reports.shape[2:])
    found: list[Any] = []
    for part in parts:
        sums: Any = mechanism.aggregator()
        result = sums.add(part).estimate()
        found.append(result.p_values()[0])
        assert result.tail == tail
    share = np.array([np.mean(np.array(found) <= x) for x in (0.05, 0.2, 0.5, 0.8)])
    slack = math.sqrt(math.log(1e12) / (2 * times))
    assert np.all(share <= np.array([0.05, 0.2, 0.5, 0.8]) + slack)
    if tail == "exact binomial":
        assert share[2] > 0.3


def test_top() -> None:
    values = np.repeat([3, 5, 6], [6000, 3000, 1000])
    found = estimated(Deck(bits=8, slots=1, eps_report=2.0, width=1), values)
    rows = found.top(5)
    assert [row.value for row in rows[:2]] == [3, 5]
    assert rows[0].stands_out
    assert not rows[4].stands_out
    assert rows[0].p_value < 1e-100
    everything = found.top(1000)
    assert sorted(row.value for row in everything) == list(range(256))
    interval = found.interval(simultaneous=True)
    assert [row.value for row in everything] == certain_order(*interval)
    assert found.certainly_top(found.top(2))
    assert found.certainly_top(everything)
    assert not found.certainly_top(rows)
    for row in rows:
        assert row.unclamped == found.frequencies[row.value]
        assert row.frequency == min(1.0, max(0.0, row.unclamped))
        assert row.lower == found.interval(simultaneous=True).lower[row.value]
        assert row.upper == found.interval(simultaneous=True).upper[row.value]
    strict = found.top(256, dependence="any")
    assert sum(row.passes_fdr for row in strict) <= sum(row.passes_fdr for row in found.top(256))
    for bad in ({"k": 0}, {"k": 1, "fdr": 0.0}, {"k": 1, "fdr": 1.0}, {"k": 1, "dependence": "no"}):
        with pytest.raises(ValueError, match="must be"):
            found.top(**bad)


def test_a_value_stands_out_if_its_interval_excludes_zero() -> None:
    """The false discovery rate passes values whose interval includes 0; those do not stand out."""
    values = np.repeat(np.arange(40), 200)
    rows = estimated(Deck(bits=8, slots=1, eps_report=3.0, width=1), values).top(256)
    assert any(row.passes_fdr and row.lower == 0 for row in rows)
    for row in rows:
        assert row.stands_out == (row.lower > 0)


def test_top_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As there may be 2^26 values; also where many frequencies are equal, and for bounds of every kind."""
    values = np.repeat([3, 5, 6], [60, 30, 10])
    mechanisms: list[Any] = [
        Deck(bits=5, slots=1, eps_report=3.0, width=1),
        Fresh(CountMeanSketch(hashes=5, width=16, eps=2.0, values=40)),
        Unary(values=9, keep=0.9, add=0.2, q=0.8, p=0.3),
    ]
    for mechanism in mechanisms:
        found = estimated(mechanism, values)
        for bound in (found, dataclasses.replace(found, chance=None)):
            whole = [bound.top(k) for k in (1, 7, 100)], bound.p_values()
            with monkeypatch.context() as patch:
                patch.setattr(estimate, "_TESTED", 7)
                assert [bound.top(k) for k in (1, 7, 100)] == whole[0]
                assert np.array_equal(bound.p_values(), whole[1])


def test_the_false_discovery_rate_is_kept() -> None:
    """1000 populations of 500 over 64 values, 8 of which are held; the mean share of false discoveries.

    It lies in [0, 1], so its variance is at most its mean, and by Bernstein's inequality the mean over 1000 exceeds
    the rate of 0.1 by 0.073 with probability below 1e-9. With p-values a fifth as large it would be seen.
    """
    times, people, rate = 1000, 500, 0.1
    threshold = rate + 0.073
    assert math.exp(-times * 0.073**2 / (2 * (rate + 0.073 / 3))) < 1e-9
    mechanism = Deck(bits=6, slots=1, eps_report=3.0, width=1)
    values = np.tile(np.arange(people) % 8, times)
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=1, seed=5)]).reshape(times, -1)
    shares: dict[float, list[float]] = {rate: [], 5 * rate: []}
    found = 0
    for part in reports:
        result = mechanism.aggregator().add(part).estimate()
        for level, kept in shares.items():
            standing = [row.value for row in result.top(64, fdr=level) if row.passes_fdr]
            kept.append(sum(value >= 8 for value in standing) / max(1, len(standing)))
            found += sum(value < 8 for value in standing) if level == rate else 0
    assert np.mean(shares[rate]) <= threshold
    assert np.mean(shares[5 * rate]) > threshold
    assert found > 0.2 * 8 * times


# --- tables ----------------------------------------------------------------------------------------------------

COLUMNS = ["value", "frequency", "tells", "unclamped", "standard_error", "lower", "upper"]
COLUMNS += ["lower_simultaneous", "upper_simultaneous"]


def test_tables(tmp_path: Path) -> None:
    found = estimated(DECK, np.zeros(1000, dtype=int))
    table = found.to_arrow()
    assert table.column_names == COLUMNS
    assert table.schema.metadata == {b"reports": b"1000", b"beta": b"0.05", b"intervals": b"upper"}
    assert table["frequency"].to_pylist() == found.frequencies.clip(0, 1).tolist()
    assert table["unclamped"].to_pylist() == found.frequencies.tolist()
    found.to_csv(tmp_path / "estimate.csv")
    with (tmp_path / "estimate.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == COLUMNS
    assert [[json.loads(entry.lower()) for entry in row] for row in rows[1:]] == [
        list(row.values()) for row in table.to_pylist()
    ]
    told = json.loads(found.to_json())
    assert told["reports"] == 1000
    assert told["columns"] == table.to_pydict()


def test_few_reports_tell_no_share_anywhere_and_keep_the_order_of_the_values(tmp_path: Path) -> None:
    """Without the rule, these are shares of more than 100 % and below 0, and one of them is a winner."""
    found = estimated(Deck(bits=3, slots=4, eps_report=0.3, width=1), np.arange(40) % 8)
    assert found.frequencies.max() > 1
    assert found.frequencies.min() < 0
    assert not found.tells().any()
    assert np.isnan(found.shares()).all()
    rows = found.top(8)
    assert [row.value for row in rows] == list(range(8))
    assert [(row.frequency, row.lower, row.upper) for row in rows].count((None, 0.0, 1.0)) >= 6
    table = found.to_arrow(consistent=True)
    assert table["frequency"].null_count == table["consistent"].null_count == 8
    assert table["tells"].to_pylist() == [False] * 8
    told = json.loads(found.to_json(consistent=True))["columns"]
    assert told["frequency"] == told["consistent"] == [None] * 8
    assert told["unclamped"] == found.frequencies.tolist()
    found.to_csv(tmp_path / "estimate.csv")
    with (tmp_path / "estimate.csv").open(encoding="utf-8", newline="") as file:
        assert {(row["frequency"], row["tells"]) for row in csv.DictReader(file)} == {("", "False")}


def test_names_of_values_are_in_the_tables(tmp_path: Path) -> None:
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.25, p=0.25, q=0.75)
    found = estimated(rappor, np.array(["Ada", "Émmy, \n"] * 100), candidates=["Ada", "Émmy, \n"])
    assert found.to_arrow()["value"].to_pylist() == ["Ada", "Émmy, \n"]
    assert json.loads(found.to_json())["columns"]["value"] == ["Ada", "Émmy, \n"]
    found.to_csv(tmp_path / "estimate.csv")
    with (tmp_path / "estimate.csv").open(encoding="utf-8", newline="") as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["Ada", "Émmy, \n"]


def test_data_frames() -> None:
    found = estimated(DECK, np.zeros(1000, dtype=int))
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert frame["value"].tolist() == list(range(found.frequencies.size))
    assert frame["frequency"].dtype == np.float64
    assert np.array_equal(frame["unclamped"], found.frequencies)
    assert np.array_equal(frame["upper_simultaneous"], found.interval(simultaneous=True).upper)
    assert frame.nlargest(1, "unclamped")["value"].item() == 0
    names = ["Ada", "Émmy, \n"]
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.25, p=0.25, q=0.75)
    assert estimated(rappor, np.array(names * 100), candidates=names).to_pandas()["value"].tolist() == names
    wide = Fresh(NoisyInnerProduct(bits=100, eps=1.0, width=1))
    sums: Any = wide.aggregator().add([5])
    assert sums.estimate(candidates=[1, 1 << 99]).to_pandas()["value"].tolist() == ["1", str(1 << 99)]


def test_without_pandas_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas is not installed"):
        estimated(DECK, np.zeros(10, dtype=int)).to_pandas()
