"""One numerical statement of the paper beside the number that we compute."""

from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from untrackable import strict_json
from untrackable.brackets import Bracket

Verdict = Literal["pass", "differs"]
"""Whether the printed statement is right."""
Kind = Literal["exact", "upper", "lower", "sampled", "bracket", "unresolved"]
"""The certainty of the computed number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperStatement:
    """One statement: the published text, ours, and the verdict.

    `kind` is the certainty of `ours`. `erratum` names the entry of docs/errata.md if the two differ. The two
    numbers are given if each side is a single number.
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
    """The values that the paper prints. They are only compared with and never used in a computation."""
    text = resources.files("untrackable.paper").joinpath("published.json").read_text(encoding="utf-8")
    data: dict[str, Any] = strict_json.parse(text)
    return data


def format_number(value: float) -> str:
    """A number with six significant digits."""
    return f"{value:.6g}"


def format_bracket(bracket: Bracket) -> str:
    """A bracket as its middle ± half its width, or as one number if it is exact."""
    if bracket.certainty == "exact":
        return format_number(bracket.upper)
    return f"{(bracket.lower + bracket.upper) / 2:.4f} ± {bracket.width / 2:.4f}"


def verdict(holds: bool) -> Verdict:
    """The verdict on a printed statement."""
    return "pass" if holds else "differs"
