"""Which reports of a campaign are taken: well-formed, possible, and of a round that is on."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Arrived:
    """Reports that are taken: their rounds, and each as it is stored."""

    rounds: NDArray[np.uint32]
    rows: Rows


class Accepting:
    """Reads the bodies of one campaign."""

    def __init__(self, campaign: Campaign, settings: Settings) -> None:
        self.campaign = campaign
        self.id = campaign.id
        self.wire = wire.of(campaign.mechanism)
        self._settings = settings
        self._possible = campaign.mechanism.aggregator(1)
        self._countable: set[int] = set()

    def read(self, body: bytes, now: float) -> Arrived:
        """All reports of a body; if one of them is not taken, none is."""
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
        return Arrived(decoded.rounds, bytes_[:, self.wire.size - self.row_size :])

    @property
    def row_size(self) -> int:
        """Bytes of a report as it is stored."""
        return wire.NONCE + -(-self.wire.report_bits // 8)

    def _check_rounds(self, rounds: NDArray[np.uint32], now: float) -> None:
        first, last = self.open_rounds(now)
        lowest, highest, final = int(rounds.min()), int(rounds.max()), self.campaign.rounds or LAST_ROUND
        if highest > final:
            raise Refused(
                Problem.MALFORMED_REPORTS, f"round must be at most {final}, the campaign's last, got {highest}"
            )
        if lowest < first:
            raise Refused(Problem.ROUND_OVER, f"round {lowest} is over: it takes no more reports")
        if highest > last:
            raise Refused(Problem.ROUND_NOT_BEGUN, f"round {highest} has not begun")
        asked = {lowest, highest} if highest - lowest < 2 else set(np.unique(rounds).tolist())
        for number in asked - self._countable:
            check_countable(self.campaign, number)
            self._countable = {each for each in self._countable if each >= first} | {number}

    def open_rounds(self, now: float) -> tuple[int, int]:
        """The first and the last round that take reports now; the first is above the last if none does."""
        campaign, settings = self.campaign, self._settings
        seconds = campaign.round_seconds
        first = math.floor((now - settings.grace - campaign.first_round) / seconds) + 1
        last = math.floor((now + settings.early - campaign.first_round) / seconds) + 1
        return max(1, first), min(campaign.rounds or LAST_ROUND, last)


def by_round(campaign: str, arrived: Arrived) -> dict[Round, Rows]:
    """Reports by round, each in the order of their nonces: the order in which they came is forgotten."""
    found = {}
    for number in np.unique(arrived.rounds).tolist():
        rows = arrived.rows[arrived.rounds == number]
        nonces = np.ascontiguousarray(rows[:, : wire.NONCE]).view(">u8")
        found[Round(campaign, number)] = rows[np.lexsort((nonces[:, 1], nonces[:, 0]))]
    return found


def as_reports(payloads: NDArray[np.uint8], aggregator: Aggregator) -> Reports:
    """Reports off the wire as an aggregator takes them: bytes along a last axis, or words."""
    if aggregator.in_bytes:
        return np.ascontiguousarray(payloads)
    words = np.zeros((payloads.shape[0], _WORD), dtype=np.uint8)
    words[:, : payloads.shape[1]] = payloads
    return words.view("<u8").astype(np.uint64, copy=False).reshape(-1)


def check_countable(campaign: Campaign, number: int) -> None:
    """Refuse a round of which no sums can be made: so late a one of `Fading` that its answers say nothing."""
    try:
        campaign.mechanism.aggregator(number)
    except ValueError:
        raise Refused(Problem.ROUND_OVER, f"round {number} is so late that its answers say nothing") from None


def why_not(campaign: Campaign) -> str | None:
    """Why a campaign cannot be collected, if it cannot."""
    mechanism = campaign.mechanism
    if type(mechanism).takes is not Mechanism.takes:
        return f"the sums of one round of {type(mechanism).__name__} are not made of that round's reports alone"
    try:
        mechanism.aggregator(1)
    except ValueError as error:
        return str(error)
    return None
