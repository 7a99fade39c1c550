"""Reports about every table at once, with eps divided over them: evenly, or so that all tables are known alike."""

import itertools
from collections.abc import Iterator

from untrackable.encodings.asked_tables import AskedTables
from untrackable.mechanisms.local.divided import LARGEST_PART, MOST_BITS, MOST_PARTS, Divided
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.planning.answer_widths import widths

_STEPS = 12
"""Steps after which the parts of eps no longer change by a hundredth."""
_GAIN = 0.25
"""The power of its variance by which a part of eps grows in a step."""
_FINE = 100
"""Weights are hundredths."""


def divided_reports(bits: int, asked: AskedTables, eps: float) -> Iterator[Divided]:
    """Those for tables that are all of the value's bits, one table after the other; nothing for other tables."""
    sizes = tuple(map(len, asked.views))
    if tuple(itertools.chain(*asked.views)) != tuple(range(bits)) or bits > MOST_BITS:
        return
    if not 2 <= len(sizes) <= MOST_PARTS or max(sizes) > LARGEST_PART:
        return
    even = (1,) * len(sizes)
    for weights in dict.fromkeys((even, _balanced(sizes, eps))):
        shares = [eps * weight / sum(weights) for weight in weights]
        best = [_best(size, share)[1] for size, share in zip(sizes, shares, strict=True)]
        yield Divided(sizes=sizes, eps=eps, weights=weights, widths=tuple(best))


def _balanced(sizes: tuple[int, ...], eps: float) -> tuple[int, ...]:
    """Weights with which all tables have about the same standard error."""
    shares = [1 / len(sizes)] * len(sizes)
    for _ in range(_STEPS):
        grown = [share * _best(size, eps * share)[0] ** _GAIN for size, share in zip(sizes, shares, strict=True)]
        shares = [share / sum(grown) for share in grown]
    weights = tuple(max(1, round(_FINE * share)) for share in shares)
    return (1,) * len(sizes) if len(set(weights)) == 1 else weights


def _best(bits: int, eps: float) -> tuple[float, int]:
    """The smallest variance of one report about a table of so many bits, who answers included, and its width."""
    share = 0.5 if bits == 1 else 0.05
    found = ((NoisyInnerProduct(bits=bits, eps=eps, width=width), width) for width in widths(bits, eps))
    return min((base.held_variance(share) + share * (1 - share), width) for base, width in found)
