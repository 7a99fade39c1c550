"""How long a plan takes: processor time of ordinary goals.

Every search is made of exact evaluations, so one of them stands beside: delta of a year of answers, convolved.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.shared.clocks import command_seconds, processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck, plan

MILLION = 10**6
GOALS: dict[str, dict[str, Any]] = {
    "yes/no, daily for a year, 30 days pooled; error": {
        "people": MILLION, "values": 2, "rounds": 365, "eps": 1.0, "changes": True, "pooled": 30,
    },
    "yes/no, daily for a year; eps": {"people": MILLION, "values": 2, "rounds": 365, "error": 0.05},
    "1,024 values, weekly for a year; people": {"values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01},
    "the same with too few people; what would be feasible": {
        "people": MILLION, "values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01,
    },
    "16 values; rounds": {"people": 50 * MILLION, "values": 16, "eps": 1.0, "error": 0.05},
    "strings of 20 bytes, monthly; found from which share on": {
        "people": 50 * MILLION, "strings": 20, "rounds": 12, "eps": 4.0, "changes": True,
    },
    "16 bits, 730 rounds; people": {"bits": 16, "rounds": 730, "eps": 1.0, "error": 0.01},
}  # fmt: skip
"""What is asked, and what is solved for."""
_SMALL: dict[str, Any] = {"people": 1000, "values": 2, "rounds": 2, "eps": 1.0}
COMMAND = ("plan", "--people", "1000000", "--values", "2", "--rounds", "365", "--eps", "1", "--pooled", "7")
EVALUATED = Comparison(work="One exact delta of a deck of 365 cards", unit="ms of processor time")
PLANNED = {name: Comparison(work=f"A plan: {name}", unit="s of processor time", at_most=1.0) for name in GOALS}
COMMANDED = Comparison(
    work="The command `untrackable plan`, yes/no for a year, 7 days pooled", peer="importing the planner",
    unit="times as long",
)  # fmt: skip
HELPED = Comparison(work="`untrackable --help`", unit="s of processor time")
COMPARISONS = (EVALUATED, *PLANNED.values(), COMMANDED, HELPED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Each goal once, in a process that has planned something else before: nothing is remembered."""
    deck = Deck(bits=1, slots=365, eps_report=0.0124)
    plan(**_SMALL)
    yield EVALUATED.row(1e3 * min(processor_timed(lambda: deck.privacy().delta(1.0))[0] for _ in range(20)))
    for name, goals in GOALS.items():
        yield PLANNED[name].row(processor_timed(partial(plan, **(_SMALL if small else goals)))[0])
    imported = command_seconds("-c", "import untrackable.planning.plans")
    command = ("--version",) if small else COMMAND
    yield COMMANDED.row(command_seconds("-m", "untrackable", *command) / imported)
    yield HELPED.row(command_seconds("-m", "untrackable", "--help"))
