"""The option `--ready`: questions that devices answer by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from untrackable.encodings.encoding import Encoding

ready_option = click.option(
    "--ready",
    type=click.Choice(["active-days", "retention", "people"]),
    metavar="NAME",
    help="active-days, retention or people: see above.",
)


def ready_question(
    question: str | None, ready: str | None, encoding: Encoding | None
) -> tuple[str, Encoding | None]:
    """The question and its encoding. A ready question has both, but may be put in other words."""
    if ready is None:
        if question is None:
            raise ValueError("give --question, or a question that is --ready")
        return question, encoding
    if encoding is not None:
        raise ValueError(f"--ready {ready} has its own answers; leave out --category, --categories and --encoding")
    from untrackable.encodings.days_of_use import READY_QUESTIONS

    found = READY_QUESTIONS[ready]
    return question or found.question, found.encoding
