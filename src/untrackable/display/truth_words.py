"""What the noise of a mechanism means for one report, in plain words."""

from decimal import Decimal
from typing import Literal

from untrackable.brackets import ROUNDINGS, Side, shortest_decimal


def truth_words(kind: Literal["answer", "question", "marks"], own_share: float, noise_share: float) -> str:
    """A sentence for people, about the fields of a mechanism's `truthfulness()`."""
    own, noise = share(own_share), share(noise_share)
    match kind:
        case "answer":
            return f"{own} of people answer truthfully in every report (exact; {noise} would be pure noise)."
        case "question":
            return f"Each answer is right with probability {own} (exact; {noise} would be pure noise)."
        case "marks":
            return f"Each report marks the true answer with probability {own}, and any other with {noise} (exact)."


def share(number: float, side: Side = "nearest") -> str:
    """A probability in percent: enough digits to tell it from 100 %. Upper bounds are rounded up."""
    hundredfold = shortest_decimal(number).scaleb(2)
    for digits in (1, 2, 3, 4):
        percent = hundredfold.quantize(Decimal(1).scaleb(-digits), ROUNDINGS[side])
        if percent < 100 or number == 1:
            text = f"{percent:f}"
            return (text.rstrip("0").rstrip(".") if digits == 1 else text) + " %"
    return "100 %" if side == "up" else "above 99.9999 %"
