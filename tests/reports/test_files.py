"""Files of reports: whole or not at all, in one layout, and with a description of how their reports were made."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reports.samples import DECK, FORMATS, pieces, sums_in, sums_of, written
from untrackable import Bit, Deck, estimate_files, read_reports, write_reports
from untrackable.errors import ReportFileError
from untrackable.reports import files
from untrackable.reports.files import (
    Header,
    OutOfRangeError,
    StorageLayout,
    are_names,
    column_words,
    runs,
    whole_file,
)
from untrackable.reports.sums import write_sums
from untrackable.theory.turns import Turns

EACH = pytest.mark.parametrize("ending", FORMATS)


@EACH
def test_what_fails_midway_leaves_what_was_there(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 64)
    path = tmp_path / f"x{ending}"
    made = pieces(DECK, 20, 2)

    def broken(error: BaseException) -> Iterator[tuple[int, Any]]:
        yield from made
        raise error

    for error in (RuntimeError("broken"), KeyboardInterrupt(), OSError(28, "No space left on device")):
        for before in (None, made):
            path.unlink(missing_ok=True)
            if before:
                write_reports(path, before, mechanism=DECK)
            kind = ReportFileError if isinstance(error, OSError) else type(error)
            with pytest.raises(kind):
                write_reports(path, broken(error), mechanism=DECK)
            assert [one.name for one in tmp_path.iterdir()] == ([path.name] if before else [])
            if before:
                assert sums_in(path) == sums_of(DECK, made)


@EACH
def test_a_disk_that_is_full(ending: str, tmp_path: Path) -> None:
    """A limit on the size of files fails as a full disk does, wherever it strikes."""
    script = f"""
