"""How long a search for strings takes, and how much of it is done, by the prefixes that it looks at."""

from collections.abc import Iterator
from itertools import pairwise

from untrackable.discovery.prefix_search import level_width
from untrackable.encodings.discovered_strings import DiscoveredStrings

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
    """How many prefixes each level of a pass looks at, if the one before keeps as many as `level_width` says."""
    for level, (before, size) in enumerate(pairwise((0, *encoding.prefixes))):
        parents = level_width(encoding, level - 1, beam) if level else 1
        yield parents * encoding.symbols ** (size - before) + (0 if level else _TABLES)
