"""One report about every part of a value: its law by enumeration, its tables, and an independent client."""

import functools
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.enumeration import Law
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_vectors import Tape
from tests.theory.test_factorisations import assert_equal
from untrackable.arrays import FloatArray
from untrackable.errors import MergeError
from untrackable.estimation.aggregators import Scope
from untrackable.mechanisms.divided import Divided, DividedAggregator
from untrackable.mechanisms.interface import from_json
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.local_interface import crowd_privacy
from untrackable.mechanisms.view_tables import View
from untrackable.mechanisms.views import Views
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

VECTORS = Path(__file__).parents[1] / "vectors"
SMALL = {
    "two bits": Divided(sizes=(1, 1), eps=2.0),
    "unequal": Divided(sizes=(1, 2), eps=3.0, weights=(1, 2), widths=(1, 1)),
    "wide": Divided(sizes=(2, 1), eps=4.0, weights=(3, 1), widths=(2, 1)),
    "three": Divided(sizes=(1, 1, 1), eps=1.5, weights=(1, 2, 3)),
}
named = pytest.mark.parametrize("base", SMALL.values(), ids=SMALL)
WIDE = Divided(sizes=(8, 1, 10), eps=9.0, widths=(4, 1, 3))


def law(base: Divided, value: int) -> Law:
    """The definition, written down once more: independent reports about all parts."""
    parts = []
    for size, width, weight in zip(base.sizes, base.widths, base.weights, strict=True):
        share = base.eps * weight / sum(base.weights)
        parts.append(oracles.wide_inner_product(size, width, share)(value & (1 << size) - 1))
        value >>= size
    return {
        tuple(report for report, _ in several): math.prod(chance for _, chance in several)
        for several in itertools.product(*(part.items() for part in parts))
    }


def number(base: Divided, outcome: Any) -> int:
    report = place = 0
    for size, width, (vectors, answer) in zip(base.sizes, base.widths, outcome, strict=True):
        own = sum(bit << i for i, bit in enumerate(answer))
        own |= sum(vector << width + size * i for i, vector in enumerate(vectors))
        report, place = report | own << place, place + width * (size + 1)
    return report


@functools.cache
def laws(base: Divided) -> tuple[list[int], dict[int, FloatArray]]:
    """All reports, and for each value their probabilities."""
    outcomes = list(law(base, 0))
    chances = {value: np.array([law(base, value)[one] for one in outcomes]) for value in range(base.values)}
    return [number(base, one) for one in outcomes], chances


def sums(base: Divided) -> DividedAggregator:
    return base.aggregator(Scope(base, 0, pools=True))


@named
def test_privacy_is_that_of_values_that_differ_in_every_part(base: Divided) -> None:
    """All pairs of values are dominated, and those that differ in every part have the very factor."""
    _, chances = laws(base)
    claimed = Experiment([(base.privacy_factor(), 1)])
    for gamma in (0.0, 0.3, 0.9, 1.6):
        most = claimed.delta(gamma).upper * (1 + 1e-9)
        for value, other in itertools.permutations(chances, 2):
            assert np.maximum(0.0, chances[value] - math.exp(gamma) * chances[other]).sum() <= most
    assert_equal(claimed, Factor(chances[0], chances[base.values - 1]))
    largest = max(float(np.log(one / other).max()) for one, other in itertools.permutations(chances.values(), 2))
    assert largest == pytest.approx(base.eps, rel=1e-9)
    assert base.largest_loss() == pytest.approx(largest, rel=1e-9)
    assert base.largest_loss() <= base.eps


@pytest.mark.parametrize("eps", [0.1, 0.3, 0.7, 1.0, 2.3, 4.0])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 1, 1), (3, 1, 2, 5, 1, 1, 1)])
def test_all_parts_together_never_spend_more_than_eps(eps: float, sizes: tuple[int, ...]) -> None:
    base = Divided(sizes=sizes, eps=eps, weights=tuple(range(1, len(sizes) + 1)))
    assert eps * (1 - 1e-13) < base.largest_loss() <= eps


@named
def test_a_report_that_is_sent_again(base: Divided) -> None:
    _, chances = laws(base)
    for own in chances.values():
        twice = Factor([*own, 0.0], [*own**2, 1 - float(own @ own)])
        assert_equal(Experiment([base.repeat_factor()]), twice)


