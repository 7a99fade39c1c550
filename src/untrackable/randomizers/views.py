"""Views of a value: each report is about some bits of it only, which are drawn for every report."""

import itertools
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from untrackable import checks
from untrackable.randomizers.inner_product import LARGEST_BITS, LARGEST_WIDTH, NoisyInnerProduct
from untrackable.randomizers.randomness import Entropy, below

View = tuple[int, ...]
"""Positions of bits of an encoded value, ascending, 0 for the lowest."""

MOST_VIEWS = 4096
LARGEST_VIEW = 24
"""The largest number of bits that a view shows."""
MOST_ENTRIES = 1 << 25
"""The largest number of sums of all views together, 256 MiB."""
LARGEST_WEIGHT = 1 << 32
MOST_LEVELS = 16
LARGEST_LEVEL_BITS = 26
"""The largest number of bits of a level, which has a sum for every vector."""


class ViewReports(ABC):
    """The common part of mechanisms whose report is about one view of the value, drawn for every report.

    A report is the number of the view, above the report of that view's base. The view says nothing about the
    person, because it is drawn for every report. If a client kept its view, or balanced views over a deck, an
    observer could use that to follow it.
    """

    __slots__ = ()

    bases: tuple[NoisyInnerProduct, ...]
    """The noisy inner product of each view."""
    weights: tuple[int, ...]
    """The whole numbers that the probabilities of the views are proportional to."""
    ends: tuple[int, ...]
    """The sums of the first 1, 2, … weights."""
    base_bits: int
    """Width of the longest report of a base."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of possible values."""

    @abstractmethod
    def part(self, value: int, view: int) -> int:
        """The part of a value that a view shows."""

    @property
    def report_bits(self) -> int:
        """Width of the longest report of a base, and of the view."""
        return self.base_bits + (len(self.bases) - 1).bit_length()

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The view takes entropy first, 8 bytes or more, and then its base."""
        value = checks.private_integer("value", value, below=self.values)
        view = bisect_right(self.ends, below(self.ends[-1], entropy))
        return view << self.base_bits | self.bases[view].draw(self.part(value, view), entropy)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: the view must exist, and the rest must be a report of its base."""
        view, rest = divmod(report, 1 << self.base_bits)
        return 0 <= view < len(self.bases) and self.bases[view].possible(rest)

    def largest_loss(self) -> float:
        """The largest of all views."""
        return max(base.largest_loss() for base in set(self.bases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Views(ViewReports):
    """Each report draws one of several views of the value, and is a noisy inner product of the bits that it shows.

    A value has `bits` bits, and a view is a list of positions of bits, 0 for the lowest. `weights` are the whole
    numbers that the probabilities of views are proportional to, by default all the same. A report is the answer to
    a question about the bits of the view, of `width` bits or as many as the view has, with privacy `eps`; above it
    is the number of the view.
    """

    bits: int
    views: tuple[View, ...]
    eps: float
    width: int = 1
    weights: tuple[int, ...] = ()
    bases: tuple[NoisyInnerProduct, ...] = field(init=False, repr=False, compare=False)
    ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    base_bits: int = field(init=False, repr=False, compare=False)

    base_type: ClassVar[type[NoisyInnerProduct]] = NoisyInnerProduct
    """The class of the bases."""

    def __post_init__(self) -> None:
        bits = checks.integer("bits", self.bits, low=1, high=LARGEST_BITS)
        views = checked_views(self.views, bits)
        weights = tuple(self.weights) or (1,) * len(views)
        if len(weights) != len(views):
            raise ValueError(f"weights must be one number for each of {len(views)} views, got {len(weights)}")
        weights = tuple(checks.integer("a weight", weight, low=1, high=LARGEST_WEIGHT) for weight in weights)
        width = checks.integer("width", self.width, low=1, high=min(LARGEST_WIDTH, max(map(len, views))))
        eps = checks.epsilon("eps", self.eps)
        made = {size: self.base_type(bits=size, eps=eps, width=min(width, size)) for size in set(map(len, views))}
        bases = tuple(made[len(view)] for view in views)
        checks.settle(self, bits=bits, views=views, eps=eps, width=width, weights=weights, bases=bases)
        longest = max(base.report_bits for base in made.values())
        checks.settle(self, ends=tuple(itertools.accumulate(weights)), base_bits=longest)

    @property
    def values(self) -> int:
        return 1 << self.bits

    def part(self, value: int, view: int) -> int:
        """The bits that a view shows, as one number."""
        return sum((value >> position & 1) << i for i, position in enumerate(self.views[view]))


@dataclass(frozen=True, slots=True)
class Levelled(ViewReports):
    """A value has several parts. Each report draws one of the `levels` parts at random and is about that part.

    A value is an integer of levels·bits bits, with the part of level 0 lowest. The parts are views of it that have
    no bit in common, all of one size and equally likely, so each level has sums of its own. Strings are discovered
    by prefixes, one per part.
    """

    base: NoisyInnerProduct
    levels: int
    bases: tuple[NoisyInnerProduct, ...] = field(init=False, repr=False, compare=False)
    weights: tuple[int, ...] = field(init=False, repr=False, compare=False)
    ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    base_bits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, NoisyInnerProduct):
            raise TypeError(f"base must be a NoisyInnerProduct, not {type(self.base).__name__}")
        checks.integer("bits of the base", self.base.bits, low=1, high=LARGEST_LEVEL_BITS)
        levels = checks.integer("levels", self.levels, low=1, high=MOST_LEVELS)
        checks.settle(self, levels=levels, bases=(self.base,) * levels, weights=(1,) * levels)
        checks.settle(self, ends=tuple(range(1, levels + 1)), base_bits=self.base.report_bits)

    @property
    def values(self) -> int:
        return 1 << (self.levels * self.base.bits)

    def part(self, value: int, level: int) -> int:
        """The part of a value at a level."""
        return value >> self.base.bits * level & (self.base.values - 1)


def checked_views(given: Iterable[Iterable[int]], bits: int) -> tuple[View, ...]:
    """Different views of a value with this many bits, after checks."""
    views = tuple(
        tuple(checks.integer("a position in a view", position, low=0, high=bits - 1) for position in view)
        for view in given
    )
    if not 1 <= len(views) <= MOST_VIEWS:
        raise ValueError(f"there must be between 1 and {MOST_VIEWS} views, got {len(views)}")
    for view in views:
        if not 1 <= len(view) <= LARGEST_VIEW or any(low >= high for low, high in itertools.pairwise(view)):
            raise ValueError(f"a view must be between 1 and {LARGEST_VIEW} different positions in ascending order")
    if len(set(views)) < len(views):
        raise ValueError("views must be different; weights say how often each is drawn")
    if sum(1 << len(view) for view in views) > MOST_ENTRIES:
        raise ValueError(f"the tables of all views must have at most {MOST_ENTRIES:,} entries together")
    return views
