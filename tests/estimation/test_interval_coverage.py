"""Whatever the mechanism and the encoding: estimates are unbiased, and intervals hold at the stated rate.

Small populations are asked many times over, so that the rates are seen. Seeds are fixed; the false-alarm rates in
comments are those of having met an unlucky seed when it was chosen.
"""

import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tests.encodings.samples import one_of_each
from untrackable import Deck, DiscoveredStrings, Fresh, HashedStrings, Memoized, Rappor
from untrackable.encodings import Encoding
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms import CountMeanSketch, HadamardSketch
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.interface import Mechanism

BETA = 0.2
TIMES, PEOPLE = 400, 240
ALARM = 1e-9

MOST = int(binom.isf(ALARM, TIMES, BETA))
"""More misses than this among `TIMES` have a probability below `ALARM` at a rate of BETA."""

TOLD = [name for name, entry in CATALOGUE.items() if not entry.yes_no and name != "fixed-vector-fresh"]
SKETCHES: dict[str, Any] = {
    "cms": (CountMeanSketch, Memoized),
    "cms-fresh": (CountMeanSketch, Fresh),
    "hcms": (HadamardSketch, Memoized),
    "hcms-fresh": (HadamardSketch, Fresh),
}
YES_NO = ["bitwise", "one-change", "votes"]


def made(name: str, values: int) -> Mechanism:
    if name == "rappor":  # fewer bits than published, or little would be told at this size
        return Rappor(bloom_bits=16, hashes=2, f=0.25, p=0.25, q=0.75)
    if name in SKETCHES:  # smaller than published, for speed
        sketch, keep = SKETCHES[name]
        small: Mechanism = keep(sketch(hashes=64, width=256, eps=3.0))
        return small
    return CATALOGUE[name].for_budget(Budget(values=values, eps=3.0, reports=2, people=PEOPLE * TIMES))


def asked(mechanism: Mechanism, values: NDArray[Any], beta: float = BETA, times: int = 1) -> list[Estimate]:
    """As many estimates as times, each from an equal part of the population, as it comes."""
    changing = np.column_stack([values, values]) if type(mechanism).__name__ in ("OneChange", "Votes") else values
    rounds = 2 if changing.ndim == 2 else 1
    seed = zlib.crc32(repr(mechanism).encode())
    reports = np.concatenate([b.reports for b in mechanism.simulate(changing, rounds=rounds, seed=seed)])
    found = []
    for part in np.split(reports, times):
        sums: Any = mechanism.aggregator().add(part[:, :1] if rounds == 2 else part)
        found.append(sums.estimate(beta, candidates=list(range(4)) if sums.takes_candidates else None))
    return found


def holds(found: list[Estimate], truth: NDArray[np.float64]) -> None:
    """Unbiased within 6 standard errors of the mean; too few misses for one value, and for all of them at once."""
    errors = np.array([e.frequencies[: truth.size] for e in found]) - truth
    spread = errors.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(errors.mean(axis=0)) <= 6 * spread + 1e-12)
    alone = [e.interval() for e in found]
    missed = np.array([(i.lower[: truth.size] > truth) | (truth > i.upper[: truth.size]) for i in alone])
    assert missed.sum(axis=0).max() <= MOST
    together = [e.interval(simultaneous=True) for e in found]
    assert (
        sum(bool(np.any((i.lower[: truth.size] > truth) | (truth > i.upper[: truth.size]))) for i in together)
        <= MOST
    )


@pytest.mark.parametrize("name", TOLD)
def test_every_mechanism_of_several_values(name: str) -> None:
    """Half hold 0, a third 1, a sixth 2, nobody 3."""
    values = np.tile(np.repeat([0, 1, 2], [120, 80, 40]), TIMES)
    mechanism = made(name, 4)
    if name == "assigned":  # vectors are given by number: all people are one population
        (found,) = asked(mechanism, values, beta=1e-9)
        assert np.all(np.abs(found.frequencies - [1 / 2, 1 / 3, 1 / 6, 0]) <= found.simultaneous_radius)
        assert np.all(found.simultaneous_radius < 0.1)
        return
    holds(asked(mechanism, values, times=TIMES), np.array([1 / 2, 1 / 3, 1 / 6, 0]))


