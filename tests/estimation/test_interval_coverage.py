"""Whatever the mechanism and the encoding: estimates are unbiased, and intervals hold at the stated rate.

Nor are intervals wider than they must be: those of counts are normal ones, the radii of others are at most what
Hoeffding's inequality gives for what one report can change, and standard errors are the spread that is seen. Small
populations are asked many times over, so that the rates are seen. Seeds are fixed; the false-alarm rates in
comments are those of having met an unlucky seed when it was chosen.
"""

import math
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

from tests.encodings.samples import one_of_each
from untrackable import Deck, DiscoveredStrings, Fresh, HashedStrings, Memoized, Rappor
from untrackable.encodings import Encoding
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms import CountMeanSketch, HadamardSketch, Loloha
from untrackable.mechanisms.interface import Mechanism
from untrackable.settings.catalogue import EVERY_ROUND
from untrackable.settings.demands import Budget

BETA = 0.2
TIMES, PEOPLE = 400, 240
ALARM = 1e-9

MOST = int(binom.isf(ALARM, TIMES, BETA))
"""More misses than this among `TIMES` have a probability below `ALARM` at a rate of BETA."""

SPREAD = [math.sqrt(float(chi2.ppf(rate, TIMES - 1)) / (TIMES - 1)) for rate in (ALARM, 1 - ALARM)]
"""By more than these factors, a standard deviation seen in `TIMES` normal errors is off with probability ALARM."""
NEARLY = 1 + 1e-9
"""For rounding errors."""

SLIGHTLY = 0.1
"""By which share an interval of a count may be wider than the normal one."""

TOLD = [name for name, entry in EVERY_ROUND.items() if not entry.yes_no and name != "fixed-vector-fresh"]
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
    return EVERY_ROUND[name].for_budget(Budget(values=values, eps=3.0, reports=2, people=PEOPLE * TIMES))


def simulated(mechanism: Mechanism, values: NDArray[Any], seed: int) -> NDArray[Any]:
    """Reports of the first round."""
    changing = np.column_stack([values, values]) if type(mechanism).__name__ in ("OneChange", "Votes") else values
    rounds = 2 if changing.ndim == 2 else 1
    reports = np.concatenate([b.reports for b in mechanism.simulate(changing, rounds=rounds, seed=seed)])
    return reports[:, :1] if rounds == 2 else reports


def estimated(mechanism: Mechanism, reports: NDArray[Any], beta: float) -> Estimate:
    sums: Any = mechanism.aggregator().add(reports)
    found: Estimate = sums.estimate(beta, candidates=list(range(4)) if sums.takes_candidates else None)
    return found


def asked(mechanism: Mechanism, values: NDArray[Any], beta: float = BETA, times: int = 1) -> list[Estimate]:
    """As many estimates as times, each from an equal part of the population, as it comes."""
    reports = simulated(mechanism, values, zlib.crc32(repr(mechanism).encode()))
    return [estimated(mechanism, part, beta) for part in np.split(reports, times)]


def attained(mechanism: Mechanism, values: int) -> NDArray[np.float64]:
    """By how much one report moves n times each frequency, seen in estimates from one report each.

    With 600 people for each value, the two extremes of every frequency are among them.
    """
    reports = simulated(mechanism, np.tile(np.arange(values), 600), seed=1)
    alone = [estimated(mechanism, reports[i : i + 1], BETA).frequencies for i in range(len(reports))]
    moved: NDArray[np.float64] = np.ptp(np.array(alone), axis=0)
    return moved


