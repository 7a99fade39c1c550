"""What files say about their reports: a description that is not what would have been written is refused."""

from pathlib import Path

import pytest

from untrackable import Bit, Deck, estimate_files, read_reports, write_reports
from untrackable.errors import ReportFileError
from untrackable.reports.files import Header
from untrackable.reports.sums_file import write_sums
from untrackable.theory.turns import Turns

DECK = Deck(bits=1, slots=3, eps_report=1.0)


SIXTH = Turns(rounds=6)


@pytest.mark.parametrize("turns", [None, SIXTH, Turns(rounds=52, share="1/2")])  # type: ignore[arg-type]
def test_a_header_is_read_as_it_was_written(turns: Turns | None) -> None:
    header = Header(DECK, Bit(), turns)
    assert Header.read(header.text()) == header
    assert ('"turns":{"rounds":' in header.text()) == (turns is not None)


@pytest.mark.parametrize("said", ['"2/12"', '"0"', '"1.5"', '"-1/6"', "0.5", "null", "1", '"1/0"', "[]", '"1e999"'])
def test_a_share_that_nobody_has_is_refused(said: str) -> None:
    text = Header(DECK, None, SIXTH).text().replace('"share":"1"', f'"share":{said}')
    with pytest.raises(ReportFileError, match="the description of its mechanism is wrong: share must be"):
        Header.read(text)


@pytest.mark.parametrize(
    "said", ["6", "null", '{"rounds":6}', '{"rounds":0,"share":"1"}', '{"rounds":"6","share":"1"}']
)
def test_turns_of_no_rounds_are_refused(said: str) -> None:
    text = Header(DECK, None, SIXTH).text().replace('{"rounds":6,"share":"1"}', said)
    with pytest.raises(ReportFileError, match=r"the description of its mechanism is wrong: (turns|rounds) must"):
        Header.read(text)


def test_anything_else_in_a_header_is_refused() -> None:
    with pytest.raises(ReportFileError, match="must have version, mechanism and encoding"):
        Header.read(Header(DECK).text().replace('{"version"', '{"persistence":1,"version"'))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "npz"])
def test_files_say_how_often_people_answered(ending: str, tmp_path: Path) -> None:
    path, silent = tmp_path / f"said.{ending}", tmp_path / f"silent.{ending}"
    pieces = [(1, [3, 2, 2, 3] * 50)]
    write_reports(path, pieces, mechanism=DECK, turns=SIXTH)
    write_reports(silent, pieces, mechanism=DECK)
    assert read_reports(path).turns == SIXTH
    assert read_reports(silent).turns is None
    said, given, every = (
        estimate_files(file, turns=turns).best for file, turns in ((path, None), (silent, SIXTH), (silent, None))
    )
    assert said.turns == given.turns == SIXTH
    assert (said.standard_error == given.standard_error).all()
    assert (said.standard_error > every.standard_error).all(), "it is about everybody"


def test_sums_say_it_too_and_nothing_may_contradict_it(tmp_path: Path) -> None:
    sums = DECK.aggregator().add([3, 2, 2, 3] * 50)
    row = {"campaign": "c" * 64, "reports": sums.n, "sums": sums.to_bytes()}
    for number, turns in ((1, SIXTH), (2, Turns(rounds=5)), (3, None)):
        write_sums(tmp_path / f"{number}.parquet", Header(DECK, None, turns), round=number, **row)  # type: ignore[arg-type]
    first, second, silent = (tmp_path / f"{number}.parquet" for number in (1, 2, 3))
    assert estimate_files(first).best.turns == SIXTH
    with pytest.raises(
        ReportFileError, match="with the turns of 6 rounds and share 1, not with those of 5 rounds and share 1"
    ):
        estimate_files(first, turns=Turns(rounds=5))
    with pytest.raises(ReportFileError, match=r"2\.parquet: .* with the turns of 5 rounds"):
        estimate_files([first, second])
    assert estimate_files([silent, first]).best.turns == SIXTH
    assert estimate_files(silent).best.turns is None