@pytest.mark.parametrize("name", [name for name in TOLD if name not in ("rappor", "assigned")] + YES_NO)
@pytest.mark.parametrize("share", [0.0, 0.25])
def test_every_mechanism_of_one_bit(name: str, share: float) -> None:
    """Everyone holds 0, or a quarter hold 1."""
    values = np.tile((np.arange(PEOPLE) < share * PEOPLE).astype(int), TIMES)
    holds(asked(made(name, 2), values, times=TIMES), np.array([1 - share, share]))


@pytest.mark.parametrize("name", [*TOLD, *YES_NO])
def test_one_report_has_an_answer_that_covers_everything_it_should(name: str) -> None:
    (found,) = asked(made(name, 2 if name in YES_NO else 4), np.array([0]), beta=0.01)
    assert found.n == 1
    assert np.all(np.isfinite(found.frequencies))
    assert np.all(np.isfinite(found.standard_error))
    interval = found.interval(simultaneous=True)
    assert np.all((interval.lower >= 0) & (interval.upper <= 1) & (interval.lower <= interval.upper))
    assert interval.lower[0] <= 1 <= interval.upper[0]


@pytest.mark.parametrize("encoding", one_of_each(), ids=lambda encoding: type(encoding).__name__)
def test_every_encoding(encoding: Encoding) -> None:
    """Numbers, categories and strings go in, and come back as frequencies whose intervals hold."""
    raws: dict[str, list[Any]] = {
        "Bit": [True, False, False],
        "IntegerRange": [-3, 12, 400],
        "Buckets": [1.0, 3.0, 3.0],
        "Categories": ["grün", "青", "violet"],
        "HashedStrings": ["Ada", "Grace", "Grace"],
        "DiscoveredStrings": ["баба", "дед", "дед"],
    }
    if isinstance(encoding, DiscoveredStrings):
        strings = raws["DiscoveredStrings"]
        fresh = Fresh(encoding.local(3.0))
        sums: Any = fresh.aggregator()
        for batch in fresh.simulate(encoding.encode_many(strings * 100_000), rounds=1, seed=1):
            sums.add(batch.reports)
        told = sums.estimate(1e-6, candidates=[encoding.encode(string) for string in ("баба", "дед", "где")])
        assert np.all(np.abs(told.frequencies - [1 / 3, 2 / 3, 0]) <= told.simultaneous_radius)
        assert np.all(told.simultaneous_radius < 0.02)
        return
    encoded = np.array([encoding.encode(raw) for raw in raws[type(encoding).__name__]])
    deck = Deck(bits=encoding.bits, slots=1, eps_report=3.0)
    if isinstance(encoding, HashedStrings):
        (dense,) = asked(deck, np.repeat(encoded, 200_000), beta=1e-6)
        found = encoding.candidates(dense, ["Ada", "Grace", "Emmy"])
        truth = np.array([1 / 3, 2 / 3, 0])
        assert np.all(np.abs(found.frequencies - truth) <= 6 * found.standard_error)
        assert np.all(np.abs(found.frequencies - truth) <= found.simultaneous_radius)
        return
    truth = np.bincount(encoded, minlength=1 << encoding.bits) / 3
    holds(asked(deck, np.tile(np.repeat(encoded, PEOPLE // 3), TIMES), times=TIMES), truth)


def test_intervals_that_are_too_narrow_are_noticed() -> None:
    """Radii of a third, in the same test, miss too often."""
    values = np.tile(np.repeat([0, 1, 2], [120, 80, 40]), TIMES)
    found = asked(made("deck", 4), values, times=TIMES)
    truth = np.array([1 / 2, 1 / 3, 1 / 6, 0])
    outside = np.array([np.abs(e.frequencies - truth) > e.radius / 3 for e in found])
    assert outside.sum(axis=0).max() > MOST
    with pytest.raises(AssertionError):
        holds(found, truth + np.array([0.05, -0.05, 0, 0]))
