"""Fading reports of views or of one noisy bit: noisier with every round, so that all stay private for ever."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import StateError
from untrackable.framing import unpack_integers
from untrackable.mechanisms.checked_values import local_population
from untrackable.mechanisms.crowd_privacy import crowd_parts, crowd_size
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.inner_product.crowd_solver import LARGEST_EPS_REPORT, loudest_scale
from untrackable.mechanisms.inner_product.fading import (
    FAINT,
    LARGEST_CROWD_ROUNDS,
    ROUND_BITS,
    Fading,
    Memory,
    loudest,
)
from untrackable.mechanisms.inner_product.fading_privacy import all_rounds, largest_scale, later_shift, rounded
from untrackable.mechanisms.interface import Values
from untrackable.mechanisms.local.local_interface import WeightedLocal
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.dealt_budget import with_eps
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift

_HALVINGS = 20
"""The steps in which a first guess of the scale is found, to three digits."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Faded(Fading):
    """In round t a client sends a new report of `local`, `Views` or `OneBitMean`, with eps_t = scale·t^(-power).

    It is `Fading` for these mechanisms: their own eps does not count and is 1. Two values that are easiest to tell
    apart have different answers with a probability ρ, and then the loss is ±eps_t. So a round reveals as much as a
    noisy bit that is sent with probability ρ only.
    """

    local: Views | OneBitMean
    bits: int = field(repr=False)
    width: int = field(repr=False)

    def __init__(
        self, *, local: Views | OneBitMean, eps: float, delta: float, power: float = 0.75, scale: float = 0.0
    ) -> None:
        if not isinstance(local, (Views, OneBitMean)):
            raise TypeError(f"local must be Views or OneBitMean, not {type(local).__name__}")
        if isinstance(local, Views) and local.width > 1:
            raise ValueError(f"local must have answers of one bit, as later rounds are noisy, got {local.width}")
        checks.settle(self, local=with_eps(local, 1.0), bits=(local.values - 1).bit_length(), width=1)
        checks.settle(self, eps=eps, delta=delta, power=power, scale=scale)
        self._settle_numbers()
        if self.scale == 0:
            asked = (1, 1, self.eps, self.delta, self.power, math.inf, self._differing)
            checks.settle(self, scale=largest_scale(*asked))
        self._check_scale()

    @property
    def tells_shares(self) -> bool:
        """Whether reports tell more than a mean."""
        return getattr(self.local, "tells_shares", True)

    @property
    def _differing(self) -> Fraction:
        """ρ."""
        return self.local.differing_exact()

    @classmethod
    def for_budget(  # type: ignore[override]
        cls,
        *,
        local: Views | OneBitMean,
        eps: float,
        delta: float,
        power: float = 0.75,
        rounds: int | None = None,
    ) -> Self:
        """The loudest mechanism whose first `rounds` rounds, or all for ever, are (eps, delta)-private.

        With `rounds`, reports may be louder. The mechanism's own `eps` is then larger: that of all rounds for ever.
        """
        if rounds is None:
            return cls(local=local, eps=eps, delta=delta, power=power)
        last = checks.integer("rounds", rounds, low=1)
        asked = cls(local=local, eps=eps, delta=delta, power=power, scale=FAINT)
        scale, own = loudest((1, 1, asked.eps, asked.delta, asked.power), last, asked._differing)
        return cls(local=local, eps=own, delta=delta, power=power, scale=scale)

    @classmethod
    def for_crowd(  # type: ignore[override]
        cls,
        *,
        local: Views | OneBitMean,
        rounds: int,
        people: int,
        eps: float,
        delta: float,
        power: float = 0.75,
    ) -> Self:
        """The loudest mechanism whose first rounds a crowd of `people` people keeps private.

        The observer sees all reports of every round, but not who sent which. Somebody who knows which reports are a
        person's learns far more: the mechanism's own `eps` is that of all rounds for ever, at the same delta.
        """
        asked = cls(local=local, eps=eps, delta=delta, power=power, scale=FAINT)
        last = checks.integer("rounds", rounds, low=1, high=LARGEST_CROWD_ROUNDS)
        people = crowd_size(people)
        sent = [partial(_at, asked.local, math.pow(t, -asked.power)) for t in range(1, last + 1)]
        # To first order in 1/people, all rounds look like a Gaussian with this shift.
        target = gaussian_shift(asked.delta, asked.eps) ** 2 * people / 2
        guess = _solved(sent, target)
        scale = loudest_scale(sent, guess, people, asked.eps, asked.delta)
        alone = all_rounds(1, 1, scale, asked.power, math.inf, asked._differing).gamma(asked.delta).upper
        return cls(local=local, eps=max(eps, rounded(alone, up=True)), delta=delta, power=power, scale=scale)

    def held_error(self, people: int, *, share: float, round: int = 1) -> None:  # type: ignore[override]
        """Not known."""

    def base(self, round: int) -> Any:
        """The local mechanism of one round."""
        return with_eps(self.local, self.eps_report(round))

    @property
    def report_bits(self) -> int:
        """Width of a report."""
        return self.local.report_bits

    @property
    def capacity(self) -> int:
        """The number of values."""
        return self.local.values

    def shift(self, *, round: int = 1) -> float | None:  # type: ignore[override]
        """That of the round's mechanism, if it can say."""
        base = self.base(round)
        return base.largest_weight() if isinstance(base, WeightedLocal) else None

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        last = math.inf if reports is None else reports
        return all_rounds(1, 1, self.scale, self.power, last, self._differing)

    def _later_shift(self, after: int, last: float) -> float:
        return later_shift(1, 1, self.scale, self.power, after, last, self._differing)

    def new_state(self, value: int, source: Entropy) -> Memory:
        """The value, before any report."""
        return Memory(checks.private_integer("value", value, below=self.capacity), 0, 0)

    def change_value(self, state: Memory, value: int, source: Entropy) -> Memory:
        """The new value. The last report stays."""
        return state._replace(value=checks.private_integer("value", value, below=self.capacity))

    def unpack_state(self, payload: bytes) -> Memory:
        """The state of these bytes. A report that cannot be, or one without a round, is an error."""
        ends = 8, 8 + (self.bits + 7) // 8
        (round,) = unpack_integers(payload[: ends[0]], ROUND_BITS, 1)
        (value,) = unpack_integers(payload[ends[0] : ends[1]], self.bits, 1)
        (report,) = unpack_integers(payload[ends[1] :], self.report_bits, 1)
        if value >= self.capacity or not (self.local.possible(report) if round else report == 0):
            raise StateError("this state has a value or a report that its mechanism cannot have")
        return Memory(value, round, report)

    def _words(self) -> int:
        return int(getattr(self.local, "words", 2))

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return local_population(self.local, np.asarray(values), rounds, may_change=True)


def _at(local: Views | OneBitMean, time: float, scale: float) -> Any:
    """The mechanism of a round whose eps is `time` times the scale."""
    return with_eps(local, scale * time)


def _solved(rounds: Sequence[Callable[[float], Any]], target: float) -> float:
    """The scale at which Σ distance·(e^eps - 1) over all rounds is the target."""
    low, high = 1e-9, LARGEST_EPS_REPORT
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        bases = [base(middle) for base in rounds]
        reached = math.fsum(crowd_parts(base).distance * math.expm1(base.eps) for base in bases)
        low, high = (middle, high) if reached < target else (low, middle)
    return low
