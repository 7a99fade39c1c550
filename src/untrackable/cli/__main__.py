"""`python -m untrackable.cli`, the same as the `untrackable` command."""

from untrackable.cli import main

main(prog_name="untrackable")
