"""The `untrackable` command, which is also `python -m untrackable`."""

import sys

from untrackable import early_interrupts


def run() -> None:
    """Load the command line, and run it. Where the client alone is installed, say what is missing."""
    early_interrupts.end_at_once()
    from untrackable.errors import ExtraMissing
    from untrackable.extras import extra

    try:
        with extra("all"):
            import untrackable.cli as cli
    except ExtraMissing as missing:
        sys.exit(f"Error: {missing}")
    cli.run()


if __name__ == "__main__":
    run()
