"""Numbers as people and JSON read them, each with how well it is known."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from untrackable.auditing.confidence import Matched
from untrackable.brackets import Bracket

_DIGITS = 4


def number(value: float) -> str:
    """A number for people: four digits, ∞ for infinity."""
    if math.isinf(value):
        return "∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{value:.{_DIGITS}g}"
        return f"{value:,.0f}" if "e" in text else text
    return f"{value:.2e}"


def shown(bracket: Bracket) -> tuple[str, str]:
    """A bracket as a number and how well it is known: exact, upper, lower, or exact up to the given ±."""
    match bracket.certainty:
        case "exact":
            return number(bracket.upper), "exact"
        case "lower":
            return number(bracket.lower), "lower"
        case "bracket" if math.isfinite(bracket.upper):
            half = bracket.width / 2
            return f"{number(bracket.lower + half)} ± {half:.1g}", "exact up to ±"
        case _:
            return number(bracket.upper), "upper"


def said(bracket: Bracket) -> str:
    """A bracket within a sentence."""
    text, certainty = shown(bracket)
    return f"{text} (exact)" if certainty == "exact up to ±" else f"{text} ({certainty})"


def as_dict(found: Any) -> Any:
    """Anything an audit holds, as JSON can say it: brackets with their certainty, shares as sampled."""
    if isinstance(found, Bracket):
        return {"lower": found.lower, "upper": found.upper, "certainty": found.certainty}
    if isinstance(found, Matched):
        return {**dataclasses.asdict(found), "certainty": "sampled"}
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {f.name: as_dict(getattr(found, f.name)) for f in dataclasses.fields(found)}
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return {name: as_dict(getattr(found, name)) for name in found._fields}
    if isinstance(found, Mapping):
        return {str(key): as_dict(item) for key, item in found.items()}
    if isinstance(found, (list, tuple)):
        return [as_dict(item) for item in found]
    return found
