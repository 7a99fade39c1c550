"""What is typed or read, and is not what it should be, is nowhere in the error."""

import pytest

from untrackable.encodings.encoding import Encoding, from_text
from untrackable.encodings.numbers import Buckets, IntegerRange


@pytest.mark.parametrize("encoding", [IntegerRange(low=0, high=3), Buckets(edges=[0, 1, 2]), None])
def test_an_answer_is_not_kept_in_an_error(encoding: Encoding | None) -> None:
    with pytest.raises(ValueError, match=r"the given one \(not shown\) is not") as refused:
        from_text(encoding, "s3cr3t")
    error: BaseException | None = refused.value
    while error is not None:
        assert "s3cr3t" not in repr(error)
        error = error.__cause__ or error.__context__


def test_numbers_are_read() -> None:
    assert from_text(IntegerRange(low=0, high=3), "2") == 2
    assert from_text(Buckets(edges=[0, 1, 2]), "1.5") == 1.5
