"""Theorems of [NV] that hold for whole families of mechanisms: tracking bounds, composition and chaining."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor, response_factor

# --- bounds on untrackability and undetectability ---------------------------------------------------------


def permanent_state_upper(reports: int | None, eps_report: float) -> float:
    """⌊k/2⌋·ε for reports that are ε-private in a state that never changes [NV, Theorem "permanent state"].

    Of any number of reports (None) it is infinite.
    """
    eps_report = checks.non_negative("eps_report", eps_report)
    return math.inf if reports is None else (checks.integer("reports", reports, low=1) // 2) * eps_report


def many_people_upper(people: int, gamma: float) -> float:
    """(n-1)·γ, a bound for telling one person from n if the mechanism is γ-untrackable [NV, "more users"]."""
    people = checks.integer("people", people, low=1)
    return (people - 1) * checks.non_negative("gamma", gamma)


def many_people_permanent_printed_upper(people: int, reports: int, eps_report: float) -> float:
    """⌈log₂ n⌉·⌊k/2⌋·ε, the printed bound for telling one person from n [NV, "more users, permanent state"]."""
    people = checks.integer("people", people, low=1)
    return (people - 1).bit_length() * permanent_state_upper(reports, eps_report)


def many_people_permanent_upper(people: int, reports: int, eps_report: float) -> float:
    """(k - ⌈k/n⌉)·ε for telling one person from n: leave the largest part alone and pay ε for every other report.

    Let P₁ be the largest part, so |P₁| ≥ ⌈k/n⌉. Replace the state that made a report outside P₁ by any other state,
    one report at a time. Each replacement changes the report's probability by a factor of at most e^ε. So the
    single person's probability and that of the n people both lie between B and e^((k-|P₁|)ε)·B, where B =
    Pr[T_P₁]·Π_{r∉P₁} min_s q(r|s). Hence they differ by at most that factor. At n = 2 this is the printed bound;
    for n ≥ 3 it is never worse (docs/errata.md).
    """
    people = checks.integer("people", people, low=1)
    reports = checks.integer("reports", reports, low=1)
    return (reports - math.ceil(reports / people)) * checks.non_negative("eps_report", eps_report)


def partitions_upper(first_people: int, second_people: int, gamma: float) -> float:
    """(n-1)γ + (m-1)γ for telling one attribution of the reports to n people from another one to m people.

    Both attributions are compared with a single person.
    """
    return many_people_upper(first_people, gamma) + many_people_upper(second_people, gamma)


def partitions_permanent_upper(first_people: int, second_people: int, reports: int, eps_report: float) -> float:
    """`partitions_upper` for a permanent state, and at most k·ε: no attribution costs more than all k reports."""
    through_one = many_people_permanent_upper(first_people, reports, eps_report) + many_people_permanent_upper(
        second_people, reports, eps_report
    )
    return min(through_one, reports * eps_report)


def undetectability_upper(gamma: float, delta: float, eps: float, delta_privacy: float) -> tuple[float, float]:
    """(γ+ε, max(e^ε·δ + δ', δ + e^γ·δ')), a bound on undetectability from two other guarantees.

    The mechanism is (γ, δ)-untrackable and everlastingly (ε, δ')-private, where δ' is `delta_privacy` [NV, Theorem
    "undetectable from untrackable and everlasting"].
    """
    gamma, eps = checks.non_negative("gamma", gamma), checks.non_negative("eps", eps)
    delta = checks.probability("delta", delta)
    delta_privacy = checks.probability("delta_privacy", delta_privacy)
    one = _scaled(delta, eps) + delta_privacy
    other = delta + _scaled(delta_privacy, gamma)
    return gamma + eps, min(1.0, max(one, other))


def _scaled(delta: float, exponent: float) -> float:
    """e^exponent·delta, but at most 1, and 0 for delta = 0."""
    return 0.0 if delta == 0 else math.exp(min(0.0, math.log(delta) + exponent))


def bitwise_printed_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """k/2·ε₂ - ε₁ - ln 2, the printed lower bound on Bitwise's gamma [NV]. It is too large (docs/errata.md)."""
    return reports / 2 * eps_report - eps_state - math.log(2)


def bitwise_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """⌊k/2⌋·ε₂ - ε₁ - ln 4, the lower bound on Bitwise's gamma that the printed derivation proves.

    Odd k need the floor.
    """
    return reports // 2 * eps_report - eps_state - math.log(4)


_BLOCKS = 4
"""`reports_of_two_values` returns at most this number of pairs."""


def reports_of_two_values(reports: int) -> list[tuple[int, int]]:
    """Pairs of upper limits on the numbers of k reports about the rarer and about the other of two values.

    Each value is reported at least twice. Some pair bounds every such case: if the rarer value is reported b times
    with lo ≤ b ≤ hi, there are at most hi reports of it and k-lo of the other.
    """
    rarer = range(2, checks.integer("reports", reports, low=1) // 2 + 1)
    size = max(1, -(-len(rarer) // _BLOCKS))
    blocks = (rarer[i : i + size] for i in range(0, len(rarer), size))
    return [(block[-1], reports - block[0]) for block in blocks]


# --- composition: several mechanisms about one person -----------------------------------------------------


class EpsDelta(NamedTuple):
    """A guarantee of privacy (eps, delta), or of untrackability with gamma in the place of eps."""

    eps: float
    delta: float


def basic_composition(eps: float, delta: float, times: int) -> EpsDelta:
    """Basic composition: m mechanisms that are (ε, δ) each are (mε, mδ) together."""
    times = checks.integer("times", times, low=1)
    return EpsDelta(times * checks.non_negative("eps", eps), min(1.0, times * checks.probability("delta", delta)))


def advanced_composition(eps: float, delta: float, times: int, slack: float) -> EpsDelta:
    """Advanced composition: m mechanisms are (√(2m ln(1/δ'))·ε + mε(e^ε - 1), mδ + δ') together; δ' is `slack`.

    [NV, Theorems "Advanced composition for Differential Privacy" and "… for untrackability"]. The second uses γ for
    ε. It holds because each mechanism is a private mechanism of one bit: whether one person sends or two.
    """
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    times, slack = checks.integer("times", times, low=1), checks.open_probability("slack", slack)
    growth = times * eps * math.expm1(eps) if eps < 700 else math.inf
    total = math.sqrt(2 * times * math.log(1 / slack)) * eps + growth
    return EpsDelta(total, min(1.0, times * delta + slack))


def exact_composition(eps: float, delta: float, times: int, target: float) -> Bracket:
    """The smallest total eps at delta = `target` that holds for any m mechanisms that are (ε, δ) each.

    Every (ε, δ) pair of worlds is dominated by randomised response that reveals its input with probability δ. This
    computes the composition of m copies of that one exactly.
    """
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    times = checks.integer("times", times, low=1)
    if delta == 1:
        return Bracket.point(0.0 if target == 1 else math.inf)
    truth = (1 - delta) / (1 + math.exp(-eps))
    lie = (1 - delta) * math.exp(-eps) / (1 + math.exp(-eps))
    losses = [math.inf, eps, -eps, -math.inf]
    factor = Factor([delta, truth, lie, 0.0], [0.0, lie, truth, delta], losses) if delta else response_factor(eps)
    return Experiment([(factor, times)]).gamma(target)


# --- chaining: one private mechanism on the output of another ---------------------------------------------


def basic_chaining(eps_first: float, eps_second: float) -> float:
    """Upper bound min(ε₁, ε₂) on the chain's privacy [NV, Theorem "Basic Chaining"]."""
    return min(checks.non_negative("eps_first", eps_first), checks.non_negative("eps_second", eps_second))


def tight_chaining(eps_first: float, eps_second: float) -> float:
    """Upper bound ln((e^(ε₁+ε₂) + 1)/(e^ε₁ + e^ε₂)) on the chain's privacy [NV, Theorem "Advanced Chaining"].

    Randomised response attains it. The formula is computed as 2·artanh(tanh(ε₁/2)·tanh(ε₂/2)), which neither
    overflows nor cancels.
    """
    smaller = basic_chaining(eps_first, eps_second)
    larger = max(eps_first, eps_second)
    product = math.tanh(smaller / 2) * math.tanh(larger / 2)
    if product < 0.9:
        return 2 * math.atanh(product)
    # Near 1, artanh would lose digits. This form for ε₁ ≤ ε₂ does not: ε₁ + ln(1 + e^-(ε₁+ε₂)) - ln(1 + e^(ε₁-ε₂)).
    if smaller == math.inf:
        return math.inf
    return smaller + math.log1p(math.exp(-smaller - larger)) - math.log1p(math.exp(smaller - larger))


def product_chaining(eps_first: float, eps_second: float) -> float:
    """Upper bound ε₁ε₂/2 on the chain's privacy [NV, Corollary of "Advanced Chaining"].

    It is never below `tight_chaining`, and close to it for small ε.
    """
    return checks.non_negative("eps_first", eps_first) * checks.non_negative("eps_second", eps_second) / 2


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Channel:
    """A mechanism on finite sets, where `law[x₁, …, x_m, y]` is the probability of output y on inputs x₁ … x_m."""

    law: FloatArray

    def __init__(self, law: ArrayLike) -> None:
        array = np.array(law, dtype=np.float64)
        if array.ndim < 2:
            raise ValueError(f"law must have at least two axes (inputs, output), got {array.ndim}")
        if not (np.all(array >= 0) and np.allclose(array.sum(axis=-1), 1, rtol=0, atol=1e-9)):
            raise ValueError("law must contain probabilities that sum to 1 along its last axis")
        array.flags.writeable = False
        object.__setattr__(self, "law", array)

    def eps(self, position: int) -> float:
        """The exact ε of the input at this position: the largest log ratio when only that input changes."""
        if not 0 <= position < self.law.ndim - 1:
            raise ValueError(f"position must be between 0 and {self.law.ndim - 2}, got {position}")
        highest, lowest = self.law.max(axis=position), self.law.min(axis=position)
        possible = highest > 0
        if np.any(lowest[possible] == 0):
            return math.inf
        return float(np.max(np.log(highest[possible] / lowest[possible])))


def response_channel(eps: float) -> Channel:
    """Randomised response on one bit, as a channel."""
    truth = 1 / (1 + math.exp(-checks.non_negative("eps", eps)))
    return Channel([[truth, 1 - truth], [1 - truth, truth]])


Level = Sequence[tuple[Channel, Sequence[int]]]
"""One stage of a hierarchy: each mechanism, with the indices of the entries of the stage before that it reads."""


@dataclass(frozen=True, slots=True)
class Chained:
    """Privacy of one person's entry in a chained hierarchy: the exact ε and two upper bounds."""

    exact: float
    tight_upper: float
    basic_upper: float


def hierarchy(levels: Sequence[Level]) -> list[Chained]:
    """Chain sets of mechanisms over partitions (people → families → cities …) [NV, "k Mechanism Chaining"].

    Exactly one mechanism of the next stage reads each entry of a stage. For each person, this returns the exact ε
    of the whole chained channel and the bounds folded along the person's path. The bounds hold because each
    mechanism on the path is private in the entry that the path goes through when everyone else's data is fixed.
    """
    if not levels:
        raise ValueError("levels must not be empty")
    people = sum(len(reads) for _, reads in levels[0])
    sizes: list[int | None] = [None] * people
    for channel, reads in levels[0]:
        for axis, person in enumerate(reads):
            if 0 <= person < people:
                sizes[person] = channel.law.shape[axis]
    entries = [_Entry(np.eye(size), (person,)) for person, size in enumerate(sizes) if size is not None]
    paths: list[list[float]] = [[] for _ in range(people)]
    for number, level in enumerate(levels, start=1):
        read = sorted(index for _, reads in level for index in reads)
        if read != list(range(len(entries))):
            raise ValueError(f"level {number} must read each of the {len(entries)} entries before it exactly once")
        for channel, reads in level:
            for position, index in enumerate(reads):
                for person in entries[index].people:
                    paths[person].append(channel.eps(position))
        entries = [_combine(channel, [entries[index] for index in reads]) for channel, reads in level]
    exact = [0.0] * people
    for entry in entries:
        channel = Channel(entry.law)
        for position, person in enumerate(entry.people):
            exact[person] = channel.eps(position)
    return [Chained(exact[i], reduce(tight_chaining, paths[i], math.inf), min(paths[i])) for i in range(people)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The law of one intermediate output given the values of the people below it.

    The law has one axis for each of these people, and the output as its last axis.
    """

    law: FloatArray
    people: tuple[int, ...]


def _combine(channel: Channel, inputs: Sequence[_Entry]) -> _Entry:
    if channel.law.ndim != len(inputs) + 1:
        raise ValueError(f"a mechanism of {channel.law.ndim - 1} inputs was given {len(inputs)} entries")
    law: FloatArray = channel.law
    people: tuple[int, ...] = ()
    for entry in inputs:
        if entry.law.shape[-1] != law.shape[0]:
            raise ValueError(f"a mechanism expects {law.shape[0]} inputs where {entry.law.shape[-1]} can occur")
        # This sums out the first remaining input. The people's axes gather at the end, so the output's axis, which
        # is then the first, must be moved back to the end after the loop.
        law = np.tensordot(law, entry.law, axes=(0, entry.law.ndim - 1))
        people += entry.people
    return _Entry(np.moveaxis(law, 0, -1), people)
