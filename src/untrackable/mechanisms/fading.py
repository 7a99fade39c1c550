"""Reports without a last round: they get noisier with every round, so that all together stay private for ever.

Round t has eps_t = scale·t^(-power) with power > ½, so Σ eps_t² is finite. A round tells two values apart with
probability η = ρ(p+q): the values have different answers (ρ, `differing`), and the report has one of the two (p+q).
Then the privacy loss is ±eps_t. So the privacy of all rounds depends only on ρ and on the width of an answer.
`Faded` sends reports of views or of one noisy bit, and `Fading` noisy inner products.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.errors import FadedAway, RoundPassed, StateError
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.mechanisms.budget import LARGEST_CROWD_EPS, loudest_in_crowd, with_eps
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import (
    After,
    ObservedRounds,
    Unlinked,
    Values,
    repr_by_parameters,
    round_number,
)
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.local_interface import (
    SentRounds,
    Truthfulness,
    WeightedLocal,
    crowd_differing,
    crowd_size,
    local_population,
    per_round,
)
from untrackable.mechanisms.views import Views
from untrackable.randomizers.inner_product import LARGEST_BITS, LARGEST_WIDTH, checked_width, smallest_eps
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import Entropy
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.convolution import Round, lattice_factor, squares, tail_shift
from untrackable.theory.crowd import Rounds
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.search import gaussian_shift, largest_parameter
from untrackable.theory.turns import thinned_factor

ONE_BY_ONE = 64
"""Up to this many rounds, privacy is exact: each round is a factor of its own."""
ON_LATTICE = 1024
"""Up to this many rounds, losses are rounded to one lattice. One Gaussian dominates all later rounds."""
LARGEST_CROWD_ROUNDS = 20_000
"""The largest number of rounds whose privacy in a crowd is computed."""

_LARGEST_SCALE = 40.0
_ROUGHLY = 64
"""The number of rounds that a rough answer looks at one by one."""
_ROUGH_POINTS = 1 << 12
"""The number of points of a rough answer's grids."""
_FAINT = 1e-9
"""The scale of a mechanism that is private whatever its budget is."""
_CROWD_CLOSE = 3e-3
"""The relative precision of the scale in a crowd. One answer takes seconds."""
_ROUND_BITS = 64
_LARGEST_DETECTION = 2000
_SMALLEST_DELTA = 1e-11

_quantile = NormalDist().inv_cdf
"""Φ⁻¹, from the standard library."""


Base = Views | OneBitMean | NoisyInnerProduct
"""The local mechanisms whose privacy loss is known for every round at once."""


