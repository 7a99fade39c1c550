"""The option that says how much of a crowd may be missing."""

import click

margin_option = click.option(
    "--margin",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="Share of a crowd that may be missing.",
)
"""The share of a crowd that may be missing from a round."""