@named
def test_likelihoods_and_possible_reports(base: Divided) -> None:
    reports, chances = laws(base)
    for value, own in chances.items():
        found = base.log_likelihood(np.array(reports, dtype=np.uint64), value)
        assert np.exp(found) == pytest.approx(own, rel=1e-12)
    assert {report for report in range(-1, 2 << base.report_bits) if base.possible(report)} == set(reports)


@named
def test_samplers_follow_their_law(base: Divided) -> None:
    reports, chances = laws(base)
    numbers = {report: i for i, report in enumerate(reports)}
    held = base.values - 2
    client = Fresh(base).client(held)
    batches = Fresh(base).simulate(np.full(300_000, held), rounds=1, seed=3)
    simulated = [report for batch in batches for report in batch.reports[:, 0].tolist()]
    for drawn in ([client.report(t) for t in range(1, 40_001)], simulated):
        observed = histogram([numbers[report] for report in drawn], chances[held])
        agrees(observed, chances[held], tilted(chances[held], 0.08))


@named
def test_tables_are_unbiased_with_the_moments_that_they_say(base: Divided) -> None:
    """Over every report that one person may send, for the table of each part and of one bit of it."""
    reports, chances = laws(base)
    tables: list[View] = [*base.views, *(view[-1:] for view in base.views if len(view) > 1)]
    for table, entry in zip(tables, base.entry_laws(tuple(tables)), strict=True):
        found = np.array([sums(base).add([report]).table(table).frequencies for report in reports])
        variances = []
        for value, own in chances.items():
            held = sum((value >> bit & 1) << i for i, bit in enumerate(table))
            mean, square = own @ found, own @ found**2
            assert mean == pytest.approx(np.eye(1 << len(table))[held], abs=1e-12)
            variance = square - mean**2
            assert variance[held] == pytest.approx(entry.held, rel=1e-9)
            variances += np.delete(variance, held).tolist()
        assert max(variances) == pytest.approx(entry.elsewhere, rel=1e-9)
        assert np.ptp(found) <= entry.span * (1 + 1e-9)
        assert np.abs(found).max() <= entry.largest * (1 + 1e-9)


def test_the_table_of_a_part_is_that_of_a_report_about_it_alone() -> None:
    base = SMALL["wide"]
    alone = Views(bits=2, views=((0, 1),), eps=3.0, width=2)
    (part,), (whole,) = (each.entry_laws(((0, 1),)) for each in (base, alone))
    assert part.error is whole.error is None or part.error == pytest.approx(whole.error, rel=1e-9)
    assert part._replace(error=None)[:-2] == pytest.approx(whole._replace(error=None)[:-2], rel=1e-9)
    assert part.ratio == pytest.approx(whole.ratio, rel=1e-9)


@pytest.mark.parametrize("base", [SMALL["unequal"], WIDE], ids=["words", "bytes"])
def test_estimates_of_a_population(base: Divided) -> None:
    people = 40_000
    rng = np.random.default_rng(5)
    parts = [np.minimum(rng.geometric(0.4, people) - 1, (1 << size) - 1) for size in base.sizes]
    values = sum(part << view[0] for part, view in zip(parts, base.views, strict=True))
    mechanism, whole = Fresh(base), Fresh(base).aggregator()
    halves = [mechanism.aggregator(), mechanism.aggregator()]
    for batch in mechanism.simulate(values, rounds=1, seed=2):
        whole.add(batch.reports)
        integers = batch.reports.reshape(batch.reports.shape[0], -1)
        assert base.possible(int.from_bytes(integers[0].tobytes(), "little"))
        middle = len(integers) // 2
        for half, own in zip(halves, (batch.reports[:middle], batch.reports[middle:]), strict=True):
            half.add(own)
    halves[0].merge(mechanism.aggregator().add_saved(halves[1].to_bytes()))
    assert halves[0].to_bytes() == whole.to_bytes()
    assert isinstance(whole, DividedAggregator)
    for view, part in zip(base.views, parts, strict=True):
        truth = np.bincount(part, minlength=1 << len(view)) / people
        found = whole.table(view)
        apart = np.abs(found.frequencies - truth)
        assert np.all(apart < found.simultaneous_radius)
        assert np.all(apart < 6.5 * found.standard_error)
        assert np.any(apart > 0.3 * found.standard_error)
        assert mechanism.accuracy(people).radius >= found.radius.max() * (1 - 1e-9)
    with pytest.raises(ValueError, match="estimate a table instead"):
        whole.estimate()
    with pytest.raises(MergeError):
        whole.merge(Fresh(SMALL["three"]).aggregator())