def not_too_wide(
    mechanism: Mechanism, found: list[Estimate], moves: NDArray[np.float64], times: float = 1.0
) -> None:
    """Intervals, made `times` as wide, are at most as wide as they must be.

    Those of counts are normal ones, and up to SLIGHTLY and one report wider. All others have radii of at most
    Hoeffding's: what one report moves, times √(ln(2m/beta)/2n) for m values. Where values are hashed, half of beta
    is for the noise; the other half is for collisions, by Bernstein's inequality over the hash functions of a
    sketch, and for next to nothing with the many seeds of LOLOHA.
    """
    base = getattr(mechanism, "base", None)
    sketch = base if isinstance(base, (CountMeanSketch, HadamardSketch)) else None
    hashed = sketch is not None or isinstance(mechanism, Loloha)
    for e in found:
        for together in (False, True):
            level = e.beta / (2 if hashed else 1) / (e.statistics if together else 1)
            lower, upper = e.ends(slice(0, moves.size), simultaneous=together)
            bound = moves * math.sqrt(math.log(2 / level) / (2 * e.n))
            if sketch is not None:
                log = math.log(2 / level)
                variance = 2 * sketch.hashes * log / (sketch.width - 1)
                bound += (log / 3 + math.sqrt(log**2 / 9 + variance)) / sketch.hashes
            elif e.chance is not None or hashed:
                error = e.standard_error[: moves.size]
                if hashed:  # Its counts may be sums of any indicators, as those of a sample.
                    share = np.clip(e.frequencies[: moves.size], 0, 1)
                    error = np.sqrt(error**2 + share * (1 - share) / e.n)
                bound = (1 + SLIGHTLY) * norm.isf(level / 2) * error + moves / e.n + 1e-4 * hashed
            assert np.all(times * (upper - lower) / 2 <= bound * NEARLY)


def spreads_as_said(found: list[Estimate], size: int) -> None:
    """Standard errors are the spread of the estimates, neither less nor more."""
    seen = np.array([e.frequencies[:size] for e in found]).std(axis=0, ddof=1)
    said = np.sqrt(np.mean([e.standard_error[:size] ** 2 for e in found], axis=0))
    assert np.all(seen >= SPREAD[0] * said)
    assert np.all(seen <= SPREAD[1] * said)


def holds(found: list[Estimate], truth: NDArray[np.float64]) -> None:
    """Unbiased within 6 standard errors of the mean; too few misses for one value, and for all of them at once."""
    spreads_as_said(found, truth.size)
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
        (whole,) = asked(mechanism, values, beta=1e-9)
        assert np.all(np.abs(whole.frequencies - [1 / 2, 1 / 3, 1 / 6, 0]) <= whole.simultaneous_radius)
        assert np.all(whole.simultaneous_radius < 0.1)
        not_too_wide(mechanism, [whole], attained(mechanism, 4))
        return
    found = asked(mechanism, values, times=TIMES)
    holds(found, np.array([1 / 2, 1 / 3, 1 / 6, 0]))
    not_too_wide(mechanism, found, attained(mechanism, 4))


@pytest.mark.parametrize("name", [name for name in TOLD if name not in ("rappor", "assigned")] + YES_NO)
@pytest.mark.parametrize("share", [0.0, 0.25])
def test_every_mechanism_of_one_bit(name: str, share: float) -> None:
    """Everyone holds 0, or a quarter hold 1."""
    values = np.tile((np.arange(PEOPLE) < share * PEOPLE).astype(int), TIMES)
    mechanism = made(name, 2)
    found = asked(mechanism, values, times=TIMES)
    holds(found, np.array([1 - share, share]))
    not_too_wide(mechanism, found, attained(mechanism, 2))


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


@pytest.mark.parametrize("name", ["deck", "rappor", "ololoha", "hcms"])
def test_intervals_that_are_too_wide_are_noticed(name: str) -> None:
    """A third wider than they must be, in the same tests, whatever the seed."""
    values = np.tile(np.repeat([0, 1, 2], [120, 80, 40]), 2)
    mechanism = made(name, 4)
    found, moves = asked(mechanism, values, times=2), attained(mechanism, 4)
    not_too_wide(mechanism, found, moves)
    with pytest.raises(AssertionError):
        not_too_wide(mechanism, found, moves, times=1.3)


@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_standard_errors_that_are_not_the_spread_are_noticed(factor: float) -> None:
    found = asked(made("deck", 4), np.tile(np.repeat([0, 1, 2], [120, 80, 40]), TIMES), times=TIMES)
    spreads_as_said(found, 4)
    with pytest.raises(AssertionError):
        spreads_as_said([replace(e, standard_error=factor * e.standard_error) for e in found], 4)
