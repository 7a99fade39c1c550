"""docs/commands.md, made of the commands' own help: `python -m tests.cli.commands_page` writes it."""

from pathlib import Path

import click

from untrackable.cli import JOBS, main
from untrackable.cli.help_layout import first_line

PAGE = Path(__file__).parent.parent.parent / "docs" / "commands.md"
_INTRODUCTION = """\
# All commands

`untrackable COMMAND --help` explains a command and its options, and shows an example. Commands that print a result
take `--json`.
"""


def commands(group: click.Group, *before: str) -> dict[str, click.Command]:
    """Every command by its full name, groups before what is in them."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[" ".join((*before, name))] = command
        if isinstance(command, click.Group):
            found.update(commands(command, *before, name))
    return found


def commands_page() -> str:
    """The page: the commands of each job with the first line of their help."""
    known = commands(main)
    parts = [_INTRODUCTION]
    for job, names in JOBS.items():
        rows = [
            f"| `untrackable {name}` | {first_line(command)} |"
            for name, command in known.items()
            if name.split()[0] in names
        ]
        parts.append("\n".join((f"## {job}", "", "| command | what it does |", "|---|---|", *rows, "")))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
