"""The option `--engine`, which means the same in every command that has it."""

import click

engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "cuda"]),
    metavar="NAME",
    default="local",
    show_default=True,
    help="Use CPU (local) or GPU (cuda).",
)
