"""`python -m untrackable`, the same as the `untrackable` command."""

from untrackable.cli import run

run()
