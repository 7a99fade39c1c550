"""How a long computation shows what it is doing."""

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""A function to call with what is being done, and the share of it that is done; None if that is not known."""


def no_progress(what: str, done: float | None) -> None:
    """Show nothing."""
