"""The demands on a plan, one by one: how each is called, which values it takes, and what it means.

`untrackable plan` makes its options of this table, a file of questions its keys, and the form of a new campaign its
fields, and `Goals` checks with it. So a demand has the same limits everywhere. The table loads no other package:
the command line needs it to show help.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from untrackable import checks


class GoalError(ValueError):
    """A demand that no plan can meet. `field` is wrong, and has this `value`.

    In the `template`, every field that is named stands in braces, so that each surface can use its own name for it.
    """

    def __init__(self, field: str, value: object, template: str) -> None:
        super().__init__(field, value, template)
        self.field, self.value, self.template = field, value, template

    def worded(self, named: Callable[[str], str]) -> str:
        """The message, with `named(field)` for every field that it names."""
        return re.sub(r"\{([a-z_]+)\}", lambda match: named(match[1]), self.template)

    def __str__(self) -> str:
        return self.worded(str)


class GoalKindError(GoalError, TypeError):
    """A demand of the wrong type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalField:
    """One demand: its name in `Goals`, its limits, and its words.

    A demand of the kind "no" is a flag that denies it. `help` is its line on the command line, and `label` begins a
    sentence about it on a page. `scope` says whether it is the same for all questions of a file, belongs to each of
    them, or is for a single question only.
    """

    name: str
    kind: Literal["whole", "eps", "probability", "share", "margin", "word", "yes", "no"]
    help: str
    label: str = ""
    low: float = 0
    high: float | None = None
    words: tuple[str, ...] = ()
    default: Any = None
    shown: str = ""
    """What the command line shows as the default, if it is not `default`."""
    typed: str = ""
    """The name of the option and the key, if it is not `name`."""
    metavar: str | None = None
    scope: Literal["all", "each", "single"] = "all"

    @property
    def key(self) -> str:
        """The key in a file of questions."""
        return self.typed or self.name

    @property
    def option(self) -> str:
        """The option of the command line."""
        return f"--{self.key.replace('_', '-')}"

    def checked(self, given: Any) -> Any:
        """What is given, if it is within the limits; otherwise a `GoalError`."""
        try:
            return self._checked(f"{{{self.name}}}", given)
        except TypeError as error:
            raise GoalKindError(self.name, given, str(error)) from None
        except ValueError as error:
            raise GoalError(self.name, given, str(error)) from None

    def _checked(self, name: str, given: Any) -> Any:
        match self.kind:
            case "whole":
                high = None if self.high is None else int(self.high)
                return checks.integer(name, given, low=int(self.low), high=high)
            case "eps":
                number = checks.epsilon(name, given)
                if self.high is not None and number > self.high:
                    raise ValueError(f"{name} must be at most {self.high:g}, got {number}: more would hide nothing")
                return number
            case "probability":
                number = checks.open_probability(name, given)
                if number < self.low:
                    raise ValueError(f"{name} must be at least {self.low}, got {number}")
                return number
            case "share" | "margin":
                share = checks.chance(name, given)
                if share == (1 if self.kind == "margin" else 0):
                    what = "below 1: nobody would take part" if share else "above 0: nobody would answer"
                    raise ValueError(f"{name} must be {what}")
                return share
            case "word":
                return checks.choice(name, given, self.words)
        if not isinstance(given, bool):
            raise TypeError(f"{name} must be True or False, not {type(given).__name__}")
        return given


WANTS = ("frequencies", "quantiles", "mean")
LARGEST_PEOPLE = 10**15
LARGEST_EPS = 64.0
_ROUNDS: dict[str, Any] = {"kind": "whole", "low": 1, "high": checks.MOST_ROUNDS}

GOALS = {
    field.name: field
    for field in (
        GoalField(
            name="people", kind="whole", low=1, high=LARGEST_PEOPLE, label="People", help="People who take part."
        ),
        GoalField(name="values", kind="whole", low=2, help="Number of possible answers.", scope="each"),
        GoalField(
            name="bits",
            kind="whole",
            low=1,
            high=256,  # as wide as encodings are
            label="The number of bits",
            help="Or the width of an encoded answer.",
            scope="each",
        ),
        GoalField(
            name="strings",
            kind="whole",
            low=1,
            high=30,  # the longest string whose prefixes are discovered
            metavar="BYTES",
            help="Or strings to discover, up to this long.",
            scope="single",
        ),
        GoalField(name="rounds", **_ROUNDS, label="Rounds", help="In how many rounds the answers come in."),
        GoalField(
            name="eps", kind="eps", high=LARGEST_EPS, label="Eps", help="Privacy of all that a person ever sends."
        ),
        GoalField(name="error", kind="probability", label="The error", help="Largest error of a published share."),
        GoalField(
            name="largest_eps", kind="eps", high=LARGEST_EPS, default=4.0, help="Largest eps a plan chooses."
        ),
        GoalField(
            name="pooled",
            **_ROUNDS,
            default=1,
            label="The number of pooled rounds",
            help="Rounds pooled for one figure.",
        ),
        GoalField(
            name="looks", **_ROUNDS, shown="the best", help="Rounds that one report is about.", scope="single"
        ),
        GoalField(name="typical", kind="probability", shown="0.05; yes/no 0.5", help="Share that errors are of."),
        GoalField(name="beta", kind="probability", default=0.05, help="Probability of a larger error."),
        GoalField(
            name="simultaneous",
            kind="no",
            default=True,
            typed="one_value",
            help="The error holds for each answer, not for all at once.",
        ),
        GoalField(
            name="want",
            kind="word",
            words=WANTS,
            default="frequencies",
            label="What is published",
            metavar="WHAT",
            help="Publish frequencies, quantiles or mean.",
            scope="single",
        ),
        GoalField(
            name="share", kind="share", default="1", label="The share", help="Share of people who have a turn."
        ),
        GoalField(
            name="wipes",
            kind="whole",
            high=100,
            default=0,
            label="Wipes",
            help="Wipes to allow for; 1 for web pages.",
        ),
        GoalField(name="relay", kind="yes", default=False, help="A relay hides who sends which report."),
        GoalField(
            name="crowd_delta",
            kind="probability",
            low=1e-12,
            default=1e-6,
            label="Delta in the crowd",
            help="Chance that the relay's eps fails.",
        ),
        GoalField(
            name="margin",
            kind="margin",
            default="1/20",
            label="The margin",
            help="Share of people who may be missing.",
        ),
    )
}
"""All demands, in the order in which help shows them."""
Unknown = Literal["people", "rounds", "eps", "error"]
UNKNOWNS: tuple[Unknown, ...] = ("people", "rounds", "eps", "error")
"""The demands of which a plan solves for one."""
