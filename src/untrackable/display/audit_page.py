"""Audits and comparisons as one self-contained page: no network, light and dark, on a phone and on paper."""

import inspect

from untrackable.auditing.comparison import Comparison
from untrackable.auditing.mechanism_audit import Audit
from untrackable.display import audit_words, comparison_words
from untrackable.display.audit_charts import audit_charts, comparison_chart
from untrackable.display.numbers import as_dict
from untrackable.display.page_shell import chart_page, command_line

_CAPTIONS = {
    "recognised": (
        "Picked out of a crowd",
        "How often an observer who knows a person's reports from one place picks that person out of a crowd by "
        "what reports from another place say. The line is a proved limit for anyone who matches this person alone. "
        "The diamond is an attack that was carried out, with its interval (sampled).",
    ),
    "attended": (
        "Picked out by attendance alone",
        "The same without reading any report: by the rounds that a person answers from each place. Nobody answers "
        "one round from two places, so one person and two leave different traces.",
    ),
    "gammas": (
        "Worst case by number of reports",
        "No set of reports is more than e^gamma times likelier from one person than from two, or the other way "
        "round, for the worst split. One line always holds, the other except with probability delta. Infinite "
        "values are not drawn.",
    ),
    "deltas": (
        "How often gamma does not hold",
        "delta against gamma for the worst split of all reports: the probability with which an observer may be "
        "surer than gamma allows. At gamma = 0 it is the advantage.",
    ),
    "taus": (
        "What an observer typically sees",
        "How likely each τ is: the largest log-likelihood ratio over all splits up to half, for reports of one "
        "person or of two.",
    ),
    "roc": (
        "The best observer's trade-off",
        "How often reports of one person are recognised as such, against how often reports of two people are taken "
        "for one person's. Half of the reports are on each side.",
    ),
    "comparison": (
        "Accuracy against tracking",
        "Further down is harder to follow, further left is more accurate. All keep the same privacy for ever, "
        "except those that are private for these rounds only. Attendance is counted if clients do not answer every "
        "round; people who do are recognised by it, whatever the mechanism.",
    ),
}

_FORMULAS = (
    (
        "One person or two",
        "P: reports of one person who holds u. Q: the reports in J come from one person, the others from another, "
        "and both hold u. Each report has its own round.",
        "Naor, Vexler, definition of untrackable, with the product measure",
    ),
    (
        "Attendance",
        "P: one person, who answers each round with probability r, from the place where they are. Q: a different "
        "person at each place. In one round, answers at both of two places with shares a and b have probability 0 "
        "or r²·a·b, at the first alone r·a or r·a·(1 − r·b), at none 1 − r·(a + b) or (1 − r·a)·(1 − r·b).",
        "",
    ),
    ("Loss", "ln P/Q of what is observed; gamma at delta = 0 is its largest absolute value.", ""),
    (
        "delta(gamma)",
        "max over sets T of P(T) − e^gamma·Q(T), or with P and Q exchanged; advantage = delta(0).",
        "",
    ),
    (
        "Recognised among M",
        "min over gamma of delta(gamma) + e^gamma/M: picking one of M is a test with false positive rate 1/M.",
        "Neyman, Pearson 1933",
    ),
    (
        "τ",
        "the largest absolute loss over one stream of P and one of Q for each split 1 … ⌊k/2⌋.",
        "Naor, Vexler, appendix",
    ),
    ("Error radius", "span·√(ln(2/β)/(2n)).", "Hoeffding 1963"),
)


def audit_page(audit: Audit, mechanism: object, name: str, command: list[str]) -> str:
    """The page of the audit of a mechanism by that name; `command` makes it again."""
    charts = audit_charts(audit)
    return chart_page(
        title=f"{name}: can its reports be followed?",
        lead=audit_words.verdict(audit),
        pictures=[(name, *_CAPTIONS[name]) for name in _CAPTIONS if name in charts],
        specs=charts,
        tables=[("Every number", ("", "", "is", ""), _grouped(audit_words.lines(audit)))],
        missing=audit.missing,
        formulas=_FORMULAS,
        how=_how(mechanism),
        source=audit.published,
        parameters=audit.mechanism,
        command=command_line(command),
        data=as_dict(audit),
    )


def comparison_page(comparison: Comparison, command: list[str]) -> str:
    """The page of a comparison."""
    error = f"standard error after {comparison.reports} rounds, {comparison.people:,} people"
    attended = comparison.attendance.participation < 1
    picked = f"picked out of {comparison.crowd:,} by {'reports and attendance' if attended else 'reports'}, at most"
    rows = [row.drawn(attended) for row in sorted(comparison.rows, key=lambda row: row.lasts)]
    cells = [("", [comparison_words.cells(row) for row in comparison.rows])]
    return chart_page(
        title="Which mechanism is accurate and hard to follow, at the same level of privacy?",
        lead=comparison_words.verdict(comparison),
        pictures=[("comparison", *_CAPTIONS["comparison"])],
        specs={"comparison": comparison_chart(rows, error, picked)},
        tables=[("All mechanisms", comparison_words.columns(comparison), cells)],
        missing=dict(comparison.left_out),
        missing_heading="Left out, and why",
        formulas=_FORMULAS,
        how="",
        source="",
        parameters="\n".join(row.mechanism for row in comparison.rows),
        command=command_line(command),
        data=as_dict(comparison),
    )


def _grouped(lines: list[audit_words.Line]) -> list[tuple[str, list[tuple[str, ...]]]]:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        groups.setdefault(line.heading, []).append((line.what, line.number, line.certainty, line.meaning))
    return list(groups.items())


def _how(mechanism: object) -> str:
    """What the mechanism's own docstrings say about it and about tracking."""
    method = getattr(type(mechanism), "_trackings", None) or getattr(type(mechanism), "tracking", None)
    base = getattr(mechanism, "base", None)
    about = base if base is not None and not callable(base) else None
    told = (inspect.getdoc(type(mechanism)), inspect.getdoc(type(about)) if about else "", inspect.getdoc(method))
    return " ".join(part.replace("`", "") for part in told if part)
