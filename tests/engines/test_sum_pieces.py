"""Sums in pieces, without a cluster."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from untrackable.engines.spark import LARGEST, PROBLEM, _piece_row, added_pieces, piece_numbers, pieces_of


def whole(rows: list[pa.RecordBatch], size: int) -> NDArray[np.int64]:
    """The addend that these pieces are of."""
    result = np.zeros(size, dtype=np.int64)
    for row in (row for batch in rows for row in batch.to_pylist()):
        numbers = piece_numbers(row["places"], row["numbers"])
        result[row["start"] : row["start"] + numbers.size] += numbers
    return result


@pytest.mark.parametrize("size", [1, 7, LARGEST, LARGEST + 1, 3 * LARGEST - 5])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_pieces_make_up_the_addend(size: int, share: float) -> None:
    rng = np.random.default_rng([size, int(1000 * share)])
    addend = np.where(rng.random(size) < share, rng.integers(-(2**62), 2**62, size), 0)
    assert (whole(list(pieces_of(3, "sums", addend)), size) == addend).all()


def test_few_numbers_are_sent_with_their_places_and_many_without() -> None:
    addend = np.zeros(LARGEST, dtype=np.int64)
    assert list(pieces_of(1, "sums", addend)) == []
    addend[[5, 9000]] = 7, -7
    (few,) = pieces_of(1, "sums", addend)
    assert few.nbytes < 100
    (many,) = pieces_of(1, "sums", np.ones(LARGEST, dtype=np.int64))
    assert many.to_pylist()[0]["places"] == b""


def test_pieces_of_several_tasks_are_added_up_whatever_their_order_and_length() -> None:
    rng = np.random.default_rng(4)
    size = LARGEST + 100
    addends = [
        np.where(rng.random(size) < share, rng.integers(-9, 9, size), 0) for share in (0.01, 0.9, 0.0001, 1.0)
    ]
    addends.append(np.zeros(size, dtype=np.int64))
    addends[-1][3] = 1
    rows = [row for addend in addends for row in pieces_of(2, "sums", addend)]
    for order in (rows, rows[::-1]):
        added = list(added_pieces(iter(order)))
        assert len(added) == 2
        assert (whole(added, size) == sum(addends)).all()


def test_sums_that_cancel_are_0_and_problems_pass_through() -> None:
    one = np.arange(1, 11)
    rows = [*pieces_of(1, "sums", one), *pieces_of(1, "sums", -one), _piece_row(0, PROBLEM, 0, b"", b"row 7")]
    added = [row for batch in added_pieces(iter(rows)) for row in batch.to_pylist()]
    assert {(row["name"], row["numbers"]) for row in added} == {("sums", b""), (PROBLEM, b"row 7")}


def test_rounds_and_names_are_kept_apart() -> None:
    rows = [row for n in (1, 2) for name in ("a", "b") for row in pieces_of(n, name, np.array([n]))]
    added = [row for batch in added_pieces(iter(rows * 3)) for row in batch.to_pylist()]
    result = {(row["round"], row["name"]): piece_numbers(row["places"], row["numbers"]).tolist() for row in added}
    assert result == {(1, "a"): [3], (1, "b"): [3], (2, "a"): [6], (2, "b"): [6]}
