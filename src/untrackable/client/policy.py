"""The policy of a person: how much all campaigns together may reveal, and which campaigns count as published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from untrackable import checks, strict_json
from untrackable.errors import CampaignRefused, PolicyRaised
from untrackable.protocol.campaign import Campaign, Directory, check_id
from untrackable.theory.attendance import AMONG

LIMITS = ("eps", "delta", "gamma", "tracking_delta", "recognition")
"""What a policy limits, all campaigns together; each may be lowered at any time."""
RECOGNITION = 0.01
"""The largest recognition unless a person allows another one. Policies of earlier versions have this one too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits for all answers to all campaigns: (eps, delta)-private and (gamma, tracking_delta)-untrackable.

    `recognition` limits attendance, that is, which rounds a person answers and from where: an observer of two
    places recognises the person among 1,000 with at most this probability. A guess has 0.001. A client answers a
    round only once, so one person is never seen at two places in the same round, while two people often are.
    Clients that answer every round are recognised by that within ten rounds, whatever their reports say. So the
    default, ten times the chance of a guess, refuses campaigns that are answered in every one of more than three
    rounds.

    `pins` are the SHA-256 of campaigns or of directories of campaigns, built into the application. A client accepts
    only these, so a server cannot give one person a campaign of their own.
    """

    eps: float
    delta: float
    gamma: float = 0.0
    tracking_delta: float = 0.0
    recognition: float = RECOGNITION
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=checks.non_negative("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
            recognition=checks.probability("recognition", self.recognition),
            pins=tuple(sorted({check_id(pin) for pin in self.pins})),
        )
        if self.recognition < 1 / AMONG:
            raise ValueError(
                f"recognition must be at least {1 / AMONG:g}, the chance of a guess, got {self.recognition}"
            )

    def check_not_above(self, stored: "Policy") -> None:
        """Refuse to be used in place of a stored policy that allows less."""
        above = [name for name in LIMITS if getattr(self, name) > getattr(stored, name)]
        if above:
            more = ", ".join(
                f"{name} {getattr(self, name)!r} instead of {getattr(stored, name)!r}" for name in above
            )
            options = " ".join(f"--{name.replace('_', '-')} {getattr(self, name)!r}" for name in above)
            raise PolicyRaised(
                f"this would allow more than the policy stored in this folder: {more}; nothing was changed. If you "
                f"mean it, raise the policy first: `untrackable policy set {options}`"
            )

    def limits(self) -> dict[str, Any]:
        """The limits as JSON, without the pins, which belong to an application."""
        found: dict[str, Any] = strict_json.finite({name: getattr(self, name) for name in LIMITS})
        return found

    @staticmethod
    def from_limits(content: Mapping[str, Any]) -> "Policy":
        """The policy that has these limits, and no pins."""
        given = {"recognition": RECOGNITION, **content}
        eps, delta, gamma, tracking_delta, recognition = (float(given[name]) for name in LIMITS)
        return Policy(eps=eps, delta=delta, gamma=gamma, tracking_delta=tracking_delta, recognition=recognition)

    def check_published(self, campaign: Campaign, directory: Directory | None) -> None:
        """Raise `CampaignRefused` unless a campaign is pinned, itself or through a directory."""
        if campaign.id in self.pins:
            return
        if directory is None:
            raise CampaignRefused(f"campaign {campaign.id} is not pinned, and no directory is given that lists it")
        if directory.digest not in self.pins:
            raise CampaignRefused(f"the directory's digest {directory.digest} is not pinned")
        if campaign.id not in directory.ids:
            raise CampaignRefused(f"campaign {campaign.id} is neither pinned nor in the directory")
