"""The answer to a question: estimates of each round, all rounds pooled if possible, and names of the values."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from untrackable import checks
from untrackable.answers.pooling import pooled_estimate
from untrackable.answers.question import Question
from untrackable.encodings.encoding import Encoding
from untrackable.estimation.active_people import ActivePeople, active_people
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import independent_rounds
from untrackable.mechanisms.interface import Mechanism
from untrackable.notebook_view import NotebookView

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(NotebookView):
    """Estimates by round, and pooled over all rounds if that is possible. Each look of a path is like a round.

    `pooling` says why it is not possible, or that it gains nothing.
    """

    question: Question
    rounds: Mapping[int, Estimate]
    pooled: Estimate | None
    pooling: str = ""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports."""
        return self.question.mechanism

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of the values, if it is known."""
        return self.question.encoding

    @property
    def best(self) -> Estimate:
        """The pooled estimate, or that of the last round if rounds cannot be pooled."""
        return self.rounds[max(self.rounds)] if self.pooled is None else self.pooled

    @property
    def only_counts(self) -> bool:
        """Whether nothing was asked, so that there are people to count and no shares to estimate."""
        return self.encoding is not None and self.encoding.values == 1

    def people(self, *, beta: float = 0.05) -> ActivePeople:
        """How many people were active in a round, on average over the rounds of the best estimate.

        Rounds in between that have no report count, too.
        """
        if self.pooled is None:
            return active_people([self.best.n], self.question.turns, beta)
        looks = self.question.looks  # All looks of a round have the same reports.
        missing = (max(self.rounds) - min(self.rounds) + 1 - len(self.rounds)) // looks
        reports = [each.n for each in self.rounds.values()][::looks]
        return active_people(reports, self.question.turns, beta, missing=missing)

    @property
    def independent(self) -> bool:
        """Whether a client's reports of these rounds are independent given its values. Looks share theirs."""
        return self.question.path is None and independent_rounds(self.mechanism, self.rounds)

    def label(self, value: Any) -> str:
        """A value's name for people."""
        return self.question.label(value)

    def labelled(self, estimate: Estimate) -> Estimate:
        """An estimate with the names of its values, for export."""
        values = range(estimate.frequencies.size) if estimate.values is None else estimate.values
        return dataclasses.replace(estimate, values=[self.label(value) for value in values])

    def to_arrow(self) -> "pa.Table":
        """The best estimate with the names of its values: a row for each, with both intervals."""
        return self.labelled(self.best).to_arrow()

    def to_pandas(self) -> Any:
        """The table of `to_arrow` as a pandas data frame, if pandas is installed."""
        return self.labelled(self.best).to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The best estimate with names, for any library that takes Arrow data, such as DuckDB and Polars."""
        return self.labelled(self.best).__arrow_c_stream__(requested_schema)


def answer(question: Question, sums: Mapping[int, Aggregator], *, beta: float = 0.05) -> Answer:
    """Estimate each round and all rounds together, from the sums of each round that has reports.

    Intervals fail with probability at most `beta`. The sums are as `question.prepare` returns them.
    """
    beta = checks.open_probability("beta", beta)
    alone: dict[int, Estimate] = {}
    for number in sorted(sums):
        alone |= question.estimates(number, sums[number], beta)
    pooled = pooled_estimate(question, sums, beta, alone=alone if question.path is None else None)
    return Answer(
        question=question,
        rounds={number: question.named(estimate) for number, estimate in alone.items()},
        pooled=None if pooled.estimate is None else question.named(pooled.estimate),
        pooling=pooled.note,
    )
