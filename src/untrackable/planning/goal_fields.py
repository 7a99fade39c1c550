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
from untrackable.checks import MOST_ROUNDS


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


@dataclass(frozen=True, slots=True)
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


def _count(name: str, help: str, high: int = MOST_ROUNDS, **more: Any) -> GoalField:
    """A whole number from 1 on."""
    return GoalField(name, "whole", help, low=1, high=high, **more)


_FIELDS = (
    _count("people", "People who take part.", high=LARGEST_PEOPLE, label="People"),
    GoalField("values", "whole", "Number of possible answers.", low=2, scope="each"),
    _count(
        "bits", "Or the width of an encoded answer.", high=256, label="The number of bits", scope="each"
    ),  # as wide as encodings are
    _count("strings", "Or strings to discover, up to this long.", high=30, metavar="BYTES", scope="single"),
    _count("rounds", "In how many rounds the answers come in.", label="Rounds"),
    GoalField("eps", "eps", "Privacy of all that a person ever sends.", high=LARGEST_EPS, label="Eps"),
    GoalField("error", "probability", "Largest error of a published share.", label="The error"),
    GoalField("largest_eps", "eps", "Largest eps a plan chooses.", high=LARGEST_EPS, default=4.0),
    _count("pooled", "Rounds pooled for one figure.", default=1, label="The number of pooled rounds"),
    _count("looks", "Rounds that one report is about.", shown="the best", scope="single"),
    GoalField("typical", "probability", "Share that errors are of.", shown="0.05; yes/no 0.5"),
    GoalField("beta", "probability", "Probability of a larger error.", default=0.05),
    GoalField(
        "simultaneous",
        "no",
        "The error holds for each answer, not for all at once.",
        default=True,
        typed="one_value",
    ),
    GoalField(
        "want",
        "word",
        "Publish frequencies, quantiles or mean.",
        words=WANTS,
        default="frequencies",
        label="What is published",
        metavar="WHAT",
        scope="single",
    ),
    GoalField("share", "share", "Share of people who have a turn.", default="1", label="The share"),
    GoalField("wipes", "whole", "Wipes to allow for; 1 for web pages.", high=100, default=0, label="Wipes"),
    GoalField("relay", "yes", "A relay hides who sends which report.", default=False),
    GoalField(
        "crowd_delta",
        "probability",
        "Chance that the relay's eps fails.",
        low=1e-12,
        default=1e-06,
        label="Delta in the crowd",
    ),
    GoalField("margin", "margin", "Share of people who may be missing.", default="1/20", label="The margin"),
)
GOALS = {field.name: field for field in _FIELDS}
"""All demands, in the order in which help shows them."""
Unknown = Literal["people", "rounds", "eps", "error"]
UNKNOWNS: tuple[Unknown, ...] = ("people", "rounds", "eps", "error")
"""The demands of which a plan solves for one."""
