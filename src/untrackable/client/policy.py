"""The policy of a person: how much all campaigns together may reveal, and which campaigns count as published."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from untrackable import checks, strict_json
from untrackable.errors import CampaignRefused, PolicyRaised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from untrackable.protocol.campaign import Campaign, Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits for all answers to all campaigns: (eps, delta)-private and (gamma, tracking_delta)-untrackable.

    Those that are not given are cautious. Each may be lowered at any time.

    `eps` and `delta` are about an observer who knows which reports are the person's: relay and collector together,
    or the collector if there is no relay.

    `every_round` allows campaigns in which everybody answers every round. Whatever their reports say, attendance
    then gives people away: a client is never seen at two places in the same round, while two people often are. An
    observer of two places recognises a person by that within about ten rounds.

    `turns_a_year` is how many campaigns with turns may begin within a year. One turn lets an observer of two places
    find a person among N with probability 2/N at most. Each further one rules out more people: 2^c/N after c
    campaigns is the strongest attack that is known, and no bound is.

    `relays` are the addresses of relays that the person trusts not to work with any collector. Campaigns that rely
    on a crowd are answered through the first of them that is not the collector itself, and never without one. If
    such a campaign names a relay that holds reports, it must be one of them, and is used alone.

    `pins` are the SHA-256 of campaigns or of directories of campaigns, built into the application. A client accepts
    only these, so a server cannot give one person a campaign of their own.
    """

    eps: float = 1.0
    delta: float = 1e-6
    gamma: float = 0.0
    tracking_delta: float = 0.0
    every_round: bool = False
    turns_a_year: int = 4
    relays: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Options of commands need the limits only.
        from untrackable.protocol.campaign import check_id
        from untrackable.web_address import WebAddress

        if not isinstance(self.every_round, bool):
            raise TypeError(f"every_round must be True or False, not {type(self.every_round).__name__}")
        for relay in self.relays:
            WebAddress.parse("relay", relay)
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=checks.non_negative("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
            turns_a_year=checks.integer("turns_a_year", self.turns_a_year, low=0),
            relays=tuple(dict.fromkeys(self.relays)),
            pins=tuple(sorted({check_id(pin) for pin in self.pins})),
        )

    def check_not_above(self, stored: Policy) -> None:
        """Refuse to be used in place of a stored policy that allows less."""
        above = {name: getattr(self, name) for name in LIMITS if getattr(self, name) > getattr(stored, name)}
        relays = [relay for relay in self.relays if relay not in stored.relays]
        if above or relays:
            more = [f"{name} {limit!r} instead of {getattr(stored, name)!r}" for name, limit in above.items()]
            more += [f"the relay {relay}" for relay in relays]
            options = [option(name, limit) for name, limit in above.items()]
            options += [f"--relay {relay}" for relay in (*stored.relays, *relays) if relays]
            raise PolicyRaised(
                f"this would allow more than the policy stored in this folder: {', '.join(more)}; nothing was "
                f"changed. If you mean it, raise the policy first: `untrackable policy set {' '.join(options)}`"
            )

    def limits(self) -> dict[str, Any]:
        """The limits and relays as JSON, without the pins, which belong to an application."""
        limits: dict[str, Any] = strict_json.finite({name: getattr(self, name) for name in LIMITS})
        return {**limits, "relays": list(self.relays)}

    @staticmethod
    def from_limits(content: Mapping[str, Any]) -> Policy:
        """The policy that has these limits, and no pins."""
        limits = {name: type(usual)(content[name]) for name, usual in LIMITS.items()}
        return Policy(**limits, relays=tuple(content["relays"]))

    def check_sending(self, campaign: Campaign) -> None:
        """Raise `CampaignRefused` if reports must not be sent as a campaign asks: every round, or to a relay."""
        if campaign.turns is None and not self.every_round:
            raise CampaignRefused(
                "in this campaign everybody answers every round, and that gives people away whatever the reports "
                "say: somebody who sees two places, such as a home and an office, notices within about ten rounds "
                "who is never at both in the same round. Campaigns with turns do not have this weakness. If you "
                "mean it: `untrackable policy set --every-round`"
            )
        if campaign.relay is not None and campaign.relay.address not in self.relays:
            more = " ".join(f"--relay {relay}" for relay in (*self.relays, campaign.relay.address))
            raise CampaignRefused(
                f"this campaign is answered through the relay {campaign.relay.address} alone, which holds reports, "
                "and your policy does not name it. If you trust it not to work with the collector: `untrackable "
                f"policy set {more}`"
            )
        if campaign.gateway is not None and not self.relays:
            raise CampaignRefused(
                "this campaign relies on a crowd: its reports are private only if nobody knows who sent which. So "
                "they are sent through a relay that you trust not to work with the collector, and never directly; "
                "your policy names no relay. Name one: `untrackable policy set --relay https://…`"
            )

    def check_published(self, campaign: Campaign, directory: Directory | None) -> None:
        """Raise `CampaignRefused` unless a campaign is pinned, itself or through a directory."""
        if campaign.id in self.pins:
            return
        if directory is None:
            raise CampaignRefused(
                f"campaign {campaign.id} is not pinned, and no directory is given that lists it. Compare this id "
                "with the one that you were told by somebody you trust, and pin it if they are the same"
            )
        if directory.digest not in self.pins:
            raise CampaignRefused(f"the directory's digest {directory.digest} is not pinned")
        if campaign.id not in directory.ids:
            raise CampaignRefused(f"campaign {campaign.id} is neither pinned nor in the directory")


LIMITS: dict[str, Any] = {
    field.name: field.default for field in fields(Policy) if field.name not in ("relays", "pins")
}
"""What a policy limits, all campaigns together, and the cautious limits."""


def option(name: str, limit: object) -> str:
    """The option of `untrackable policy set` that allows a limit."""
    written = f"--{name.replace('_', '-')}"
    return written if limit is True else f"{written} {limit}"
