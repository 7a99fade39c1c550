"""Discovery of strings from sums: search, accept what cannot be chance, take out the clearest, and search again.

A string u that nobody holds has a first level j at which nobody shares its prefix. From there on its buckets are
uniform and independent of everything received. So the probability that the entries of levels j and above reach
those of u is known exactly (`bucket_tables`). Nobody knows j, so u is accepted only if this p-value is small for
every j at which more than one string remains to choose from (`string_evidence`). All tests share one error rate, so
by the union bound some string that nobody holds is accepted with probability at most α.

Later passes search tables from which strings were taken out. These strings pass a test that depends on the tables
and on their own buckets alone, so the buckets of strings that nobody holds have no influence on later tables.
docs/heavy-hitters.md has the proof.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.discovery.bucket_tables import BucketTables
from untrackable.discovery.discovered import Discovered, FoundString
from untrackable.discovery.findable_share import findable_share
from untrackable.discovery.level_estimates import (
    LevelEstimates,
    entries_without,
    fitted_frequencies,
    string_estimate,
)
from untrackable.discovery.prefix_search import KeptPrefixes, LevelProgress, search
from untrackable.discovery.string_evidence import levels_to_reach, string_evidence
from untrackable.discovery.string_weights import StringWeights
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.intervals import FloatArray, small_beta_radius
from untrackable.estimation.sampling import with_sampling

PassProgress = Callable[[int, int, float], None]
"""Called with the pass, the level (both counted from 1) and how much of the level is done."""

BEAM = 4096
LIMITS = (1.0, 2.0**-7, 2.0**-14)
"""How clear a string must be to be taken out, as a share of alpha; each pass chooses one of these."""
LARGEST_BEAM = 1 << 20


def discover(
    encoding: DiscoveredStrings,
    sums: Aggregator,
    *,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    heard: float = 1.0,
    progress: PassProgress | None = None,
) -> Discovered:
    """Find the frequent strings that people hold, with no list to choose from.

    With probability at least 1 - alpha, each of `strings` is held by somebody. `beam` is how many prefixes that
    nobody shares a level keeps on average; it keeps up to 16 times as many if each has few children. A larger beam
    finds rarer strings, and takes longer. If only the share `heard` of the people answered (`share_heard`),
    intervals hold for all who were active, and standard errors count who answered.
    """
    levels = _levels(encoding, sums)
    alpha = checks.open_probability("alpha", alpha)
    leads = checks.integer("leads", leads, low=0)
    beam = checks.integer("beam", beam, low=1, high=LARGEST_BEAM)
    entries = levels.entries()
    accepted: dict[str, float] = {}
    taken: set[str] = set()
    left, passes, tried = entries, 0, 0
    while True:
        passes += 1
        tables = BucketTables(left, levels_to_reach(encoding, alpha * table_share(passes)))
        kept = search(encoding, tables, beam, _step(progress, passes))
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
    chosen = _leads(evidence.whole, names, _ancestors(kept), set(accepted), leads)
    strings = _measured(encoding, levels, entries, accepted, alpha, heard)
    return Discovered(
        tuple(sorted(strings, key=lambda found: -found.frequency)),
        tuple(
            found
            for i in chosen
            for found in _measured(encoding, levels, left, {str(names[i]): float(p_values[i])}, alpha, heard)
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
        found = lonely or string_estimate(levels, entries, own, whole)
        if found is None:  # No report was about the whole string.
            measured.append(FoundString(string, 0.0, 1.0, 0.0, 1.0, min(1.0, p_value)))
            continue
        # The interval holds for each choice of levels that the other strings can lead to.
        choices = (1 << int(whole.sum())) - 1
        reach = small_beta_radius(found.deviation, alpha * weights.string(length) / choices)
        low = max(0.0, found.frequency - reach) if lonely else 0.0
        high = min(1.0, found.frequency + reach)
        error = with_sampling(found.standard_error, found.frequency, found.n, heard * found.n / levels.n)
        measured.append(FoundString(string, found.frequency, error, low, high, min(1.0, p_value)))
    return measured


def _step(progress: PassProgress | None, passes: int) -> LevelProgress:
    def step(level: int, done: float) -> None:
        if progress:
            progress(passes, level, done)

    return step
