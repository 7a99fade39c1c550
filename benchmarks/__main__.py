"""Run benchmarks, print their rows, and store them for the documents."""

import argparse
import subprocess
import sys

from benchmarks.shared import pages
from benchmarks.shared.measurements import NAMES, Measured, Unavailable, machine, measure, month


def run(name: str, *, small: bool, store: bool) -> bool:
    """Run one benchmark and print its rows. It is false if this machine lacks something."""
    found, rows = machine(name), []
    print(f"{name}: {found}", flush=True)
    try:
        for row in measure(name, small=small):
            rows.append(row)
            print("  " + "; ".join(cell for cell in pages.cells([row]) if cell), flush=True)
    except Unavailable as error:
        print(f"  not run, and the stored rows stay: {error}")
        return False
    if store:
        Measured(month(), found, tuple(rows)).store(name)
        pages.write()
    return True


def main() -> int:
    """Run the chosen benchmarks, each in a process of its own if there are several."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(NAMES)}; all by default")
    parser.add_argument("--small", action="store_true", help="only try them, at a small size")
    parser.add_argument(
        "--store", action="store_true", help="store the rows, and write the tables of the documents"
    )
    given = parser.parse_args()
    if unknown := set(given.names) - {*NAMES}:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    if given.small and given.store:
        parser.error("rows of a small size are not stored")
    names = given.names or NAMES
    if len(names) == 1:
        run(names[0], small=given.small, store=given.store)
        return 0
    options = ["--small"] * given.small + ["--store"] * given.store
    commands = [[sys.executable, "-m", "benchmarks", name, *options] for name in names]
    return max(subprocess.run(command, check=False).returncode for command in commands)  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
