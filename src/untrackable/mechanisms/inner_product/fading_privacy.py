"""The privacy of rounds that get noisier for ever, and the loudest of them that a budget allows."""

import math
from fractions import Fraction
from functools import lru_cache

from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.theory.chance_of_answering import thinned_factor
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift, largest_parameter
from untrackable.theory.gaussian_tail import squares, tail_shift
from untrackable.theory.lattice_rounds import Round, lattice_factor

ONE_BY_ONE = 64
"""Up to this many rounds, privacy is exact: each round is a factor of its own."""
ALWAYS = Fraction(1)
"""The probability of different answers if two values always have them."""
ON_LATTICE = 1024
"""Up to this many rounds, losses are rounded to one lattice. One Gaussian dominates all later rounds."""

_LARGEST_SCALE = 40.0
_ROUGHLY = 64
"""The number of rounds that a rough answer looks at one by one."""
_ROUGH_POINTS = 1 << 12
"""The number of points of a rough answer's grids."""


@lru_cache(maxsize=4)
def all_rounds(
    bits: int, width: int, scale: float, power: float, last: float, share: Fraction = ALWAYS
) -> Experiment:
    """Privacy of rounds 1 … last, each of which says anything with probability `share` only, for all values.

    It is exact for few rounds. Otherwise the first rounds are one factor on a lattice that dominates them, and a
    Gaussian dominates the others (upper).
    """
    if last <= ONE_BY_ONE:
        rounds = (NoisyInnerProduct(bits=bits, eps=eps, width=width) for eps in _first(scale, power, last))
        return Experiment([thinned_factor(base.privacy_factor(), share) for base in rounds])
    lattice = lattice_factor(_quiet_round(bits, width, eps, share) for eps in _first(scale, power, last))
    shift = later_shift(bits, width, scale, power, ON_LATTICE, last, share) if last > ON_LATTICE else 0.0
    return Experiment([lattice], gaussian=shift, certainty="upper", grid=1 << 16)


def _first(scale: float, power: float, last: float) -> list[float]:
    """The eps of the first rounds, those before the Gaussian."""
    return [scale * math.pow(t, -power) for t in range(1, int(min(ON_LATTICE, last)) + 1)]


def _quiet_round(bits: int, width: int, eps: float, share: Fraction) -> Round:
    """One round of exactly this eps. A client rounds its noise up, and so reveals no more."""
    differ = float(share) * NoisyInnerProduct.share_of_lists(bits, width)
    truth = 1 / (1 + ((1 << width) - 1) * math.exp(-eps))
    return differ * truth, 1 - differ * told(width, eps), eps


def told(width: int, eps: float) -> float:
    """p+q, the probability that a report has one of two given answers, of which one is true. It grows with eps."""
    return 1.0 if width == 1 else (1 + math.exp(-eps)) / (1 + ((1 << width) - 1) * math.exp(-eps))


def later_shift(
    bits: int, width: int, scale: float, power: float, after: int, last: float, share: Fraction = ALWAYS
) -> float:
    """μ of the Gaussian that dominates rounds after+1 … last together.

    A round tells two values apart with the probability η = rρ(p+q): it says anything (r), the values have different
    answers (ρ), and the report has one of them. Then the loss is ±ε. With several bits, p+q is largest in the first
    of these rounds.
    """
    seen = told(width, scale * math.pow(after + 1, -power))
    hit = float(share) * NoisyInnerProduct.share_of_lists(bits, width) * seen
    return tail_shift(hit, scale, power, after, last)


@lru_cache(maxsize=64)
def largest_scale(
    bits: int,
    width: int,
    eps: float,
    delta: float,
    power: float,
    last: float = math.inf,
    share: Fraction = ALWAYS,
) -> float:
    """The largest first-round eps for which rounds 1 … last together are (eps, delta)-private, rounded down."""

    def spent(scale: float) -> float:
        return all_rounds(bits, width, scale, power, last, share).delta(eps).upper

    def rough(scale: float) -> float:
        """A rough value of what is spent: few rounds on a coarse lattice, and a Gaussian for the others."""
        seen, few = _first(scale, power, min(last, _ROUGHLY)), int(min(last, _ROUGHLY))
        lattice = lattice_factor((_quiet_round(bits, width, one, share) for one in seen), _ROUGH_POINTS)
        shift = scale * math.sqrt(variance * squares(power, few, last))
        ends = Experiment([lattice], gaussian=shift, grid=_ROUGH_POINTS)._delta(eps, "forward")
        return math.sqrt(ends[0] * ends[1])

    # If every round were a Gaussian with its own variance, this shift would spend delta. It is close to the answer.
    variance = NoisyInnerProduct.share_of_lists(bits, width) * 2 / (1 << width) * float(share)
    guess = gaussian_shift(delta, eps) / math.sqrt(variance * squares(power, 0, last))
    found = largest_parameter(spent, guess, eps=eps, delta=delta, high=_LARGEST_SCALE, tolerance=1e-8, rough=rough)
    return found if found == _LARGEST_SCALE else rounded(found, up=False)


def rounded(number: float, *, up: bool) -> float:
    """Seven significant digits, which are easy to compare. They are rounded to the side that never overspends."""
    unit = math.pow(10, 6 - math.floor(math.log10(number)))
    return (math.ceil if up else math.floor)(number * unit) / unit
