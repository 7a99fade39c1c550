"""Bounds on untrackability and undetectability that hold for whole families of mechanisms."""

import math

from untrackable import checks

_BLOCKS = 4
"""`reports_of_two_values` returns at most this number of pairs."""


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


def bitwise_printed_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """k/2·ε₂ - ε₁ - ln 2, the printed lower bound on Bitwise's gamma [NV]. It is too large (docs/errata.md)."""
    return reports / 2 * eps_report - eps_state - math.log(2)


def bitwise_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """⌊k/2⌋·ε₂ - ε₁ - ln 4, the lower bound on Bitwise's gamma that the printed derivation proves.

    Odd k need the floor.
    """
    return reports // 2 * eps_report - eps_state - math.log(4)


def reports_of_two_values(reports: int) -> list[tuple[int, int]]:
    """Pairs of upper limits on how many of k reports are about the rarer and about the other of two values.

    Each value is reported at least twice. Some pair bounds every such case: if the rarer value is reported b times
    with lo ≤ b ≤ hi, there are at most hi reports of it and k-lo of the other.
    """
    rarer = range(2, checks.integer("reports", reports, low=1) // 2 + 1)
    size = max(1, -(-len(rarer) // _BLOCKS))
    blocks = (rarer[i : i + size] for i in range(0, len(rarer), size))
    return [(block[-1], reports - block[0]) for block in blocks]


def _scaled(delta: float, exponent: float) -> float:
    """e^exponent·delta, but at most 1, and 0 for delta = 0."""
    return 0.0 if delta == 0 else math.exp(min(0.0, math.log(delta) + exponent))
