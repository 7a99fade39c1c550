"""The command line: thin commands over the library."""

import sys

import click

from untrackable import __version__
from untrackable.cli.terminal import JobGroup, end_quietly_on_broken_pipe
from untrackable.errors import ExtraMissing

JOBS = {
    "Try it": {"research": "demo"},
    "Ask people": {"campaign": "campaign", "answer": "preview answer send policy"},
    "Collect": {"collect": "serve manage keys gateway export relay", "ballots": "ballots"},
    "Read answers": {"estimate": "estimate discover rappor-decode"},
    "Audit": {"audit": "audit compare audit-file audit-client"},
    "Plan": {"plan": "plan"},
    "Research": {"research": "simulate paper"},
}
"""The commands of each module, under the job they are for."""
UNIX = ("fcntl", "grp", "pwd", "resource", "termios", "uvloop")
"""Modules that are missing where only a person's own commands work."""


@click.group(cls=JobGroup, jobs=JOBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="untrackable")
def main() -> None:
    """Collect private statistics from many people, again and again.

    `untrackable COMMAND --help` explains a command and shows an example.

    Example: untrackable demo
    """


def run() -> None:
    """The `untrackable` command; what is not installed or cannot be written is an error in one line."""
    sys.stdout = end_quietly_on_broken_pipe(sys.stdout)
    try:
        try:
            main(prog_name="untrackable")
        finally:
            sys.stdout.flush()
    except ExtraMissing as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except ModuleNotFoundError as error:
        if error.name not in UNIX:
            raise
        click.echo("Error: this command needs Linux or macOS", err=True)
        sys.exit(1)
    except OSError as error:
        sys.stdout = None  # or the interpreter would try to flush it again
        click.echo(f"Error: cannot write the output: {error.strerror}", err=True)
        sys.exit(1)
