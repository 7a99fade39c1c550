"""Audits and comparisons as one self-contained page: no network, light and dark, on a phone and on paper."""

import contextlib
import inspect
from typing import Any

from untrackable.auditing.comparison import Comparison
from untrackable.auditing.following import followed_beside
from untrackable.auditing.mechanism_audit import Audit
from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.display import audit_words, comparison_words
from untrackable.display.audit_charts import audit_charts
from untrackable.display.audit_line import Line
from untrackable.display.comparison_chart import comparison_chart
from untrackable.display.following_chart import following_chart
from untrackable.display.numbers import as_dict
from untrackable.display.page_shell import chart_page, command_line


def audit_page(audit: Audit | TurnsAudit, mechanism: Any, name: str, command: list[str]) -> str:
    """The page of the audit of a mechanism by that name; `command` makes it again."""
    charts = {} if isinstance(audit, TurnsAudit) else audit_charts(audit)
    if isinstance(audit, Audit) and audit.linked_apart is not None:
        with contextlib.suppress(ValueError):  # Some mechanisms take no such values.
            charts["following"] = following_chart(followed_beside(name, mechanism))
    return chart_page(
        title=f"{name}: can its reports be followed?",
        lead=audit_words.verdict(audit),
        pictures=[(name, *caption) for name, caption in audit_words.CAPTIONS.items() if name in charts],
        specs=charts,
        tables=[("Every number", ("", "", "is", ""), _grouped(audit_words.lines(audit)))],
        missing=audit.missing,
        formulas=audit_words.FORMULAS,
        how=_how(mechanism),
        source=audit.published,
        parameters=audit.mechanism,
        command=command_line(command),
        data=as_dict(audit),
    )


def comparison_page(comparison: Comparison, command: list[str]) -> str:
    """The page of a comparison."""
    error = f"standard error after {comparison.reports} rounds"
    picked = f"picked out of {comparison.crowd:,} by reports, at most"
    rows = [row.drawn() for row in sorted(comparison.rows, key=lambda row: row.lasts)]
    cells = [("", [comparison_words.cells(row) for row in comparison.rows])]
    return chart_page(
        title="Which mechanism is accurate and hard to follow, at the same level of privacy?",
        lead=comparison_words.verdict(comparison),
        pictures=[("comparison", *comparison_words.CAPTION)],
        specs={"comparison": comparison_chart(rows, error, picked)},
        tables=[("All mechanisms", comparison_words.columns(comparison), cells)],
        missing=dict(comparison.left_out),
        missing_heading="Left out, and why",
        formulas=audit_words.FORMULAS,
        how="",
        source="",
        parameters="\n".join(row.mechanism for row in comparison.rows),
        command=command_line(command),
        data=as_dict(comparison),
    )


def _grouped(lines: list[Line]) -> list[tuple[str, list[tuple[str, ...]]]]:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        groups.setdefault(line.heading, []).append((line.what, line.number, line.certainty, line.meaning))
    return list(groups.items())


def _how(mechanism: object) -> str:
    """What the mechanism's own docstrings say about it and about tracking."""
    method = getattr(type(mechanism), "_trackings", None) or getattr(type(mechanism), "tracking", None)
    base = getattr(mechanism, "base", None)
    about = base if base is not None and not callable(base) else None
    parts = (inspect.getdoc(type(mechanism)), inspect.getdoc(type(about)) if about else "", inspect.getdoc(method))
    return " ".join(part.replace("`", "") for part in parts if part)
