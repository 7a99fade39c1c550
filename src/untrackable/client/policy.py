"""The policy of a person: how much all campaigns together may reveal, and which campaigns count as published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from untrackable import checks, strict_json
from untrackable.errors import CampaignRefused, PolicyRaised
from untrackable.protocol.campaign import Campaign, Directory, check_id
from untrackable.theory.attendance import AMONG
from untrackable.web_address import WebAddress

LIMITS = {
    "eps": 1.0,
    "delta": 1e-6,
    "gamma": 0.0,
    "tracking_delta": 0.0,
    "recognition": 0.01,
    "crowd_eps": 1.0,
    "crowd_delta": 1e-6,
}
"""What a policy limits, all campaigns together, and the cautious limits. Each may be lowered at any time."""

_ADDED = ("recognition", "crowd_eps", "crowd_delta")
"""The limits that stored policies of earlier versions do not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits for all answers to all campaigns: (eps, delta)-private and (gamma, tracking_delta)-untrackable.

    `recognition` limits attendance, that is, which rounds a person answers and from where: an observer of two
    places recognises the person among 1,000 with at most this probability. A guess has 0.001. A client answers a
    round only once, so one person is never seen at two places in the same round, while two people often are.
    Clients that answer every round are recognised by that within ten rounds, whatever their reports say. So the
    default, ten times the chance of a guess, refuses campaigns that are answered in every one of more than three
    rounds.

    `eps` and `delta` are about an observer who knows which reports are the person's: relay and collector together,
    or the collector if there is no relay. `crowd_eps` and `crowd_delta` are about one who sees the reports of
    everybody and does not know who sent which: the collector, if the relay does not work with it. Campaigns that
    are answered without a relay count for both.

    `relays` are the addresses of relays that the person trusts not to work with any collector. Campaigns that rely
    on a crowd are answered through the first of them that is not the collector itself, and never without one.

    `pins` are the SHA-256 of campaigns or of directories of campaigns, built into the application. A client accepts
    only these, so a server cannot give one person a campaign of their own.
    """

    eps: float
    delta: float
    gamma: float = LIMITS["gamma"]
    tracking_delta: float = LIMITS["tracking_delta"]
    recognition: float = LIMITS["recognition"]
    crowd_eps: float = LIMITS["crowd_eps"]
    crowd_delta: float = LIMITS["crowd_delta"]
    relays: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=checks.non_negative("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
            recognition=checks.probability("recognition", self.recognition),
            crowd_eps=checks.positive("crowd_eps", self.crowd_eps),
            crowd_delta=checks.probability("crowd_delta", self.crowd_delta),
            relays=tuple(dict.fromkeys(_checked_relay(relay) for relay in self.relays)),
            pins=tuple(sorted({check_id(pin) for pin in self.pins})),
        )
        if self.recognition < 1 / AMONG:
            raise ValueError(
                f"recognition must be at least {1 / AMONG:g}, the chance of a guess, got {self.recognition}"
            )

    def check_not_above(self, stored: "Policy") -> None:
        """Refuse to be used in place of a stored policy that allows less."""
        above = [name for name in LIMITS if getattr(self, name) > getattr(stored, name)]
        relays = [relay for relay in self.relays if relay not in stored.relays]
        if above or relays:
            more = [f"{name} {getattr(self, name)!r} instead of {getattr(stored, name)!r}" for name in above]
            more += [f"the relay {relay}" for relay in relays]
            options = [f"--{name.replace('_', '-')} {getattr(self, name)!r}" for name in above]
            options += [f"--relay {relay}" for relay in (*stored.relays, *relays) if relays]
            raise PolicyRaised(
                f"this would allow more than the policy stored in this folder: {', '.join(more)}; nothing was "
                f"changed. If you mean it, raise the policy first: `untrackable policy set {' '.join(options)}`"
            )

    def limits(self) -> dict[str, Any]:
        """The limits and relays as JSON, without the pins, which belong to an application."""
        found: dict[str, Any] = strict_json.finite({name: getattr(self, name) for name in LIMITS})
        return {**found, "relays": list(self.relays)}

    @staticmethod
    def from_limits(content: Mapping[str, Any]) -> "Policy":
        """The policy that has these limits, and no pins. Limits that earlier versions did not have are cautious."""
        given: dict[str, Any] = {**{name: LIMITS[name] for name in _ADDED}, **content}
        limits: dict[str, Any] = {name: float(given[name]) for name in LIMITS}
        return Policy(**limits, relays=tuple(given.get("relays", ())))

    def check_relayed(self, campaign: Campaign) -> None:
        """Raise `CampaignRefused` if a campaign relies on a crowd and no relay is named."""
        if campaign.guarantee.crowd is not None and not self.relays:
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


def _checked_relay(relay: object) -> str:
    """An address of a relay: https, or http on this machine."""
    if not isinstance(relay, str):
        raise TypeError(f"relays must be addresses as texts, not {type(relay).__name__}")
    WebAddress.parse("relay", relay)
    return relay