import resource, sys
import numpy as np
from untrackable import Deck
from untrackable.errors import ReportFileError
from untrackable.reports.files import write_reports
deck = Deck(bits=20, slots=9, eps_report=1.0)
reports = np.random.default_rng(1).integers(2, 2 << 20, 50_000)
for limit in (0, 10, 500, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_reports("{tmp_path}/x{ending}", [(1, reports)], mechanism=deck)
        sys.exit(f"written within {{limit}} bytes")
    except ReportFileError as error:
        assert "cannot write" in str(error) and "large" in str(error), error
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert list(tmp_path.iterdir()) == []


@EACH
def test_being_killed_leaves_no_file_of_that_name(ending: str, tmp_path: Path) -> None:
    script = f"""
import numpy as np
from untrackable import Deck
from untrackable.reports.files import write_reports
deck = Deck(bits=8, slots=9, eps_report=1.0)
def forever():
    while True:
        yield 1, np.full(100_000, 5)
        print("more", flush=True)
write_reports("{tmp_path}/x{ending}", forever(), mechanism=deck)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as run:  # noqa: S603
        assert run.stdout is not None
        for _ in range(60):
            run.stdout.readline()
        run.send_signal(signal.SIGKILL)
    assert not (tmp_path / f"x{ending}").exists()
    assert all(path.name.startswith(f".x{ending}.") and path.name.endswith(".part") for path in tmp_path.iterdir())


def test_whole_files_replace_and_keep_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "x"
    (tmp_path / "plain").write_bytes(b"")
    for content in (b"one", b"two"):
        with whole_file(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    link = tmp_path / "link"
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write(b"three")
    assert link.is_symlink()
    assert path.read_bytes() == b"three"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.txt", r"must end in one of \.parquet, "),
        ("x", "must end in one of"),
        ("x.npy", "must end in one of"),
        ("missing/x.csv", "there is no folder"),
        ("folder.csv", "it is not a file"),
    ],
)
def test_places_that_cannot_be_written_to(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ReportFileError, match=message):
        written(tmp_path / name, DECK)


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ReportFileError, match=r"cannot write .*Permission denied"):
        written(tmp_path / "x.csv", DECK)


@EACH
def test_reports_that_do_not_fit_are_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    cases: list[tuple[Any, type[Exception]]] = [([32], ValueError), ([-1], ValueError), ([0.5], TypeError)]
    cases.append((np.zeros((3, 2)), TypeError))
    for wrong, kind in cases:
        with pytest.raises(kind):
            write_reports(path, [(1, [5]), (1, wrong)], mechanism=DECK)
    for number in (0, 1 << 60):
        with pytest.raises(ValueError, match="round must be"):
            write_reports(path, [(number, [5])], mechanism=DECK)
    assert list(tmp_path.iterdir()) == []


@EACH
def test_equal_places_of_two_rounds_are_not_the_same_client(ending: str, tmp_path: Path) -> None:
    """One memoised report for ever: in the order of clients, both rounds would read alike; sorted, they do."""
    path = tmp_path / f"x{ending}"
    deck = Deck(bits=4, slots=9, eps_report=1.0)
    made = pieces(deck, 200, 2)
    write_reports(path, made, mechanism=deck)
    from untrackable.reports.reader import read_reports

    for piece in read_reports(path).pieces():
        assert np.array_equal(piece.reports, np.sort(made[piece.round - 1][1]))


SMALL_DECK = Deck(bits=1, slots=3, eps_report=1.0)
SIXTH = Turns(rounds=6)


@pytest.mark.parametrize("turns", [None, SIXTH, Turns(rounds=52, share="1/2")])  # type: ignore[arg-type]
def test_a_header_is_read_as_it_was_written(turns: Turns | None) -> None:
    header = Header(SMALL_DECK, Bit(), turns)
    assert Header.read(header.text()) == header
    assert ('"turns":{"rounds":' in header.text()) == (turns is not None)


@pytest.mark.parametrize("said", ['"2/12"', '"0"', '"1.5"', '"-1/6"', "0.5", "null", "1", '"1/0"', "[]", '"1e999"'])
def test_a_share_that_nobody_has_is_refused(said: str) -> None:
    text = Header(SMALL_DECK, None, SIXTH).text().replace('"share":"1"', f'"share":{said}')
    with pytest.raises(ReportFileError, match="the description of its mechanism is wrong: share must be"):
        Header.read(text)


@pytest.mark.parametrize(
    "said", ["6", "null", '{"rounds":6}', '{"rounds":0,"share":"1"}', '{"rounds":"6","share":"1"}']
)
def test_turns_of_no_rounds_are_refused(said: str) -> None:
    text = Header(SMALL_DECK, None, SIXTH).text().replace('{"rounds":6,"share":"1"}', said)
    with pytest.raises(ReportFileError, match=r"the description of its mechanism is wrong: (turns|rounds) must"):
        Header.read(text)


def test_anything_else_in_a_header_is_refused() -> None:
    with pytest.raises(ReportFileError, match="must have version, mechanism and encoding"):
        Header.read(Header(SMALL_DECK).text().replace('{"version"', '{"persistence":1,"version"'))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "npz"])
def test_files_say_how_often_people_answered(ending: str, tmp_path: Path) -> None:
    path, silent = tmp_path / f"said.{ending}", tmp_path / f"silent.{ending}"
    pieces = [(1, [3, 2, 2, 3] * 50)]
    write_reports(path, pieces, mechanism=SMALL_DECK, turns=SIXTH)
    write_reports(silent, pieces, mechanism=SMALL_DECK)
    assert read_reports(path).turns == SIXTH
    assert read_reports(silent).turns is None
    said, given, every = (
        estimate_files(file, turns=turns).best for file, turns in ((path, None), (silent, SIXTH), (silent, None))
    )
    assert said.turns == given.turns == SIXTH
    assert (said.standard_error == given.standard_error).all()
    assert (said.standard_error > every.standard_error).all(), "it is about everybody"


def test_sums_say_it_too_and_nothing_may_contradict_it(tmp_path: Path) -> None:
    sums = SMALL_DECK.aggregator().add([3, 2, 2, 3] * 50)
    row = {"campaign": "c" * 64, "reports": sums.n, "sums": sums.to_bytes()}
    for number, turns in ((1, SIXTH), (2, Turns(rounds=5)), (3, None)):
        write_sums(tmp_path / f"{number}.parquet", Header(SMALL_DECK, None, turns), round=number, **row)  # type: ignore[arg-type]
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


@pytest.mark.parametrize("cells", [["id", "report"], ["User", "irr", "Start-up time (ms)"], [" value", "größe"]])
def test_names_are_recognised(cells: list[str]) -> None:
    assert are_names(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [],
        ["alice", "home"],
        ["user", "17"],
        ["report", ""],
        ["report", "x" * 41],
        ["4f1d00aa", "report"],
        ["user", "alice@example.org"],
    ],
)
def test_what_may_be_data_is_not_taken_for_names(cells: list[str]) -> None:
    assert not are_names(cells)


def test_words_say_which_columns_there_are_or_how_many() -> None:
    assert column_words(["id", "report"], shown=True) == "its columns are id, report"
    assert column_words([], shown=True) == "its columns are none"
    assert column_words(["alice", "home"], shown=False) == "its first line has 2 columns, which may not be names"
    assert column_words(["alice"], shown=False) == "its first line has 1 column, which may not be names"
