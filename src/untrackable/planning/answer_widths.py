"""The widths of an answer that a report of some eps can have."""

from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import smallest_eps


def widths(bits: int, eps: float) -> list[int]:
    """Those of a noisy inner product of this many bits: below its smallest eps, an answer would be pure noise."""
    return [width for width in range(1, min(bits, LARGEST_WIDTH) + 1) if smallest_eps(width) <= eps]
