"""The settings that the operator of a relay chooses."""

import re
from dataclasses import dataclass

from untrackable import checks
from untrackable.relay.gateway_address import GatewayAddress

SEALED_LENGTH = 1079
"""The number of bytes of every sealed report. A relay does not load the package that seals, which has it too."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_CLIENT_SECONDS = 55.0
"""Clients wait for a minute in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySettings:
    """Gateways, limits and delays. Times are in seconds, and sizes are in bytes."""

    gateways: tuple[GatewayAddress, ...]
    hold_until: int = 1
    """Requests wait until so many different addresses have one waiting for the same gateway."""
    hold_at_most: float = 10.0
    """The longest time for which a request waits for others."""
    per_minute: int = 60
    """The largest number of requests from one address in a minute."""
    sender_header: str | None = None
    """The header in which a proxy in front of the relay gives the sender's address. None if there is no proxy."""
    waiting: int = 2000
    """The largest number of requests that wait for others or for a gateway."""
    gateway_connections: int = 16
    """The largest number of connections to one gateway."""
    gateway_seconds: float = 30.0
    """How long a gateway may take to answer."""
    connections: int = 3000
    """The largest number of open connections. Further senders are asked to retry later."""
    request_seconds: float = 20.0
    """How long a request may take to arrive, and how long its sender may take to read the answer."""
    largest_head: int = 8 << 10
    """The largest address of a request, and the largest total of its headers."""
    retry_after: int = 5
    """The Retry-After delay for senders that are asked to retry later."""

    def __post_init__(self) -> None:
        for name in ("hold_until", "per_minute", "waiting", "gateway_connections", "connections", "largest_head"):
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        for name in ("hold_at_most", "gateway_seconds", "request_seconds"):
            checks.settle(self, **{name: checks.positive(name, getattr(self, name))})
        checks.settle(self, retry_after=checks.integer("retry_after", self.retry_after, low=1))
        if self.sender_header is not None and not _HEADER.fullmatch(self.sender_header):
            raise ValueError("sender_header must be the name of a header, such as x-relay-sender")
        if not self.gateways:
            raise ValueError("gateways must name at least one gateway, such as study=https://collect.example")
        names = [gateway.name for gateway in self.gateways]
        if len(set(names)) < len(names):
            raise ValueError("gateways must have different names")
        if self.hold_until > self.waiting:
            raise ValueError(f"hold_until must be at most waiting, which is {self.waiting}, got {self.hold_until}")
        held = self.hold_at_most if self.hold_until > 1 else 0.0
        if held + self.gateway_seconds > _CLIENT_SECONDS:
            raise ValueError(
                f"hold_at_most and gateway_seconds must be at most {_CLIENT_SECONDS:g} seconds together, because "
                f"clients wait for a minute; got {held + self.gateway_seconds:g}"
            )

    @property
    def largest_body(self) -> int:
        """The largest body of a request."""
        return SEALED_LENGTH
