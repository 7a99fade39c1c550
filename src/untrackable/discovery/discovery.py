"""Discovery of strings from sums: search, accept what cannot be chance, take out the clearest, and search again.

A string u that nobody holds has a first level j at which nobody shares its prefix. From there on its buckets are
uniform and independent of everything received. So the probability that the entries of levels j and above reach
those of u is known exactly (`BucketTables`). The level j is unknown, so u is accepted only if this p-value is small
for every j at which more than one string remains to choose from (`string_evidence`). All tests share one error
rate, so by the union bound some string that nobody holds is accepted with probability at most α.

Later passes search tables from which strings were taken out. These strings pass a test that depends on the tables
and on their own buckets alone, so the buckets of strings that nobody holds have no influence on later tables.
docs/strings.md has the proof. In the field's words, these are heavy hitters of a local model.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, strict_json
from untrackable.arrays import FloatArray
from untrackable.discovery.prefix_search import (
    BucketTables,
    KeptPrefixes,
    StringWeights,
    level_width,
    search,
)
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate, with_sampling
from untrackable.estimation.intervals import shown_share, small_beta_radius
from untrackable.notebook_view import NotebookTable

if TYPE_CHECKING:
    import pyarrow as pa


PassProgress = Callable[[int, int, float], None]
"""Called with the pass, the level (both counted from 1) and the share of the level that is done."""
BEAM = 4096
LIMITS = (1.0, 2.0**-7, 2.0**-14)
"""How clear a string must be to be taken out, as a share of alpha; each pass chooses one of these."""
_LARGEST_BEAM = 1 << 20


class FoundString(NamedTuple):
    """A string, and the share of people that hold it.

    `p_value` is adjusted for all possible strings and for every pass of the search (upper): the probability that
    any string that nobody holds has a p-value of at most α is at most α. `frequency` comes from the levels that
    look at the whole string. `lower` and `upper` hold for all strings at once, except for what other strings add to
    the same buckets by chance (2^-bucket_bits on average). `standard_error` is estimated.
    """

    string: str
    frequency: float
    standard_error: float
    lower: float
    upper: float
    p_value: float

    @property
    def share(self) -> float | None:
        """The frequency as it is shown: within [0, 1], and None if the reports do not tell it."""
        return shown_share(self.frequency, self.lower, self.upper)

    def to_json(self) -> dict[str, Any]:
        """All of it, with the frequency as it is shown and the unbiased estimate."""
        return {
            **self._asdict(),
            "frequency": self.share,
            "tells": self.share is not None,
            "unclamped": self.frequency,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Discovered(NotebookTable):
    """Strings that people hold, the largest estimates first, and leads: the next best strings, which may be noise.

    With probability at least 1 - alpha, each of `strings` is held by somebody. `n` is the number of reports. The
    search looked at `tried` prefixes in `passes` passes. In the last one, a string of the greatest length, which is
    `longest`, had to have a share of about `findable` to be found (estimated); None if no share was enough.

    Leads are in the order of what all levels together say about them. That order finds more of the frequent strings
    than their own estimates would, which come from the levels that look at the whole string.
    """

    strings: tuple[FoundString, ...]
    leads: tuple[FoundString, ...]
    n: int
    alpha: float
    passes: int
    tried: int
    findable: float | None
    longest: int

    def best(self, k: int) -> list[FoundString]:
        """The k best strings, certain or not: first `strings`, then leads."""
        return [*self.strings, *self.leads][:k]

    def to_arrow(self) -> "pa.Table":
        """A row for each of `strings` and then of `leads`; the column `certain` tells them apart."""
        metadata = {"reports": str(self.n), "alpha": repr(self.alpha)}
        return NotebookTable.to_arrow(self).replace_schema_metadata(metadata)

    def to_json(self) -> str:
        """A JSON object, which also says which numbers are bounds."""
        plain: dict[str, Any] = asdict(self)
        for name in ("strings", "leads"):
            plain[name] = [string.to_json() for string in getattr(self, name)]
        certainty = {"p_value": "upper", "lower": "upper", "upper": "upper", "standard_error": "estimated"}
        certainty["findable"] = "estimated"
        return strict_json.write(strict_json.finite({**plain, "certainty": certainty}))


def discover(
    encoding: DiscoveredStrings,
    sums: Aggregator,
    *,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    heard: float = 1.0,
    progress: PassProgress = lambda passes, level, done: None,
) -> Discovered:
    """Find the frequent strings that people hold, with no list to choose from.

    With probability at least 1 - alpha, each of `strings` is held by somebody. `beam` is the number of prefixes
    that nobody shares and a level keeps on average; it keeps up to 16 times as many if each has few children. A
    larger beam finds rarer strings, and takes longer. If only the share `heard` of the people answered
    (`share_heard`), intervals hold for all who were active, and standard errors count who answered.
    """
    levels = _levels(encoding, sums)
    alpha = checks.open_probability("alpha", alpha)
    leads = checks.integer("leads", leads, low=0)
    beam = checks.integer("beam", beam, low=1, high=_LARGEST_BEAM)
    entries = levels.entries()
    accepted: dict[str, float] = {}
    taken: set[str] = set()
    left, passes, tried = entries, 0, 0
    while True:
        passes += 1
        tables = BucketTables(left, levels_to_reach(encoding, alpha * table_share(passes)))
        kept = search(encoding, tables, beam, partial(progress, passes))
        tried += sum(level.tried for level in kept)
        evidence = string_evidence(encoding, tables, kept)
        names = _names(encoding, kept[-1])
        p_values = evidence.adjusted / table_share(passes)
        accepted = {**_at_most(alpha, p_values, names), **accepted}
        clear = _clear(evidence.own / table_share(passes), alpha, names, accepted)
        if clear <= taken:
            break
        taken |= clear
        places = _places(encoding, sorted(taken))
        left = entries_without(levels, entries, places, fitted_frequencies(levels, entries, places))
    chosen = _leads(evidence.whole, names, kept, set(accepted), leads)
    strings = _measured(encoding, levels, entries, accepted, alpha, heard)
    return Discovered(
        tuple(sorted(strings, key=lambda string: -string.frequency)),
        tuple(
            lead
            for i in chosen
            for lead in _measured(encoding, levels, left, {str(names[i]): float(p_values[i])}, alpha, heard)
        ),
        levels.n,
        alpha,
        passes,
        tried,
        findable_share(encoding, levels, tables, kept, alpha * table_share(passes)),
        encoding.longest,
    )


def table_share(passes: int) -> float:
    """The share of the error rate for each table that the k-th pass may have to search, s_k/3^(k-1).

    The k-th pass has one of 3^(k-1) tables, since every pass before it chose one of three limits. All tables of a
    pass share s_1 = s_2 = 2/5 and s_k = 4/(5·2^k) for k > 2, which sum to 1 and leave most to the first two.
    """
    of_pass = 0.4 if passes <= 2 else 0.8 * 0.5**passes
    return of_pass * float(len(LIMITS)) ** (1 - passes)


def _clear(own: FloatArray, alpha: float, names: list[str | None], accepted: dict[str, float]) -> set[str]:
    """The strings to take out: all within a limit, the largest within which every string was accepted.

    So what is taken out depends on which limit was chosen and on each string itself, but on no other string.
    """
    for limit in LIMITS:
        clear = set(_at_most(alpha * limit, own, names))
        if clear <= accepted.keys():
            return clear
    return set()


def _at_most(alpha: float, p_values: FloatArray, names: list[str | None]) -> dict[str, float]:
    """The strings whose p-value is at most `alpha`, with their p-values."""
    return {name: float(p_values[i]) for i in np.flatnonzero(p_values <= alpha) if (name := names[i]) is not None}


def _leads(
    p_values: FloatArray, names: list[str | None], kept: list[KeptPrefixes], accepted: set[str], leads: int
) -> list[int]:
    """The next best strings, one for each first prefix: if a prefix is noise, all that begin with it are noise."""
    ancestors = np.arange(kept[-1].ends.size)
    for prefixes in reversed(kept[1:]):
        ancestors = prefixes.parents[ancestors]
    chosen: list[int] = []
    seen: set[int] = set()
    for i in np.argsort(p_values, kind="stable").tolist():
        name, ancestor = names[i], int(ancestors[i])
        if len(chosen) < leads and name is not None and name not in accepted and ancestor not in seen:
            chosen.append(i)
            seen.add(ancestor)
    return chosen


def _levels(encoding: DiscoveredStrings, sums: Aggregator) -> "LevelEstimates":
    if not isinstance(encoding, DiscoveredStrings):
        raise TypeError(f"encoding must be DiscoveredStrings, not {type(encoding).__name__}")
    if not sums.parts:
        raise TypeError(f"sums must be those of reports with levels, not {type(sums).__name__}")
    if len(sums.parts) != encoding.levels or sums.part_bits != encoding.bucket_bits:
        raise ValueError(
            f"sums must be of {encoding.levels} levels of {encoding.bucket_bits} bits, as the encoding, "
            f"got {len(sums.parts)} of {sums.part_bits}"
        )
    if sums.n == 0:
        raise ValueError("there are no reports to search")
    counts = np.array([part.n for part in sums.parts])
    estimates = tuple(part.estimate() if part.n else None for part in sums.parts)
    return LevelEstimates(estimates, counts / counts.sum(), 1 << encoding.bucket_bits)


def _names(encoding: DiscoveredStrings, prefixes: KeptPrefixes) -> list[str | None]:
    """The strings; None for bytes that are not UTF-8, which nobody can hold."""
    return [encoding.text((row[row > 0] - 1).tolist()) for row in prefixes.symbols]


def _places(encoding: DiscoveredStrings, strings: list[str]) -> NDArray[np.int64]:
    return encoding.encode_many(strings).astype(np.int64)


def _measured(
    encoding: DiscoveredStrings,
    levels: "LevelEstimates",
    entries: FloatArray,
    strings: dict[str, float],
    alpha: float,
    heard: float,
) -> list[FoundString]:
    """Frequencies with their errors, from the buckets of those levels that look at the whole string.

    Other strings that were not found share its shorter prefixes, and would count for it. So would another of these
    strings in the same bucket, so that level is left out; where no level is left, the lower end is 0. Those whose
    reports are about these levels are a random part of the people who are `heard`.
    """
    weights = StringWeights.of(encoding)
    measured = []
    places = _places(encoding, list(strings))
    sizes = np.array(encoding.prefixes)
    for (string, p_value), own in zip(strings.items(), places, strict=True):
        length = encoding.length(string)
        whole = (sizes > length) | (sizes == encoding.longest)
        alone = whole & (np.sum(places == own, axis=0) == 1)
        lonely = string_estimate(levels, entries, own, alone)
        estimate = lonely or string_estimate(levels, entries, own, whole)
        if estimate is None:  # No report was about the whole string.
            measured.append(FoundString(string, 0.0, 1.0, 0.0, 1.0, min(1.0, p_value)))
            continue
        # The interval holds for each choice of levels that the other strings can lead to.
        choices = (1 << int(whole.sum())) - 1
        reach = small_beta_radius(estimate.deviation, alpha * weights.string(length) / choices)
        low = max(0.0, estimate.frequency - reach) if lonely else 0.0
        high = min(1.0, estimate.frequency + reach)
        error = with_sampling(
            estimate.standard_error, estimate.frequency, estimate.n, heard * estimate.n / levels.n
        )
        measured.append(FoundString(string, estimate.frequency, error, low, high, min(1.0, p_value)))
    return measured


# --- the frequencies of strings, and what remains of all buckets without them -----------------------------


@dataclass(frozen=True, slots=True)
class LevelEstimates:
    """For every level the estimate of all its buckets (None if it has no reports), and its share of the reports."""

    estimates: tuple[Estimate | None, ...]
    shares: FloatArray
    buckets: int

    @property
    def n(self) -> int:
        """The number of reports of all levels."""
        return sum(estimate.n for estimate in self.estimates if estimate)

    def entries(self) -> FloatArray:
        """The contribution of each bucket to the mean over all levels, less what collisions add on average."""
        entries = np.zeros((len(self.estimates), self.buckets))
        for row, estimate, share in zip(entries, self.estimates, self.shares, strict=True):
            if estimate:
                np.multiply(estimate.frequencies - 1 / self.buckets, share / (1 - 1 / self.buckets), out=row)
        return entries


class StringEstimate(NamedTuple):
    """The frequency of one string from n reports, its standard error by noise (estimated), and s in its radius.

    The radius is s·√(ln(2/β)/2).
    """

    frequency: float
    standard_error: float
    deviation: float
    n: int


def fitted_frequencies(levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """The frequencies of strings by weighted least squares. `places` has a row for each: its buckets by level.

    A bucket holds all accepted strings that fall into it, and little else. So their frequencies are those that
    explain all their buckets best, where a bucket counts by the reports of its level.
    """
    strings = len(places)
    rows, values, weights = [], [], []
    for level, (estimate, share) in enumerate(zip(levels.estimates, levels.shares, strict=True)):
        if estimate is None:
            continue
        distinct, which = np.unique(places[:, level], return_inverse=True)
        design = np.zeros((distinct.size, strings))
        design[which, np.arange(strings)] = 1
        rows.append(design)
        values.append(entries[level, distinct] / share)
        weights.append(np.full(distinct.size, estimate.n))
    design, value, weight = (np.concatenate(column) for column in (rows, values, weights))
    root = np.sqrt(weight)
    return np.asarray(np.linalg.pinv(design * root[:, None]) @ (root * value))


def string_estimate(
    levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64], whole: NDArray[np.bool_]
) -> StringEstimate | None:
    """Estimate one string from the `whole` levels, which look at all of it: others share its buckets by chance.

    It is the mean of the levels' estimates, weighted by their reports; None if there are no reports.
    """
    known = [(i, estimate) for i, estimate in enumerate(levels.estimates) if whole[i] and estimate is not None]
    total = sum(estimate.n for _, estimate in known)
    if not total:
        return None
    correction = 1 / (1 - 1 / levels.buckets)
    mean = math.fsum(estimate.n / total * entries[i, places[i]] / levels.shares[i] for i, estimate in known)
    variance = math.fsum((e.n / total * correction * e.standard_error[places[i]]) ** 2 for i, e in known)
    square = math.fsum((e.n / total * correction * e.span[places[i]]) ** 2 / e.n for i, e in known)
    return StringEstimate(mean, math.sqrt(variance), math.sqrt(square), total)


def entries_without(
    levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64], frequencies: FloatArray
) -> FloatArray:
    """The entries that remain once strings of these frequencies are subtracted from their buckets."""
    left = entries.copy()
    for row, share, buckets in zip(left, levels.shares, places.T, strict=True):
        np.subtract.at(row, buckets, share * frequencies)
    return left


# --- how clearly kept strings stand out -------------------------------------------------------------------

_USUAL_RANK = 1000.0
"""About the rank of a prefix that is looked into, times the sum of all 1/r."""


class Evidence(NamedTuple):
    """For every kept string three numbers that are small if it stands out, each the largest over all first levels.

    `adjusted` is a p-value, adjusted for all strings by the ranks of prefixes. `own` is computed alike, with the
    number of prefixes that are expected to rank higher by chance instead of the rank. So it depends on the tables
    and on the string's own buckets alone; it is no p-value. `whole` is the adjusted p-value of all levels together.
    """

    adjusted: FloatArray
    own: FloatArray
    whole: FloatArray


def tested_levels(encoding: DiscoveredStrings) -> list[int]:
    """First levels, counted from 0, at which more than one string is left to choose from."""
    return [0, *(i for i in range(1, encoding.levels) if encoding.prefixes[i - 1] < encoding.longest)]


def levels_to_reach(encoding: DiscoveredStrings, alpha: float, rank: float = _USUAL_RANK) -> dict[int, float]:
    """The p-value that a string of the greatest length has to reach in each test, by first level.

    `rank` is the rank of its prefix in the later tests, times the sum of all 1/r.
    """
    strings, tested = StringWeights.of(encoding), tested_levels(encoding)
    each = alpha * strings.string(encoding.longest) / len(tested)
    later = {i: each / strings.prefix(encoding.prefixes[i - 1]) / rank for i in tested[1:]}
    return {0: each, **later}


def string_evidence(encoding: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
    """From the entries at each level, adjusted for all strings that the test could be about.

    The test of first level j compares a string with all that go on from a prefix v of level j-1 that somebody
    shares. The r-th most striking of the kept prefixes gets a share of the error rate in proportion to 1/r, so the
    shares of all prefixes that somebody shares sum to at most one.
    """
    strings, last, count = StringWeights.of(encoding), kept[-1], len(kept)
    weights = strings.prefix_weights(encoding.longest)[last.ends]
    tested = tested_levels(encoding)
    whole = _tail(tables, last, 0, count) * len(tested) / weights
    adjusted, own = whole.copy(), whole.copy()
    ancestors = np.arange(last.ends.size)
    for first in range(count - 1, 0, -1):
        ancestors = kept[first].parents[ancestors]
        if first not in tested:
            continue  # The prefix is a whole string, so only one string is left.
        prefix = strings.prefix(encoding.prefixes[first - 1])
        p_values = _tail(tables, last, first, count) * len(tested) * prefix / weights
        # The same holds for prefixes that have ended.
        p_values[kept[first - 1].ends[ancestors] < encoding.prefixes[first - 1]] = 0.0
        shares = 1 / np.arange(1, kept[first - 1].ends.size + 1)
        np.maximum(adjusted, p_values * shares.sum() / shares[ancestors], out=adjusted)
        np.maximum(own, p_values * (1 + _tail(tables, last, 0, first) / prefix), out=own)
    return Evidence(adjusted, own, whole)


def _tail(tables: BucketTables, kept: KeptPrefixes, first: int, last: int) -> FloatArray:
    """The probability that a uniform bucket of each of these levels adds up to as much as a string's."""
    return tables.null.tail(first, last, kept.steps[:, first:last].sum(axis=1, dtype=np.int64))


