"""Decides which reports of a campaign are accepted: well-formed, possible, and of a round that is open."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, Rows
from untrackable.errors import WireError
from untrackable.estimation.aggregators import Aggregator, Reports
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND

_WORD = 8
"""The number of bytes of a 64-bit word."""


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedReports:
    """Accepted reports: their rounds, and their bytes as they are stored."""

    rounds: NDArray[np.uint32]
    rows: Rows


class CampaignAcceptance:
    """Reads the bodies that are sent to one campaign, and refuses those with an unacceptable report."""

    def __init__(self, campaign: Campaign, settings: Settings) -> None:
        self.campaign = campaign
        self.id = campaign.id
        self.sealed_only = campaign.gateway is not None
        self.wire = wire.of(campaign.mechanism)
        self._settings = settings
        self._possible = campaign.mechanism.aggregator(1)
        self._countable: set[int] = set()

    def read(self, body: bytes, now: float) -> AcceptedReports:
        """All reports of a body. If one of them is refused, all are."""
        try:
            decoded = self.wire.decode(body)
        except WireError as error:
            raise Refused(Problem.MALFORMED_REPORTS, str(error)) from None
        self._check_rounds(decoded.rounds, now)
        try:
            self._possible.check(as_reports(decoded.payloads, self._possible))
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REPORTS, str(error)) from None
        bytes_ = np.frombuffer(body, dtype=np.uint8).reshape(-1, self.wire.size)
        return AcceptedReports(decoded.rounds, bytes_[:, self.wire.size - self.row_size :])

    @property
    def row_size(self) -> int:
        """The number of bytes of a stored report."""
        return wire.NONCE + -(-self.wire.report_bits // 8)

    def _check_rounds(self, rounds: NDArray[np.uint32], now: float) -> None:
        first, last = self.open_rounds(now)
        lowest, highest, final = int(rounds.min()), int(rounds.max()), self.campaign.rounds or LAST_ROUND
        if highest > final:
            raise Refused(
                Problem.MALFORMED_REPORTS, f"round must be at most {final}, the campaign's last one, got {highest}"
            )
        if lowest < first:
            raise Refused(Problem.ROUND_OVER, f"round {lowest} is over and takes no more reports")
        if highest > last:
            raise Refused(Problem.ROUND_NOT_BEGUN, f"round {highest} has not begun yet")
        asked = {lowest, highest} if highest - lowest < 2 else set(np.unique(rounds).tolist())
        for number in asked - self._countable:
            check_countable(self.campaign, number)
            self._countable = {each for each in self._countable if each >= first} | {number}

    def open_rounds(self, now: float) -> tuple[int, int]:
        """The first and the last round that take reports now. The first is above the last if no round does."""
        campaign, settings = self.campaign, self._settings
        seconds = campaign.round_seconds
        first = math.floor((now - settings.grace - campaign.first_round) / seconds) + 1
        last = math.floor((now + settings.early - campaign.first_round) / seconds) + 1
        return max(1, first), min(campaign.rounds or LAST_ROUND, last)


def group_by_round(campaign: str, arrived: AcceptedReports) -> dict[Round, Rows]:
    """Group reports by round and sort them by nonce, which forgets the order in which they came."""
    first = int(arrived.rounds[0])
    if (arrived.rounds == first).all():  # As a rule. Everything else takes longer.
        return {Round(campaign, first): _sorted(arrived.rows)}
    return {
        Round(campaign, number): _sorted(arrived.rows[arrived.rounds == number])
        for number in np.unique(arrived.rounds).tolist()
    }


def _sorted(rows: Rows) -> Rows:
    nonces = np.ascontiguousarray(rows[:, : wire.NONCE]).view(">u8")
    return rows[np.lexsort((nonces[:, 1], nonces[:, 0]))]


def as_reports(payloads: NDArray[np.uint8], aggregator: Aggregator) -> Reports:
    """Convert answers from the wire to the form that the aggregator takes: bytes along a last axis, or words."""
    if aggregator.in_bytes:
        return np.ascontiguousarray(payloads)
    words = np.zeros((payloads.shape[0], _WORD), dtype=np.uint8)
    words[:, : payloads.shape[1]] = payloads
    return words.view("<u8").astype(np.uint64, copy=False).reshape(-1)


def check_countable(campaign: Campaign, number: int) -> None:
    """Refuse a round without sums, such as a very late round of `Fading` whose answers are pure noise."""
    try:
        campaign.mechanism.aggregator(number)
    except ValueError:
        raise Refused(Problem.ROUND_OVER, f"round {number} is too late: its answers would be pure noise") from None


def reason_not_collectable(campaign: Campaign) -> str | None:
    """The reason why this collector cannot collect a campaign, or None if it can."""
    mechanism = campaign.mechanism
    if type(mechanism).takes is not Mechanism.takes:
        return (
            f"a collector cannot collect {type(mechanism).__name__}, "
            "because the sums of one of its rounds depend on other rounds"
        )
    try:
        mechanism.aggregator(1)
    except ValueError as error:
        return str(error)
    return None
