"""A plan and a new campaign in the words that pages show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change of the goals in words, and the field and text that make it; both are empty if no field does."""

    words: str
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan in words: the answer first, the options as a table, and why the others do not meet the goals."""

    usable: bool
    verdict: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    parameters: tuple[tuple[str, str], ...]
    ways: tuple[tuple[str, ...], ...]
    """The ways to ask for several answers at once, as rows below headings; empty if there is one answer."""
    ways_caption: str
    separately: bool
    """Whether a campaign for each table is recommended, which this form does not make."""
    refusals: tuple[tuple[str, str], ...]
    changes: tuple[tuple[str, tuple[ShownChange, ...]], ...]
    """The mechanisms that small changes of the goals would help, nearest first, each with the changes."""
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