# --- from which share on a string can be found ------------------------------------------------------------

_SHARES = np.geomspace(1e-7, 1.0, 2000)
"""The shares that are tried."""


def findable_share(
    encoding: DiscoveredStrings,
    levels: LevelEstimates,
    tables: BucketTables,
    kept: list[KeptPrefixes],
    alpha: float,
) -> float | None:
    """The share from which on one more string of the greatest length would pass every test, without its own noise.

    Noise is one limit and buckets are the other. Many strings that nobody holds fall by chance into the buckets of
    heavy strings at every level. If there are few buckets, some do so at all levels and look just like a held
    string. None if no share is enough. It is estimated: noise may lift a rarer string above the limit, or press
    one below.
    """
    tests, count = levels_to_reach(encoding, alpha, rank=1.0), encoding.levels
    # A string's own buckets count as well, so no p-value is below that of one bucket of each level.
    if any(float(levels.buckets) ** (i - count) > p_value for i, p_value in tests.items()):
        return None
    passing = [_passing(tables, kept, levels, tests, cap) for cap in tables.caps]
    missed = np.flatnonzero(~np.any(passing, axis=0))
    if not missed.size:
        return float(_SHARES[0])
    return float(_SHARES[missed[-1] + 1]) if missed[-1] + 1 < _SHARES.size else None


