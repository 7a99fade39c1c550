"""The mechanisms that a plan tries: those of the catalogue, and those for ordered numbers or for tables."""

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.ordered_catalogue import offered
from untrackable.mechanisms.tables_catalogue import TABLES
from untrackable.planning.goals import Goals


def offered_for(goals: Goals) -> dict[str, Entry]:
    """All mechanisms, by name, that may answer the question of the goals."""
    return offered(goals.want) if goals.asked is None else TABLES
