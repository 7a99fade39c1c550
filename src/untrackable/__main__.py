"""The `untrackable` command, which is also `python -m untrackable`."""

from untrackable import early_interrupts


def run() -> None:
    """Load the command line, and run it."""
    early_interrupts.end_at_once()
    from untrackable import cli

    cli.run()


if __name__ == "__main__":
    run()
