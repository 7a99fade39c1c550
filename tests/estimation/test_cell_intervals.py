"""Intervals of cells of tables: the variance is that of the population, by the same reports, never too small."""

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from tests.mechanisms.test_views import as_vectors, shown, sums
from untrackable.arrays import FloatArray
from untrackable.encodings import Bit, Categories, Record
from untrackable.estimation.intervals import Spread
from untrackable.kernels.counting import walsh_hadamard_of_reals
from untrackable.mechanisms.view_tables import TableLaw
from untrackable.mechanisms.views import Views, _estimated
from untrackable.theory.turns import Turns

VIEWS = Views(bits=3, views=((0, 1, 2), (0, 1), (2,)), eps=3.0, width=2)
"""What a report adds to an entry varies with what its sender holds instead."""
BETA, TIMES, PEOPLE = 0.05, 10_000, 3000
MOST = int(binom.isf(1e-6, TIMES, BETA))


Counts = NDArray[np.int64]


class Laws(NamedTuple):
    """What each report adds to each entry of the table of all bits, and its probability for each value."""

    added: FloatArray
    chances: FloatArray


def laws() -> Laws:
    reports, by_value = as_vectors(VIEWS)
    added = np.array([sums(VIEWS).add([report]).table(0).frequencies for report in reports])
    return Laws(added, np.array([by_value[value] for value in sorted(by_value)]))


def variances(found: Laws) -> FloatArray:
    """The variance of what a report adds to entry 0, by what its sender holds."""
    return found.chances @ found.added[:, 0] ** 2 - (found.chances @ found.added[:, 0]) ** 2


def test_the_variance_is_estimated_without_bias_and_its_error_is_known() -> None:
    """Over every report of every sender: for every entry, and for any population as means are linear."""
    found, law = laws(), VIEWS.table_law(0)
    own = law.entry.spread.by_share
    assert own is not None
    assert own.error is not None
    spreads = [law.entries(added).by_share for added in found.added]
    terms = np.array([np.ravel(one.excess) for one in spreads if one is not None])
    for entry, value in itertools.product(range(8), range(8)):
        chances = found.chances[value]
        mean, square = chances @ found.added[:, entry], chances @ found.added[:, entry] ** 2
        variance, expected = square - mean**2, chances @ terms[:, entry]
        base = own.held if entry == shown(value, (0, 1, 2)) else own.free
        assert base + expected == pytest.approx(variance)
        noise = chances @ terms[:, entry] ** 2 - expected**2
        assert noise <= own.error.variance * (1 + 1e-9)
        assert noise <= own.ratio * variance * (1 + 1e-9)
        assert own.least * (1 - 1e-9) <= variance or base == own.held
        assert variance <= own.most * (1 + 1e-9) or base == own.held
        possible = terms[chances > 0, entry]
        assert np.ptp(possible) <= own.error.span * (1 + 1e-9)
        assert np.abs(found.added[chances > 0, entry] - mean).max() <= law.entry.spread.part * (1 + 1e-9)


def misses(held: Counts, *, sampled: bool, change: float = 1.0, forget: bool = False) -> int:
    """How often the share of entry 0 is missed, of `TIMES` intervals, if so many of `PEOPLE` hold each value.

    With `sampled`, they are the shares of ten times as many people. Variances may be taken to be smaller than they
    are, or to be those of an even population.
    """
    rng, found, law = np.random.default_rng(5), laws(), VIEWS.table_law(0)
    counts = np.tile(held, (TIMES, 1))
    if sampled:
        counts = rng.multivariate_hypergeometric(10 * held, PEOPLE, size=TIMES, method="marginals")
    totals = np.zeros((TIMES, 8))
    for value, chances in enumerate(found.chances):
        totals += rng.multinomial(counts[:, value], chances / chances.sum()) @ found.added
    shares = totals / PEOPLE
    spread = law.entry.spread
    own = spread.by_share
    assert own is not None
    excess = shares @ law._excess
    scaled = {name: change * getattr(own, name) for name in ("held", "free", "least", "most", "ratio")}
    own = replace(own, **scaled, excess=change * excess, error=None if forget else own.error)
    if forget:
        own = replace(own, least=own.free, most=own.free)
    spread = Spread(spread.variance, spread.span, spread.part, by_share=own, independent=True)
    spread = spread.of_sample(1.0) if sampled else spread
    lower, upper = spread.ends(shares[:, 0], PEOPLE, BETA)
    truth = held[0] / PEOPLE
    return int(np.count_nonzero((lower > truth) | (truth > upper)))


