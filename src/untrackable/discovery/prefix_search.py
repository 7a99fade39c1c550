"""The search for frequent strings: at every level, keep the prefixes that stand out enough to be extended.

`BucketTables` say how likely a string that nobody holds is to have entries as large as some sum. `StringWeights`
share one error rate among the tests of all strings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import FloatArray, Integers, Words
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.kernels import engine, gpu
from untrackable.kernels.engine import arrays, compiled, in_main_memory, on_gpu, read_only
from untrackable.mechanisms.randomness import mixed_words
from untrackable.randomizers.randomness import STEP

LevelProgress = Callable[[int, float], None]
"""Called with the level, counted from 1, and the share of it that is done."""
_TOGETHER = 1 << 20
"""The number of prefixes that are looked at together."""
_MANY_CHILDREN = 1 << 14
"""If a prefix has this many children, a level keeps `beam` prefixes. If it has fewer, a level keeps more."""
_WIDEST = 16
"""A level keeps at most this many times `beam` prefixes."""


@dataclass(frozen=True, slots=True)
class KeptPrefixes:
    """The prefixes that a level kept, those that stand out most first.

    `symbols` has a row for each: symbols are numbered from 1, and 0 follows the end. `ends` is the length of one
    that has ended, or else the level's prefix length. `states` are hash states, `steps` the entries at every level
    up to this one, `parents` the indices of the parents at the level before. `tried` is the number of
    prefixes that were looked at.
    """

    symbols: NDArray[np.uint16]
    ends: NDArray[np.int64]
    states: Words
    steps: NDArray[np.int16]
    parents: NDArray[np.int64]
    tried: int


def search(
    encoding: DiscoveredStrings, tables: "BucketTables", beam: int, progress: LevelProgress
) -> list[KeptPrefixes]:
    """At every level, the prefixes whose sum of entries is less likely by chance than level_width·weight.

    So a level keeps on average at most `level_width` prefixes that nobody shares.
    """
    strings = StringWeights.of(encoding)
    levels: list[KeptPrefixes] = []
    # The search begins with the empty prefix.
    before = KeptPrefixes(
        np.zeros((1, encoding.longest), dtype=np.uint16),
        np.zeros(1, dtype=np.int64),
        np.array([encoding.keys[0]], dtype=np.uint64),
        np.zeros((1, 0), dtype=np.int16),
        np.zeros(1, dtype=np.int64),
        1,
    )
    for level, size in enumerate(encoding.prefixes):
        weights = strings.prefix_weights(size)
        kept = level_width(encoding, level, beam)
        limits = np.array([tables.null.threshold(0, level + 1, kept * weight) for weight in weights])
        before = _next_level(encoding, tables, before, level, limits, weights, progress)
        levels.append(before)
    return levels


def level_width(encoding: DiscoveredStrings, level: int, beam: int) -> int:
    """The number of unshared prefixes that a level keeps: `beam`, or up to 16 times that if children are few."""
    if level == encoding.levels - 1:
        return beam
    children: int = encoding.symbols ** (encoding.prefixes[level + 1] - encoding.prefixes[level])
    return beam * min(_WIDEST, max(1, _MANY_CHILDREN // children))


def _next_level(
    encoding: DiscoveredStrings,
    tables: "BucketTables",
    before: KeptPrefixes,
    level: int,
    limits: NDArray[np.int64],
    weights: NDArray[np.float64],
    progress: LevelProgress,
) -> KeptPrefixes:
    """The children of all prefixes whose sum of entries reaches the limit of their length."""
    start = encoding.prefixes[level - 1] if level else 0
    table, key, bits = tables.steps[level], encoding.keys[level + 1], encoding.bucket_bits
    sums, searched = before.steps.sum(axis=1, dtype=np.int64), _searched_table(table)
    kept = []
    tried = 0
    for group in _child_groups(encoding, before, start, level, progress):
        each = group.states.size // max(1, group.parents.size)
        states = group.states.reshape(-1)
        limit = np.repeat(limits[group.ends] - sums[group.parents], each)
        places = striking_children(states, group.more, searched, limit, key, bits)
        new_states = child_states(states, group.more, places)
        each *= max(1, group.more.size)
        tried += each * group.parents.size
        which, place = np.divmod(places, max(1, each))
        parents = group.parents[which]
        symbols = before.symbols[parents]
        for i in range(group.depth):
            symbols[:, start + i] = place // encoding.symbols ** (group.depth - 1 - i) % encoding.symbols + 1
        entries = np.concatenate((before.steps[parents], table[buckets(new_states, key, bits)][:, None]), axis=1)
        kept.append((symbols, group.ends[which], new_states, entries, parents))
    symbols, ends, states, entries, parents = (np.concatenate(column) for column in zip(*kept, strict=True))
    chance = tables.null.tail(0, level + 1, entries.sum(axis=1, dtype=np.int64)) / weights[ends]
    order = np.argsort(chance, kind="stable")
    return KeptPrefixes(symbols[order], ends[order], states[order], entries[order], parents[order], tried)


@dataclass(frozen=True, slots=True)
class _ChildGroup:
    """Children of some parents: all that go on by `depth` symbols, and then end or not.

    `states` has a row of hash states for each parent. One step of `more` added to each gives the children. If
    `more` is empty, the parents are their own children.
    """

    parents: NDArray[np.int64]
    ends: NDArray[np.int64]
    states: Words
    more: Words
    depth: int


def _child_groups(
    encoding: DiscoveredStrings, before: KeptPrefixes, start: int, level: int, progress: LevelProgress
) -> Iterator[_ChildGroup]:
    """All children. Strings that have ended stay the same, other prefixes go on by every sequence of symbols."""
    size = encoding.prefixes[level]
    steps = np.arange(1, encoding.symbols + 2, dtype=np.uint64) * np.uint64(STEP)
    none, end, more = steps[:0], steps[:1], steps[1:]
    whole, unfinished = np.flatnonzero(before.ends < start), np.flatnonzero(before.ends == start)
    yield _ChildGroup(whole, before.ends[whole], before.states[whole, None], none, 0)
    together = max(1, _TOGETHER // encoding.symbols ** (size - start))
    for first in range(0, unfinished.size, together):
        progress(level + 1, first / unfinished.size)
        parents = unfinished[first : first + together]
        states = before.states[parents, None]
        for length in range(start, size):
            if length >= encoding.shortest:
                yield _ChildGroup(parents, np.full(parents.size, length), states, end, length - start)
            if length < size - 1:
                states = mixed_words(states[:, :, None] + more).reshape(parents.size, -1)
        last = more if size > start else none
        yield _ChildGroup(parents, np.full(parents.size, size), states, last, size - start)
    progress(level + 1, 1.0)


# --- the children of many prefixes whose buckets have large enough entries: the inner loop ----------------

_ONE_THREAD = 1 << 17
"""Up to this many children, one thread is faster than several."""
_WORTH_COPYING = 1 << 16
"""From this many children on, the GPU is faster, although their parents have to be copied to it."""


def _searched_table(table: NDArray[np.int16]) -> Any:
    """The entries of a level as `striking_children` takes them: on the GPU, if the search runs there."""
    return arrays().asarray(table)


def striking_children(states: Words, more: Words, table: Any, limits: Integers, key: int, bits: int) -> Integers:
    """The indices i·len(more) + j of the children mix(states[i] + more[j]) whose entry is at least limits[i].

    If `more` is empty, each state is its own only child. The table comes from `_searched_table`.
    """
    work = states.size * more.size
    if on_gpu() and work >= _WORTH_COPYING:
        return gpu.striking_children(states, more, table, limits, key, bits)
    table = in_main_memory(table)
    kernels = compiled(work)
    if not more.size or kernels is None:
        children = mixed_words(states[:, None] + more) if more.size else states[:, None]
        return np.flatnonzero(table[buckets(children, key, bits)] >= limits[:, None])
    places, striking = np.empty(work, dtype=np.int64), {}
    given = (read_only(states), read_only(more), read_only(table), read_only(limits))
    words = (np.uint64(key), np.uint64(64 - bits))

    def look(start: int, stop: int) -> None:
        striking[start] = kernels.striking_children(*given, *words, places, start, stop)

    engine.split_work(look, states.size, threads=engine.allowed() if work > _ONE_THREAD else 1)
    return np.concatenate([places[i * more.size : i * more.size + n] for i, n in sorted(striking.items())])


def child_states(states: Words, more: Words, places: Integers) -> Words:
    """The hash states of the children at these indices."""
    if not more.size:
        return states[places]
    parents, steps = np.divmod(places, more.size)
    return mixed_words(states[parents] + more[steps])


def buckets(states: Words, key: int, bits: int) -> Integers:
    """The bucket of each hash state at the level with this key."""
    return (mixed_words(states ^ np.uint64(key)) >> np.uint64(64 - bits)).view(np.int64)


# --- the entries of all buckets, and how their sums are distributed by chance -----------------------------

_FINE = 24
"""The number of steps in a standard deviation of a level."""
_CAPS = (np.inf, 128.0, 96.0, 64.0, 48.0, 32.0, 24.0, 16.0, 12.0, 8.0, 7.0, 6.0, 5.5, 5.0, 4.5, 4.0, 3.5)
"""The caps that are tried, in standard deviations."""
_MOST = 1 << 12
"""The largest entry in steps, whatever the cap."""


class _NullDistributions:
    """The law of sums of the entries of uniform buckets, for every range of levels.

    `counts` has a row for each level: the number of buckets with each number of steps, from `low` on.
    """

    def __init__(self, counts: Integers, low: int) -> None:
        self._distributions = counts / counts.sum(axis=1, keepdims=True)
        self._low = low
        self._tails: dict[tuple[int, int], FloatArray] = {}

    def tail(self, first: int, last: int, sums: Integers) -> FloatArray:
        """P(the entries of the levels first … last-1 sum to at least this), for each of the sums (exact)."""
        tail = self._tail(first, last)
        return tail[np.clip(sums - self._low * (last - first), 0, tail.size - 1)]

    def threshold(self, first: int, last: int, probability: float) -> int:
        """The least sum that is reached with at most this probability, or one more than the largest sum."""
        tail = self._tail(first, last)
        return self._low * (last - first) + int(np.searchsorted(-tail, -probability))

    def _tail(self, first: int, last: int) -> FloatArray:
        """The tail from the least possible sum on. The last entry is 0, for sums that cannot be reached."""
        if (first, last) not in self._tails:
            whole = reduce(np.convolve, self._distributions[first:last])
            self._tails[first, last] = np.append(np.cumsum(whole[::-1])[::-1], 0.0)
        return self._tails[first, last]


class BucketTables:
    """The entries of all buckets in capped whole steps, a row for each level and how their sums are distributed.

    A hash that no client has used is independent of everything that clients have sent. Take a string that nobody
    holds, and the first level at which nobody shares its prefix. From that level on, its entry is that of a uniform
    bucket of the level's table, whatever the table. The probability that the sum of such entries reaches a value is
    not modelled but counted, by convolving the histograms of the tables. So noise, collisions with other strings
    and dishonest reports are all included. Entries above a cap count as the cap, so that collisions with heavy
    strings do not hide lighter ones.
    """

    def __init__(self, entries: FloatArray, tests: Mapping[int, float]) -> None:
        """Choose the cap with which the least frequency passes all tests: p-values to reach, by first level.

        The choice depends on the entries alone.
        """
        spread = float(np.quantile(np.abs(entries[:, : 1 << 16]), 0.6827)) or 1.0
        steps = np.rint(np.clip(entries * (_FINE / spread), -_MOST, _MOST)).astype(np.int16)
        low, high = int(steps.min()), int(steps.max())
        counts = np.stack([np.bincount(row - low, minlength=high - low + 1) for row in steps])
        options = []
        self.scale = _FINE / spread
        """The number of steps in an entry of 1."""
        self.highest = _MOST
        """The largest number of steps that an entry can have."""
        self.caps: dict[float, _NullDistributions] = {}
        """How sums are distributed under each cap that was tried, in steps; infinity stands for no cap."""
        for cap in {int(min(high, cap * _FINE)) for cap in _CAPS}:
            capped = counts[:, : max(1, cap - low + 1)].copy()
            capped[:, -1] += counts[:, capped.shape[1] :].sum(axis=1)
            null = _NullDistributions(capped, low)
            needed = max(null.threshold(i, len(steps), p) / (len(steps) - i) for i, p in tests.items())
            self.caps[cap if cap < high else np.inf] = null
            options.append((_mean_below(needed / _FINE, cap / _FINE), -cap, null))
        _, cap, self.null = min(options, key=lambda entry: entry[:2])
        self.steps = np.minimum(steps, max(-cap, low), out=steps)


def _mean_below(needed: float, cap: float) -> float:
    """The mean of a normal variable of deviation 1 whose mean is `needed` once it is capped."""
    means = np.linspace(needed, max(needed, cap) + 3, 400)
    room = cap - means
    from scipy import special

    capped = cap - (room * special.ndtr(room) + np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi))
    enough = np.flatnonzero(capped >= needed)
    return float(means[enough[0]]) if enough.size else np.inf


# --- the weight of each possible string -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StringWeights:
    """Weights of strings and of prefixes. The tests of all strings share one error rate by these.

    All lengths have the same weight, and so have all strings of a length: a string of l symbols out of q has weight
    q^-l/(number of lengths), and all weights sum to one. So a short string has to stand out less than a long one,
    as there are fewer of them.

    A prefix of m symbols is either a whole string of fewer than m symbols, with its end, or open.
    """

    symbols: int
    shortest: int
    longest: int

    @staticmethod
    def of(encoding: DiscoveredStrings) -> "StringWeights":
        """The weights of the strings that an encoding takes."""
        return StringWeights(encoding.symbols, encoding.shortest, encoding.longest)

    def string(self, length: int) -> float:
        """The weight of one string of `length` symbols."""
        return float(self.symbols) ** -length / (self.longest - self.shortest + 1)

    def prefix(self, length: int) -> float:
        """The weight of all strings that begin with the same `length` symbols."""
        lengths = self.longest - max(self.shortest, length) + 1
        return float(self.symbols) ** -length * lengths / (self.longest - self.shortest + 1)

    def prefix_weights(self, size: int) -> FloatArray:
        """Weights of prefixes of `size` symbols: entry l is for an end after l symbols, the last for no end."""
        ended = [self.string(length) if length >= self.shortest else 0.0 for length in range(size)]
        return np.array([*ended, self.prefix(size)])
