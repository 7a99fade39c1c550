"""One number, such as a share or a mean, estimated in each round: its band over all rounds, and its changes.

Let x be the estimate of a round, and Σ w·x a weighted mean over a window of independent rounds. Its error is at
most √(Σ w²·s²)·√(L/2) with L = ln(2m/β), if m errors are bounded at once (Hoeffding), where s is the deviation of a
round. It is also at most √(2L·Σ w²v) + L·max(w·p)/3 (Bernstein), if the variance of x is at most v, and no report
moves x by more than p. The smaller one is taken. Neither depends on the answers, so the choice costs nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from untrackable import checks
from untrackable.estimation.change_points import (
    Change,
    Comparisons,
    adjacent_windows,
    located_changes,
    round_comparisons,
    window_comparisons,
    window_lengths,
)
from untrackable.estimation.intervals import FloatArray, Interval
from untrackable.estimation.spread import Spread


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What bounds the errors of some numbers: squared deviations, variances, and how far one report moves each.

    `bias` bounds what hashing adds, in all rounds alike. All of it holds except with probability `failure`.
    """

    squares: FloatArray
    variances: FloatArray
    pulls: FloatArray
    bias: FloatArray | None = None
    failure: float = 0.0

    @staticmethod
    def of(spreads: Sequence[Spread], reports: Sequence[int]) -> "Errors":
        """The errors of estimates from the spreads of reports and their numbers, one for each of several rounds."""
        squares, variances, pulls = (
            np.stack([np.asarray(getattr(s, name)) ** power / n for s, n in zip(spreads, reports, strict=True)])
            for name, power in (("span", 2), ("variance", 1), ("part", 1))
        )
        bias = np.stack([np.broadcast_to(spread.bias, squares.shape[1:]) for spread in spreads])
        return Errors(
            squares, variances, pulls, bias if np.any(bias) else None, sum(spread.failure for spread in spreads)
        )

    @staticmethod
    def of_deviations(deviations: FloatArray) -> "Errors":
        """The errors of estimates with these deviations, of which nothing else is known."""
        unknown = np.full(deviations.shape, math.inf)
        return Errors(deviations**2, unknown, unknown)

    def radius(self, beta: float, together: int) -> FloatArray:
        """By how much the numbers can be off, `together` of them at once."""
        if beta <= self.failure:
            raise ValueError(f"beta must be above {self.failure:.3g}, as hashing may fail so often, got {beta}")
        level = math.log(2 * together / (beta - self.failure))
        hoeffding = np.sqrt(self.squares * level / 2)
        bernstein = np.sqrt(2 * level * self.variances) + level * self.pulls / 3
        noise = np.minimum(hoeffding, bernstein)
        return noise if self.bias is None else noise + self.bias


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundNumbers:
    """A number that is linear in the frequencies, estimated in each round without bias.

    The true number is between `lowest` and `highest`. Rounds are `independent` if a client's reports of different
    rounds are, given its values, and no bias is shared.
    """

    rounds: tuple[int, ...]
    estimates: FloatArray
    errors: Errors
    independent: bool
    lowest: float = 0.0
    highest: float = 1.0

    def band(self, beta: float, *, together: int = 1) -> Interval:
        """Where the number lies in all rounds at once, and so do `together` such numbers; upper."""
        beta = checks.open_probability("beta", beta)
        radius = self.errors.radius(beta, together * len(self.rounds))
        ends = (self.estimates - radius, self.estimates + radius)
        return Interval(*(np.clip(end, self.lowest, self.highest) for end in ends))

    def changes(self, beta: float, *, together: int = 1) -> tuple[Change, ...]:
        """Where the number rose or fell. All statements about `together` such numbers hold at once; upper."""
        beta = checks.open_probability("beta", beta)
        if len(self.rounds) < 2:
            return ()
        if self.independent:
            return located_changes(self.rounds, self._window_differences(beta, together))
        return located_changes(self.rounds, round_comparisons(self.estimates, *self.band(beta, together=together)))

    def windows(self) -> tuple[FloatArray, Errors]:
        """The mean over each window of `all_windows`, for independent rounds.

        A round weighs one over its squared deviation, which does not depend on the answers.
        """
        precision = 1 / self.errors.squares
        means, squares, variances, pulls = [], [], [], []
        for length in window_lengths(len(self.rounds)):
            weights = sliding_window_view(precision, length)
            weights = weights / weights.sum(axis=1, keepdims=True)
            means.append((weights * sliding_window_view(self.estimates, length)).sum(axis=1))
            squares.append((weights**2 * sliding_window_view(self.errors.squares, length)).sum(axis=1))
            variances.append((weights**2 * sliding_window_view(self.errors.variances, length)).sum(axis=1))
            pulls.append((weights * sliding_window_view(self.errors.pulls, length)).max(axis=1))
        return np.concatenate(means), Errors(
            np.concatenate(squares), np.concatenate(variances), np.concatenate(pulls)
        )

    def _window_differences(self, beta: float, together: int) -> Comparisons:
        before, after = adjacent_windows(len(self.rounds))
        means, errors = self.windows()
        difference = means[after] - means[before]
        both = Errors(
            errors.squares[before] + errors.squares[after],
            errors.variances[before] + errors.variances[after],
            np.maximum(errors.pulls[before], errors.pulls[after]),
        )
        radius = both.radius(beta, together * before.size)
        return window_comparisons(len(self.rounds), difference, radius)
