"""The command line: thin commands over the library."""

import sys

import click

from untrackable import __version__
from untrackable.cli.answer import answer, send
from untrackable.cli.audit import audit
from untrackable.cli.audit_client import audit_client
from untrackable.cli.audit_file import audit_file
from untrackable.cli.campaign import campaign
from untrackable.cli.compare import compare
from untrackable.cli.demo import demo
from untrackable.cli.discover import discover
from untrackable.cli.estimate import estimate
from untrackable.cli.keys import keys
from untrackable.cli.manage import export, manage
from untrackable.cli.paper import paper
from untrackable.cli.plan import plan
from untrackable.cli.rappor_decode import rappor_decode
from untrackable.cli.serve import serve
from untrackable.cli.simulate import simulate
from untrackable.cli.terminal import watched
from untrackable.errors import ExtraMissing


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="untrackable")
def main() -> None:
    """Private telemetry that cannot be used to follow people.

    Example: untrackable demo
    """


main.add_command(answer)
main.add_command(audit)
main.add_command(audit_client)
main.add_command(audit_file)
main.add_command(campaign)
main.add_command(compare)
main.add_command(demo)
main.add_command(discover)
main.add_command(estimate)
main.add_command(export)
main.add_command(keys)
main.add_command(manage)
main.add_command(paper)
main.add_command(plan)
main.add_command(rappor_decode)
main.add_command(send)
main.add_command(serve)
main.add_command(simulate)


def run() -> None:
    """The `untrackable` command; what is not installed or cannot be written is an error in one line."""
    sys.stdout = watched(sys.stdout)
    try:
        try:
            main(prog_name="untrackable")
        finally:
            sys.stdout.flush()
    except ExtraMissing as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        sys.stdout = None  # or the interpreter would try to flush it again
        click.echo(f"Error: cannot write the output: {error.strerror}", err=True)
        sys.exit(1)
