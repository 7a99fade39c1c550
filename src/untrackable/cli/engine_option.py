"""The option `--engine`, which means the same in every command that has it."""

import click

engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "cuda"]),
    default="local",
    show_default=True,
    help="Compute on the processor, or on an NVIDIA GPU.",
)
