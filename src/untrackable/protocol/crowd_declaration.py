"""What a campaign that relies on a crowd declares: the guarantee in the crowd, and the keys of the gateway.

The campaign's id pins the keys, so everybody has the same ones, and no key is ever fetched from anybody: a key of
their own would mark a person.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.errors import CampaignError, SealingError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.registry import plain
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol.wire import LAST_ROUND

_LARGEST_CROWD = 10**9
"""The largest crowd: that of `theory.crowd_counts`, which a client does not load."""
_MOST_SUITES = 8
_HEX = re.compile(r"([0-9a-f]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdGuarantee:
    """All reports ever are (eps, delta)-private in a crowd: the observer does not know who sent which report.

    It holds while every round has at least `reports` reports, by as many people who send them as they should.
    Rounds with fewer are not published. It is the fewest that are likely: at most one round in a hundred is below
    (`theory.crowd_counts.fewest_likely_reports`).
    """

    eps: float
    delta: float
    reports: int

    def __post_init__(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            reports=checks.integer("reports", self.reports, low=2, high=_LARGEST_CROWD),
        )

    def to_json(self) -> dict[str, Any]:
        """The guarantee as JSON."""
        return {name: plain(getattr(self, name)) for name in CrowdGuarantee.__slots__}

    @staticmethod
    def from_json(given: object) -> "CrowdGuarantee":
        """The guarantee of this JSON."""
        return CrowdGuarantee(**_fields("crowd", given, CrowdGuarantee.__slots__))


@dataclass(frozen=True, slots=True)
class GatewayKey:
    """One public key of the gateway, and the first round whose reports are sealed for it.

    `config` is the key configuration of RFC 9458, section 3.1, without a length before it.
    """

    config: bytes
    first_round: int

    def __post_init__(self) -> None:
        checks.settle(
            self,
            config=_checked_config(self.config),
            first_round=checks.integer("first_round of a gateway key", self.first_round, low=1, high=LAST_ROUND),
        )

    @property
    def id(self) -> int:
        """The number by which sealed reports name the key."""
        return self.config[0]

    def to_json(self) -> dict[str, Any]:
        """The key as JSON."""
        return {"config": self.config.hex(), "first_round": self.first_round}

    @staticmethod
    def from_json(given: object) -> "GatewayKey":
        """The key of this JSON."""
        fields = _fields("gateway key", given, GatewayKey.__slots__)
        if not isinstance(fields["config"], str) or not _HEX.fullmatch(fields["config"]):
            raise CampaignError("the config of a gateway key must be lower-case hexadecimal digits")
        return GatewayKey(bytes.fromhex(fields["config"]), fields["first_round"])


@dataclass(frozen=True, slots=True)
class Gateway:
    """The keys of the collector's gateway. Each serves from its first round until the next one's."""

    keys: tuple[GatewayKey, ...]

    def __post_init__(self) -> None:
        checks.settle(self, keys=tuple(self.keys))
        if not self.keys or self.keys[0].first_round != 1:
            raise ValueError("the first gateway key must serve from round 1")
        if any(one.first_round >= other.first_round for one, other in itertools.pairwise(self.keys)):
            raise ValueError("gateway keys must be in the order of their first rounds, and no two serve from one")
        if len({key.id for key in self.keys}) < len(self.keys):
            raise ValueError("no two gateway keys may have the same id")

    def keys_from(self, round: int) -> tuple[GatewayKey, ...]:
        """The key of a round, and then those that may be tried if it was revoked, in their order."""
        serving = sum(key.first_round <= checks.integer("round", round, low=1) for key in self.keys)
        return self.keys[serving - 1 :]

    def to_json(self) -> dict[str, Any]:
        """The keys as JSON."""
        return {"keys": [key.to_json() for key in self.keys]}

    @staticmethod
    def from_json(given: object) -> "Gateway":
        """The keys of this JSON."""
        keys = _fields("gateway", given, Gateway.__slots__)["keys"]
        if not isinstance(keys, list):
            raise CampaignError("the keys of a gateway must be a list")
        return Gateway(tuple(GatewayKey.from_json(key) for key in keys))


def check_crowd(crowd: CrowdGuarantee | None, mechanism: Mechanism, rounds: int | None) -> None:
    """Refuse a crowd guarantee for reports that can be linked."""
    if not isinstance(crowd, CrowdGuarantee | None):
        raise TypeError(f"crowd must be of type CrowdGuarantee, not {type(crowd).__name__}")
    if crowd is None:
        return
    if mechanism.tracking_advantage_upper(rounds) > 0:
        raise ValueError("its reports can be linked, so a crowd does not hide them")


def check_gateway(gateway: Gateway | None, crowd: CrowdGuarantee | None) -> None:
    """Refuse a crowd guarantee without a gateway, and a gateway without one."""
    if not isinstance(gateway, Gateway | None):
        raise TypeError(f"gateway must be of type Gateway, not {type(gateway).__name__}")
    if (gateway is None) != (crowd is None):
        raise ValueError("a campaign has both a gateway and a guarantee in a crowd, or neither")


def _checked_config(config: bytes) -> bytes:
    """The bytes of a key configuration, if it is one that clients know."""
    if not isinstance(config, bytes):
        raise TypeError(f"config must be bytes, not {type(config).__name__}")
    try:
        found = KeyConfig.from_bytes(config)
    except SealingError as error:
        raise ValueError(f"a gateway key must be one key configuration of RFC 9458: {error}") from None
    if len(found.suites) > _MOST_SUITES:
        raise ValueError(f"a gateway key must have at most {_MOST_SUITES} suites")
    return config


def _fields(what: str, given: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict) or set(given) != set(names):
        raise CampaignError(f"the {what} must have exactly the fields {', '.join(names)}")
    return given
