"""How help looks: one line for each command and each option, commands grouped by job and imported when needed."""

import importlib
import inspect
import sys
from typing import Any

import click

from untrackable.cli.terminal import NewFile, force_option, printable
from untrackable.early_interrupts import INTERRUPTED, raise_interrupts, settle_interrupt

_PLACEHOLDERS = {"integer": "N", "integer range": "N", "float": "X", "float range": "X"}
"""What stands for a number in the list of options."""


class PlainCommand(click.Command):
    """A command whose help shows examples as they are typed and every option with its default only.

    A command that writes files has the option --force.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if any(isinstance(each.type, NewFile) for each in self.params):
            self.params.append(force_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. From here on it cleans up after Ctrl-C."""
        raise_interrupts()
        return super().invoke(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_description(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


class CommandGroup(click.Group):
    """A group whose help shows the whole first sentence of each of its commands, in the order they were added."""

    command_class = PlainCommand

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which one needs them."""
        return list(self.commands)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_description(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, which are what one looks for, and then the options."""
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.write_commands(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter, heading: str, names: list[str]
    ) -> None:
        """Write these commands under a heading, aligned with the commands of all headings."""
        widest = max(len(name) for name in self.list_commands(ctx))
        rows = [(name.ljust(widest), first_line(self.get_command(ctx, name))) for name in names]
        with formatter.section(heading):
            formatter.write_dl(rows)


class JobGroup(CommandGroup):
    """The commands under headings that name a job, each imported when it is asked for.

    `jobs` has the modules of `untrackable.cli` by heading and command.
    """

    def __init__(self, *given: Any, jobs: dict[str, dict[str, str]], **named: Any) -> None:
        super().__init__(*given, **named)
        self.jobs = jobs
        self._modules = {name: module for commands in jobs.values() for name, module in commands.items()}

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. An error stays on one line, whatever the text in it that is from a file or a server."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            vars(error)["message"] = printable(error.message)
            raise
        except (click.Abort, KeyboardInterrupt) as error:
            # A prompt turns Ctrl-C into `Abort`, as does somebody who says no.
            if isinstance(error, click.Abort) and not isinstance(error.__context__, KeyboardInterrupt):
                raise
            settle_interrupt()
            click.echo("\nStopped." if sys.stderr.isatty() else "Stopped.", err=True)  # A terminal shows ^C first.
            raise click.exceptions.Exit(INTERRUPTED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, job by job."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name, if there is one."""
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(f"untrackable.cli.{self._modules[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of every job under its heading."""
        for heading, commands in self.jobs.items():
            self.write_commands(ctx, formatter, heading, list(commands))


def first_line(command: click.Command | None) -> str:
    """The first line of a command's help, which says what it does."""
    return inspect.cleandoc(command.help or "").partition("\n")[0] if command else ""


def write_description(command: click.Command, formatter: click.HelpFormatter) -> None:
    """Write a command's description; lines of an example are not joined."""
    text = inspect.cleandoc(command.help or "").replace("\n\nExample", "\n\n\b\nExample")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text)


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write one line for each option: its name, what it does, and its default."""
    options = [each for each in command.get_params(ctx) if isinstance(each, click.Option) and not each.hidden]
    with formatter.section("Options"):
        formatter.write_dl([(_names(option), _about(option)) for option in options])


def _names(option: click.Option) -> str:
    """The short name and the first long one; later long names are accepted synonyms."""
    short = [name for name in option.opts if not name.startswith("--")][:1]
    long = [name for name in option.opts if name.startswith("--")][:1]
    names = ", ".join(short + long)
    if option.is_flag or option.count:
        return names
    if option.metavar:
        return f"{names} {option.metavar}"
    if isinstance(option.type, click.Choice):
        return f"{names} {'|'.join(map(str, option.type.choices))}"
    return f"{names} {_PLACEHOLDERS.get(option.type.name, option.type.name.upper())}"


def _about(option: click.Option) -> str:
    """What an option does, and its default. An option with `show_default=False` has words for a default only."""
    help = option.help or ""
    if option.required:
        return f"{help} [required]"
    if isinstance(option.show_default, str):
        return f"{help} [default: {option.show_default}]"
    plain = isinstance(option.default, (str, int, float, tuple)) and not option.is_flag
    if plain and option.show_default is not False:
        return f"{help} [default: {_default(option.default)}]"
    return help


def _default(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_default, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
