"""Audits a client as a black box: make many, collect their reports, and bound from below what these give away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.auditing.confidence import Share
from untrackable.auditing.evidence.attack_bounds import (
    FEWEST_PEOPLE,
    Advantage,
    Epsilon,
    advantage_lower,
    value_leak,
)
from untrackable.auditing.evidence.report_streams import Factory, Streams, collect
from untrackable.auditing.evidence.sign_tests import SignTest, identical, persistence, sharing
from untrackable.auditing.evidence.similarities import halves
from untrackable.brackets import at_least
from untrackable.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAudit:
    """The result of `audit_client`. Each bound holds with confidence `level`; none of them is an upper bound.

    `eps` is from all reports of a client, `eps_one` from its first; `tracking` is from its first half against its
    second. `recovered` and `recovered_one` are shares of held-out clients whose value was guessed; guessing without
    looking at reports gets `chance`.
    """

    values: int
    clients: int
    reports: int
    level: float
    claimed_eps: float | None
    claimed_eps_one: float | None
    claimed_delta: float
    eps: Epsilon
    eps_one: Epsilon
    tracking: Advantage
    recovered: Share
    recovered_one: Share
    persistence: SignTest
    sharing: SignTest
    identical: bool

    @property
    def refuted(self) -> bool:
        """Whether the claimed eps, of all reports or of one, is below what was found."""
        return _above(self.eps.lower, self.claimed_eps) or _above(self.eps_one.lower, self.claimed_eps_one)

    @property
    def chance(self) -> float:
        """Share of values that are guessed without looking at reports."""
        return 1 / self.values

    @property
    def persists(self) -> bool:
        """Whether a client's reports are correlated: it keeps something, such as permanent noise."""
        return self.persistence.found

    @property
    def averages_out(self) -> bool:
        """Whether nothing is found to persist and many reports still reveal more than one: noise is fresh."""
        return not self.persists and self.recovered.lower > self.recovered_one.upper

    @property
    def shares_randomness(self) -> bool:
        """Whether clients are not independent; then the other bounds do not hold."""
        return self.identical or self.sharing.found

    @property
    def verdict(self) -> str:
        """In plain words."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict, sentence by sentence."""
        sure = f"{100 * self.level:.12g} %"
        said = []
        if self.shares_randomness:
            how = (
                "all clients of a value send the same reports, one after the other"
                if self.identical
                else "clients made one after the other agree more than distant ones"
            )
            said.append(
                f"SHARED RANDOMNESS: {how}. Clients are not independent, so no bound below is to be relied on."
            )
        for found, claimed, of in (
            (self.eps, self.claimed_eps, f"all {self.reports} reports"),
            (self.eps_one, self.claimed_eps_one, "one report"),
        ):
            bound = f"or {of}, eps is at least {at_least(found.lower, 3)} (lower, {sure})"
            if claimed is None:
                said.append(f"F{bound}.")
            else:
                fate = "CLAIM REFUTED" if found.lower > claimed else "The claim is not refuted"
                said.append(f"{fate}: f{bound}, claimed {claimed:.4g}.")
            if found.outside.hits == 0 and found.inside.sampled > 0.5:
                said.append(
                    f"What {found.inside.sampled:.0%} of the clients of one value showed, none of "
                    f"{found.outside.trials} of another did: eps may well be infinite."
                )
        said.append(self._noise())
        said.append(
            f"Tracking advantage between halves of {self.reports} reports: at least "
            f"{at_least(self.tracking.lower, 3)} (lower, {sure})."
        )
        return tuple(said)

    def _noise(self) -> str:
        if self.persists:
            return "Something persists in a client: its reports hang together."
        if not self.averages_out:
            return "Nothing was found to persist in a client."
        fate = "NOISE IS NOT PERMANENT" if self.refuted else "Noise is fresh in every report"
        return (
            f"{fate}: nothing was found to persist in a client, and {self.reports} reports reveal the value of "
            f"{self.recovered.sampled:.1%} of the clients (sampled; {self.recovered.lower:.1%} or more), one "
            f"report of {self.recovered_one.sampled:.1%}. Such noise is private only as long as reports are few."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; names say lower or sampled."""
        return {
            "values": self.values,
            "clients_per_value": self.clients,
            "reports": self.reports,
            "level": self.level,
            "claimed_eps": self.claimed_eps,
            "claimed_eps_one": self.claimed_eps_one,
            "claimed_delta": self.claimed_delta,
            "refuted": self.refuted,
            "eps_lower": self.eps.lower,
            "eps_one_lower": self.eps_one.lower,
            "advantage_lower": self.tracking.lower,
            "eps": self.eps.as_dict(),
            "eps_one": self.eps_one.as_dict(),
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
            "verdict": self.verdict,
        }


def _above(found: float, claimed: float | None) -> bool:
    return claimed is not None and found > claimed


def audit_client(
    factory: Factory,
    values: Sequence[Any],
    *,
    reports: int,
    claimed_eps: float | None = None,
    claimed_eps_one: float | None = None,
    claimed_delta: float = 0.0,
    clients: int = 2000,
    level: float = 0.99,
    seed: int = 0,
    progress: Progress | None = None,
) -> ClientAudit:
    """Audit clients made by `factory(value)`, with no knowledge of how they work.

    A client is called for one report after another, or has `.report(round)`, which is called for rounds 1, 2, ….
    `clients` are made for each value, in turn. Claims are about all `reports` together, and about one. `seed`
    decides which clients are held out, not what clients send. Assumes independent clients, which it also tests.
    """
    if not callable(factory):
        raise TypeError(f"factory must be callable, not {type(factory).__name__}")
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"values must be a sequence of values, not {type(values).__name__}")
    if len(values) < 2:
        raise ValueError(f"values must be at least two, to be told apart, got {len(values)}")
    reports = checks.integer("reports", reports, low=2)
    clients = checks.integer("clients", clients, low=4 * FEWEST_PEOPLE)
    level = checks.open_probability("level", level)
    delta = checks.probability("claimed_delta", claimed_delta)
    claimed, claimed_one = (
        None if given is None else checks.non_negative(name, given)
        for name, given in (("claimed_eps", claimed_eps), ("claimed_eps_one", claimed_eps_one))
    )
    rng = np.random.default_rng(checks.integer("seed", seed, low=0))
    samples = collect(factory, values, clients, reports, progress)
    if progress is not None:
        progress("looking for leaks", None)
    every, one = (
        value_leak(taken, level=level, delta=delta, seed=seed)
        for taken in (samples, [sample.between(0, 1) for sample in samples])
    )
    return ClientAudit(
        values=len(values),
        clients=clients,
        reports=reports,
        level=level,
        claimed_eps=claimed,
        claimed_eps_one=claimed_one,
        claimed_delta=delta,
        eps=every.eps,
        eps_one=one.eps,
        tracking=_tracking(samples, level, seed),
        recovered=every.recovered,
        recovered_one=one.recovered,
        persistence=persistence(samples, rng),
        sharing=sharing(samples),
        identical=identical(samples),
    )


def _tracking(samples: Sequence[Streams], level: float, seed: int) -> Advantage:
    """The largest bound of all values, each at a level such that all of them hold together."""
    each = 1 - (1 - level) / len(samples)
    found = [advantage_lower(*halves(sample), level=each, seed=seed) for sample in samples]
    return max(found, key=lambda advantage: (advantage.lower, advantage.sampled))
