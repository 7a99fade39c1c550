"""Sorted rows against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.collector.sqlite import merge_rows, rows_from_bytes, split_rows
from untrackable.collector.store import Rows

NONCES = st.lists(
    st.tuples(
        st.sampled_from([b"\0" * 8, b"\x01" * 8, b"\xff" * 8]), st.sampled_from([b"\0" * 8, b"a" * 8, b"\xff" * 8])
    )
    | st.tuples(st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8)),
    max_size=30,
)
"""Many of which begin alike, and some of which are the same."""


def rows(nonces: list[tuple[bytes, bytes]], report: bytes) -> Rows:
    return rows_from_bytes(
        b"".join(sorted({first + second + report for first, second in nonces})), 16 + len(report)
    )


@given(NONCES, NONCES.filter(bool))
def test_merged_rows_are_those_of_both_and_stored_ones_come_first(
    stored: list[tuple[bytes, bytes]], added: list[tuple[bytes, bytes]]
) -> None:
    expected = {a + b: b"new" for a, b in added} | {a + b: b"old" for a, b in stored}
    merged = merge_rows(rows(stored, b"old"), rows(added, b"new"))
    assert merged.tobytes() == b"".join(nonce + report for nonce, report in sorted(expected.items()))


@pytest.mark.parametrize(("count", "parts"), [(1, 1), (8, 1), (9, 3), (16, 3), (17, 4), (80, 11)])
def test_parts_are_short_and_have_room(count: int, parts: int) -> None:
    given = np.arange(count * 17, dtype=np.uint8).reshape(count, 17)
    found = split_rows(given, 8)
    assert len(found) == parts
    assert max(len(part) for part in found) <= 8
    assert (np.concatenate(found) == given).all()
