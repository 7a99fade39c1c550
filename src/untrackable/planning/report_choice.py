"""Which single report to ask for: all that fit the question, and the one with the smallest error.

A person sends one report, so its eps is the whole budget, and no composition is involved.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from untrackable.encodings.asked_tables import AskedTables, View
from untrackable.estimation.intervals import MOST_RADIUS
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.local.local_interface import Local
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.one_bit_mean import MOST_VALUES, OneBitMean
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.local.view_weights import tuned_weights
from untrackable.mechanisms.local.views import LARGEST_VIEW, Views
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.planning.answer_widths import widths
from untrackable.planning.divided_eps import divided_reports
from untrackable.planning.forecast import ErrorLaw, law_of
from untrackable.planning.goals import Goals

DRAW, GROUPS, JOINT, DIVIDE = WAYS = ("draw", "groups", "joint", "divide")
"""Each report is about one of the tables, which the client draws; about some of them; about all together; or about
each of them, with its part of eps."""
LARGEST_JOINT = 16
"""The largest number of bits that are asked about together."""
_MANY = 64
"""Beyond this many views, only answers of one bit are tried: wider ones would take too long."""
_WIDE_ENTRIES = 1 << 12
"""The size of a table from which on only answers of one bit are tried for ordered values."""
_FINE = 64
"""How finely the weights of views are told apart."""


class Chosen(NamedTuple):
    """A report: the way it asks for several answers at once, the mechanism, and the law of its errors."""

    way: str
    mechanism: Fresh
    law: ErrorLaw


def best_report(goals: Goals, *, ways: Iterable[str] = WAYS) -> Chosen:
    """The report with the smallest radius of a published figure, for goals with an eps; or `Unsuitable`.

    If no report tells such a figure, it is that of all rounds together that counts. Tables have radii by
    inequalities that differ in how close they are. So standard errors decide among these.
    """
    found: list[Chosen] = []
    refused = Unsuitable("values", "No report fits this question.")
    for way, base in _bases(goals, goals.eps_report, tuple(ways)):
        mechanism = Fresh(base)
        try:
            found.append(Chosen(way, mechanism, law_of(mechanism, goals)))
        except Unsuitable as reason:
            refused = reason
    if not found:
        raise refused
    if goals.asked is not None:
        return min(found, key=lambda one: one.law.relative_error(goals))
    radii = figure_radii([(goals, one.law) for one in found])
    return min(zip(radii, found, strict=True), key=lambda one: (one[0], one[1].law.relative_error(goals)))[1]


def figure_radii(found: list[tuple[Goals, ErrorLaw]]) -> list[float]:
    """The radii of the published figures; of all rounds together, if no published figure would tell anything."""
    radii = [law.figure_radius(each) for each, law in found]
    if min(radii) <= MOST_RADIUS:
        return radii
    return [law.figure_radius(each.replace(pooled=each.turns.rounds * (each.looks or 1))) for each, law in found]


def _bases(goals: Goals, eps: float, ways: tuple[str, ...]) -> Iterator[tuple[str, Local]]:
    """All reports of this eps that fit the question, each with its way to ask for several answers."""
    if goals.asked is not None:
        for way in ways:
            yield from ((way, base) for base in _MAKERS[way](goals.width, goals.asked, eps))
        return
    inner = [NoisyInnerProduct(bits=goals.width, eps=eps, width=width) for width in widths(goals.width, eps)]
    if goals.discovered is not None:
        yield from (("", Levelled(base, goals.discovered.levels)) for base in inner)
        return
    if goals.want == "mean" and goals.size <= MOST_VALUES:
        yield "", OneBitMean(values=goals.size, eps=eps)
    if goals.want != "frequencies" and goals.width <= LARGEST_VIEW:
        wide = widths(goals.width, eps) if goals.size <= _WIDE_ENTRIES else [1]
        yield from (("", Views.prefixes(bits=goals.width, eps=eps, width=width)) for width in wide)
    if goals.want == "frequencies" or goals.size <= _WIDE_ENTRIES:
        yield from (("", base) for base in inner)


def _drawn(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """Views of the tables that are asked for: all equally likely, or larger tables more often."""
    views = asked.views
    widest = max(map(len, views))
    for width in widths(widest, eps) if len(views) <= _MANY else [1]:
        weights: dict[tuple[int, ...], Any] = dict.fromkeys(
            ((1,) * len(views), tuned_weights(views, asked.shown), _even_weights(views, eps, width))
        )
        yield from (Views(bits=bits, views=views, eps=eps, width=width, weights=each) for each in weights)


def _even_weights(views: tuple[View, ...], eps: float, width: int) -> tuple[int, ...]:
    """Weights in proportion to the variance of a cell, so that all tables are known alike if they are disjoint."""
    noise = []
    for view in views:
        base = NoisyInnerProduct(bits=len(view), eps=eps, width=min(width, len(view)))
        share = 0.5 if len(view) == 1 else 0.05
        noise.append(base.held_variance(share) + share * (1 - share))
    return tuple(max(1, round(_FINE * each / min(noise))) for each in noise)


def _grouped(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """Views of two or more tables together, for tables that have no bits in common, such as single choices."""
    longest, count = max(map(len, asked.views)), len(asked.views)
    if len({bit for view in asked.views for bit in view}) < sum(map(len, asked.views)) or count > _MANY:
        return
    for size in range(2, min(LARGEST_WIDTH // longest, count - 1) + 1):
        groups = -(-count // size)
        parts = (asked.views[i * count // groups : (i + 1) * count // groups] for i in range(groups))
        views = tuple(tuple(sorted(bit for view in part for bit in view)) for part in parts)
        for width in widths(max(map(len, views)), eps):
            yield Views(bits=bits, views=views, eps=eps, width=width)


def _joint(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """One view of all answers, from which the tables are added up."""
    everything = tuple(range(bits))
    if bits > LARGEST_JOINT or asked.views == (everything,):
        return
    for width in widths(bits, eps):
        yield Views(bits=bits, views=(everything,), eps=eps, width=width)


_MAKERS: dict[str, Callable[[int, AskedTables, float], Iterator[Local]]] = {
    DRAW: _drawn,
    GROUPS: _grouped,
    JOINT: _joint,
    DIVIDE: divided_reports,
}
