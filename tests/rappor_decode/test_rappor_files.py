"""google/rappor's files: what is read is what was written, and what is malformed says where."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from untrackable import Rappor
from untrackable.errors import DecodeError
from untrackable.rappor_decode.candidate_map import CandidateMap, read_map, write_map
from untrackable.rappor_decode.rappor_files import (
    Counts,
    read_candidates,
    read_counts,
    read_params,
    read_reports,
    write_counts,
    write_params,
)

SMALL = Rappor(bloom_bits=4, hashes=2, f=0.5, p=0.25, q=0.75, cohorts=2)
SIXTEEN = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=4)
FILES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def put(folder: Path, text: str | bytes) -> Path:
    path = folder / "given.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_hashing_by_hand() -> None:
    """MD5 of the big-endian cohort and the string: digests as `printf '\\0\\0\\0\\0abc' | md5sum` prints them."""
    params = Rappor(bloom_bits=100, hashes=3, f=0, p=0.5, q=0.75, cohorts=300)
    assert params.hashed("abc", 0) == [0x76 % 100, 0x8D % 100, 0x87 % 100]  # 768d874c…
    assert params.hashed("", 258) == [0x80 % 100, 0xB1 % 100, 0x77 % 100]  # 80b177cb… of 00 00 01 02
    assert params.bloom("abc", 0) == 1 << 18 | 1 << 41 | 1 << 35
    assert CandidateMap.of(params, ["abc", ""]).places[[0, 1], [0, 258]].tolist() == [[18, 41, 35], [28, 77, 19]]


def test_the_published_map() -> None:
    """Rows that google/rappor's own test of its map generator expects."""
    published = {
        "apple": [5, 1, 26, 26, 38, 34, 63, 62],
        "banana": [12, 14, 28, 24, 37, 34, 62, 49],
        "carrot": [4, 12, 25, 21, 48, 38, 61, 54],
    }
    places = CandidateMap.of(SIXTEEN, list(published)).places
    told = (places + 16 * np.arange(4)[:, None] + 1).reshape(3, -1)
    assert told.tolist() == list(published.values())
    for cohort in range(4):
        bits = {int(bit) for bit in places[0, cohort]}
        assert SIXTEEN.bloom("apple", cohort) == sum(1 << bit for bit in bits)


def test_the_older_hashing_is_noticed(tmp_path: Path) -> None:
    """Rows of a version that hashed otherwise are read, and said to differ."""
    old = "apple,2,16,19,32,37,47,52,55\r\nbanana,12,14,28,24,37,34,62,49\r\ncarrot,12,4,21,25,38,48,54,61\r\n"
    found = read_map(put(tmp_path, old), SIXTEEN)
    assert found.differing(SIXTEEN) == ["apple"]  # the order of hashes is of no importance


def test_reports_are_counted_with_the_last_character_as_bit_0(tmp_path: Path) -> None:
    """The example of google/rappor's own test."""
    text = "user_id,cohort,bloom,prr,rappor\n5,1,dummy,dummy,0000111100001111\n5,1,dummy,dummy,0000000000111100\n"
    expected = [1, 1, 2, 2, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    for given_text in (
        text,
        text.replace("rappor", "irr"),
        text.replace("user_id,cohort,bloom,prr,rappor", "a,b,c,d,e"),
    ):
        counts = read_reports(put(tmp_path, given_text), SIXTEEN)
        assert counts.reports.tolist() == [0, 2, 0, 0]
        assert counts.bits[1].tolist() == expected
    short = read_reports(put(tmp_path, "cohort,irr\n1,0000111100001111\n1,0000000000111100\n"), SIXTEEN)
    assert short.bits.tolist() == counts.bits.tolist()


def test_reports_of_the_mechanism_itself(tmp_path: Path) -> None:
    rows, sums = ["client,cohort,bloom,prr,irr"], SMALL.aggregator()
    for batch in SMALL.simulate(["a", "b", "c"] * 200, rounds=1, seed=1):
        sums.add(batch.reports[:, 0])
        rows += [f"1,{report >> 4},x,x,{report & 15:04b}" for report in batch.reports[:, 0, 0].tolist()]
    counts = read_reports(put(tmp_path, "\n".join(rows)), SMALL)
    assert counts.bits.tolist() == Counts.of(sums).bits.tolist()
    assert counts.reports.tolist() == Counts.of(sums).reports.tolist()
    assert counts.total == 600


@FILES
@given(
    st.integers(1, 256),
    st.integers(1, 16),
    st.integers(1, 65536),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_params_round_trip(tmp_path: Path, k: int, h: int, m: int, p: float, q: float, f: float) -> None:
    try:
        params = Rappor(bloom_bits=k, hashes=h, cohorts=m, p=p, q=q, f=f)
    except ValueError:
        return  # p and q are not far enough apart
    write_params(tmp_path / "params.csv", params)
    assert read_params(tmp_path / "params.csv") == params


def test_params_as_people_write_them(tmp_path: Path) -> None:
    for text in (
        '"k","h","m","p","q","f"\n16,2,4,0.5,0.75,0\n',
        "\ufeffk,h,m,p,q,f\r\n16,2,4,.5,0.75,0.0\r\n\r\n",
        "k, h, m, p, q, f\n16, 2, 4, 5e-1, 0.75, 0",
    ):
        assert read_params(put(tmp_path, text)) == Rappor(bloom_bits=16, hashes=2, cohorts=4, p=0.5, q=0.75, f=0)


@FILES
@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.lists(st.floats(0, 1), min_size=4, max_size=4)), min_size=2, max_size=2
    )
)
def test_counts_round_trip(tmp_path: Path, cohorts: list[tuple[int, list[float]]]) -> None:
    reports = np.array([people for people, _ in cohorts])
    bits = np.array([[int(share * people) for share in shares] for people, shares in cohorts])
    write_counts(tmp_path / "counts.csv", Counts(reports, bits))
    found = read_counts(tmp_path / "counts.csv", SMALL)
    assert found.reports.tolist() == reports.tolist()
    assert found.bits.tolist() == bits.tolist()


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@FILES
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_maps_round_trip(tmp_path: Path, names: list[str]) -> None:
    """Any strings: quoted, over several lines, with commas and carriage returns in them."""
    candidates = CandidateMap.of(SMALL, names)
    write_map(tmp_path / "map.csv", SMALL, candidates)
    found = read_map(tmp_path / "map.csv", SMALL)
    assert found.names == tuple(names)
    assert found.places.tolist() == candidates.places.tolist()
    assert found.differing(SMALL) == []


