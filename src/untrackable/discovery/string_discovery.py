"""Discovery of strings from sums: search, accept what cannot be chance, take it out, and search again.

A string u that nobody holds has a first level j at which nobody shares its prefix. From there on its buckets are
uniform and independent of everything received. So the probability that the entries of levels j and above reach
those of u is known exactly (`bucket_tables`). Nobody knows j, so u is accepted only if this p-value is small for
every j at which more than one string remains to choose from. How small depends on how many strings there are. At j
= 1 these are all strings (`string_weights`). At later j they are those that go on from a prefix that somebody
shares, where the r-th most striking kept prefix gets a share of the error rate in proportion to 1/r. Every pass of
the search gets a share (`pass_share`), and every level that is tested an equal part of that. All shares sum to at
most one. So by the union bound, some string that nobody holds is accepted with probability at most α.
docs/heavy-hitters.md has the proof.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.discovery.bucket_tables import BucketTables
from untrackable.discovery.discovered import Discovered, FoundString
from untrackable.discovery.level_estimates import (
    LevelEstimates,
    entries_without,
    fitted_frequencies,
    string_estimate,
)
from untrackable.discovery.prefix_search import KeptPrefixes, search
from untrackable.discovery.string_weights import StringWeights
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.intervals import FloatArray, small_beta_radius

Progress = Callable[[int, int, float], None]
"""Called with the pass, the level (both counted from 1) and how much of the level is done."""

BEAM = 4096
LARGEST_BEAM = 1 << 20


def discover(
    encoding: DiscoveredStrings,
    sums: Aggregator,
    *,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    progress: Progress | None = None,
) -> Discovered:
    """Find the frequent strings that people hold, with no list to choose from.

    With probability at least 1 - alpha, each of `strings` is held by somebody. `beam` is how many prefixes that
    nobody shares a level keeps on average; it keeps up to 16 times as many if each has few children. A larger beam
    finds rarer strings, and takes longer.
    """
    levels = _levels(encoding, sums)
    alpha = checks.open_probability("alpha", alpha)
    leads = checks.integer("leads", leads, low=0)
    beam = checks.integer("beam", beam, low=1, high=LARGEST_BEAM)
    entries = levels.entries()
    accepted: dict[str, float] = {}
    left, passes, tried = entries, 0, 0
    new: dict[str, float] = {}
    while passes < 2 or new:
        passes += 1
        if passes == 1 or new:  # Otherwise nothing was taken out, and the search would find the same.
            tables = BucketTables(left, alpha * StringWeights.of(encoding).string(encoding.longest))
            kept = search(encoding, tables, beam, _step(progress, passes))
            tried += sum(level.tried for level in kept)
            evidence = _evidence(encoding, tables, kept)
            names = _names(encoding, kept[-1])
        p_values = evidence.largest / pass_share(passes)
        new = {
            name: float(p_values[i])
            for i in np.flatnonzero(p_values <= alpha)
            if (name := names[i]) is not None and name not in accepted
        }
        accepted |= new
        if new:
            places = _places(encoding, list(accepted))
            left = entries_without(levels, entries, places, fitted_frequencies(levels, entries, places))
    chosen = _leads(evidence.whole, names, _ancestors(kept), set(accepted), leads)
    strings = _measured(encoding, levels, entries, accepted, alpha)
    return Discovered(
        tuple(sorted(strings, key=lambda found: -found.frequency)),
        tuple(
            found
            for i in chosen
            for found in _measured(encoding, levels, left, {str(names[i]): float(p_values[i])}, alpha)
        ),
        levels.n,
        alpha,
        passes,
        tried,
    )


def pass_share(passes: int) -> float:
    """The share of the error rate for the k-th pass: 1/10, 1/2, and 2/(5(k-2)(k-1)) for k > 2. They sum to 1.

    The first pass finds the heaviest strings, for which little is enough. The second finds most of the others.
    """
    return (0.1, 0.5)[passes - 1] if passes <= 2 else 0.4 / ((passes - 2) * (passes - 1))


def _leads(
    p_values: FloatArray, names: list[str | None], ancestors: NDArray[np.int64], accepted: set[str], leads: int
) -> list[int]:
    """The next best strings, one for each first prefix: if a prefix is noise, all that begin with it are noise."""
    found: list[int] = []
    seen: set[int] = set()
    for i in np.argsort(p_values, kind="stable").tolist():
        name, ancestor = names[i], int(ancestors[i])
        if len(found) < leads and name is not None and name not in accepted and ancestor not in seen:
            found.append(i)
            seen.add(ancestor)
    return found


def _ancestors(kept: list[KeptPrefixes]) -> NDArray[np.int64]:
    """The index of the first prefix of every string that was kept."""
    ancestors = np.arange(kept[-1].ends.size)
    for prefixes in reversed(kept[1:]):
        ancestors = prefixes.parents[ancestors]
    return ancestors


def _levels(encoding: DiscoveredStrings, sums: Aggregator) -> LevelEstimates:
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


class Evidence(NamedTuple):
    """Adjusted p-values of every kept string: the largest over all first levels, and that of all levels."""

    largest: FloatArray
    whole: FloatArray


def _evidence(encoding: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
    """The p-values from the entries at each level, each adjusted for all strings that the test could be about."""
    strings, last = StringWeights.of(encoding), kept[-1]
    count = len(kept)
    weights = strings.prefix_weights(encoding.longest)[last.ends]
    tests = sum(size < encoding.longest for size in encoding.prefixes[:-1]) + 1
    largest = np.zeros(last.ends.size)
    ancestors = np.arange(last.ends.size)
    for first in range(count - 1, -1, -1):
        sums = last.steps[:, first:].sum(axis=1, dtype=np.int64)
        p_values = tables.null.tail(first, count, sums) * tests
        if first == 0:
            adjusted = p_values / weights
        else:
            ancestors = kept[first].parents[ancestors]
            size = encoding.prefixes[first - 1]
            shares = 1 / np.arange(1, kept[first - 1].ends.size + 1)
            adjusted = p_values * shares.sum() / shares[ancestors] * strings.prefix(size) / weights
            if size == encoding.longest:
                continue  # The prefix is a whole string, so only one string is left.
            adjusted[kept[first - 1].ends[ancestors] < size] = 0.0  # The same holds for prefixes that have ended.
        largest = np.maximum(largest, adjusted)
    return Evidence(largest, adjusted)


def _names(encoding: DiscoveredStrings, prefixes: KeptPrefixes) -> list[str | None]:
    """The strings; None for bytes that are not UTF-8, which nobody can hold."""
    return [encoding.text((row[row > 0] - 1).tolist()) for row in prefixes.symbols]


def _places(encoding: DiscoveredStrings, strings: list[str]) -> NDArray[np.int64]:
    return encoding.encode_many(strings).astype(np.int64)


def _measured(
    encoding: DiscoveredStrings,
    levels: LevelEstimates,
    entries: FloatArray,
    strings: dict[str, float],
    alpha: float,
) -> list[FoundString]:
    """Frequencies with their errors, from the buckets of those levels that look at the whole string.

    Other strings that were not found share its shorter prefixes, and would count for it.
    """
    weights = StringWeights.of(encoding)
    measured = []
    for (string, p_value), places in zip(strings.items(), _places(encoding, list(strings)), strict=True):
        length = encoding.length(string)
        sizes = np.array(encoding.prefixes)
        found = string_estimate(levels, entries, places, (sizes > length) | (sizes == encoding.longest))
        if found is None:  # No report was about the whole string.
            measured.append(FoundString(string, 0.0, 1.0, 0.0, 1.0, min(1.0, p_value)))
            continue
        reach = small_beta_radius(found.deviation, alpha * weights.string(length))
        low, high = max(0.0, found.frequency - reach), min(1.0, found.frequency + reach)
        measured.append(FoundString(string, found.frequency, found.standard_error, low, high, min(1.0, p_value)))
    return measured


def _step(progress: Progress | None, passes: int) -> Callable[[int, float], None]:
    def step(level: int, done: float) -> None:
        if progress:
            progress(passes, level, done)

    return step
