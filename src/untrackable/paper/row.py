"""One statement of the paper beside what we find."""

from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from untrackable import strict_json
from untrackable.brackets import Bracket

Verdict = Literal["pass", "differs"]
Kind = Literal["exact", "upper", "lower", "sampled", "bracket", "unresolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`kind` says what `ours` is; `erratum` names the entry of docs/errata.md if they differ.

    The numbers are there where each side is a single one.
    """

    section: str
    statement: str
    published: str
    ours: str
    kind: Kind
    verdict: Verdict
    erratum: str = ""
    published_number: float | None = None
    ours_number: float | None = None


def published() -> dict[str, Any]:
    """The values that the paper prints, which are only ever compared with."""
    text = resources.files("untrackable.paper").joinpath("published.json").read_text(encoding="utf-8")
    data: dict[str, Any] = strict_json.parse(text)
    return data


def number(value: float) -> str:
    """Six significant digits, and all of them when they matter less."""
    return f"{value:.6g}"


def span(bracket: Bracket) -> str:
    """A bracket as a number with its uncertainty in the last digits."""
    if bracket.certainty == "exact":
        return number(bracket.upper)
    return f"{(bracket.lower + bracket.upper) / 2:.4f} ± {bracket.width / 2:.4f}"


def verdict(holds: bool) -> Verdict:
    """Whether the printed statement stands."""
    return "pass" if holds else "differs"
