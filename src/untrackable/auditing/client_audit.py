"""Audits a client as a black box: makes many, collects their reports, and finds out how much these reveal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.auditing.attack_bounds import (
    ALARM,
    FEWEST_PEOPLE,
    TRACKING_LIMIT,
    Advantage,
    LossBound,
    SignTest,
    advantage_lower,
    gamma_lower,
    identical,
    persistence,
    sharing,
    value_leak,
)
from untrackable.auditing.streams import Factory, Streams, collect, halves
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress
from untrackable.theory.accuracy import Share


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClientAudit(NotebookTable):
    """The result of `audit_client`. Each bound is a lower bound and holds with confidence `level`.

    `eps` is about all reports of a client, `eps_one` about its first. `tracking` and `gamma` compare the first half
    of its reports with the second. `recovered` and `recovered_one` are the shares of held-out clients whose value
    was guessed right, from all reports and from the first.
    """

    values: int
    clients: int
    reports: int
    level: float
    claimed_eps: float | None
    claimed_eps_one: float | None
    claimed_delta: float
    claimed_advantage: float | None
    claimed_gamma: float | None
    eps: LossBound
    eps_one: LossBound
    gamma: LossBound
    tracking: Advantage
    recovered: Share
    recovered_one: Share
    persistence: SignTest
    sharing: SignTest
    identical: bool

    @property
    def refuted_claims(self) -> tuple[str, ...]:
        """The claims that are certainly wrong: eps, eps_one, advantage, gamma.

        The bound is larger than the claim. A claim that nothing at all links reports is also wrong
        if something persists.
        """
        above = [name for name, lower, claimed in self._claims() if claimed is not None and lower > claimed]
        return tuple(name for name, *_ in self._claims() if name in above or name in self.refuted_by_persistence)

    @property
    def refuted_by_persistence(self) -> tuple[str, ...]:
        """The claims of a tracking advantage of 0, or of gamma = 0 with delta = 0, if something persists."""
        nothing = {"advantage": self.claimed_advantage, "gamma": self.claimed_gamma}
        if self.claimed_delta > 0:
            del nothing["gamma"]
        return tuple(name for name, claimed in nothing.items() if claimed == 0 and self.persists)

    @property
    def refuted(self) -> bool:
        """Whether any claim is refuted."""
        return bool(self.refuted_claims)

    @property
    def trackable(self) -> bool:
        """Whether nothing was claimed about tracking, and the advantage is certainly above TRACKING_LIMIT."""
        unclaimed = self.claimed_advantage is None and self.claimed_gamma is None
        return unclaimed and self.tracking.lower > TRACKING_LIMIT

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the client fails a check: refuted claims, tracking, shared_randomness. Empty if it passes."""
        also = {"tracking": self.trackable, "shared_randomness": self.shares_randomness}
        return self.refuted_claims + tuple(name for name, failed in also.items() if failed)

    @property
    def false_alarm_upper(self) -> float:
        """A client whose claims are true, or that nobody follows, fails a check at most with this probability."""
        claims = [name for name, _, claimed in self._claims() if claimed is not None]
        tests = len(claims) + (self.claimed_advantage is None and self.claimed_gamma is None)
        return min(1.0, tests * (1 - self.level) + 2 * ALARM)

    def _claims(self) -> tuple[tuple[str, float, float | None], ...]:
        return (
            ("eps", self.eps.lower, self.claimed_eps),
            ("eps_one", self.eps_one.lower, self.claimed_eps_one),
            ("advantage", self.tracking.lower, self.claimed_advantage),
            ("gamma", self.gamma.lower, self.claimed_gamma),
        )

    @property
    def chance(self) -> float:
        """The share of values that a guess without any report gets right."""
        return 1 / self.values

    @property
    def persists(self) -> bool:
        """Whether a client's reports are correlated: it keeps something, such as permanent noise."""
        return self.persistence.found

    @property
    def averages_out(self) -> bool:
        """Whether noise is fresh: nothing seems to persist, and many reports reveal more than one does."""
        return not self.persists and self.recovered.lower > self.recovered_one.upper

    @property
    def shares_randomness(self) -> bool:
        """Whether clients are not independent. Then the bounds do not hold."""
        return self.identical or self.sharing.found

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data. Names say which numbers are lower bounds and which are sampled."""
        return {
            "values": self.values,
            "clients_per_value": self.clients,
            "reports": self.reports,
            "level": self.level,
            "claimed_eps": self.claimed_eps,
            "claimed_eps_one": self.claimed_eps_one,
            "claimed_delta": self.claimed_delta,
            "claimed_advantage": self.claimed_advantage,
            "claimed_gamma": self.claimed_gamma,
            "refuted": self.refuted,
            "check": {
                "passed": not self.failures,
                "failures": list(self.failures),
                "tracking_limit": TRACKING_LIMIT,
                "false_alarm_upper": self.false_alarm_upper,
            },
            "eps_lower": self.eps.lower,
            "eps_one_lower": self.eps_one.lower,
            "gamma_lower": self.gamma.lower,
            "advantage_lower": self.tracking.lower,
            "eps": self.eps.as_dict(),
            "eps_one": self.eps_one.as_dict(),
            "gamma": self.gamma.as_dict(),
            "tracking": self.tracking.as_dict(),
            "recovered": self.recovered._asdict(),
            "recovered_one": self.recovered_one._asdict(),
            "chance": self.chance,
            "persists": self.persists,
            "persistence": self.persistence.as_dict(),
            "averages_out": self.averages_out,
            "shares_randomness": self.shares_randomness,
            "sharing": self.sharing.as_dict(),
            "identical_streams": self.identical,
        }


def audit_client(
    factory: Factory,
    values: Sequence[Any],
    *,
    reports: int,
    claimed_eps: float | None = None,
    claimed_eps_one: float | None = None,
    claimed_delta: float = 0.0,
    claimed_advantage: float | None = None,
    claimed_gamma: float | None = None,
    clients: int = 2000,
    level: float = 0.99,
    seed: int = 0,
    progress: Progress | None = None,
) -> ClientAudit:
    """Audit clients made by `factory(value)`, without knowing how they work.

    A client is a function that returns one report after another, or an object with `.report(round)`, which is
    called for rounds 1, 2, …. `clients` is the number of clients for each value. `claimed_eps` is about all
    `reports` together, `claimed_eps_one` about one. `claimed_advantage` and `claimed_gamma` are about tracking: can
    two halves of one client's reports be told from halves of two clients? `claimed_delta` belongs to each eps and
    to gamma. `failures` of the result says whether the client fails a check, and why. `seed` decides which clients
    are held out, not what clients send. The bounds assume that clients are independent, which is tested too.
    """
    if not callable(factory):
        raise TypeError(f"factory must be callable, not {type(factory).__name__}")
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"values must be a sequence of values, not {type(values).__name__}")
    if len(values) < 2:
        raise ValueError(f"there must be at least two values, got {len(values)}")
    reports = checks.integer("reports", reports, low=2, high=checks.MOST_ROUNDS)
    clients = checks.integer("clients", clients, low=4 * FEWEST_PEOPLE)
    level = checks.open_probability("level", level)
    delta = checks.probability("claimed_delta", claimed_delta)
    claimed, claimed_one, gamma = (
        None if given is None else checks.non_negative(name, given)
        for name, given in (
            ("claimed_eps", claimed_eps),
            ("claimed_eps_one", claimed_eps_one),
            ("claimed_gamma", claimed_gamma),
        )
    )
    if claimed_advantage is not None:
        claimed_advantage = checks.probability("claimed_advantage", claimed_advantage)
    rng = np.random.default_rng(checks.integer("seed", seed, low=0))
    samples = collect(factory, values, clients, reports, progress)
    if progress is not None:
        progress("looking for leaks", None)
    every, one = (
        value_leak(taken, level=level, delta=delta, seed=seed)
        for taken in (samples, [sample.between(0, 1) for sample in samples])
    )
    tracking, loss = _tracking(samples, level, delta, seed)
    return ClientAudit(
        values=len(values),
        clients=clients,
        reports=reports,
        level=level,
        claimed_eps=claimed,
        claimed_eps_one=claimed_one,
        claimed_delta=delta,
        claimed_advantage=claimed_advantage,
        claimed_gamma=gamma,
        eps=every.eps,
        eps_one=one.eps,
        gamma=loss,
        tracking=tracking,
        recovered=every.recovered,
        recovered_one=one.recovered,
        persistence=persistence(samples, rng),
        sharing=sharing(samples),
        identical=identical(samples),
    )


def _tracking(samples: Sequence[Streams], level: float, delta: float, seed: int) -> tuple[Advantage, LossBound]:
    """The largest bounds over all values. Each has a higher level, so that of all values holds at this level."""
    each = 1 - (1 - level) / len(samples)
    windows = [halves(sample) for sample in samples]
    advantages = [advantage_lower(*two, level=each, seed=seed) for two in windows]
    losses = [gamma_lower(*two, level=each, delta=delta, seed=seed) for two in windows]
    return (
        max(advantages, key=lambda advantage: (advantage.lower, advantage.sampled)),
        max(losses, key=lambda loss: (loss.lower, loss.sampled)),
    )