def test_a_crowd_is_bracketed() -> None:
    for base in SMALL.values():
        found = crowd_privacy([(base, 1)], people=1000).delta(0.05)
        assert 0 < found.lower <= found.upper


def test_reports_that_cannot_be() -> None:
    for base in (*SMALL.values(), WIDE):
        good = Fresh(base).client(1).report(1)
        sums(base).check([good])
        for bad in (0, good | 1 << base.report_bits, -1):
            with pytest.raises(ValueError, match=f"a report must have {base.report_bits} bits"):
                sums(base).add([bad])
            with pytest.raises(ValueError, match="a report must have"):
                sums(base).check([bad])


def test_json() -> None:
    for base in (*SMALL.values(), WIDE):
        assert from_json(json.loads(json.dumps(Fresh(base).to_json()))) == Fresh(base)
    described = Fresh(SMALL["unequal"]).to_json()["base"]
    assert described == {"mechanism": "divided", "sizes": [1, 2], "eps": 3, "weights": [1, 2], "widths": [1, 1]}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sizes": (3,)}, ValueError, "sizes must be between 2 and 8 numbers"),
        ({"sizes": (1,) * 9}, ValueError, "sizes must be between 2 and 8 numbers"),
        ({"sizes": (16, 16, 16, 16)}, ValueError, "at most 63 together"),
        ({"sizes": (1, 17)}, ValueError, "a size must be between 1 and 16, got 17"),
        ({"weights": (1,)}, ValueError, "weights must be one number for each of 2 parts, got 1"),
        ({"weights": (1, 0)}, ValueError, "one of weights must be between 1"),
        ({"widths": (1, 3)}, ValueError, "width must be between 1 and 2, got 3"),
        ({"eps": -1}, ValueError, "eps must be positive"),
        ({"sizes": (1, 2.0)}, TypeError, "a size must be an integer, not float"),
    ],
)
def test_bad_parameters(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Divided(**{"sizes": (1, 2), "eps": 1.0, **given})


def test_a_value_that_cannot_be_is_not_shown() -> None:
    with pytest.raises(ValueError, match="value must be between 0 and 7") as caught:
        Fresh(SMALL["three"]).client(77)
    assert "77" not in str(caught.value)


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "divided.json").read_text(encoding="utf-8"))
    assert len(content["groups"]) == 3
    for group in content["groups"]:
        given = group["parameters"]
        thresholds = [int(group["thresholds"][f"flip {i}"]) for i in range(len(given["sizes"]))]
        for case in group["cases"]:
            tape, made = Tape(bytes.fromhex(case["entropy"])), []
            for _ in case["rounds"]:
                value, report, place = int(case["value"]), 0, 0
                for size, width, threshold in zip(given["sizes"], given["widths"], thresholds, strict=True):
                    own = _drawn(tape, value & (1 << size) - 1, size, width, threshold)
                    report, place, value = report | own << place, place + width * (size + 1), value >> size
                made.append(str(report))
            assert made == case["reports"], case["label"]
            assert tape.at == len(tape.data)


def _drawn(tape: Tape, value: int, size: int, width: int, threshold: int) -> int:
    """A noisy inner product, as docs/client-format.md says it."""
    vectors: list[int] = []
    sums: set[int] = {0}
    while len(vectors) < width:
        vector = tape.take((size + 7) // 8) & (1 << size) - 1
        if vector not in sums:
            vectors.append(vector)
            sums |= {vector ^ other for other in sums}
    answer = sum(((vector & value).bit_count() & 1) << i for i, vector in enumerate(vectors))
    if tape.happens(threshold):
        answer = (answer + 1 + (tape.below((1 << width) - 1) if width > 1 else 0)) % (1 << width)
    return answer | sum(vector << width + size * i for i, vector in enumerate(vectors))
