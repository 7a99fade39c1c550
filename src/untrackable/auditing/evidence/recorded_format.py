"""Reads recorded reports: integers, hexadecimal digits, bits, or text, which is only compared."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from untrackable.auditing.evidence.report_digests import digest

FormatName = Literal["auto", "integer", "hex", "bits", "text"]
FORMATS: tuple[FormatName, ...] = ("auto", "integer", "hex", "bits", "text")

WIDEST = 4096
"""The largest width of a report in bits."""

TEXT_BITS = 32
"""The width in bits of the digest that stands for a text."""

_ENOUGH = 0.9
"""A format is recognised if at least this share of a file's first reports look like it."""

_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)")


class UnreadableReport(ValueError):
    """A report that does not have the format of its file. The message never shows the report."""


@dataclass(frozen=True, slots=True)
class RecordedFormat:
    """The format of the reports in one file. `width` is in bits, and 0 for integers, which may have any width."""

    name: FormatName
    width: int

    @staticmethod
    def of(sample: Sequence[Any], asked: FormatName) -> "RecordedFormat":
        """The format that a file's first reports suggest, or the one asked for, with the most frequent width."""
        texts = [cell for cell in sample if isinstance(cell, str)]
        if asked == "auto":
            asked = _guess(sample, texts)
        lengths: Counter[int] = Counter()
        if asked == "bits":
            lengths.update(len(cell) for cell in sample if isinstance(cell, (str, bytes, list)))
            if any(isinstance(cell, bytes) for cell in sample):
                lengths = Counter({8 * length: count for length, count in lengths.items()})
        elif asked == "hex":
            lengths.update(4 * len(found[1]) for cell in texts if (found := _HEX.fullmatch(cell)))
        width = lengths.most_common(1)[0][0] if lengths else 0
        return RecordedFormat(asked, TEXT_BITS if asked == "text" else width)

    def read(self, cell: Any) -> int:
        """Read a report as an integer. Digits have the highest first; lists and bytes have the lowest first."""
        if self.name == "text":
            return _as_text(cell)
        if self.name == "integer" or isinstance(cell, (bool, int, float)):
            return _as_integer(cell)
        if isinstance(cell, list):
            return self._listed(cell)
        if isinstance(cell, bytes):
            return self._sized(int.from_bytes(cell, "little"), 8 * len(cell))
        if not isinstance(cell, str):
            raise UnreadableReport(f"the report is a {type(cell).__name__}")
        if self.name == "hex":
            found = _HEX.fullmatch(cell)
            if not found:
                raise UnreadableReport("the report is not hexadecimal")
            return self._sized(int(found[1], 16) if len(found[1]) <= WIDEST // 4 else 0, 4 * len(found[1]))
        if not cell or cell.strip("01"):
            raise UnreadableReport("the report is not a row of 0 and 1")
        return self._sized(int(cell, 2), len(cell))

    def _listed(self, cell: list[Any]) -> int:
        if not all(item in (0, 1) for item in cell):
            raise UnreadableReport("the report is not a list of 0 and 1")
        return self._sized(sum(1 << index for index, item in enumerate(cell) if item), len(cell))

    def _sized(self, number: int, width: int) -> int:
        if width > WIDEST:
            raise UnreadableReport(f"the report has more than {WIDEST} bits")
        if width != self.width:
            raise UnreadableReport(f"the report has {width} bits, but most have {self.width}")
        return number


def _guess(sample: Sequence[Any], texts: Sequence[str]) -> FormatName:
    if sample and 2 * len(texts) < len(sample):
        whole = sum(isinstance(cell, (bool, int, float)) for cell in sample)
        listed = sum(isinstance(cell, (list, bytes)) for cell in sample)
        return "integer" if 2 * whole > len(sample) else "bits" if 2 * listed > len(sample) else "text"
    needed = _ENOUGH * len(texts)
    rows = Counter(len(text) for text in texts if text and not text.strip("01"))
    # A row of bits has one length, and more than one bit. Single digits, or 1 beside 10, are numbers.
    if rows and rows.most_common(1)[0][1] >= needed and rows.most_common(1)[0][0] > 1:
        return "bits"
    if sum(text.strip().removeprefix("-").isdecimal() for text in texts) >= needed:
        return "integer"
    if sum(_HEX.fullmatch(text) is not None for text in texts) >= needed:
        return "hex"
    return "text"


def _as_integer(cell: Any) -> int:
    if isinstance(cell, str):
        stripped = cell.strip()
        if not stripped.isascii() or not stripped.removeprefix("-").removeprefix("+").isdigit():
            raise UnreadableReport("the report is not an integer")
        if len(stripped) > WIDEST // 4:
            raise UnreadableReport(f"the report has more than {WIDEST} bits")
        cell = int(stripped)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    if not isinstance(cell, int):
        raise UnreadableReport("the report is not an integer")
    if cell < 0:
        raise UnreadableReport("the report is negative")
    if cell.bit_length() > WIDEST:
        raise UnreadableReport(f"the report has more than {WIDEST} bits")
    return int(cell)


def _as_text(cell: Any) -> int:
    """A digest, equal for equal texts."""
    return digest(cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass"))


def lowest_bits(report: int, width: int) -> NDArray[np.uint8]:
    """The lowest `width` bits of a report."""
    size = (width + 7) // 8
    raw = np.frombuffer((report & ((1 << width) - 1)).to_bytes(size, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=width, bitorder="little")
