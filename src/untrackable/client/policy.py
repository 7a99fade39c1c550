"""The policy of a person: how much all campaigns together may reveal, and which campaigns count as published."""

from dataclasses import dataclass

from untrackable import checks
from untrackable.errors import CampaignRefused
from untrackable.protocol.campaign import Campaign, Directory, check_id


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
