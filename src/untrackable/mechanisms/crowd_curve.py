"""What becomes of a crowd's guarantee if more or fewer people take part than planned."""

from collections.abc import Iterable

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism


def crowd_curve(
    mechanism: Mechanism,
    people: Iterable[int],
    *,
    reports: int | None = None,
    eps: float | None = None,
    delta: float | None = None,
) -> dict[int, Bracket]:
    """For each number of people, eps at this `delta`, or delta at this `eps` (brackets).

    It is for `reports` rounds, by default all that there are, in each of which that many people answer.
    """
    if (eps is None) == (delta is None):
        raise ValueError("give eps or delta, and not both")
    found = {}
    for number in people:
        pair = mechanism.crowd(people=number, reports=reports)
        if delta is not None:
            found[number] = pair.gamma(checks.probability("delta", delta))
        elif eps is not None:
            found[number] = pair.delta(checks.non_negative("eps", eps))
    return found
