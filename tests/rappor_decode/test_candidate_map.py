"""google/rappor's map.csv: hashing as the published clients do, reading and writing, and malformed rows."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rappor_decode.samples import FILES, SIXTEEN, SMALL, put, write_map
from untrackable import Rappor
from untrackable.errors import DecodeError
from untrackable.rappor_decode.files import CandidateMap, read_map


def test_hashing_by_hand() -> None:
    """MD5 of the big-endian cohort and the string: digests as `printf '\\0\\0\\0\\0abc' | md5sum` prints them."""
    params = Rappor(bloom_bits=100, hashes=3, f=0, p=0.5, q=0.75, cohorts=300)
    assert params.hashed("abc", 0) == [0x76 % 100, 0x8D % 100, 0x87 % 100]  # 768d874c…
    assert params.hashed("", 258) == [0x80 % 100, 0xB1 % 100, 0x77 % 100]  # 80b177cb… of 00 00 01 02
    assert params.bloom("abc", 0) == 1 << 18 | 1 << 41 | 1 << 35
    assert CandidateMap.of(params, ["abc", ""]).positions[[0, 1], [0, 258]].tolist() == [[18, 41, 35], [28, 77, 19]]


def test_the_published_map() -> None:
    """Rows that google/rappor's own test of its map generator expects."""
    published = {
        "apple": [5, 1, 26, 26, 38, 34, 63, 62],
        "banana": [12, 14, 28, 24, 37, 34, 62, 49],
        "carrot": [4, 12, 25, 21, 48, 38, 61, 54],
    }
    positions = CandidateMap.of(SIXTEEN, list(published)).positions
    told = (positions + 16 * np.arange(4)[:, None] + 1).reshape(3, -1)
    assert told.tolist() == list(published.values())
    for cohort in range(4):
        bits = {int(bit) for bit in positions[0, cohort]}
        assert SIXTEEN.bloom("apple", cohort) == sum(1 << bit for bit in bits)


def test_the_older_hashing_is_noticed(tmp_path: Path) -> None:
    """Rows of a version that hashed otherwise are read, and said to differ."""
    old = "apple,2,16,19,32,37,47,52,55\r\nbanana,12,14,28,24,37,34,62,49\r\ncarrot,12,4,21,25,38,48,54,61\r\n"
    found = read_map(put(tmp_path, old), SIXTEEN)
    assert found.differing(SIXTEEN) == ["apple"]  # the order of hashes is of no importance


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@FILES
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_maps_round_trip(tmp_path: Path, names: list[str]) -> None:
    """Any strings: quoted, over several lines, with commas and carriage returns in them."""
    candidates = CandidateMap.of(SMALL, names)
    write_map(tmp_path / "map.csv", SMALL, candidates)
    found = read_map(tmp_path / "map.csv", SMALL)
    assert found.names == tuple(names)
    assert found.positions.tolist() == candidates.positions.tolist()
    assert found.differing(SMALL) == []


def test_a_candidate_listed_again(tmp_path: Path) -> None:
    row = "a,1,2,5,6\n"
    assert read_map(put(tmp_path, row + row), SMALL).repeated == 1
    with pytest.raises(DecodeError, match="line 3: this candidate is also in line 1, with other bits"):
        read_map(put(tmp_path, row + "b,1,2,5,6\na,1,3,5,6\n"), SMALL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,1,2,5\n", "line 1: 4 columns instead of 5"),
        ("a,1,2,5,6\nb,1,2,5,x\n", "line 2: column 5 must be a whole number"),
        ("a,1,2,5,6\nb,1,2,4,5\n", "line 2: column 4 is a bit of cohort 1 and must be between 5 and 8, got 4"),
        ("a,0,2,5,6\n", "line 1: column 2 is a bit of cohort 0 and must be between 1 and 4, got 0"),
        ('a,1,2,5,6\n"b\nc",1,2,5,9\n', "line 2: column 5 is a bit of cohort 1"),
        ('a,1,2,5,6\n"b"c,1,2,5,6\n', "line 2: a quotation mark is left open or misplaced"),
    ],
)
def test_malformed_maps(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as error:
        read_map(put(tmp_path, text), SMALL)
    assert message in str(error.value)


def test_candidates_given_twice_count_once() -> None:
    doubled = CandidateMap.of(SMALL, ["a", "b", "a"])
    assert doubled.names == ("a", "b")
    assert doubled.repeated == 1


def test_maps_check_themselves() -> None:
    with pytest.raises(TypeError, match="sequence of strings"):
        CandidateMap.of(SMALL, "abc")
    with pytest.raises(ValueError, match="candidates × cohorts × hashes"):
        CandidateMap(("a",), np.zeros((2, 2, 2), dtype=np.int32))
    with pytest.raises(ValueError, match="different candidates"):
        CandidateMap(("a", "a"), np.zeros((2, 2, 2), dtype=np.int32))
    with pytest.raises(DecodeError, match="2 cohorts and 2 hashes"):
        CandidateMap(("a",), np.zeros((1, 3, 2), dtype=np.int32)).check(SMALL)
    with pytest.raises(DecodeError, match="bits below 4"):
        CandidateMap(("a",), np.full((1, 2, 2), 4, dtype=np.int32)).check(SMALL)


def test_maps_with_empty_cells_where_hashes_collide(tmp_path: Path) -> None:
    """As google/rappor's sample data has them; a cohort without any bit stays an error."""
    found = read_map(put(tmp_path, "a,1,,5,6\nb,,2,,7\n"), SMALL)
    assert found.positions.tolist() == [[[0, 0], [0, 1]], [[1, 1], [2, 2]]]
    with pytest.raises(DecodeError, match="line 1: column 2 must be a whole number"):
        read_map(put(tmp_path, "a,,,5,6\n"), SMALL)
