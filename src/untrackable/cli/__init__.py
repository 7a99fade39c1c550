"""The command line: thin commands over the library."""

import sys

import click

from untrackable import __version__
from untrackable.cli.help_layout import JobGroup
from untrackable.cli.terminal import end_quietly_on_broken_pipe
from untrackable.errors import ExtraMissing

JOBS = {
    "Try it": {"demo": "research"},
    "Ask people": {
        "campaign": "campaign",
        "preview": "answer",
        "answer": "answer",
        "send": "answer",
        "policy": "answer",
    },
    "Collect": {
        "serve": "servers",
        "manage": "manage",
        "keys": "manage",
        "gateway": "servers",
        "export": "manage",
        "relay": "servers",
    },
    "Read answers": {"estimate": "estimate", "discover": "estimate", "rappor-decode": "estimate"},
    "Audit": {
        "audit": "audit",
        "compare": "audit",
        "audit-file": "audit_evidence",
        "audit-client": "audit_evidence",
    },
    "Plan": {"plan": "plan"},
    "Research": {"simulate": "research", "paper": "research"},
}
"""Every command under the job it is for, with the module that has it."""
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
