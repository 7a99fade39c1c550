"""google/rappor's files: what is read is what was written, and what is malformed says where."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rappor_decode.samples import FILES, SIXTEEN, SMALL, put, write_counts, write_params
from untrackable import Rappor
from untrackable.errors import DecodeError
from untrackable.rappor_decode.files import (
    Counts,
    read_candidates,
    read_counts,
    read_map,
    read_params,
    read_reports,
)


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


def test_candidates_are_taken_as_they_are(tmp_path: Path) -> None:
    assert read_candidates(put(tmp_path, ' a\n"b",c\r\nÄ\n')) == [" a", '"b",c', "Ä"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("k,h,m,p,q\n1,2,3,4,5\n", "line 1: the header must be k,h,m,p,q,f: its columns are k, h, m, p, q"),
        ("k,h,m,p,q,f\n", "line 2: one row of parameters was expected, there are none"),
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
        ('k,h,m,p,q,f\n16,2,4,.5,.75,"0\n', "line 2: a quotation mark is left open or misplaced"),
        ("k,h,m,p,q,f\n\n16,2,4,.5,.75,0\n", "line 2: a blank line"),
        (b"k,h,m,p,q,f\n\xff,2,4,.5,.75,0\n", "line 2: not UTF-8"),
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
        ("", "has 0 rows, but there are 2 cohorts"),
        ("9,1,2,3,4\n", "has 1 rows, but there are 2 cohorts"),
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
        ("a,b\n", "must name the columns cohort and irr: its first line has 2 columns, which may not be names"),
        ("user_id,cohort,reply\n", "the columns cohort and irr: its columns are user_id, cohort, reply"),
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
    with pytest.raises(DecodeError, match="line 2: the line is empty"):
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


def test_counts_check_themselves() -> None:
    whole = np.array([3, 4])
    with pytest.raises(TypeError, match="reports must be an array of integers"):
        Counts(whole / 2, np.zeros((2, 4), dtype=np.int64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bits must have 2 axes"):
        Counts(whole, whole)
    with pytest.raises(ValueError, match="a row for each of 2 cohorts"):
        Counts(whole, np.zeros((3, 4), dtype=np.int64))
    with pytest.raises(ValueError, match="between 0 and the cohort's number"):
        Counts(whole, np.full((2, 4), 4))
