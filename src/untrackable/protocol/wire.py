"""Reports as they travel: fixed length, and nothing in them but the round, a one-time nonce and the answer.

    1 byte    version, 1
    4 bytes   round, from 1
    16 bytes  nonce, drawn for this report alone: a report that arrives twice counts once
    n bytes   the report of `report_bits` bits, n = ⌈report_bits/8⌉, unused bits zero

All integers have their least significant byte first. Several reports are their bytes one after the other. The
campaign is in the address that they are sent to; docs/wire-format.md has an example for every byte.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.errors import WireError
from untrackable.estimation.aggregators import Reports
from untrackable.mechanisms.interface import Mechanism

VERSION = 1
NONCE = 16
LAST_ROUND = (1 << 32) - 1
"""The largest round that a report can carry, and so the last one of a campaign without an end."""
_HEAD = 1 + 4 + NONCE
_WORD = 8


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Reports that have arrived, all well-formed: rounds, and nonces and reports as bytes along a last axis."""

    rounds: NDArray[np.uint32]
    nonces: NDArray[np.uint8]
    payloads: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Wire:
    """The layout of one campaign's reports, which depends on their width alone."""

    report_bits: int
    size: int = field(init=False)

    def __post_init__(self) -> None:
        bits = checks.integer("report_bits", self.report_bits, low=1)
        checks.settle(self, report_bits=bits, size=_HEAD + -(-bits // 8))

    def encode(self, *, round: int, nonce: bytes, report: int) -> bytes:
        """One report."""
        round = checks.integer("round", round, low=1, high=LAST_ROUND)
        if not isinstance(nonce, bytes) or len(nonce) != NONCE:
            raise ValueError(f"nonce must be {NONCE} bytes")
        if not 0 <= report < 1 << self.report_bits:
            raise ValueError(f"report must have at most {self.report_bits} bits (it is not shown)")
        return bytes([VERSION]) + round.to_bytes(4, "little") + nonce + report.to_bytes(self.size - _HEAD, "little")

    def encode_many(self, *, round: int, nonces: NDArray[np.uint8], reports: Reports) -> bytes:
        """Reports of one round as simulation yields them, words or bytes along a last axis, one after the other."""
        payload = self.size - _HEAD
        rows = reports if reports.dtype == np.uint8 else reports.astype("<u8").view(np.uint8).reshape(-1, _WORD)
        if nonces.shape != (len(rows), NONCE) or nonces.dtype != np.uint8:
            raise ValueError(f"nonces must be {NONCE} bytes for each of {len(rows)} reports, got {nonces.shape}")
        fits = rows.ndim == 2 and rows.shape[1] >= payload and not rows[:, payload:].any()
        if not fits or self._astray(rows[:, :payload]).any():
            raise ValueError(f"reports must have at most {self.report_bits} bits (they are not shown)")
        table = np.empty(len(rows), dtype=self._layout)
        table["version"], table["round"] = VERSION, checks.integer("round", round, low=1, high=LAST_ROUND)
        table["nonce"], table["payload"] = nonces, rows[:, :payload]
        return table.tobytes()

    def decode(self, body: bytes) -> Decoded:
        """Every report of a body; if one of them is malformed, an error that says which, and none."""
        count, rest = divmod(len(body), self.size)
        if rest or not count:
            raise WireError(f"a body must be one or more reports of {self.size} bytes each, got {len(body)} bytes")
        table = np.frombuffer(body, dtype=self._layout)
        self._refuse(table["version"] != VERSION, f"version must be {VERSION}")
        self._refuse(table["round"] == 0, "round must be at least 1")
        unused = 8 * (self.size - _HEAD) - self.report_bits
        self._refuse(self._astray(table["payload"]), f"the last {unused} bits must be zero")
        return Decoded(table["round"], table["nonce"], table["payload"])

    @property
    def _layout(self) -> np.dtype[np.void]:
        payload = self.size - _HEAD
        return np.dtype(
            [("version", "u1"), ("round", "<u4"), ("nonce", "u1", (NONCE,)), ("payload", "u1", (payload,))]
        )

    def _astray(self, payloads: Reports) -> NDArray[np.bool_]:
        """Which reports have bits set beyond their width."""
        used = (self.report_bits - 1) % 8 + 1
        astray: NDArray[np.bool_] = payloads[:, -1].astype(np.uint16) >= 1 << used
        return astray

    @staticmethod
    def _refuse(wrong: NDArray[np.bool_], rule: str) -> None:
        if wrong.any():
            raise WireError(f"report {int(wrong.argmax())} of the body: {rule}")


def of(mechanism: Mechanism) -> Wire:
    """The layout of a mechanism's reports."""
    return Wire(mechanism.report_bits)
