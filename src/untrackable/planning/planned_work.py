"""How much of a plan's work is done, so that it can be said how long the rest takes.

A unit of work is what it takes to set one mechanism for a budget, roughly.
"""

from collections.abc import Sequence

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.planning.goals import Goals
from untrackable.progress import Progress, no_progress

_SEARCHES = {"people": 1.0, "error": 1.0, "eps": 6.0, "rounds": 6.0}
"""Settings of a mechanism until the unknown goal is found, alone: people and error follow from one setting."""
_CROWD_SEARCHES = {"people": 6.0, "rounds": 6.0, "error": 1.0}
"""The same in a crowd, where more people hide louder reports."""
_REFUSED = 0.02
"""What it takes to see that a mechanism does not suit a question at all."""
_UNTUNED = 0.25
"""What a mechanism takes whose parameters do not follow the tolerance. It mostly turns out to be linkable soon."""
_WAYS = 1.0
"""What it takes to compare ways to ask for several answers at once."""

ATTENDANCE, RECORD = 4.0, 4.0
"""What it takes to find how often several questions may be answered together, and to plan them as one record."""
BEST, NEEDED, STEP, CROWD_STEP, PROMISES = 2.0, 1.5, 0.3, 1.2, 1.0
"""What each question of several takes: its mechanism, the eps for its error, a step of the search for its part of
the budget, alone and in a crowd, and its promises in the end."""
_STEPS = 5
"""Steps of a search for the parts of a budget."""


class PlannedWork:
    """Tells a progress callback which share of all units of work is done."""

    def __init__(self, progress: Progress = no_progress, total: float = 1.0) -> None:
        self._progress, self._total, self._done = progress, total, 0.0

    def begin(self, what: str) -> None:
        """Say what is done next."""
        self._progress(what, self._done / self._total)

    def did(self, what: str, units: float) -> None:
        """So many units are done."""
        self._done = min(self._done + units, self._total)
        self.begin(what)


def entry_work(entry: Entry, goals: Goals) -> float:
    """The units of solving for the unknown goal with a mechanism, or of saying what would help."""
    if entry.refusal(goals.budget) is not None:
        return _REFUSED
    if goals.crowd_eps is not None:
        return _CROWD_SEARCHES[goals.unknown or "error"] * entry.work
    return _SEARCHES[goals.unknown or "error"] * entry.work * (1.0 if entry.tuned else _UNTUNED)


def ways_work(goals: Goals) -> float:
    """The units of comparing ways to ask, where there are several."""
    return 0.0 if goals.asked is None or len(goals.asked.views) == 1 else _WAYS


def set_work(questions: Sequence[Goals]) -> float:
    """The units of dividing one budget among several questions. The limit in a crowd is mostly kept anyway."""
    steps = _STEPS * STEP + (0.0 if questions[0].crowd_eps is None else CROWD_STEP)
    needed = NEEDED * sum(goals.error is not None for goals in questions)
    return ATTENDANCE + RECORD + needed + (BEST + steps + PROMISES) * len(questions)
