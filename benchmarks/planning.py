"""How long plans take: processor time, as multiples of one exact evaluation in the same run.

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
from untrackable.encodings import Choices  # noqa: E402
from untrackable.planning import plans, question_set  # noqa: E402

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
    "crowd, yes/no, 12 weeks: error": {"people": 10**5, "values": 2, "rounds": 12, "crowd_eps": 1.0, "eps": 4.0},
    "crowd, 16 values: rounds": {"people": 10**6, "values": 16, "crowd_eps": 1.0, "eps": 4.0, "error": 0.05},
    "crowd, 1,024 values, loud: people": {
        "values": 1024,
        "rounds": 52,
        "crowd_eps": 1.0,
        "eps": 64.0,
        "error": 0.01,
    },
    "crowd, 1,024 numbers: quantiles": {
        "people": 10**6,
        "values": 1024,
        "rounds": 12,
        "crowd_eps": 1.0,
        "want": "quantiles",
        "error": 0.2,
    },
    "crowd, five choices: what would help": {
        "people": 10**5,
        "encoding": Choices(names=list("abcde")),
        "rounds": 12,
        "crowd_eps": 1.0,
    },
}
_FIVE: dict[str, dict[str, Any]] = {
    "a": {"values": 2},
    "b": {"values": 8},
    "c": {"values": 4},
    "d": {"values": 16, "error": 0.09},
    "e": {"values": 3},
}
_TWO = {name: _FIVE[name] for name in "ab"}
SETS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, Any]]] = {
    "two questions, 52 weeks": (_TWO, {"people": 10**8, "rounds": 52}),
    "five questions, 52 weeks": (_FIVE, {"people": 10**9, "rounds": 52}),
    "crowd, two questions, 52 weeks": (_TWO, {"people": 10**6, "rounds": 52, "crowd_eps": 1.0}),
    "crowd, five questions, 52 weeks": (_FIVE, {"people": 10**7, "rounds": 52, "crowd_eps": 1.0, "eps": 8.0}),
    "crowd, two loud questions, 12 weeks": (
        _TWO,
        {"people": 10**6, "rounds": 12, "crowd_eps": 1.0, "eps": 64.0},
    ),
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
    for name, (questions, shared) in SETS.items():
        taken = spent(partial(question_set.plan_together, questions, **shared))
        print(f"{name:40s}   {taken:6.2f}   {taken / unit:12,.0f}")
    whole, helped = commanded(*COMMAND), commanded("--help")
    print(f"importing the planner: {_IMPORTED:.2f} s")
    print(f"untrackable {' '.join(COMMAND)}: {whole:.2f} s, {whole / _IMPORTED:.1f} × the import;")
    print(f"untrackable --help: {helped:.2f} s")


if __name__ == "__main__":
    main()
