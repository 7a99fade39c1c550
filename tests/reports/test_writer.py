"""A file is there whole or not at all: full disks, broken pieces, being killed."""

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
from untrackable import Deck
from untrackable.errors import ReportFileError
from untrackable.reports import writer
from untrackable.reports.files import whole_file
from untrackable.reports.writer import write_reports

EACH = pytest.mark.parametrize("ending", FORMATS)


@EACH
def test_what_fails_midway_leaves_what_was_there(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BLOCK_BYTES", 64)
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
from untrackable.reports.writer import write_reports
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
from untrackable.reports.writer import write_reports
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
