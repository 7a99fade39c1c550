"""Files that commands write: one that exists is never replaced, unless --force says so."""

from pathlib import Path
from typing import Any

import click

_FORCE = "untrackable.force"


class NewFile(click.Path):
    """A file to write. `PlainCommand` gives --force to each command that has one."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, if nothing is lost by writing there. A device or a pipe loses nothing."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.is_file() and not (ctx is not None and is_forced(ctx)):
            self.fail(f"{path} exists already; choose another name, or give --force to replace it", param, ctx)
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
