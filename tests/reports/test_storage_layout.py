"""Reports are stored as integers or rows of bytes, in whatever form they come; others are refused."""

import numpy as np
import pytest

from untrackable.reports.files import OutOfRangeError, StorageLayout, runs


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 72, 250])
def test_layouts(bits: int) -> None:
    layout = StorageLayout(bits)
    numbers = [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
    rows = np.array([list(n.to_bytes(-(-bits // 8), "little")) for n in numbers], dtype=np.uint8)
    stored = layout.stored(numbers)
    assert np.array_equal(layout.stored(rows), stored)
    assert stored.dtype.itemsize * (stored.shape[1] if stored.ndim == 2 else 1) == layout.size
    assert np.array_equal(layout.for_sums(stored, in_bytes=True), rows)
    if bits <= 64:
        assert layout.for_sums(stored, in_bytes=False).tolist() == numbers
        assert layout.stored(np.array(numbers, dtype=np.uint64)).tolist() == numbers
        assert layout.ordered(stored).tolist() == sorted(numbers)
    for wrong in ([1 << bits], [-1]):
        with pytest.raises(ValueError, match=f"a report must have {bits} bits"):
            layout.stored(wrong)
    with pytest.raises(TypeError):
        layout.stored(np.array([0.5]))
    with pytest.raises(ValueError, match="must be rows of"):
        layout.stored(np.zeros((2, 99), dtype=np.uint8))


def test_the_first_report_that_does_not_fit_is_named_by_its_index() -> None:
    with pytest.raises(OutOfRangeError, match="5 bits") as caught:
        StorageLayout(5).checked(np.array([3, 31, 32, 40]))
    assert caught.value.index == 2
    with pytest.raises(OutOfRangeError, match="70 bits") as caught:
        StorageLayout(70).checked(np.array([[0] * 8 + [63], [0] * 8 + [64]], dtype=np.uint8))
    assert caught.value.index == 1


def test_runs_of_equal_rounds() -> None:
    assert runs(np.array([], dtype=np.int64)) == []
    assert runs(np.array([4, 4, 4])) == [(4, 0, 3)]
    assert runs(np.array([4, 2, 2, 4])) == [(4, 0, 1), (2, 1, 3), (4, 3, 4)]
