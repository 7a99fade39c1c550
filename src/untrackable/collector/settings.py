"""The settings that the operator of a collector chooses, and opening the store at the chosen address."""

from dataclasses import dataclass
from pathlib import Path

from untrackable import checks
from untrackable.collector.store import Store
from untrackable.errors import StoreError
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and delays. Times are in seconds, and sizes are in bytes."""

    minimum_reports: int = 100
    """The smallest number of reports for which an estimate is shown."""
    early: float = 60.0
    """How long before the start of its round a report is accepted, for clients whose clock is fast."""
    grace: float = 600.0
    """How long after the end of its round a report is accepted. Then the round is closed."""
    release_wait: float = 172_800.0
    """How long after its release by a relay a report is accepted. Then the round is closed.

    The relay tries again while the collector is away, so it can be away for nearly as long."""
    sweep: float = 30.0
    """How often the collector looks for rounds to close."""
    largest_body: int = 1 << 20
    """The largest body of a request."""
    room: int = 32 << 20
    """The memory for reports that are not yet stored. If it is full, senders are asked to retry later.

    Large bodies may use only a part of it, so that unfinished large bodies do not shut out small ones."""
    group: int = 4 << 20
    """The largest size of the reports that are stored in one transaction."""
    retry_after: int = 5
    """The Retry-After delay for senders that are asked to retry later."""
    request_seconds: float = 20.0
    """How long a request may take to arrive, and how long its sender may take to read the answer."""
    largest_head: int = 32 << 10
    """The largest address of a request, and the largest total of its headers."""
    connections: int = 3000
    """The largest number of open connections of one process. Further senders are asked to retry later."""
    ending_seconds: float = 20.0
    """How long the collector may take to store accepted reports when it ends."""
    keep_sums: float | None = None
    """For how many days after the last arrival in a round its sums are kept. None keeps them for ever."""
    origins: tuple[str, ...] = ("*",)
    """The web origins whose pages may use the collector."""
    gateway_keys: Path | None = None
    """The file with the private keys that open sealed reports. Without one, the collector is no gateway."""
    registers: tuple[Path, ...] = ()
    """The registers of ballots that this collector issues, if it is an issuer, too."""

    def __post_init__(self) -> None:
        whole = ("minimum_reports", "largest_body", "room", "group", "retry_after", "largest_head", "connections")
        for name in whole:
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        for name in ("early", "grace", "release_wait"):
            checks.settle(self, **{name: checks.non_negative(name, getattr(self, name))})
        for name in ("sweep", "request_seconds", "ending_seconds"):
            checks.settle(self, **{name: checks.positive(name, getattr(self, name))})
        if self.keep_sums is not None:
            checks.settle(self, keep_sums=checks.positive("keep_sums", self.keep_sums))
        if self.largest_body > self.room:
            raise ValueError(f"largest_body must be at most room, which is {self.room}, got {self.largest_body}")

    def last_arrival(self, campaign: Campaign, round: int) -> float:
        """When the last reports of a round are accepted. Then the round is closed."""
        return campaign.leaves(round) + self.wait(campaign)

    def wait(self, campaign: Campaign) -> float:
        """How long a report may be under way, from its sender or from the relay that held it."""
        return self.grace if campaign.relay is None else self.release_wait


def open_store(url: str, *, check: bool = True, make: bool = True) -> Store:
    """Open the store at sqlite:///PATH or postgresql://…. With `check`, damaged data is a `StoreError`.

    With `make`, a missing file or missing tables are created. Without it, they are a `StoreError`, and
    nothing is changed.
    """
    if url.startswith("sqlite:///") and url != "sqlite:///":
        from untrackable.collector.sqlite import SqliteStore

        return SqliteStore.open(Path(url.removeprefix("sqlite:///")), check=check, make=make)
    if url.startswith(("postgresql://", "postgres://")):
        from untrackable.collector.postgres import PostgresStore

        return PostgresStore.open(url, check=check, make=make)
    raise StoreError("the address of a store must be sqlite:///PATH or postgresql://…")
