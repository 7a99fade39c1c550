"""Reports with a level above them, as words or, wider than 64 bits, as bytes along a last axis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Reports

Words = NDArray[np.uint64]

_WORD = 64


@dataclass(frozen=True, slots=True)
class LevelLayout:
    """Where the level stands: above a report of so many bits."""

    base_bits: int
    levels: int

    @property
    def report_bits(self) -> int:
        """Of both together."""
        return self.base_bits + (self.levels - 1).bit_length()

    @property
    def bytes(self) -> int:
        """Of a report that does not fit into a word; else 0."""
        return -(-self.report_bits // 8) if self.report_bits > _WORD else 0

    def joined(self, levels: Words, rest: Reports) -> Reports:
        """Reports of the base with these levels above them."""
        if not self.bytes:
            return rest | levels << np.uint64(self.base_bits)
        found = np.zeros((*levels.shape, self.bytes + 2), dtype=np.uint8)
        if self.base_bits <= _WORD:
            rest = rest.astype("<u8")[..., None].view(np.uint8)
        size = -(-self.base_bits // 8)
        found[..., :size] = rest[..., :size]
        position, shift = divmod(self.base_bits, 8)
        above = levels << np.uint64(shift)
        found[..., position] |= (above & np.uint64(0xFF)).astype(np.uint8)
        found[..., position + 1] |= (above >> np.uint64(8)).astype(np.uint8)
        return found[..., : self.bytes]

    def split(self, reports: Reports) -> tuple[Words, Reports]:
        """Levels, and reports of the base; bits that no report has make the level too large."""
        if not self.bytes:
            mask = np.uint64((1 << self.base_bits) - 1)
            words = reports.astype(np.uint64, copy=False)
            return words >> np.uint64(self.base_bits) if self.base_bits < _WORD else words & np.uint64(
                0
            ), words & mask
        position, shift = divmod(self.base_bits, 8)
        size = -(-self.base_bits // 8)
        above = np.zeros(reports.shape[:-1], dtype=np.uint64)
        if position < self.bytes:  # or else there is one level, and no bit to tell it
            above |= reports[..., position]
        if position + 1 < self.bytes:
            above |= reports[..., position + 1].astype(np.uint64) << np.uint64(8)
        room = max(size, _WORD // 8)
        rest = np.zeros((*reports.shape[:-1], room), dtype=np.uint8)
        rest[..., :size] = reports[..., :size]
        if shift:
            rest[..., position] &= np.uint8((1 << shift) - 1)
        levels = above >> np.uint64(shift)
        if self.base_bits <= _WORD:
            return levels, rest.view("<u8")[..., 0].astype(np.uint64, copy=False)
        return levels, rest
