"""The printed output in documents, compared with the real one.

A comment behind a `print` is all of its output. `…` behind a digit stands for more digits, elsewhere
for any text. An explanation comes last, behind ` — `. An indented block below `<!-- printed by: COMMAND -->` is
part of what that command prints, wherever its lines are broken. Indented lines that begin with `untrackable` are
commands: they and their options must exist.
"""

import ast
import io
import re
import shlex
import sys
import tokenize
from collections import defaultdict
from functools import cache

import click
from click.testing import CliRunner

from untrackable.cli import main

SEPARATOR = " — "
_SHOWN = re.compile(r"<!-- printed by: (.*) -->\n\n((?: {4}.*\n)+)")


class OutputError(AssertionError):
    """A document says that something else is printed."""


def pattern(said: str) -> str:
    """The regular expression of a comment or of a shown output."""
    parts = re.split("(…)", said)
    expression = ""
    for part in parts:
        digits = bool(expression) and expression[-1].isdigit()
        expression += (r"\d*" if digits else r"[\s\S]*") if part == "…" else re.escape(part)
    return expression


def agrees(said: str, printed: str) -> bool:
    """Whether a comment, explanation and all, says what was printed."""
    return re.fullmatch(pattern(said.split(SEPARATOR)[0].strip()), printed.strip()) is not None


def claims(source: str) -> dict[int, str]:
    """The comment behind every `print`, by the line on which the call begins."""
    comments = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    calls = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    )
    return {call.lineno: comments[call.end_lineno or 0] for call in calls if call.end_lineno in comments}


def run(source: str) -> dict[str, object]:
    """Run a block and return its names.

    A `print` that writes something else than its comment says, or is never reached, is an error.
    """
    printed: dict[int, list[str]] = defaultdict(list)

    def recorded(*given: object, sep: str = " ", end: str = "\n") -> None:
        printed[sys._getframe(1).f_lineno].append(sep.join(map(str, given)) + end)

    said = claims(source)
    names: dict[str, object] = {"__name__": "__docs__", "print": recorded}
    exec(compile(source, "<docs>", "exec"), names)  # noqa: S102
    for line, claim in said.items():
        if not printed[line]:
            raise OutputError(f"line {line} is never reached, and is said to print {claim!r}")
        for text in printed[line]:
            if not agrees(claim, text):
                raise OutputError(f"line {line} prints {text.strip()!r}, and is said to print {claim!r}")
    return names


def shown_outputs(page: str) -> list[tuple[str, str]]:
    """The commands whose output a page shows, each with that output."""
    return _SHOWN.findall(page)


def shows(said: str, printed: str) -> bool:
    """Whether the shown text is part of the printed one, wherever lines are broken."""
    return re.search(pattern(" ".join(said.split())), " ".join(printed.split())) is not None


@cache
def printed_by(command: str) -> str:
    """The output of a command line of this project."""
    name, *arguments = shlex.split(command)
    if name != "untrackable":
        raise ValueError(f"only commands of untrackable are run, not {name}")
    done = CliRunner().invoke(main, arguments)
    if done.exit_code:
        raise OutputError(f"`{command}` exits with {done.exit_code}")
    return done.output


def named_commands(page: str) -> list[str]:
    """Command lines of a page, without their comments; not those that leave something out."""
    lines = re.findall(r"^ {4,}(?:.*(?:/bin/| collector ))?untrackable (.*)$", page.replace("\\\n", ""), re.M)
    commands = (re.split(r"\s+#|[|<>&]", line)[0].strip() for line in lines)
    return [command for command in commands if not re.search(r"(?<!\w)(…|\.\.\.)", command)]


def check_command(command: str) -> None:
    """Refuse a command or an option that does not exist."""
    named, arguments = _named_command(command)
    named.make_parser(click.Context(named)).parse_args(arguments)


def default(command: str, option: str) -> object:
    """The default of a command's option."""
    named, _ = _named_command(command)
    return next(one.get_default(click.Context(named)) for one in named.params if option in one.opts)


def _named_command(command: str) -> tuple[click.Command, list[str]]:
    """The command that a command line names, and its arguments."""
    named: click.Command = main
    arguments = shlex.split(command)
    while isinstance(named, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        inner = named.get_command(click.Context(named), name)
        if inner is None:
            raise OutputError(f"there is no command {name}")
        named = inner
    return named, arguments
