"""The bytes of a report on the wire. They have a fixed length and contain only a round, a nonce and the answer.

    1 byte    version, 1
    4 bytes   round, from 1
    16 bytes  nonce, random and new for every report, so that a report that arrives twice counts once
    n bytes   the report of `report_bits` bits, with n = ⌈report_bits/8⌉ and unused bits zero

All integers have their least significant byte first. Several reports follow each other without a separator. The
address that they are sent to names the campaign. docs/wire-format.md explains every byte with an example.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from untrackable import checks
from untrackable.errors import WireError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.estimation.aggregators import Reports
    from untrackable.randomizers.interface import Randomizer

VERSION = 1
"""The version byte of a report."""
NONCE = 16
"""The number of bytes of a nonce."""
LAST_ROUND = (1 << 32) - 1
"""The largest round that a report can carry. It is the last round of a campaign without an end."""
_HEAD = 1 + 4 + NONCE
"""The number of bytes before the answer."""
_WORD = 8
"""The number of bytes of a 64-bit word."""


@dataclass(frozen=True, slots=True, eq=False)
class WireReports:
    """Well-formed reports: their rounds, and their nonces and answers as bytes along the last axis."""

    rounds: "NDArray[np.uint32]"
    nonces: "NDArray[np.uint8]"
    payloads: "NDArray[np.uint8]"


@dataclass(frozen=True, slots=True)
class Wire:
    """The layout of one campaign's reports, which depends only on the number of bits of an answer."""

    report_bits: int
    size: int = field(init=False)

    def __post_init__(self) -> None:
        bits = checks.integer("report_bits", self.report_bits, low=1)
        checks.settle(self, report_bits=bits, size=_HEAD + -(-bits // 8))

    def encode(self, *, round: int, nonce: bytes, report: int) -> bytes:
        round = checks.integer("round", round, low=1, high=LAST_ROUND)
        if not isinstance(nonce, bytes) or len(nonce) != NONCE:
            raise ValueError(f"nonce must be {NONCE} bytes")
        if not 0 <= report < 1 << self.report_bits:
            raise ValueError(
                f"report must have at most {self.report_bits} bits; the given one (not shown) has more"
            )
        return bytes([VERSION]) + round.to_bytes(4, "little") + nonce + report.to_bytes(self.size - _HEAD, "little")

    def encode_many(self, *, round: int, nonces: "NDArray[np.uint8]", reports: "Reports") -> bytes:
        """The bytes of many reports of one round, which simulation gives as words or as bytes along a last axis."""
        import numpy as np

        payload = self.size - _HEAD
        rows = reports if reports.dtype == np.uint8 else reports.astype("<u8").view(np.uint8).reshape(-1, _WORD)
        if nonces.shape != (len(rows), NONCE) or nonces.dtype != np.uint8:
            raise ValueError(f"nonces must be {NONCE} bytes for each of {len(rows)} reports, got {nonces.shape}")
        fits = rows.ndim == 2 and rows.shape[1] >= payload and not rows[:, payload:].any()
        if not fits or self._astray(rows[:, :payload]).any():
            raise ValueError(f"reports must have at most {self.report_bits} bits; a given one (not shown) has more")
        table = np.empty(len(rows), dtype=self._layout)
        table["version"], table["round"] = VERSION, checks.integer("round", round, low=1, high=LAST_ROUND)
        table["nonce"], table["payload"] = nonces, rows[:, :payload]
        return table.tobytes()

    def decode(self, body: bytes) -> WireReports:
        """All reports of a body. If one is malformed, the error says which one and why, and none is returned."""
        import numpy as np

        count, rest = divmod(len(body), self.size)
        if rest or not count:
            raise WireError(f"a body must be one or more reports of {self.size} bytes each, got {len(body)} bytes")
        table = np.frombuffer(body, dtype=self._layout)
        self._refuse(table["version"] != VERSION, f"version must be {VERSION}")
        self._refuse(table["round"] == 0, "round must be at least 1")
        unused = 8 * (self.size - _HEAD) - self.report_bits
        self._refuse(self._astray(table["payload"]), f"the last {unused} bits must be zero")
        return WireReports(table["round"], table["nonce"], table["payload"])

    @property
    def _layout(self) -> "np.dtype[np.void]":
        return _layout(self.size - _HEAD)

    def _astray(self, payloads: "Reports") -> "NDArray[np.bool_]":
        """The reports that have unused bits set."""
        used = (self.report_bits - 1) % 8 + 1
        astray: NDArray[np.bool_] = payloads[:, -1].astype("u2") >= 1 << used
        return astray

    @staticmethod
    def _refuse(wrong: "NDArray[np.bool_]", rule: str) -> None:
        if wrong.any():
            raise WireError(f"report {int(wrong.argmax())} of the body: {rule}")


@lru_cache(maxsize=64)
def _layout(payload: int) -> "np.dtype[np.void]":
    """The layout of a report whose answer has this many bytes."""
    import numpy as np

    return np.dtype([("version", "u1"), ("round", "<u4"), ("nonce", "u1", (NONCE,)), ("payload", "u1", (payload,))])


def of(randomizer: "Randomizer") -> Wire:
    """The layout of a mechanism's reports."""
    return Wire(randomizer.report_bits)


def round_of(report: bytes) -> int:
    """The round of one report."""
    return int.from_bytes(report[1:5], "little")
