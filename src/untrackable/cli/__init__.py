"""The command line: thin commands over the library."""

import click

from untrackable import __version__
from untrackable.cli.demo import demo
from untrackable.cli.paper import paper


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="untrackable")
def main() -> None:
    """Private telemetry that cannot be used to follow people.

    Example: untrackable demo
    """


main.add_command(demo)
main.add_command(paper)
