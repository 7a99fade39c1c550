"""What the noise of one report means for a person: how often the report is the plain truth."""

from typing import Literal, NamedTuple

Kind = Literal["answer", "question", "marks"]


class Truthfulness(NamedTuple):
    """How often one report, taken by itself, is true about its sender (exact).

    A report names one "answer", or tells the answer to a "question" about the value that is drawn at random, or
    "marks" any number of answers, among which the own one counts. `own` is the probability that this is true, and
    `noise` the same for a report that says nothing about the value.
    """

    kind: Kind
    own: float
    noise: float
