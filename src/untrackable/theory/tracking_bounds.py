"""Bounds on untrackability and undetectability that hold for whole families of mechanisms."""

import math

from untrackable import checks

_BLOCKS = 4


def permanent_state_upper(reports: int | None, eps_report: float) -> float:
    """⌊k/2⌋·ε for reports that are ε-private in a state that never changes [NV, Theorem "permanent state"].

    Of any number of reports (None) it is infinite.
    """
    eps_report = checks.non_negative("eps_report", eps_report)
    return math.inf if reports is None else (checks.integer("reports", reports, low=1) // 2) * eps_report


def many_users_upper(users: int, gamma: float) -> float:
    """(n-1)·γ for telling one user from n, of a mechanism that is γ-untrackable [NV, Theorem "more users"]."""
    users = checks.integer("users", users, low=1)
    return (users - 1) * checks.non_negative("gamma", gamma)


def many_users_permanent_printed_upper(users: int, reports: int, eps_report: float) -> float:
    """⌈log₂ n⌉·⌊k/2⌋·ε, as [NV, Theorem "more users, permanent state"] has it."""
    users = checks.integer("users", users, low=1)
    return (users - 1).bit_length() * permanent_state_upper(reports, eps_report)


def many_users_permanent_upper(users: int, reports: int, eps_report: float) -> float:
    """(k - ⌈k/n⌉)·ε: keep the largest part as it is, pay ε for every other report.

    Let the largest part be P₁ with |P₁| ≥ ⌈k/n⌉. Replacing, report by report, the state that made a report
    outside P₁ by any other state changes its probability by at most e^ε; so both the single user's probability
    and the product of the n users' lie within e^((k-|P₁|)ε) of Pr[T_P₁]·Π_{r∉P₁} min_s q(r|s) from above and
    below, on the same side, and hence of each other. Equal to the printed bound at n = 2, and never worse for
    n ≥ 3 (docs/errata.md).
    """
    users = checks.integer("users", users, low=1)
    reports = checks.integer("reports", reports, low=1)
    return (reports - math.ceil(reports / users)) * checks.non_negative("eps_report", eps_report)


def partitions_upper(first_users: int, second_users: int, gamma: float) -> float:
    """One attribution of the reports to users against another: both against a single user, (n-1)γ + (m-1)γ."""
    return many_users_upper(first_users, gamma) + many_users_upper(second_users, gamma)


def partitions_permanent_upper(first_users: int, second_users: int, reports: int, eps_report: float) -> float:
    """The same for a permanent state: no pair of attributions can cost more than every report, k·ε."""
    through_one = many_users_permanent_upper(first_users, reports, eps_report) + many_users_permanent_upper(
        second_users, reports, eps_report
    )
    return min(through_one, reports * eps_report)


def undetectable_from(gamma: float, delta: float, eps: float, delta_privacy: float) -> tuple[float, float]:
    """(γ+ε, max(e^ε·δ + δ', δ + e^γ·δ')) [NV, Theorem "undetectable from untrackable and everlasting"]."""
    gamma, eps = checks.non_negative("gamma", gamma), checks.non_negative("eps", eps)
    delta = checks.probability("delta", delta)
    delta_privacy = checks.probability("delta_privacy", delta_privacy)
    one = _scaled(delta, eps) + delta_privacy
    other = delta + _scaled(delta_privacy, gamma)
    return gamma + eps, min(1.0, max(one, other))


def bitwise_printed_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """k/2·ε₂ - ε₁ - ln 2, as printed [NV, Bitwise]; it exceeds the truth (docs/errata.md)."""
    return reports / 2 * eps_report - eps_state - math.log(2)


def bitwise_lower(reports: int, eps_state: float, eps_report: float) -> float:
    """⌊k/2⌋·ε₂ - ε₁ - ln 4: the printed derivation's own last line, with the floor that odd k needs."""
    return reports // 2 * eps_report - eps_state - math.log(4)


def reports_of_two_values(reports: int) -> list[tuple[int, int]]:
    """At most how many of k reports are of the rarer and of the other of two values, both reported at least twice.

    A few pairs, so that whatever the values are, the numbers are no larger than those of one of them: whoever holds
    the rarer value b times, lo ≤ b ≤ hi, sends at most hi reports of it and k-lo of the other.
    """
    rarer = range(2, checks.integer("reports", reports, low=1) // 2 + 1)
    size = max(1, -(-len(rarer) // _BLOCKS))
    blocks = (rarer[i : i + size] for i in range(0, len(rarer), size))
    return [(block[-1], reports - block[0]) for block in blocks]


def _scaled(delta: float, exponent: float) -> float:
    """e^exponent·delta, 0 for delta = 0 and at most 1."""
    return 0.0 if delta == 0 else math.exp(min(0.0, math.log(delta) + exponent))
