"""Results as self-contained pages: no network, light and dark, on a phone and on paper.

A page is a view with the formulas of its numbers and the command that makes it again. `page_template` is for all
other pages too, where Altair is never loaded.
"""

import contextlib
import inspect
import shlex
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from untrackable import __version__, strict_json
from untrackable.extras import extra

if TYPE_CHECKING:
    from jinja2 import Template

    from untrackable.auditing.audit import Audit, TurnsAudit
    from untrackable.auditing.comparison import Comparison
    from untrackable.display.view import Chart, Table, View
    from untrackable.planning.plan import Plan, QuestionSet

_PLAN_FORMULAS = [
    (
        "One turn",
        "each of n people answers in one of k rounds, with probability q/k in each: m = n·q/k reports.",
        "",
    ),
    (
        "Standard error",
        "√(V/m + p(1−p)(1−m/n)/m): V is the variance of one report given its value, p the share of people.",
        "",
    ),
    (
        "Error",
        "the law of the count of reports is inverted (Clopper, Pearson 1934; Hoeffding 1956), or sums are "
        "bounded (Hoeffding 1963, Bernstein 1946), for the fewest reports that 99 of 100 rounds have.",
        "",
    ),
    ("Privacy", "the largest log ratio of probabilities of one report, times the answers that wipes allow.", ""),
]


@cache
def page_template(package: str, file: str) -> "Template":
    """A template in a package's folder: what is put into it is escaped, and it may include the common style."""
    with extra("plots"):
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    folders = ChoiceLoader([PackageLoader(package, ""), PackageLoader("untrackable.display", "")])
    environment = Environment(
        autoescape=True, loader=folders, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(file)


def audit_page(audit: "Audit | TurnsAudit", mechanism: Any, name: str, command: list[str]) -> str:
    """The page of the audit of a mechanism by that name; `command` makes it again."""
    from untrackable.auditing.attacks import followed_beside
    from untrackable.display.audit import FORMULAS, following_chart
    from untrackable.display.view import charts_of, view_of

    charts = list(charts_of(audit))
    if getattr(audit, "linked_apart", None) is not None:
        with contextlib.suppress(ValueError):  # Some mechanisms take no such values.
            charts.append(following_chart(followed_beside(name, mechanism)))
    return _page(
        view_of(audit),
        charts,
        command,
        title=f"{name}: can its reports be followed?",
        formulas=FORMULAS,
        how=_how(mechanism),
        source=audit.published,
        parameters=audit.mechanism,
    )


def comparison_page(comparison: "Comparison", command: list[str]) -> str:
    """The page of a comparison."""
    from untrackable.display.audit import FORMULAS
    from untrackable.display.view import charts_of, view_of

    return _page(
        view_of(comparison),
        charts_of(comparison),
        command,
        title="Which mechanism is accurate and hard to follow, at the same level of privacy?",
        formulas=FORMULAS,
        parameters="\n".join(row.mechanism for row in comparison.rows),
    )


def plan_page(plan: "Plan | QuestionSet", command: list[str], view: "View | None" = None) -> str:
    """The page of a plan, or of several questions together; `command` makes it again."""
    from untrackable.display.view import charts_of, view_of

    several = hasattr(plan, "parts")
    return _page(
        view or view_of(plan),
        charts_of(plan),
        command,
        title=f"What will {'these questions' if several else 'this campaign'} tell?",
        formulas=_PLAN_FORMULAS,
    )


def _page(
    view: "View",
    charts: "Sequence[Chart]",
    command: list[str],
    *,
    how: str = "",
    source: str = "",
    parameters: str = "",
    **parts: Any,
) -> str:
    with extra("plots"):
        import vl_convert

    from untrackable.display.charts import chart_spec

    return page_template("untrackable.display", "page_shell.html").render(
        version=__version__,
        bundle=_inert(vl_convert.javascript_bundle()),  # type: ignore[call-arg]
        specs=_json({chart.name: chart_spec(chart.drawing) for chart in charts}),
        charts=charts,
        lead=view.sentences,
        tables=[(table, *_grouped(table)) for table in view.tables],
        notes=view.notes,
        command=shlex.join(["untrackable", *command]),
        data=_json(view.to_json()),
        how=how,
        source=source,
        parameters=parameters,
        **parts,
    )


def _grouped(table: "Table") -> tuple[Sequence[str], list[tuple[str, Sequence[Sequence[str]]]]]:
    """The columns of a table, and its rows by their headings."""
    if not table.grouped:
        return table.headings, [("", table.rows)]
    groups: dict[str, list[Sequence[str]]] = {}
    for heading, *cells in table.rows:
        groups.setdefault(heading, []).append(cells)
    return table.headings[1:], list(groups.items())


def _how(mechanism: object) -> str:
    """What the mechanism's own docstrings say about it and about tracking."""
    method = getattr(type(mechanism), "_trackings", None) or getattr(type(mechanism), "tracking", None)
    base = getattr(mechanism, "base", None)
    about = base if base is not None and not callable(base) else None
    parts = (inspect.getdoc(type(mechanism)), inspect.getdoc(type(about)) if about else "", inspect.getdoc(method))
    return " ".join(part.replace("`", "") for part in parts if part)


def _json(data: Any) -> Any:
    """JSON that may stand inside a script element. Nothing in it, in small letters or capitals, can end that."""
    from markupsafe import Markup

    return Markup(strict_json.write(strict_json.finite(data)).replace("<", "\\u003c"))  # noqa: S704


def _inert(text: str) -> Any:
    """A script of our own that cannot end the element it stands in."""
    from markupsafe import Markup

    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S704
