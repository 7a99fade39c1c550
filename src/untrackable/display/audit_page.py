"""Audits and comparisons as one self-contained page: no network, light and dark, on a phone and on paper."""

import inspect
import shlex
from functools import cache
from importlib import resources
from typing import Any

from untrackable import __version__, strict_json
from untrackable.auditing.comparison import Comparison
from untrackable.auditing.mechanism_audit import Audit
from untrackable.display import audit_words, comparison_words
from untrackable.display.audit_charts import Spec, audit_charts, comparison_chart
from untrackable.display.numbers import as_dict
from untrackable.extras import extra

_CAPTIONS = {
    "recognised": (
        "Recognised in a crowd",
        "How often one person is picked out of the crowd by reports from another place. The line is the most that "
        "anyone can reach who matches this person alone: the power of the best test that takes one in the crowd "
        "for the person. The diamond is the attack carried out, with its interval.",
    ),
    "gammas": (
        "Worst case against the number of reports",
        "gamma of the worst split: no set of reports is more than e^gamma times likelier from one person than from "
        "two, with probability delta set aside or none. Infinite values are not drawn.",
    ),
    "deltas": (
        "What is left beyond gamma",
        "delta against gamma for the worst split of all reports: the probability with which an observer may be "
        "surer than gamma allows. At gamma = 0 it is the advantage.",
    ),
    "taus": (
        "What an observer usually meets",
        "Distribution of τ, the largest log-likelihood ratio met when the reports are split in all ways up to "
        "half, by one person or by two.",
    ),
    "roc": (
        "The best observer's trade-off",
        "How often reports of one person are recognised as such, against how often those of two people are taken "
        "for one; half of the reports on each side.",
    ),
    "comparison": (
        "Accuracy against trackability",
        "Lower is harder to follow, further left is more accurate. All have the same everlasting privacy, except "
        "those that are private for these rounds only.",
    ),
}

_FORMULAS = (
    (
        "One person or two",
        "P: reports of one user holding u. Q: those in J of one user, the others of another, both holding u; each "
        "report at its own round.",
        "Naor, Vexler, definition of untrackable, with the product measure",
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
    """The page of one audit of a mechanism by that name; `command` is what makes it again."""
    charts = audit_charts(audit)
    return render(
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
        command=spelled(command),
        data=as_dict(audit),
    )


def comparison_page(comparison: Comparison, command: list[str]) -> str:
    """The page of a comparison."""
    error = f"standard error after {comparison.reports} rounds, {comparison.people:,} people"
    cells = [("", [comparison_words.cells(row) for row in comparison.rows])]
    return render(
        title="Accuracy against trackability, at the same everlasting privacy",
        lead=comparison_words.verdict(comparison),
        pictures=[("comparison", *_CAPTIONS["comparison"])],
        specs={
            "comparison": comparison_chart(
                [row.drawn() for row in sorted(comparison.rows, key=lambda row: row.lasts)], error
            )
        },
        tables=[("All mechanisms", comparison_words.columns(comparison), cells)],
        missing=dict(comparison.left_out),
        formulas=_FORMULAS,
        how="",
        source="",
        parameters="\n".join(row.mechanism for row in comparison.rows),
        command=spelled(command),
        data=as_dict(comparison),
    )


def _grouped(lines: list[audit_words.Line]) -> list[tuple[str, list[tuple[str, ...]]]]:
    groups: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        groups.setdefault(line.heading, []).append((line.what, line.number, line.certainty, line.meaning))
    return list(groups.items())


def _how(mechanism: object) -> str:
    """What the mechanism's own description says of its tracking experiment."""
    method = getattr(type(mechanism), "_trackings", None) or getattr(type(mechanism), "tracking", None)
    base = getattr(mechanism, "base", None)
    about = base if base is not None and not callable(base) else None
    told = (inspect.getdoc(type(mechanism)), inspect.getdoc(type(about)) if about else "", inspect.getdoc(method))
    return " ".join(part.replace("`", "") for part in told if part)


def spelled(words: list[str]) -> str:
    """The command as one types it."""
    return shlex.join(["untrackable", *words])


@cache
def _template() -> Any:
    with extra("plots"):
        from jinja2 import Environment, StrictUndefined

    source = (resources.files("untrackable.display") / "audit_page.html").read_text(encoding="utf-8")
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(source)


def render(
    *,
    specs: dict[str, Spec],
    data: Any,
    controls: str = "",
    script: str = "",
    grids: Any = None,
    unsaid: str = "What could not be said, and why",
    **parts: Any,
) -> str:
    """A page; `controls` is markup above the pictures, and `script` may change their data from the `grids`."""
    with extra("plots"):
        import vl_convert
    from markupsafe import Markup

    page: str = _template().render(
        version=__version__,
        bundle=_inert(vl_convert.javascript_bundle()),  # type: ignore[call-arg]
        specs=_json(specs),
        data=_json(data),
        controls=Markup(controls),  # noqa: S704 (our own file)
        script=_inert(script),
        grids=_json(grids),
        unsaid=unsaid,
        **parts,
    )
    return page


def _json(data: Any) -> Any:
    """JSON that may stand inside a script element."""
    return _inert(strict_json.write(strict_json.finite(data)))


def _inert(text: str) -> Any:
    """Text that cannot end the script element it stands in."""
    from markupsafe import Markup

    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S704
