"""How long a plan takes: processor time of ordinary goals.

What takes longest is the privacy in the crowd, so one of these stands beside.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.shared.clocks import command_seconds, processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Fresh, NoisyInnerProduct, plan, plan_together
from untrackable.encodings import Choices

MILLION = 10**6
GOALS: dict[str, dict[str, Any]] = {
    "yes/no, daily for a year, 30 days pooled; error": {
        "people": MILLION, "values": 2, "rounds": 365, "eps": 1.0, "pooled": 30,
    },
    "yes/no, daily for a year; eps": {"people": MILLION, "values": 2, "rounds": 365, "error": 0.05},
    "16 values, weekly for a year, with a relay": {
        "people": 10**5, "values": 16, "rounds": 52, "eps": 4.0, "relay": True,
    },
    "1,024 values, weekly for a year; people": {"values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01},
    "the same with too few people; what would be feasible": {
        "people": MILLION, "values": 1024, "rounds": 52, "eps": 2.0, "error": 0.01,
    },
    "16 values; rounds": {"people": 50 * MILLION, "values": 16, "eps": 1.0, "error": 0.05},
    "strings of 20 bytes, monthly; found from which share on": {
        "people": 50 * MILLION, "strings": 20, "rounds": 12, "eps": 4.0,
    },
    "16 bits, 730 rounds; people": {"bits": 16, "rounds": 730, "eps": 1.0, "error": 0.01},
    "1,024 numbers, twelve weeks; quantiles": {
        "people": MILLION, "values": 1024, "rounds": 12, "eps": 2.0, "want": "quantiles",
    },
    "1,024 numbers, too few people; what would help": {
        "people": MILLION, "values": 1024, "rounds": 12, "eps": 4.0, "want": "quantiles", "error": 0.02,
    },
    "five choices; error": {"people": 10**5, "encoding": Choices(names=list("abcde")), "rounds": 12, "eps": 2.0},
}  # fmt: skip
"""What is asked, and what is solved for."""
_FIVE: dict[str, dict[str, Any]] = {
    "a": {"values": 2},
    "b": {"values": 8},
    "c": {"values": 4},
    "d": {"values": 16},
    "e": {"values": 3},
}
_TWO = {name: _FIVE[name] for name in "ab"}
SETS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, Any]]] = {
    "two questions, weekly for a year": (_TWO, {"people": MILLION, "rounds": 52, "eps": 2.0}),
    "five questions, weekly for a year": (_FIVE, {"people": 10 * MILLION, "rounds": 52, "eps": 4.0}),
}
"""Questions that share one turn, and what they share."""
_SMALL: dict[str, Any] = {"people": 1000, "values": 2, "rounds": 2, "eps": 1.0}
COMMAND = ("plan", "--people", "1e6", "--values", "2", "--rounds", "365", "--eps", "1", "--pooled", "7")
EVALUATED = Comparison(work="Privacy of one report in a crowd of 8,333", unit="ms of processor time")
PLANNED = {name: Comparison(work=f"A plan: {name}", unit="s of processor time", at_most=1.0) for name in GOALS}
TOGETHER = {name: Comparison(work=f"A plan of {name}", unit="s of processor time", at_most=1.0) for name in SETS}
COMMANDED = Comparison(
    work="The command `untrackable plan`, yes/no for a year, 7 days pooled", peer="importing the planner",
    unit="times as long",
)  # fmt: skip
HELPED = Comparison(work="`untrackable --help`", unit="s of processor time")
COMPARISONS = (EVALUATED, *PLANNED.values(), *TOGETHER.values(), COMMANDED, HELPED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Each goal once, in a process that has planned something else before: nothing is remembered."""
    plan(**_SMALL)
    report = Fresh(NoisyInnerProduct(bits=1, eps=2.0))
    yield EVALUATED.row(1e3 * processor_timed(lambda: report.crowd(people=8333, reports=1).gamma(1e-6))[0])
    for name, goals in GOALS.items():
        yield PLANNED[name].row(processor_timed(partial(plan, **(_SMALL if small else goals)))[0])
    for name, (questions, shared) in SETS.items():
        made = partial(plan, **_SMALL) if small else partial(plan_together, questions, **shared)
        yield TOGETHER[name].row(processor_timed(made)[0])
    imported = command_seconds("-c", "import untrackable.planning.plan")
    command = ("--version",) if small else COMMAND
    yield COMMANDED.row(command_seconds("-m", "untrackable", *command) / imported)
    yield HELPED.row(command_seconds("-m", "untrackable", "--help"))
