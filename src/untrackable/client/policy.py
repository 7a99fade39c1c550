"""The policy of a person: how much all campaigns together may reveal, and which campaigns count as published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from untrackable import checks, strict_json
from untrackable.errors import CampaignRefused, PolicyRaised
from untrackable.protocol.campaign import Campaign, Directory, check_id

LIMITS = ("eps", "delta", "gamma", "tracking_delta")
"""What a policy limits, all campaigns together; each may be lowered at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits for all answers to all campaigns: (eps, delta)-private and (gamma, tracking_delta)-untrackable.

    `pins` are the SHA-256 of campaigns or of directories of campaigns, built into the application. A client accepts
    only these, so a server cannot give one person a campaign of their own.
    """

    eps: float
    delta: float
    gamma: float = 0.0
    tracking_delta: float = 0.0
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=checks.non_negative("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
            pins=tuple(sorted({check_id(pin) for pin in self.pins})),
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
        eps, delta, gamma, tracking_delta = (float(content[name]) for name in LIMITS)
        return Policy(eps=eps, delta=delta, gamma=gamma, tracking_delta=tracking_delta)

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
