"""One estimate from several rounds: add up the sums, or weight the estimates by their variance."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from untrackable.answers.question import Question
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import Rounds
from untrackable.mechanisms.interface import Mechanism

_NOTHING_GAINED = "a client's reports are not independent from round to round, so pooling them gains nothing"


class Pooled(NamedTuple):
    """The estimate of all rounds together, of encoded values.

    There is none if rounds cannot be pooled; `note` says why, or that pooling gains nothing.
    """

    estimate: Estimate | None
    note: str = ""


def add_up(mechanism: Mechanism, rounds: Iterable[int]) -> bool:
    """Whether the sums of these rounds may be added up, as if all reports were of one round.

    The first and the last round tell, as the rounds between them belong to the same group if these two do.
    """
    numbers = sorted(rounds)
    first, last = (mechanism.aggregator(number).scope for number in (numbers[0], numbers[-1]))
    return len(numbers) == 1 or (first == last and first.pools)


def merged_sums(sums: Mapping[int, Aggregator], empty: Aggregator) -> Aggregator:
    """The sums of all rounds, added to empty ones a round at a time. So a mapping may read them from a store."""
    for number in sums:
        empty.merge(sums[number])
    return empty


def pooled_estimate(
    question: Question,
    sums: Mapping[int, Aggregator],
    beta: float,
    *,
    alone: Mapping[int, Estimate] | None = None,
) -> Pooled:
    """Pool the sums of all rounds, as `question.prepare` returns them; `alone` are their estimates, if known."""
    mechanism = question.mechanism
    if add_up(mechanism, sums):
        if alone is not None and len(alone) == 1:
            return Pooled(next(iter(alone.values())))
        empty = question.prepare(mechanism.aggregator(min(sums)))
        return Pooled(question.estimate(merged_sums(sums, empty), beta, pooled=len(sums) > 1))
    if alone is None:
        alone = {number: question.estimate(sums[number], beta) for number in sums}
    try:
        rounds = Rounds(mechanism, alone)
    except ValueError as error:
        return Pooled(None, str(error))
    pooled = rounds.pooled(beta=question.noise_beta(beta))
    return Pooled(pooled, "" if rounds.independent(rounds.numbers) else _NOTHING_GAINED)