class Memory(NamedTuple):
    """A client's state: the value, and the last round with its report. Both are 0 before the first report."""

    value: int
    round: int
    report: int


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Faded(Unlinked):
    """In round t a client sends a new report of `local`, `Views` or `OneBitMean`, with eps_t = scale·t^(-power).

    Rounds are independent given the value, so the reports of one person and of two people look exactly alike.
    All rounds together are (eps, delta)-private. The price is accuracy: the error of round t grows as t^power, for
    everyone, including people who join late.

    `scale` is the eps of the first round, by default the largest that the budget allows. It is a parameter so that
    all clients and the collector agree on it. The own eps of `local` does not count and is 1.
    """

    eps: float
    delta: float
    power: float = 0.75
    scale: float = 0.0
    local: Base

    persists = "nothing"
    independent = True
    rounds_alike = False

    def __init__(
        self, *, local: Views | OneBitMean, eps: float, delta: float, power: float = 0.75, scale: float = 0.0
    ) -> None:
        if not isinstance(local, (Views, OneBitMean)):
            raise TypeError(f"local must be Views or OneBitMean, not {type(local).__name__}")
        if isinstance(local, Views) and local.width > 1:
            raise ValueError(f"local must have answers of one bit, as later rounds are noisy, got {local.width}")
        self._settle(with_eps(local, 1.0), eps, delta, power, scale)

    def _settle(self, local: Base, eps: float, delta: float, power: float, scale: float) -> None:
        checks.settle(
            self,
            local=local,
            eps=checks.positive("eps", eps),
            delta=checks.open_probability("delta", delta),
            power=checks.positive("power", power),
            scale=checks.non_negative("scale", scale),
        )
        if not 0.5 < self.power <= 4:
            raise ValueError(f"power must be above 0.5 and at most 4, got {self.power}")
        if self.delta < _SMALLEST_DELTA:
            raise ValueError(f"delta must be at least {_SMALLEST_DELTA}, got {self.delta}")
        if self.scale == 0:
            scale = largest_scale(self._differing, self._width, self.eps, self.delta, self.power)
            checks.settle(self, scale=scale)
        elif not self._plainly_private() and self._privacy(None, "any").delta(self.eps).upper > self.delta:
            raise ValueError(
                f"scale must keep all rounds ({self.eps}, {self.delta})-private, {self.scale} is too large"
            )

    def _plainly_private(self) -> bool:
        """Whether eps covers the largest loss of the first rounds plus the loss of the others, except for delta.

        This bound costs next to nothing, and is enough if eps is far above what is spent. The loss of N(0, 1)
        against N(μ, 1) is N(μ²/2, μ²).
        """
        first = math.fsum(self.eps_report(t) for t in range(1, ONE_BY_ONE + 1))
        if first >= self.eps:
            return False
        shift = later_shift(float(self._differing), self._width, self.scale, self.power, ONE_BY_ONE, math.inf)
        return first + shift**2 / 2 - shift * _quantile(self.delta) < self.eps

    @property
    def _differing(self) -> Fraction:
        """ρ."""
        return self.local.differing_exact()

    @property
    def _width(self) -> int:
        return getattr(self.local, "width", 1)

    @classmethod
    def for_budget(
        cls, *, eps: float, delta: float, power: float = 0.75, rounds: int | None = None, **reports: Any
    ) -> Self:
        """The loudest mechanism whose first `rounds` rounds, or all for ever, are (eps, delta)-private.

        `reports` are the parameters of its reports: `local`, or `bits` and `width`. With `rounds`, reports may be
        louder. The mechanism's own `eps` is then larger: that of all rounds for ever.
        """
        made = cls(eps=eps, delta=delta, power=power, scale=0.0 if rounds is None else _FAINT, **reports)
        return made if rounds is None else made._spent_on_first(rounds)

    def _spent_on_first(self, rounds: int) -> Self:
        """The loudest mechanism with this one's budget for its first rounds."""
        last = checks.integer("rounds", rounds, low=1)
        scale, own = loudest(self._differing, self._width, self.eps, self.delta, self.power, last)
        return self._with(own, scale)

    @classmethod
    def for_crowd(
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
        plain = cls(local=local, eps=eps, delta=delta, power=power, scale=_FAINT)
        loud = plain._hidden_in_crowd(rounds, people)
        return loud._with(max(plain.eps, loud.eps), loud.scale)

    def _hidden_in_crowd(self, rounds: int, people: int) -> Self:
        """The loudest mechanism with this one's budget for its first rounds in a crowd."""
        times = self._times(rounds)

        def rounds_of(scale: float) -> Rounds:
            return Counter((crowd_differing(with_eps(self.local, scale * time)), people) for time in times.tolist())

        people = crowd_size(people)
        scale = loudest_in_crowd(
            rounds_of,
            self._guessed_in_crowd(times, people),
            people=people,
            eps=self.eps,
            delta=self.delta,
            close=_CROWD_CLOSE,
        )
        alone = all_rounds(self._differing, self._width, scale, self.power, math.inf).gamma(self.delta).upper
        return self._with(rounded(alone, up=True), scale)

    def _times(self, rounds: int) -> FloatArray:
        """The eps of the first rounds as shares of the scale."""
        last = checks.integer("rounds", rounds, low=1, high=LARGEST_CROWD_ROUNDS)
        return np.asarray(np.power(np.arange(1.0, last + 1), -self.power))

    def _guessed_in_crowd(self, times: FloatArray, people: int) -> float:
        """The scale at which all rounds look like a Gaussian that spends the budget, to first order in 1/people.

        The square of its shift is 2·Σ β·(e^eps-1)/people, where β = ρ·(e^eps-1)/(e^eps+2^w-1).
        """
        target = gaussian_shift(self.delta, self.eps) ** 2 * people / 2
        differing, symbols = float(self._differing), 1 << self._width

        def excess(scale: float) -> float:
            raised = np.expm1(scale * times)
            return float(np.sum(differing * raised**2 / (raised + symbols))) - target

        from scipy.optimize import brentq  # A client never solves, so it does without SciPy.

        if excess(LARGEST_CROWD_EPS) <= 0:
            return LARGEST_CROWD_EPS
        return float(brentq(excess, _FAINT, LARGEST_CROWD_EPS))

    def _with(self, eps: float, scale: float) -> Self:
        return replace(self, eps=eps, scale=scale)

    def eps_report(self, round: int) -> float:
        """The eps of one round, eps_t."""
        return self.scale * math.pow(round_number(round), -self.power)

    def base(self, round: int) -> Any:
        """The local mechanism of one round."""
        return with_eps(self.local, self.eps_report(round))

    @property
    def report_bits(self) -> int:
        return self.local.report_bits

    @property
    def capacity(self) -> int:
        return self.local.values

    @property
    def _value_bits(self) -> int:
        return (self.capacity - 1).bit_length()

    @property
    def tells_shares(self) -> bool:
        return getattr(self.local, "tells_shares", True)

    def independent_errors(self, values: int) -> int:
        """One error for every value. With one bit, both values have the same error."""
        return 1 if self.capacity == 2 else min(1 << self._value_bits, 1 << (values - 1).bit_length())

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        return with_eps(self.local, self.eps_report(round)).accuracy(people, beta)

    def truthfulness(self) -> Truthfulness:
        """How often a report of the first round, which is the loudest, is true."""
        return with_eps(self.local, self.eps_report(1)).truthfulness()

    def shift(self, *, round: int = 1) -> float | None:
        """The weight of one report of the round, if its mechanism can say. It grows with the round."""
        base = self.base(round)
        return base.largest_weight() if isinstance(base, WeightedLocal) else None

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        total = np.zeros(reports.shape[0])
        for i, r in enumerate(rounds):
            total += self.base(r).log_likelihood(reports[:, i], value)
        return total

    def aggregator(self, round: int = 1) -> Aggregator:
        return with_eps(self.local, self.eps_report(round)).aggregator(Scope(self, round, pools=False))

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """The privacy of all rounds, or of the first `reports`, which reveal most (exact for few, else upper).

        It is the same for any sequence of values.
        """
        last = math.inf if reports is None else reports
        return all_rounds(self._differing, self._width, self.scale, self.power, last)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds:
        if reports is None:
            raise ValueError("reports must be given: fading reports have no last round")
        reports = checks.integer("reports", reports, low=1, high=LARGEST_CROWD_ROUNDS)
        return [(self.base(round), 1) for round in range(1, reports + 1)]

    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        self._unlike(observed)
        return Unlinked._trackings(self, observed)

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The rounds after the change reveal it, each with its own eps_t. By default all rounds do."""
        self._unlike(observed)
        if observed.reports > _LARGEST_DETECTION:
            raise ValueError(f"detection takes at most {_LARGEST_DETECTION} rounds, got {observed.reports}")
        before = observed.first or frozenset()
        return [Experiment([self.base(r).privacy_factor() for r in observed.rounds if r not in before])]

    def _unlike(self, observed: ObservedRounds) -> None:
        if observed.counted and observed.first is not None:
            raise ValueError("the rounds of Fading are not alike: give rounds and first instead of split")

    def new_state(self, value: int, source: Entropy) -> Memory:
        return Memory(checks.private_integer("value", value, below=self.capacity), 0, 0)

    def make_report(self, state: Memory, round: int, source: Entropy) -> tuple[int, Memory]:
        """A report with the round's eps. The last round's report can be repeated."""
        if round < state.round:
            raise RoundPassed(f"round {round} is over: this client has reported in a later round")
        if round == state.round:
            return state.report, state
        if self.eps_report(round) < smallest_eps(self._width):
            raise FadedAway(f"the report of round {round} would be a fair coin, so there are no more reports")
        report = self.base(round).draw(state.value, source)
        return report, Memory(state.value, round, report)

    def forget_report(self, state: Memory, round: int, source: Entropy) -> Memory:
        """The state with a random report of value 0 in place of the last report."""
        return state._replace(report=self.base(round).draw(0, source))

    def change_value(self, state: Memory, value: int, source: Entropy) -> Memory:
        return state._replace(value=checks.private_integer("value", value, below=self.capacity))

    @property
    def _widths(self) -> tuple[int, int, int]:
        return _ROUND_BITS, self._value_bits, self.report_bits

    def pack_state(self, state: Memory) -> bytes:
        return pack_integers((state.round, state.value, state.report), self._widths)

    def unpack_state(self, payload: bytes) -> Memory:
        round, value, report = unpack_integers(payload, self._widths)
        if value >= self.capacity:
            raise StateError("this state has a value that its mechanism cannot have")
        if not (self.local.possible(report) if round else report == 0):
            raise StateError(
                "this state has a round without a report, a report without a round, or a report that its mechanism "
                "cannot have made"
            )
        return Memory(value, round, report)

    def _words(self) -> int:
        return getattr(self.local, "words", 2)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return local_population(self.local, values, rounds, may_change=True)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        columns = per_round(values, len(rounds))
        return np.asarray(
            np.stack([self.base(r).simulate(columns[:, i], rng) for i, r in enumerate(rounds)], axis=1)
        )


class Fading(Faded):
    """In round t a client sends a new noisy inner product with eps_t = scale·t^(-power), power > ½.

    It is `Faded` for the noisy inner product. `width` is the width of an answer, by default one bit: later rounds
    are so noisy that one bit is best.
    """

    __slots__ = ()
    local: NoisyInnerProduct

    def __init__(
        self, *, bits: int, eps: float, delta: float, power: float = 0.75, scale: float = 0.0, width: int = 1
    ) -> None:
        bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
        local = NoisyInnerProduct(bits=bits, eps=1.0, width=checked_width(width, bits))
        self._settle(local, eps, delta, power, scale)

    @property
    def bits(self) -> int:
        """Width of a value in bits, d."""
        return self.local.bits

    @property
    def width(self) -> int:
        """Width of an answer in bits, w."""
        return self.local.width

    @classmethod
    def for_crowd(  # type: ignore[override]
        cls,
        *,
        bits: int,
        rounds: int,
        people: int,
        eps: float,
        delta: float,
        power: float = 0.75,
        share: float = 0.0,
    ) -> Self:
        """The mechanism with the smallest error in its last round whose first rounds a crowd keeps private.

        As with `Faded.for_crowd`, the observer does not know who sent which report. The error is that of a value
        that this `share` of people holds. The width is the one that a Gaussian of all rounds suggests.
        """
        share = checks.probability("share", share)
        widest = min(checks.integer("bits", bits, low=1, high=LARGEST_BITS), LARGEST_WIDTH)
        asked = [
            cls(bits=bits, eps=eps, delta=delta, power=power, scale=_FAINT, width=width)
            for width in range(1, widest + 1)
        ]
        times, people = asked[0]._times(rounds), crowd_size(people)

        def last_variance(mechanism: Self) -> float:
            scale = mechanism._guessed_in_crowd(times, people)
            return with_eps(mechanism.local, scale * float(times[-1])).held_variance(share)

        return min(asked, key=last_variance)._hidden_in_crowd(rounds, people)

    def _with(self, eps: float, scale: float) -> Self:
        return type(self)(
            bits=self.bits, eps=eps, delta=self.delta, power=self.power, scale=scale, width=self.width
        )

    def held_error(self, people: int, *, share: float, round: int = 1) -> float:
        return with_eps(self.local, self.eps_report(round)).held_error(people, share)

    __repr__ = repr_by_parameters


@lru_cache(maxsize=4)
def all_rounds(differing: Fraction, width: int, scale: float, power: float, last: float) -> Experiment:
    """Privacy of rounds 1 … last for two values whose answers differ with probability `differing`.

    It is exact for few rounds. Otherwise the first rounds are one factor on a lattice that dominates them, and a
    Gaussian dominates the others (upper).
    """
    if last <= ONE_BY_ONE:
        # Among values of `width` bits, the answers always differ.
        rounds = (NoisyInnerProduct(bits=width, eps=eps, width=width) for eps in _first(scale, power, last))
        return Experiment([thinned_factor(base.privacy_factor(), differing) for base in rounds])
    share = float(differing)
    lattice = lattice_factor(_quiet_round(share, width, eps) for eps in _first(scale, power, last))
    shift = later_shift(share, width, scale, power, ON_LATTICE, last) if last > ON_LATTICE else 0.0
    return Experiment([lattice], gaussian=shift, certainty="upper", grid=1 << 16)


def _first(scale: float, power: float, last: float) -> list[float]:
    """The eps of the first rounds, those before the Gaussian."""
    return [scale * math.pow(t, -power) for t in range(1, int(min(ON_LATTICE, last)) + 1)]


def _quiet_round(differing: float, width: int, eps: float) -> Round:
    """One round of exactly this eps. A client rounds its noise up, and so reveals no more."""
    truth = 1 / (1 + ((1 << width) - 1) * math.exp(-eps))
    return differing * truth, 1 - differing * told(width, eps), eps


def told(width: int, eps: float) -> float:
    """p+q, the probability that a report has one of two given answers, of which one is true. It grows with eps."""
    return 1.0 if width == 1 else (1 + math.exp(-eps)) / (1 + ((1 << width) - 1) * math.exp(-eps))


def later_shift(differing: float, width: int, scale: float, power: float, after: int, last: float) -> float:
    """μ of the Gaussian that dominates rounds after+1 … last together.

    With several bits, p+q is largest in the first of these rounds.
    """
    hit = differing * told(width, scale * math.pow(after + 1, -power))
    return tail_shift(hit, scale, power, after, last)


@lru_cache(maxsize=64)
def largest_scale(
    differing: Fraction, width: int, eps: float, delta: float, power: float, last: float = math.inf
) -> float:
    """The largest first-round eps for which rounds 1 … last together are (eps, delta)-private, rounded down."""

    def spent(scale: float) -> float:
        return all_rounds(differing, width, scale, power, last).delta(eps).upper

    def rough(scale: float) -> float:
        """A rough value of what is spent: few rounds on a coarse lattice, and a Gaussian for the others."""
        few = int(min(last, _ROUGHLY))
        rounds = (_quiet_round(float(differing), width, one) for one in _first(scale, power, few))
        shift = scale * math.sqrt(variance * squares(power, few, last))
        pair = Experiment([lattice_factor(rounds, _ROUGH_POINTS)], gaussian=shift, grid=_ROUGH_POINTS)
        ends = pair._delta(eps, "forward")
        return math.sqrt(ends[0] * ends[1])

    # If every round were a Gaussian with its own variance, this shift would spend delta. It is close to the answer.
    variance = float(differing) * 2 / (1 << width)
    guess = gaussian_shift(delta, eps) / math.sqrt(variance * squares(power, 0, last))
    largest = largest_parameter(
        spent, guess, eps=eps, delta=delta, high=_LARGEST_SCALE, tolerance=1e-8, rough=rough
    )
    return largest if largest == _LARGEST_SCALE else rounded(largest, up=False)


@lru_cache(maxsize=64)
def loudest(
    differing: Fraction, width: int, eps: float, delta: float, power: float, rounds: int
) -> tuple[float, float]:
    """The largest scale whose first rounds keep the budget, and the eps of all rounds for ever."""
    scale = max(largest_scale(differing, width, eps, delta, power, last) for last in (rounds, math.inf))
    everything = all_rounds(differing, width, scale, power, math.inf)
    return scale, max(eps, rounded(everything.gamma(delta).upper, up=True))


def rounded(number: float, *, up: bool) -> float:
    """Seven significant digits, which are easy to compare. They are rounded to the side that never overspends."""
    unit = math.pow(10, 6 - math.floor(math.log10(number)))
    return (math.ceil if up else math.floor)(number * unit) / unit
