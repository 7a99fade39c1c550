"""What a store keeps, as values."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

State = Literal["open", "closing", "closed"]
Rows = NDArray[np.uint8]
"""Reports as they are stored: along the last axis, the nonce and then the report."""


class Round(NamedTuple):
    """A round of a campaign."""

    campaign: str
    number: int


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A campaign's bytes, what its verification said (JSON), and whether its estimates are for everyone."""

    id: str
    document: bytes
    verdict: str
    published: bool


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round of which something is known; `reports` are counted when it is closed."""

    number: int
    state: State
    reports: int | None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key: what it may do, its digest, the day on which it was made, and whether it is revoked."""

    id: str
    role: str
    digest: bytes
    created: str
    revoked: bool


class RoundsClosed(Exception):
    """Reports of rounds that take no more; nothing was added."""

    def __init__(self, rounds: frozenset[Round]) -> None:
        super().__init__(f"{len(rounds)} rounds are closed")
        self.rounds = rounds
