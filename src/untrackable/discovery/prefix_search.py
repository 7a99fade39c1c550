"""The search: at every level, keep the prefixes that stand out enough to be looked into further."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.discovery.bucket_tables import BucketTables
from untrackable.discovery.child_prefixes import buckets, child_states, searched_table, striking_children
from untrackable.discovery.string_weights import StringWeights
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.mechanisms.splitmix import STEP, mixed_words

Words = NDArray[np.uint64]
LevelProgress = Callable[[int, float], None]
"""Called with the level, counted from 1, and how much of it is done."""

_TOGETHER = 1 << 20
"""How many prefixes are looked at together."""
_MANY_CHILDREN = 1 << 14
"""If a prefix has this many children, a level keeps `beam` prefixes. If it has fewer, a level keeps more."""
_WIDEST = 16
"""A level keeps at most this many times `beam` prefixes."""


@dataclass(frozen=True, slots=True)
class KeptPrefixes:
    """The prefixes that a level kept, those that stand out most first.

    `symbols` has a row for each: symbols are numbered from 1, and 0 follows the end. `ends` is the length of one
    that has ended, or else the level's prefix length. `states` are hash states, `steps` the entries at every level
    up to this one, `parents` the indices of the parents at the level before. `tried` is how many prefixes were
    looked at.
    """

    symbols: NDArray[np.uint16]
    ends: NDArray[np.int64]
    states: Words
    steps: NDArray[np.int16]
    parents: NDArray[np.int64]
    tried: int


def search(
    encoding: DiscoveredStrings, tables: BucketTables, beam: int, progress: LevelProgress
) -> list[KeptPrefixes]:
    """At every level, the prefixes whose sum of entries is less likely by chance than level_width·weight.

    So a level keeps on average at most `level_width` prefixes that nobody shares.
    """
    strings = StringWeights.of(encoding)
    found: list[KeptPrefixes] = []
    before = _root(encoding)
    for level, size in enumerate(encoding.prefixes):
        weights = strings.prefix_weights(size)
        kept = level_width(encoding, level, beam)
        limits = np.array([tables.null.threshold(0, level + 1, kept * weight) for weight in weights])
        before = _next_level(encoding, tables, before, level, limits, weights, progress)
        found.append(before)
    return found


def level_width(encoding: DiscoveredStrings, level: int, beam: int) -> int:
    """How many prefixes that nobody shares a level keeps: `beam`, or up to 16 times that if children are few."""
    if level == encoding.levels - 1:
        return beam
    children: int = encoding.symbols ** (encoding.prefixes[level + 1] - encoding.prefixes[level])
    return beam * min(_WIDEST, max(1, _MANY_CHILDREN // children))


def _root(encoding: DiscoveredStrings) -> KeptPrefixes:
    """The empty prefix, with which the search begins."""
    return KeptPrefixes(
        np.zeros((1, encoding.longest), dtype=np.uint16),
        np.zeros(1, dtype=np.int64),
        np.array([encoding.keys[0]], dtype=np.uint64),
        np.zeros((1, 0), dtype=np.int16),
        np.zeros(1, dtype=np.int64),
        1,
    )


def _next_level(
    encoding: DiscoveredStrings,
    tables: BucketTables,
    before: KeptPrefixes,
    level: int,
    limits: NDArray[np.int64],
    weights: NDArray[np.float64],
    progress: LevelProgress,
) -> KeptPrefixes:
    """The children of all prefixes whose sum of entries reaches the limit of their length."""
    start = encoding.prefixes[level - 1] if level else 0
    table, key, bits = tables.steps[level], encoding.keys[level + 1], encoding.bucket_bits
    sums, searched = before.steps.sum(axis=1, dtype=np.int64), searched_table(table)
    kept = []
    tried = 0
    for group in _child_groups(encoding, before, start, level, progress):
        each = group.states.size // max(1, group.parents.size)
        states = group.states.reshape(-1)
        limit = np.repeat(limits[group.ends] - sums[group.parents], each)
        places = striking_children(states, group.more, searched, limit, key, bits)
        found = child_states(states, group.more, places)
        each *= max(1, group.more.size)
        tried += each * group.parents.size
        which, place = np.divmod(places, max(1, each))
        parents = group.parents[which]
        symbols = before.symbols[parents]
        for i in range(group.depth):
            symbols[:, start + i] = place // encoding.symbols ** (group.depth - 1 - i) % encoding.symbols + 1
        entries = np.concatenate((before.steps[parents], table[buckets(found, key, bits)][:, None]), axis=1)
        kept.append((symbols, group.ends[which], found, entries, parents))
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
