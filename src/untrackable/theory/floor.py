"""The floor of tracking: how well can people be followed at least, if reports are private for ever and accurate?

A person holds 0 or 1 and sends a report in each of k rounds. Three numbers describe any such mechanism:

- *Private*: all reports together are (eps, delta)-private.
- *Accurate*: from the report of any one round, some estimate of the value has no bias and at most the variance V.
  So n people give a share with a standard error of at most √(V/n), besides that of the sample.
- *Tracking* τ: the largest advantage, over all splits of the rounds between two places and over both values, of an
  observer who tells one person's reports from those of two people.

All floors are lower ends of τ for every mechanism (docs/floor.md has the proofs). With a = e^eps and
t = tanh(eps/2), let LC = ½·Σ (P₁-P₀)²/(P₁+P₀) be the Le Cam divergence of the reports for the two values:

- Accuracy needs it: the average of b independent rounds shows LC ≥ b/(b + 4V).
- Privacy limits it: LC ≤ t² + 4a·delta/(1+a)².
- If τ is small, b rounds are nearly independent, but private together.
"""

import math
from collections.abc import Callable

import numpy as np

from untrackable import checks

_HALVINGS = 100
"""Steps of a search for a root, more than a floating-point number has digits."""
_TRIED = 1000
"""About this many numbers of rounds are tried."""
_LEVELS, _SMALLEST = 300, 1e-4
"""The number of sizes of reports that are looked at, and the smallest of them."""


def le_cam_lower(variance: float, rounds: int = 1) -> float:
    """The least Le Cam divergence of this many independent rounds that are this accurate: b/(b + 4V)."""
    return rounds / (rounds + 4 * checks.positive("variance", variance))


def le_cam_upper(eps: float, delta: float = 0.0) -> float:
    """The largest Le Cam divergence of what is (eps, delta)-private: t² + 4a·delta/(1+a)², at most 1."""
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    return min(1.0, math.tanh(eps / 2) ** 2 + delta * (1 - math.tanh(eps / 2) ** 2))


def variance_lower(le_cam: float) -> float:
    """The smallest variance at this Le Cam divergence, on average over both values (exact): (1/LC - 1)/4."""
    return (1 / le_cam - 1) / 4


def tracking_lower(variance: float, *, eps: float, delta: float, reports: int | None) -> float:
    """The least tracking of anything private and this accurate in `reports` rounds, or for ever if None (lower).

    For k rounds, it is the largest of ((b/(b+4V) - room)/(1+t))/(2(b-1)) over all b from 2 to k, where room is the
    largest Le Cam divergence that is private. This is largest at an end, or at a root of a quadratic equation.
    """
    if reports is None:
        return _for_ever_lower(variance, eps, delta)
    reports, room = checks.integer("reports", reports, low=2), le_cam_upper(eps, delta)
    spread = 4 * checks.positive("variance", variance)
    best = 2.0
    if room < 1 and room * spread > 1 - room:
        best = (room * spread + math.sqrt(spread * (room * spread - (1 - room)))) / (1 - room)
    tried = {min(reports, max(2, rounds)) for rounds in (2, math.floor(best), math.ceil(best))}
    excess = max((le_cam_lower(variance, b) - room) / (2 * (b - 1)) for b in tried)
    return max(0.0, excess / (1 + math.tanh(eps / 2)))


def _for_ever_lower(variance: float, eps: float, delta: float) -> float:
    """2η(1-η), where min(η, t²η + 4a·delta/(1+a)²) + η²/(4(1-η)) = 1/(1+4V); at most 2c(1-c), c = (1-delta)/(1+a).

    As many reports reveal the kept state, two people differ unless both have the likeliest state. It has all but η
    of the mass, for both values. So only the rest can tell the values apart.
    """
    needed, square = le_cam_lower(variance), math.tanh(eps / 2) ** 2
    failing = delta * (1 - square)

    def shown(rest: float) -> float:
        return min(rest, square * rest + failing) + rest**2 / (4 * (1 - rest))

    low, high = 0.0, (1 - checks.probability("delta", delta)) / (1 + math.exp(min(eps, 700.0)))
    for _ in range(_HALVINGS if shown(high) > needed else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if shown(middle) <= needed else (low, middle)
    rest = low or high
    return 2 * rest * (1 - rest)


def gamma_lower(variance: float, *, eps: float, reports: int) -> float:
    """The least gamma of a mechanism that is eps-private and (gamma, 0)-untrackable in this many rounds (lower).

    The product of b rounds is (eps + 2(b-1)·gamma)-private, and so b/(b+4V) is at most tanh² of half of that. Every
    b is a bound. For ever, there is no such gamma.
    """
    tried = np.unique(np.rint(np.geomspace(2, checks.integer("reports", reports, low=2), _TRIED)))
    shown = tried / (tried + 4 * checks.positive("variance", variance))
    gammas = (2 * np.arctanh(np.sqrt(shown)) - checks.non_negative("eps", eps)) / (2 * (tried - 1))
    return max(0.0, float(gammas.max()))


def independent_variance_lower(eps: float, reports: int) -> float:
    """The least variance of rounds that are alike, eps-private together and not trackable at all (exact).

    It is that of a deck of randomised response: each report has the k-th part of eps.
    """
    return variance_lower(le_cam_upper(checks.positive("eps", eps) / checks.integer("reports", reports, low=1)))


def symmetric_variance_lower(eps: float, delta: float, reports: int) -> float:
    """The same with a delta (lower), for reports that are as likely for one value as their mirror for the other.

    Let ν(h) be the share of reports that change the odds by (1+h)/(1-h) or more. They can be made to change them by
    exactly that, and then k rounds are at least a binomial number of them. So delta limits each ν(h), and LC is the
    integral of 2h·ν(h).
    """
    ends = np.concatenate(([0.0], np.geomspace(_SMALLEST, 1.0, _LEVELS)))
    shares = [1.0, *(_largest_share(size, eps, delta, reports) for size in ends[1:-1].tolist())]
    le_cam = math.fsum(np.diff(ends**2) * np.array(shares))
    return variance_lower(min(1.0, le_cam * (1 + 1e-9)))


def _largest_share(size: float, eps: float, delta: float, reports: int) -> float:
    """The largest share of reports of this size for which the rounds together are (eps, delta)-private (upper)."""
    from scipy.stats import binom

    sent = np.arange(reports + 1)
    # Of m reports, so many must be true that the loss of all is above eps; binomial tails say how often that is.
    enough = np.floor((eps / (2 * math.atanh(size)) + sent) / 2)
    tails = [binom.sf(enough, sent, (1 + side) / 2) for side in (size, -size)]
    told = np.maximum(0.0, tails[0] - math.exp(eps) * tails[1])
    return _largest(lambda share: float(binom.pmf(sent, reports, share) @ told), delta)


def _largest(growing: Callable[[float], float], limit: float) -> float:
    """The largest number up to 1 at which a growing function is at most the limit, rounded up."""
    low, high = 0.0, 1.0
    if growing(high) <= limit:
        return high
    for _ in range(_HALVINGS // 2):
        middle = (low + high) / 2
        low, high = (middle, high) if growing(middle) <= limit else (low, middle)
    return high
