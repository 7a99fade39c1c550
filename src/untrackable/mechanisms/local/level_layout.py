"""The layout of reports that carry a level: integers or, above 64 bits, bytes along the last axis of an array.

The level is in the bits above those of the report itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Reports

Words = NDArray[np.uint64]

_WORD = 64
_LEVEL_BYTES = 3
"""The number of bytes that a level can reach into."""


@dataclass(frozen=True, slots=True)
class LevelLayout:
    """The layout of a report of `base_bits` bits with one of `levels` levels above it."""

    base_bits: int
    levels: int

    @property
    def report_bits(self) -> int:
        """The width of report and level together."""
        return self.base_bits + (self.levels - 1).bit_length()

    @property
    def bytes(self) -> int:
        """The number of bytes of a report with its level; 0 if both fit into a word of 64 bits."""
        return -(-self.report_bits // 8) if self.report_bits > _WORD else 0

    def array(self, reports: list[int], refusal: str) -> Reports:
        """Reports that clients send, as an array; those that are too large or negative are refused."""
        if any(not 0 <= report < 1 << self.report_bits for report in reports):
            raise ValueError(refusal)
        if not self.bytes:
            return np.array(reports, dtype=np.uint64)
        data = b"".join(report.to_bytes(self.bytes, "little") for report in reports)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self.bytes)

    def rows(self, reports: Reports) -> Reports:
        """An array of reports with one axis, or two if each is bytes. Their content is checked later."""
        if not self.bytes:
            # A negative number becomes a word that is too large.
            kind = np.int64 if reports.dtype.kind == "i" else np.uint64
            return reports.astype(kind, copy=False).view(np.uint64).reshape(-1)
        if reports.dtype != np.uint8 or reports.shape[-1:] != (self.bytes,):
            raise ValueError(
                f"reports must be arrays of {self.bytes} bytes each, got {reports.dtype} {reports.shape}"
            )
        return reports.reshape(-1, self.bytes)

    def joined(self, levels: Words, rest: Reports) -> Reports:
        """These reports with these levels above them."""
        if not self.bytes:
            return rest | levels << np.uint64(self.base_bits)
        joined = np.zeros((*levels.shape, self.bytes + _LEVEL_BYTES), dtype=np.uint8)
        if self.base_bits <= _WORD:
            rest = rest.astype("<u8")[..., None].view(np.uint8)
        size = -(-self.base_bits // 8)
        joined[..., :size] = rest[..., :size]
        position, shift = divmod(self.base_bits, 8)
        above = levels << np.uint64(shift)
        for i in range(_LEVEL_BYTES):
            joined[..., position + i] |= (above >> np.uint64(8 * i) & np.uint64(0xFF)).astype(np.uint8)
        return joined[..., : self.bytes]

    def split(self, reports: Reports) -> tuple[Words, Reports]:
        """The levels, and the reports without them. Surplus bits make a level too large, and then it is refused."""
        if not self.bytes:
            mask = np.uint64((1 << self.base_bits) - 1)
            words = reports.astype(np.uint64, copy=False)
            # With 64 bits in the report there is one level, and NumPy cannot shift by 64.
            levels = words >> np.uint64(self.base_bits) if self.base_bits < _WORD else np.zeros_like(words)
            return levels, words & mask
        position, shift = divmod(self.base_bits, 8)
        size = -(-self.base_bits // 8)
        above = np.zeros(reports.shape[:-1], dtype=np.uint64)
        # If there is only one level, it has no bits.
        for i in range(min(_LEVEL_BYTES, self.bytes - position)):
            above |= reports[..., position + i].astype(np.uint64) << np.uint64(8 * i)
        room = max(size, _WORD // 8)
        rest = np.zeros((*reports.shape[:-1], room), dtype=np.uint8)
        rest[..., :size] = reports[..., :size]
        if shift:
            rest[..., position] &= np.uint8((1 << shift) - 1)
        levels = above >> np.uint64(shift)
        if self.base_bits <= _WORD:
            return levels, rest.view("<u8")[..., 0].astype(np.uint64, copy=False)
        return levels, rest