def test_candidates_are_taken_as_they_are(tmp_path: Path) -> None:
    assert read_candidates(put(tmp_path, ' a\n"b",c\r\nÄ\n')) == [" a", '"b",c', "Ä"]
    doubled = CandidateMap.of(SMALL, ["a", "b", "a"])
    assert doubled.names == ("a", "b")
    assert doubled.repeated == 1


def test_a_candidate_listed_again(tmp_path: Path) -> None:
    row = "a,1,2,5,6\n"
    assert read_map(put(tmp_path, row + row), SMALL).repeated == 1
    with pytest.raises(DecodeError, match="line 3: the candidate of line 1 again, with other bits"):
        read_map(put(tmp_path, row + "b,1,2,5,6\na,1,3,5,6\n"), SMALL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("k,h,m,p,q\n1,2,3,4,5\n", "line 1: the header must be k,h,m,p,q,f"),
        ("k,h,m,p,q,f\n", "line 2: one row of parameters was expected, there are 0"),
        ("k,h,m,p,q,f\n16,2,4,.5,.75,0\n16,2,4,.5,.75,0\n", "line 3: one row of parameters was expected"),
        ("k,h,m,p,q,f\n16,2,4,.5,.75\n", "line 2: 5 columns instead of 6"),
        ("k,h,m,p,q,f\n16.5,2,4,.5,.75,0\n", "line 2: k must be a whole number"),
        ("k,h,m,p,q,f\n512,2,4,.5,.75,0\n", "line 2: k must be between 1 and 256, got 512"),
        ("k,h,m,p,q,f\n16,2,0,.5,.75,0\n", "line 2: m must be between 1 and 65536, got 0"),
        ("k,h,m,p,q,f\n16,2,4,x,.75,0\n", "line 2: p must be a number"),
        ("k,h,m,p,q,f\n16,2,4,1_0,.75,0\n", "line 2: p must be a number"),
        ("k,h,m,p,q,f\n16,2,4,nan,.75,0\n", "line 2: p must be between 0 and 1"),
        ("k,h,m,p,q,f\n16,2,4,.5,.5,0\n", "line 2: p and q must differ"),
        ("k,h,m,p,q,f\n16,2,4,.5,.75,1.5\n", "line 2: f must be between 0 and 1"),
        ('k,h,m,p,q,f\n16,2,4,.5,.75,"0\n', "line 2: not comma-separated values"),
        ("k,h,m,p,q,f\n\n16,2,4,.5,.75,0\n", "line 2: a blank line"),
        (b"k,h,m,p,q,f\n\xff,2,4,.5,.75,0\n", "line 2: this is not UTF-8"),
        (b"k,h,m,p,q,f\n\x00,2,4,.5,.75,0\n", "line 2: there is a zero byte"),
    ],
)
def test_malformed_params(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DecodeError) as error:
        read_params(put(tmp_path, text))
    assert message in str(error.value)
    assert "given.csv" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 0 rows, where there are 2 cohorts"),
        ("9,1,2,3,4\n", "has 1 rows, where there are 2 cohorts"),
        ("9,1,2,3,4\n9,1,2,3,4\n9,1,2,3,4\n", "line 3: there are more rows than the 2 cohorts"),
        ("9,1,2,3,4\n9,1,2,3\n", "line 2: 4 columns instead of 5"),
        ("9,1,2,3,4\n9,1,2,3,10\n", "line 2: the count of bit 3 must be between 0 and 9, got 10"),
        ("9,1,2,3,4\n-9,1,2,3,10\n", "line 2: the number of reports must be a whole number"),
        ("9,1,2,3,4\n9,1,2,,1\n", "line 2: the count of bit 2 must be a whole number"),
        ("9,1,2,3,4\n9999999999999999999,1,2,3,1\n", "line 2: the number of reports must be"),
    ],
)
def test_malformed_counts(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as error:
        read_counts(put(tmp_path, text), SMALL)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,1,2,5\n", "line 1: 4 columns instead of 5"),
        ("a,1,2,5,6\nb,1,2,5,x\n", "line 2: column 5 must be a whole number"),
        ("a,1,2,5,6\nb,1,2,4,5\n", "line 2: column 4 is about cohort 1 and must be between 5 and 8, got 4"),
        ("a,0,2,5,6\n", "line 1: column 2 is about cohort 0 and must be between 1 and 4, got 0"),
        ('a,1,2,5,6\n"b\nc",1,2,5,9\n', "line 2: column 5 is about cohort 1"),
        ('a,1,2,5,6\n"b"c,1,2,5,6\n', "line 2: not comma-separated values"),
    ],
)
def test_malformed_maps(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as error:
        read_map(put(tmp_path, text), SMALL)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "line 1: the header must name the columns cohort and irr"),
        ("1,0,x,x,0101\n", "line 1: the header must name"),
        ("cohort,irr\n0,0101\n2,0101\n", "line 3: the cohort must be between 0 and 1, got 2"),
        ("cohort,irr\n0,0101\n1,010\n", "line 3: the report must be 4 characters 0 or 1"),
        ("cohort,irr\n0,0121\n", "line 2: the report must be 4 characters"),
        ("cohort,irr\n0,0101,1\n", "line 2: 3 columns instead of 2"),
    ],
)
def test_malformed_reports(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as error:
        read_reports(put(tmp_path, text), SMALL)
    assert message in str(error.value)
    assert "0121" not in str(error.value)


def test_malformed_candidates_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="line 2: an empty line"):
        read_candidates(put(tmp_path, "a\n\nb\n"))
    with pytest.raises(DecodeError, match="is empty"):
        read_candidates(put(tmp_path, ""))
    for path, message in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(DecodeError, match=message):
            read_params(path)


