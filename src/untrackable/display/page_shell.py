"""What all pages share: templates with a common style, and the shell of a self-contained page with charts."""

import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

from untrackable import __version__, strict_json
from untrackable.extras import extra

if TYPE_CHECKING:
    from jinja2 import Template

    from untrackable.display.chart_theme import Spec


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


def command_line(words: list[str]) -> str:
    """The command that makes a page, as one types it."""
    return shlex.join(["untrackable", *words])


def chart_page(
    *,
    specs: "dict[str, Spec]",
    data: Any,
    controls: str = "",
    script: str = "",
    grids: Any = None,
    missing_heading: str = "What is not known, and why",
    **parts: Any,
) -> str:
    """A page with charts; `controls` is markup above them, and `script` may change their data from the `grids`."""
    with extra("plots"):
        import vl_convert
    from markupsafe import Markup

    return page_template("untrackable.display", "page_shell.html").render(
        version=__version__,
        bundle=_inert(vl_convert.javascript_bundle()),  # type: ignore[call-arg]
        specs=_json(specs),
        data=_json(data),
        controls=Markup(controls),  # noqa: S704 (our own file)
        script=_inert(script),
        grids=_json(grids),
        missing_heading=missing_heading,
        **parts,
    )


def _json(data: Any) -> Any:
    """JSON that may stand inside a script element. Nothing in it, in small letters or capitals, can end that."""
    from markupsafe import Markup

    return Markup(strict_json.write(strict_json.finite(data)).replace("<", "\\u003c"))  # noqa: S704


def _inert(text: str) -> Any:
    """A script of our own that cannot end the element it stands in."""
    from markupsafe import Markup

    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S704
