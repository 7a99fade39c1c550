"""The records that a store keeps."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

State = Literal["open", "closing", "closed"]
"""The state of a round: it takes reports, it takes no more, or its sums are stored."""
Rows = NDArray[np.uint8]
"""Reports as they are stored: each row has the bytes of the nonce and then those of the answer."""


class Round(NamedTuple):
    """The name of a round: its campaign's id and its number."""

    campaign: str
    number: int


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A campaign's bytes, the result of its verification (JSON), and whether everyone may read its estimates.

    The last round is set when somebody ends the campaign before its document does.
    """

    id: str
    document: bytes
    verdict: str
    published: bool
    last_round: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round that has or had reports.

    The number of reports is None until the round is closed, and again once its sums are deleted.
    """

    number: int
    state: State
    reports: int | None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key: its role, the digest of its secret, the day it was made, and whether it is revoked."""

    id: str
    role: str
    digest: bytes = field(repr=False)
    created: str
    revoked: bool


class RoundsClosed(Exception):
    """Some of the rounds take no more reports. Nothing was added."""

    def __init__(self, rounds: frozenset[Round]) -> None:
        super().__init__(f"{len(rounds)} rounds are closed")
        self.rounds = rounds
