"""What the operator of a collector chooses."""

from dataclasses import dataclass

from untrackable import checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and delays; times are in seconds, sizes in bytes."""

    minimum_reports: int = 100
    """Estimates from fewer reports are withheld."""
    early: float = 60.0
    """How long before its round a report is taken, for clocks that are fast."""
    grace: float = 600.0
    """How long after its round a report is taken; then the round is closed."""
    sweep: float = 30.0
    """How often to look for rounds to close."""
    largest_body: int = 1 << 20
    """Of a request."""
    room: int = 32 << 20
    """For reports that are not yet stored; beyond it, senders are asked to come again."""
    group: int = 4 << 20
    """Reports in one transaction, at most."""
    retry_after: int = 5
    """When to come again, told to senders that are turned away."""
    request_seconds: float = 20.0
    """Within which a request must have arrived, and its answer been taken."""
    largest_head: int = 32 << 10
    """Of a request's address, and of its headers."""
    connections: int = 3000
    """Open at once, in one process; beyond it, senders are asked to come again."""
    ending_seconds: float = 20.0
    """For storing what was accepted, when the collector ends."""
    origins: tuple[str, ...] = ("*",)
    """Web origins whose pages may use the collector."""

    def __post_init__(self) -> None:
        whole = ("minimum_reports", "largest_body", "room", "group", "retry_after", "largest_head", "connections")
        for name in whole:
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        for name in ("early", "grace"):
            checks.settle(self, **{name: checks.non_negative(name, getattr(self, name))})
        for name in ("sweep", "request_seconds", "ending_seconds"):
            checks.settle(self, **{name: checks.positive(name, getattr(self, name))})
        if self.largest_body > self.room:
            raise ValueError(f"largest_body must be at most room, {self.room}, got {self.largest_body}")
