"""Recorded reports are recognised by their form, and read alike in every format."""

from typing import Any

import pytest

from untrackable.auditing.recordings import RecordedFormat, UnreadableReport


@pytest.mark.parametrize(
    ("sample", "name", "width"),
    [
        (["0101", "1111", "0000"], "bits", 4),
        (["0", "1", "1"], "integer", 0),
        (["1", "10", "11"], "integer", 0),
        (["12", "-3", "5"], "integer", 0),
        (["0f", "10", "a1"], "hex", 8),
        (["0x0f", "0x10"], "hex", 8),
        (["apple", "pear"], "text", 32),
        ([1, 2, 3], "integer", 0),
        ([[0, 1], [1, 1]], "bits", 2),
        ([b"ab", b"cd"], "bits", 16),
        ([], "bits", 0),
    ],
)
def test_formats_are_recognised(sample: list[Any], name: str, width: int) -> None:
    layout = RecordedFormat.of(sample, "auto")
    assert layout.width == width
    if sample:
        assert layout.name == name


def test_reports_are_read_alike_in_every_format() -> None:
    report = 0b1011_0000_0000_0001
    assert RecordedFormat("bits", 16).read(format(report, "016b")) == report
    assert RecordedFormat("hex", 16).read(f"{report:04X}") == report
    assert RecordedFormat("integer", 0).read(f" {report} ") == report
    assert RecordedFormat("bits", 16).read(report.to_bytes(2, "little")) == report
    assert RecordedFormat("bits", 16).read([report >> i & 1 for i in range(16)]) == report
    for layout, cell in (
        (RecordedFormat("integer", 0), "9" * 5000),
        (RecordedFormat("integer", 0), "²"),
        (RecordedFormat("hex", 16), "f" * 5000),
        (RecordedFormat("bits", 16), "0" * 5000),
        (RecordedFormat("bits", 16), {"a": 1}),
    ):
        with pytest.raises(UnreadableReport):
            layout.read(cell)
