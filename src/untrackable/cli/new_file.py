"""Files that commands write: one that exists is never replaced, unless --force says so."""

from pathlib import Path
from typing import Any

import click

from untrackable.extras import require

_FORCE = "untrackable.force"

PICTURES = (".svg", ".pdf", ".png")
"""Endings of the pictures that can be written."""
TABLES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the tables that can be written."""


class NewFile(click.Path):
    """A file to write, refused before any work is done if it cannot be written.

    Its name must end in one of the `endings`, if there are any, and packages of `extra` must be installed.
    `PlainCommand` gives --force to each command that has such a file.
    """

    def __init__(self, *endings: str, extra: str | None = None) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.endings, self._extra = endings, extra

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, if nothing is lost by writing there. A device or a pipe loses nothing."""
        path = Path(str(super().convert(value, param, ctx)))
        if self.endings and path.suffix not in self.endings:
            self.fail(f"{path} must end in one of {', '.join(self.endings)}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"cannot write {path}: there is no folder {path.parent}", param, ctx)
        if path.is_file() and not (ctx is not None and is_forced(ctx)):
            self.fail(f"{path} exists already; choose another name, or give --force to replace it", param, ctx)
        if self._extra is not None:
            require(self._extra)
        return path


def is_forced(ctx: click.Context) -> bool:
    """Whether --force was given, so that files that exist may be replaced."""
    return bool(ctx.meta.get(_FORCE))


def force_option() -> click.Option:
    """The option --force. It is read before the others, so that they know of it."""

    def remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        ctx.meta[_FORCE] = value

    return click.Option(
        ["--force"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=remember,
        help="Replace files that exist.",
    )
