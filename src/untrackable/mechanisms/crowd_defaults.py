"""What a mechanism says about a crowd unless it knows better."""

from fractions import Fraction

from untrackable.checks import Chance
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_losses import LossLaw


class CrowdDefaults:
    """The answers of a mechanism whose reports a crowd does not hide."""

    __slots__ = ()

    def crowd(self, *, people: int, reports: int | None = None, participation: Chance = EVERY_ROUND) -> Experiment:
        """Privacy against an observer who sees everybody's reports in every round, but not who sent which."""
        raise ValueError("its reports can be linked, so a crowd does not hide them")

    def integer_crowd(
        self, *, people: int, reports: int | None = None, participation: Fraction = EVERY_ROUND
    ) -> LossLaw | None:
        """`crowd` with the standard library alone; None if only the full engine can compute it."""
        return None

    def standard_error(self, people: int, share: float) -> float | None:
        """The standard error of the frequency of a value that this share of people holds, given who holds it.

        It is of one round with a report by each of these people; None if the mechanism cannot say.
        """
        return None
