"""What files say about their reports: a description that is not what would have been written is refused."""

from fractions import Fraction
from pathlib import Path

import pytest

from untrackable import Bit, Deck, estimate_files, read_reports, write_reports
from untrackable.errors import ReportFileError
from untrackable.reports.header import Header
from untrackable.reports.sums_file import write_sums

DECK = Deck(bits=1, slots=3, eps_report=1.0)


@pytest.mark.parametrize("participation", [None, Fraction(1), Fraction(1, 6)])
def test_a_header_is_read_as_it_was_written(participation: Fraction | None) -> None:
    header = Header(DECK, Bit(), participation)
    assert Header.read(header.text()) == header
    assert ("participation" in header.text()) == (participation is not None)


@pytest.mark.parametrize("said", ['"2/12"', '"0"', '"1.5"', '"-1/6"', "0.5", "null", "1", '"1/0"', "[]"])
def test_a_participation_that_nobody_has_is_refused(said: str) -> None:
    text = Header(DECK, None, Fraction(1, 6)).text().replace('"1/6"', said)
    with pytest.raises(ReportFileError, match="the description of its mechanism is wrong: participation must be"):
        Header.read(text)


def test_anything_else_in_a_header_is_refused() -> None:
    with pytest.raises(ReportFileError, match="must have version, mechanism and encoding"):
        Header.read(Header(DECK).text().replace('{"version"', '{"persistence":1,"version"'))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "npz"])
def test_files_say_how_often_people_answered(ending: str, tmp_path: Path) -> None:
    path, silent = tmp_path / f"said.{ending}", tmp_path / f"silent.{ending}"
    pieces = [(1, [3, 2, 2, 3] * 50)]
    write_reports(path, pieces, mechanism=DECK, participation=Fraction(1, 6))
    write_reports(silent, pieces, mechanism=DECK)
    assert read_reports(path).participation == Fraction(1, 6)
    assert read_reports(silent).participation is None
    said, given, every = (
        estimate_files(file, participation=share).best
        for file, share in ((path, None), (silent, "1/6"), (silent, None))
    )
    assert said.participation == given.participation == Fraction(1, 6)
    assert (said.standard_error == given.standard_error).all()
    assert (said.standard_error > every.standard_error).all(), "it is about everybody"


def test_sums_say_it_too_and_nothing_may_contradict_it(tmp_path: Path) -> None:
    sums = DECK.aggregator().add([3, 2, 2, 3] * 50)
    row = {"campaign": "c" * 64, "reports": sums.n, "sums": sums.to_bytes()}
    for number, share in ((1, Fraction(1, 6)), (2, Fraction(1, 5)), (3, None)):
        write_sums(tmp_path / f"{number}.parquet", Header(DECK, None, share), round=number, **row)  # type: ignore[arg-type]
    first, second, silent = (tmp_path / f"{number}.parquet" for number in (1, 2, 3))
    assert estimate_files(first).best.participation == Fraction(1, 6)
    with pytest.raises(ReportFileError, match="with the participation 1/6, not with 1/5"):
        estimate_files(first, participation="1/5")
    with pytest.raises(ReportFileError, match=r"2\.parquet: .* with the participation 1/5, not with 1/6"):
        estimate_files([first, second])
    assert estimate_files([silent, first]).best.participation == Fraction(1, 6)
    assert estimate_files(silent).best.participation == 1
