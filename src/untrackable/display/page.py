"""Results as self-contained pages: no network, light and dark, on a phone and on paper.

A page is a view with its charts, the formulas of its numbers, and the command that makes it again. `page_template`
is for all other pages too, where Altair is never loaded.
"""

import shlex
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from untrackable import __version__, strict_json
from untrackable.display.charts import chart_spec, converter
from untrackable.display.view import Chart, Table, View
from untrackable.extras import extra

if TYPE_CHECKING:
    from jinja2 import Template


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


def result_page(
    view: View,
    charts: Sequence[Chart],
    command: Sequence[str],
    *,
    title: str,
    formulas: str,
    how: str = "",
    source: str = "",
    parameters: str = "",
) -> str:
    """The page of a result. `formulas` is the template with those of its numbers; `command` makes it again."""
    return page_template("untrackable.display", "page_shell.html").render(
        version=__version__,
        bundle=_script(converter().javascript_bundle()),
        specs=_json({chart.name: chart_spec(chart.drawing) for chart in charts}),
        charts=charts,
        lead=view.sentences,
        tables=[(table, *grouped(table)) for table in view.tables],
        notes=view.notes,
        command=shlex.join(["untrackable", *command]),
        data=_json(view.to_json()),
        title=title,
        formulas=formulas,
        how=how,
        source=source,
        parameters=parameters,
    )


def grouped(table: Table) -> tuple[Sequence[str], list[tuple[str, Sequence[Sequence[str]]]]]:
    """The columns of a table, and its rows by their headings."""
    if not table.grouped:
        return table.headings, [("", table.rows)]
    groups: dict[str, list[Sequence[str]]] = {}
    for heading, *cells in table.rows:
        groups.setdefault(heading, []).append(cells)
    return table.headings[1:], list(groups.items())


def _json(data: Any) -> Any:
    """JSON that may stand inside a script element. Nothing in it, in small letters or capitals, can end that."""
    return _script(strict_json.write(strict_json.finite(data)).replace("<", "\\u003c"))


def _script(text: str) -> Any:
    """What stands inside a script element as it is. Nothing in it can end the element."""
    from markupsafe import Markup

    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S704
