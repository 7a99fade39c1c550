"""The prefixes of every level that stand out enough to be looked into, and the strings that are left at last."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.discovery.bucket_tables import Tables
from untrackable.discovery.children import buckets, child_states, striking_children
from untrackable.discovery.string_weights import Space
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.mechanisms.splitmix import STEP, mixed_words

Words = NDArray[np.uint64]
Progress = Callable[[int, float], None]
"""Called with the level, from 1, and the share of it that is done."""

_TOGETHER = 1 << 20
"""Prefixes that are looked at together."""
_FAMILY = 1 << 14
"""Prefixes to which one goes on, where as many as `beam` are kept; more are where they go on to fewer."""
_WIDEST = 16
"""Times as many as `beam` that are kept at most."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes of one level that were kept, those that stand out most first.

    `symbols` has a row for each, numbers from 1 on and 0 from the end on; `ends` how long it is if it has ended, or
    else the level's prefix length; `states` its hash so far; `steps` its entry at every level up to this one;
    `parents` its place among the prefixes of the level before. `tried` is how many were looked at.
    """

    symbols: NDArray[np.uint16]
    ends: NDArray[np.int64]
    states: Words
    steps: NDArray[np.int16]
    parents: NDArray[np.int64]
    tried: int


def search(encoding: DiscoveredStrings, tables: Tables, beam: int, progress: Progress) -> list[Prefixes]:
    """Level by level, the prefixes whose sum of entries is less likely by chance than width·weight.

    At a level, on average at most `width` prefixes that nobody shares are kept; all those above the threshold are.
    """
    space = Space.of(encoding)
    found: list[Prefixes] = []
    before = _root(encoding)
    for level, size in enumerate(encoding.prefixes):
        weights = space.weights(size)
        kept = width(encoding, level, beam)
        limits = np.array([tables.laws.threshold(0, level + 1, kept * weight) for weight in weights])
        before = _next_level(encoding, tables, before, level, limits, weights, progress)
        found.append(before)
    return found


def width(encoding: DiscoveredStrings, level: int, beam: int) -> int:
    """How many prefixes that nobody shares a level keeps: `beam`, and up to 16 times that if going on is cheap."""
    if level == encoding.levels - 1:
        return beam
    family: int = encoding.symbols ** (encoding.prefixes[level + 1] - encoding.prefixes[level])
    return beam * min(_WIDEST, max(1, _FAMILY // family))


def _root(encoding: DiscoveredStrings) -> Prefixes:
    return Prefixes(
        np.zeros((1, encoding.longest), dtype=np.uint16),
        np.zeros(1, dtype=np.int64),
        np.array([encoding.keys[0]], dtype=np.uint64),
        np.zeros((1, 0), dtype=np.int16),
        np.zeros(1, dtype=np.int64),
        1,
    )


def _next_level(
    encoding: DiscoveredStrings,
    tables: Tables,
    before: Prefixes,
    level: int,
    limits: NDArray[np.int64],
    weights: NDArray[np.float64],
    progress: Progress,
) -> Prefixes:
    """The children of all prefixes that reach the limit of their length."""
    start = encoding.prefixes[level - 1] if level else 0
    table, key, bits = tables.steps[level], encoding.keys[level + 1], encoding.bucket_bits
    sums = before.steps.sum(axis=1, dtype=np.int64)
    kept = []
    tried = 0
    for family in _families(encoding, before, start, level, progress):
        each = family.states.size // max(1, family.parents.size)
        states = family.states.reshape(-1)
        limit = np.repeat(limits[family.ends] - sums[family.parents], each)
        places = striking_children(states, family.more, table, limit, key, bits)
        found = child_states(states, family.more, places)
        each *= max(1, family.more.size)
        tried += each * family.parents.size
        which, place = np.divmod(places, max(1, each))
        parents = family.parents[which]
        symbols = before.symbols[parents]
        for i in range(family.depth):
            symbols[:, start + i] = place // encoding.symbols ** (family.depth - 1 - i) % encoding.symbols + 1
        entries = np.concatenate((before.steps[parents], table[buckets(found, key, bits)][:, None]), axis=1)
        kept.append((symbols, family.ends[which], found, entries, parents))
    symbols, ends, states, entries, parents = (np.concatenate(column) for column in zip(*kept, strict=True))
    chance = tables.laws.tail(0, level + 1, entries.sum(axis=1, dtype=np.int64)) / weights[ends]
    order = np.argsort(chance, kind="stable")
    return Prefixes(symbols[order], ends[order], states[order], entries[order], parents[order], tried)


@dataclass(frozen=True, slots=True)
class _Family:
    """Children of some parents: all that go on by `depth` symbols, and then end or not.

    `states` has a row for each parent, of all that it goes on to but for one step, which is one of `more`; if there
    is none, the parents are their own children.
    """

    parents: NDArray[np.int64]
    ends: NDArray[np.int64]
    states: Words
    more: Words
    depth: int


def _families(
    encoding: DiscoveredStrings, before: Prefixes, start: int, level: int, progress: Progress
) -> Iterator[_Family]:
    """All children: whole strings stay what they are, open prefixes go on by every sequence of symbols."""
    size = encoding.prefixes[level]
    steps = np.arange(1, encoding.symbols + 2, dtype=np.uint64) * np.uint64(STEP)
    none, end, more = steps[:0], steps[:1], steps[1:]
    whole, unfinished = np.flatnonzero(before.ends < start), np.flatnonzero(before.ends == start)
    yield _Family(whole, before.ends[whole], before.states[whole, None], none, 0)
    together = max(1, _TOGETHER // encoding.symbols ** (size - start))
    for first in range(0, unfinished.size, together):
        progress(level + 1, first / unfinished.size)
        parents = unfinished[first : first + together]
        states = before.states[parents, None]
        for length in range(start, size):
            if length >= encoding.shortest:
                yield _Family(parents, np.full(parents.size, length), states, end, length - start)
            if length < size - 1:
                states = mixed_words(states[:, :, None] + more).reshape(parents.size, -1)
        last = more if size > start else none
        yield _Family(parents, np.full(parents.size, size), states, last, size - start)
    progress(level + 1, 1.0)