def _passing(
    tables: BucketTables, kept: list[KeptPrefixes], levels: LevelEstimates, tests: dict[int, float], cap: float
) -> NDArray[np.bool_]:
    """Whether a string of each share passes all tests under one cap."""
    count = len(kept)
    entries = np.rint(np.minimum(cap, np.outer(levels.shares * tables.scale, _SHARES))).astype(np.int64)
    entries = np.minimum(entries, tables.highest)
    passing = np.ones(_SHARES.size, dtype=np.bool_)
    for first, p_value in tests.items():
        ranks: FloatArray | float = 1.0
        if first:
            before = np.sort(kept[first - 1].steps.sum(axis=1, dtype=np.int64))
            higher = before.size - np.searchsorted(before, entries[:first].sum(axis=0))
            ranks = (1 + higher) * (1 / np.arange(1, before.size + 2)).sum()
        passing &= tables.caps[cap].tail(first, count, entries[first:].sum(axis=0)) * ranks <= p_value
    return passing


# --- how long a search takes, by the prefixes that it looks at --------------------------------------------

_PASSES = (20, 12, 9)
"""The work of each pass, in proportion. There are three as a rule, and any further one is like the last."""
_TABLES = 1 << 25
"""Tables are made for each pass, which takes as long as to look at this many prefixes."""
_PREFIXES_PER_SECOND = 7e7


def search_seconds(encoding: DiscoveredStrings, beam: int) -> float:
    """About how long a search takes on one core."""
    return sum(_PASSES) / _PASSES[0] * sum(_pass_work(encoding, beam)) / _PREFIXES_PER_SECOND


def search_share(encoding: DiscoveredStrings, beam: int, passes: int, level: int, done: float) -> float:
    """The share of a search that is done, within a level of a pass; both are counted from 1.

    It is rounded once, at the end, so that it never goes back and never exceeds 1.
    """
    work = list(_pass_work(encoding, beam))
    within = sum(work[: level - 1]) + done * work[level - 1]
    sizes = _PASSES + _PASSES[-1:] * (passes - len(_PASSES))
    return (sum(sizes[: passes - 1]) * sum(work) + within * sizes[passes - 1]) / (sum(sizes) * sum(work))


def _pass_work(encoding: DiscoveredStrings, beam: int) -> Iterator[int]:
    """The number of prefixes that each level of a pass looks at, if the one before keeps `level_width` of them."""
    for level, (before, size) in enumerate(pairwise((0, *encoding.prefixes))):
        parents = level_width(encoding, level - 1, beam) if level else 1
        yield parents * encoding.symbols ** (size - before) + (0 if level else _TABLES)
