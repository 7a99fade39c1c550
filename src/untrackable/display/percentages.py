"""Shares of people as percentages."""

from decimal import Context, Decimal

from untrackable.brackets import ROUNDINGS, Side, shortest_decimal


def percent(share: float, side: Side = "nearest") -> str:
    """A share as a percentage with two decimals, or with two digits if it is tiny."""
    hundredfold = shortest_decimal(share).scaleb(2)
    if abs(share) >= 1e-4 or share == 0:
        return f"{hundredfold.quantize(Decimal('0.01'), ROUNDINGS[side])} %"
    return f"{Context(prec=2, rounding=ROUNDINGS[side]).plus(hundredfold):.1e} %"