GOOD = {
    "params": b"k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\n",
    "counts": b"9,1,2,3,4\n12,0,6,12,3\n",
    "map": b'a,1,2,5,6\n"b, c",3,3,7,8\n',
    "reports": b"user,cohort,bloom,prr,irr\n1,0,x,x,0101\n2,1,x,x,1111\n",
}


@FILES
@given(st.sampled_from(sorted(GOOD)), st.integers(0, 60), st.binary(max_size=4), st.integers(0, 4))
def test_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, place: int, put_in: bytes, drop: int) -> None:
    """Nothing but a DecodeError that names the file ever comes out."""
    good = GOOD[kind]
    path = put(tmp_path, good[:place] + put_in + good[place + drop :])
    refused = ""
    try:
        if kind == "params":
            read_params(path)
        elif kind == "counts":
            assert read_counts(path, SMALL).bits.shape == (2, 4)
        elif kind == "map":
            read_map(path, SMALL).check(SMALL)
        else:
            assert read_reports(path, SMALL).total <= 4
    except DecodeError as error:
        refused = str(error)
    assert not refused or ("given.csv" in refused and "\n" not in refused)


def test_maps_with_empty_cells_where_hashes_collide(tmp_path: Path) -> None:
    """As google/rappor's sample data has them; a cohort without any bit stays an error."""
    found = read_map(put(tmp_path, "a,1,,5,6\nb,,2,,7\n"), SMALL)
    assert found.places.tolist() == [[[0, 0], [0, 1]], [[1, 1], [2, 2]]]
    with pytest.raises(DecodeError, match="line 1: column 2 must be a whole number"):
        read_map(put(tmp_path, "a,,,5,6\n"), SMALL)


def test_counts_and_maps_check_themselves() -> None:
    whole = np.array([3, 4])
    with pytest.raises(TypeError, match="reports must be an array of integers"):
        Counts(whole / 2, np.zeros((2, 4), dtype=np.int64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bits must have 2 axes"):
        Counts(whole, whole)
    with pytest.raises(ValueError, match="a row for each of 2 cohorts"):
        Counts(whole, np.zeros((3, 4), dtype=np.int64))
    with pytest.raises(ValueError, match="between 0 and the cohort's number"):
        Counts(whole, np.full((2, 4), 4))
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
