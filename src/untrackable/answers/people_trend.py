"""How many people were active, round by round."""

import numpy as np

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.answers.number_trend import NumberTrend
from untrackable.estimation.active_people import active_people
from untrackable.estimation.change_points import located_changes, round_comparisons

NAME = "number of people active"


def people_trend(answer: Answer, *, beta: float = 0.05) -> NumberTrend:
    """The people who were active in each round.

    Each of R rounds may fail with probability beta/R. Changes are between rounds whose bands lie apart.
    """
    beta = checks.open_probability("beta", beta)
    rounds, reports = tuple(answer.rounds), tuple(estimate.n for estimate in answer.rounds.values())
    found = [active_people([n], answer.question.turns, beta / len(rounds)) for n in reports]
    estimates, lower, upper = (np.array([each[i] for each in found]) for i in range(3))
    return NumberTrend(
        name=NAME,
        rounds=rounds,
        reports=reports,
        estimates=estimates,
        standard_errors=None,
        lower=lower,
        upper=upper,
        beta=beta,
        independent=False,
        changes=located_changes(rounds, round_comparisons(estimates, lower, upper)),
        unit="",
    )
