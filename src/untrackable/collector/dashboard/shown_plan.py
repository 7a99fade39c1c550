"""A plan and a new campaign in the words that pages show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change of the goals in words, and what a form sends to make it; empty if no field does."""

    words: str
    use: str


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table: its headings, its rows, and how to read it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan in words: the answer first, then what anybody can learn, and the rest for people who ask for more."""

    usable: bool
    verdict: tuple[str, ...]
    learned: tuple[str, ...]
    more: tuple[str, ...]
    figures: ShownTable
    ways: ShownTable | None
    """The ways to ask for several answers at once."""
    changes: tuple[ShownChange, ...]
    """What would be enough, if the goals are not met."""
    parameters: str
    command: str


@dataclass(frozen=True, slots=True)
class ShownCampaign:
    """A campaign as its exact document, and what it means in words."""

    id: str
    document: str
    answers: str
    schedule: str
    guarantee: tuple[str, ...]
    accuracy: str
    spread: str
    usable: bool