def populations() -> dict[str, Counts]:
    noisy = variances(laws())
    least, most = 1 + int(np.argmin(noisy[1:])), 1 + int(np.argmax(noisy[1:]))
    counts = {"quiet": np.zeros(8, dtype=np.int64), "loud": np.zeros(8, dtype=np.int64)}
    for name, other in (("quiet", least), ("loud", most)):
        counts[name][[0, other]] = 300, PEOPLE - 300
    return {**counts, "even": np.full(8, PEOPLE // 8)}


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", ["quiet", "loud", "even"])
def test_no_population_is_missed_more_often_than_stated(name: str, sampled: bool) -> None:
    """In 10,000 trials. A miss rate above the stated one is met with a probability of 10⁻⁶."""
    held = populations()[name]
    assert misses(held, sampled=sampled) <= MOST


def test_intervals_that_are_too_narrow_are_noticed() -> None:
    """Half of the variance, and that of an even population where people's is larger, miss too often."""
    loud = populations()["loud"]
    assert misses(loud, sampled=False, change=0.5) > MOST
    assert misses(loud, sampled=True, change=0.4) > MOST
    noisy = variances(laws())
    assert noisy[1:].max() > 1.3 * noisy[1:].mean()
    assert misses(loud, sampled=False, forget=True) > 2 * misses(loud, sampled=False)


def table_laws() -> list[tuple[float, TableLaw]]:
    """Of the largest tables of records, at the widths that plans choose for them."""

    def attributes(*sizes: int) -> Record:
        kinds = [Bit() if size == 2 else Categories(names=[f"v{i}" for i in range(size)]) for size in sizes]
        return Record(attributes=dict(zip("abcd", kinds, strict=False)))

    cases = [
        (attributes(3, 2, 2), {0.1: 1, 1.0: 1, 2.0: 3, 2.85: 3, 4.0: 3, 6.0: 3, 8.0: 3}),
        (attributes(4, 4, 4), {0.1: 1, 2.0: 3, 2.85: 4, 4.0: 4, 6.0: 4, 8.0: 4}),
        (attributes(32, 32, 32), {0.1: 1, 2.0: 3, 4.0: 5, 8.0: 8}),
    ]
    found = []
    for record, widths in cases:
        assert record.asked is not None
        views = record.asked.views
        largest = max(views, key=len)
        for eps, width in widths.items():
            found.append((eps, Views(bits=record.bits, views=views, eps=eps, width=width).table_law(largest)))
    return found


def farthest(law: TableLaw, shares: FloatArray, n: int, least: float, *, together: bool, sampled: bool) -> float:
    """The largest radius of a cell of `least` this share, divided by the normal one, if estimates are right."""
    found = _estimated(shares, n, BETA, law)
    if sampled:
        found = found.of_active(Turns(rounds=52))
    lower, upper = found.ends(simultaneous=together)
    # Given what senders hold, by the difference between that and the cell.
    noise = law._by_difference - 0.25**law.bits
    noise[0] = law.entry.held
    variance = (
        walsh_hadamard_of_reals(walsh_hadamard_of_reals(shares) * walsh_hadamard_of_reals(noise)) / shares.size
    )
    variance += sampled * shares * (1 - shares)
    normal = norm.isf(BETA / (2 * shares.size if together else 2)) * np.sqrt(variance / n)
    # The part outside [0, 1] is cut off.
    radius = np.where(shares <= 0.5, upper - shares, shares - lower)
    return float(np.max((radius / np.minimum(normal, 1))[shares >= least]))


@pytest.mark.parametrize("sampled", [False, True])
def test_cells_are_within_1_3_times_the_normal_radius(sampled: bool) -> None:
    """Alone from 300,000 reports on and jointly from 30,000, whether people are spread evenly or not.

    Where reports hardly lie, ten times as many are needed for a cell of a thousandth, and a cell that nobody holds
    needs even more for its tiny error to be known so well. By the variance of the worst population, radii were 1.5
    to 2.0 times the normal one for even populations, and up to 8.
    """
    for eps, law in table_laws():
        even = np.full(1 << law.bits, 0.5**law.bits)
        few = np.zeros(even.size)
        few[[0, 1, even.size // 2, -1]] = 0.5, 0.3, 0.15, 0.05
        rare = 10 if eps > 4 and law.bits > 6 else 1
        for shares, least, times in ((even, 0.0, rare), (few, 0.0 if eps < 2.5 else 0.05, 1)):
            assert farthest(law, shares, times * 300_000, least, together=False, sampled=sampled) <= 1.3
            assert farthest(law, shares, times * 30_000, least, together=True, sampled=sampled) <= 1.3
        assert farthest(law, few, 300_000, 0.0, together=False, sampled=sampled) <= 1.5
