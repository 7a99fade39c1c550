"""How long a plan takes: processor time of ordinary goals, as multiples of one exact evaluation in the same run.

The unit is what every search is made of: delta of a year of answers, convolved exactly (a deck of 365 cards).
Beside it, what importing the planner takes, and the command from start to end. Run with `make bench`.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

_STARTED = time.process_time()

import untrackable  # noqa: E402
from untrackable.planning import plans  # noqa: E402

_IMPORTED = time.process_time() - _STARTED

GOALS: dict[str, dict[str, Any]] = {
    "yes/no, a year, 30 days pooled: error": {
        "people": 10**6,
        "values": 2,
        "rounds": 365,
        "eps": 1.0,
        "changes": True,
        "pooled": 30,
    },
    "yes/no, a year: eps": {"people": 10**6, "values": 2, "rounds": 365, "error": 0.05},
    "1,024 values, 52 weeks: people": {"values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01},
    "the same with too few people": {"people": 10**6, "values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01},
    "16 values: rounds": {"people": 5 * 10**7, "values": 16, "eps": 1.0, "error": 0.05},
    "strings, 12 months: found from": {
        "people": 5 * 10**7,
        "strings": 20,
        "rounds": 12,
        "eps": 4.0,
        "changes": True,
    },
    "16 bits, 730 rounds: people": {"bits": 16, "rounds": 730, "eps": 1.0, "error": 0.01},
}
COMMAND = ("plan", "--people", "1000000", "--values", "2", "--rounds", "365", "--eps", "1", "--pooled", "7")


def spent(work: Callable[[], object]) -> float:
    """Processor seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def commanded(*words: str) -> float:
    """Processor seconds of a command, all of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "untrackable", *words], check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Each goal once, in a process that has planned something else before: nothing is remembered."""
    deck = untrackable.Deck(bits=1, slots=365, eps_report=0.0124)
    untrackable.plan(people=1000, values=2, rounds=2, eps=1.0)
    unit = min(spent(lambda: deck.privacy().delta(1.0)) for _ in range(20))
    print(f"one exact delta: {1e3 * unit:.2f} ms of processor time")
    print("goals                                     seconds   exact deltas")
    for name, goals in GOALS.items():
        taken = spent(partial(plans.plan, **goals))
        print(f"{name:40s}   {taken:6.2f}   {taken / unit:12,.0f}")
    whole, helped = commanded(*COMMAND), commanded("--help")
    print(f"importing the planner: {_IMPORTED:.2f} s")
    print(f"untrackable {' '.join(COMMAND)}: {whole:.2f} s, {whole / _IMPORTED:.1f} × the import;")
    print(f"untrackable --help: {helped:.2f} s")


if __name__ == "__main__":
    main()
