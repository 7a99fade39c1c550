"""The goals with nothing left open, and the mechanism that meets them; or that none is accurate enough."""

from dataclasses import dataclass

from untrackable.brackets import Bracket
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import USABLE_ERROR, Goals


@dataclass(frozen=True, slots=True)
class Solved:
    """A mechanism that meets `goals`, in which nothing is unknown any more, and its tracking in their measure."""

    goals: Goals
    mechanism: Mechanism
    tracked: Bracket


def inaccurate(error: float, wanted: float, mechanism: Mechanism) -> Unsuitable:
    """The error would be larger than is wanted."""
    why = f"Not accurate enough: the error would be ±{error:.3g}, and at most ±{wanted:.3g} is asked for."
    if wanted == USABLE_ERROR:
        why = f"Not usable here: the error would be ±{error:.3g}, and above ±{wanted:g} a figure says little."
    if error >= 1:
        why = "Not usable here: the error would exceed ±100 %."
    return Unsuitable("accuracy", why, mechanism=mechanism, error=error)
