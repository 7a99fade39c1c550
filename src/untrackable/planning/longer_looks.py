"""One report about several consecutive rounds: how accurate that would be. Campaigns do not offer it yet.

The k rounds are cut into blocks of B. A client draws a block in secret and sends, at its end, one report about its
answers in all B rounds of the block. It is still one report, of the same eps and with delta 0, for any two paths
of answers. Each round is then told by n·q·B/k people instead of n·q/k. From about eps 2 on that wins, because who
answers matters more than noise.
"""

from typing import NamedTuple

import numpy as np

from untrackable.mechanisms.local.views import Views
from untrackable.planning.goals import Goals
from untrackable.planning.report_choice import widths
from untrackable.theory.turns import survey_variance

_LARGEST_PATH = 10
"""The largest number of bits of a path that is looked at."""


class LongerLook(NamedTuple):
    """Reports about so many consecutive `rounds`, and the standard error of each of them (upper)."""

    rounds: int
    standard_error: float


def longer_looks(goals: Goals) -> tuple[LongerLook, ...]:
    """All lengths of blocks that divide the rounds, the most accurate first; only for the shares of one answer.

    The first is of one round where no longer look is better.
    """
    if goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        return ()
    rounds = goals.turns.rounds
    lengths = [b for b in range(1, _LARGEST_PATH // goals.width + 1) if rounds % b == 0]
    found = [LongerLook(length, _standard_error(goals, length)) for length in lengths]
    return tuple(sorted(found, key=lambda look: look.standard_error))


def _standard_error(goals: Goals, rounds: int) -> float:
    """That of a share of the typical size in one round, with the best width of the answer."""
    people, share = goals.people or 1, goals.typical_share(goals.size)
    reports = max(1.0, float(people * goals.turns.chance * rounds))
    bits, one = goals.width * rounds, tuple(range(goals.width))
    variances = []
    for width in widths(bits, goals.eps_report):
        base = Views(bits=bits, views=(tuple(range(bits)),), eps=goals.eps_report, width=width)
        (law,) = base.entry_laws((one,))
        noise = share * law.held + (1 - share) * law.elsewhere
        variances.append(survey_variance(noise, share, reports, people))
    return float(np.sqrt(min(variances)))
