"""A collector's settings from options, environment variables and a TOML file, in this order."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from untrackable import strict_json

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")
_PREFIX = "UNTRACKABLE_"
_NOT_IN_A_FILE = ("config", "json", "help")
"""Options that say how the command runs, and not how the collector works."""
_OTHER_VARIABLES = ("UNTRACKABLE_CONFIG", "UNTRACKABLE_FOLDER")
"""Variables that are no settings of a collector."""


class Setting(click.Option):
    """An option whose errors say where a wrong value came from."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """The name of the option, and of the variable or the file if the value is from there."""
        hint = super().get_error_hint(ctx)
        source = None if ctx is None or self.name is None else ctx.get_parameter_source(self.name)
        if source is click.core.ParameterSource.ENVIRONMENT:
            return f"{hint} (in the variable {self.envvar})"
        return f"{hint} (in the file of --config)" if source is click.core.ParameterSource.DEFAULT_MAP else hint


def setting(name: str, *names: str, **named: Any) -> Callable[[Decorated], Decorated]:
    """An option that can also be given by an environment variable: UNTRACKABLE_PORT for --port."""
    return click.option(name, *names, cls=Setting, envvar=_variable(name), **named)


def _load(ctx: click.Context, parameter: click.Parameter, file: Path | None) -> None:
    """Take the settings of a file where neither an option nor a variable gives them."""
    if file is not None:
        ctx.default_map = settings_in_file(file, ctx.command)


CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    envvar=f"{_PREFIX}CONFIG",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="TOML file with any of these settings.",
)


def settings_in_file(file: Path, command: click.Command) -> dict[str, Any]:
    """The settings in a TOML file by parameter. Keys are the names of options, and any other key is an error."""
    found = {}
    options = _options(command)
    for key, value in _contents(file).items():
        if key not in options:
            known = ", ".join(sorted(options))
            raise click.ClickException(f"{file}: there is no setting {key!r}; the settings are {known}")
        found[options[key].name or key] = _checked(file, key, value, options[key])
    return found


def _contents(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(strict_json.small_text(file))
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # Neither shows what is in the file, which may have a password.
        raise click.ClickException(f"{file} is not TOML, such as: port = 8000") from None


def _checked(file: Path, key: str, value: Any, option: click.Option) -> Any:
    """A value of the file, if it has the type that the option needs. The value itself is never shown."""
    if option.multiple:
        fits, wanted = isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of texts"
    elif isinstance(option.type, click.types.IntParamType):
        fits, wanted = type(value) is int, "a whole number"
    elif isinstance(option.type, click.types.FloatParamType):
        fits, wanted = type(value) in (int, float), "a number"
    else:
        fits, wanted = isinstance(value, str), "a text"
    if not fits:
        raise click.ClickException(f"{file}: {key} must be {wanted}")
    return value


def store_address() -> str:
    """The address of the store in the file that UNTRACKABLE_CONFIG names, or of a file in this folder."""
    named = os.environ.get(f"{_PREFIX}CONFIG")
    found = _contents(Path(named)).get("store") if named else None
    return found if isinstance(found, str) else "sqlite:///untrackable.db"


def unknown_variables(command: click.Command) -> list[str]:
    """Environment variables that look like settings but are not."""
    known = {_variable(f"--{name}") for name in _options(command)} | {*_OTHER_VARIABLES}
    return sorted(name for name in os.environ if name.startswith(_PREFIX) and name not in known)


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options that are settings, by their name without dashes before it."""
    found = {}
    for option in command.params:
        if isinstance(option, click.Option) and (name := option.opts[0].removeprefix("--")) not in _NOT_IN_A_FILE:
            found[name] = option
    return found


def _variable(name: str) -> str:
    return _PREFIX + name.removeprefix("--").replace("-", "_").upper()
