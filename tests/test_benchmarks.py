"""Benchmarks still make the rows that are stored, and documents show the stored rows. Nothing is timed here."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.shared import clocks, measurements, pages, sizing
from benchmarks.shared.measurements import NAMES, Comparison, Measured, Row, Unavailable, declared, measure

ELSEWHERE = {"ballots", "collector", "gpu", "relay", "scale", "sealed", "spark"}
"""They need a GPU, a cluster, or a generator of load for whole seconds. What they declare is compared."""
FASTER = Comparison(work="sums", peer="NumPy", unit="times as fast", at_least=5)
SMALLER = Comparison(work="memory", unit="GiB", at_most=2)


@pytest.mark.parametrize("name", NAMES)
def test_stored_rows_are_those_that_the_benchmark_declares(name: str) -> None:
    stored = Measured.stored(name)
    assert {row.comparison for row in stored.rows} == {*declared(name)}
    assert all(math.isfinite(row.value) and row.value >= 0 for row in stored.rows)
    assert re.fullmatch(r"[A-Z][a-z]+ 20\d\d", stored.month)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the peers
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ELSEWHERE])
def test_a_benchmark_still_makes_its_stored_rows(name: str) -> None:
    made = [row.comparison for row in measure(name, small=True)]
    assert made == [row.comparison for row in Measured.stored(name).rows]


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_documents_show_the_stored_rows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert pages.written(text) == text


def test_every_mark_of_a_table_is_closed_and_names_a_benchmark() -> None:
    marked = [
        name for page in pages.PAGES for name in re.findall("<!-- measured: (.*) -->", page.read_text("utf-8"))
    ]
    assert sorted(marked) == sorted(pages.shown_names())
    assert {*marked} <= {*NAMES, sizing.NAME}
    assert {"scale", sizing.NAME} <= {*marked}


def test_a_number_that_was_changed_by_hand_is_corrected() -> None:
    page = "before\n<!-- measured: planning -->\nsome table\n<!-- end of planning -->\nafter\n"
    right = pages.written(page)
    assert right.startswith("before\n")
    assert right.endswith("after\n")
    assert "some table" not in right
    wrong = re.sub(r"\d\.\d", "7.7", right, count=1)
    assert wrong != right
    assert pages.written(wrong) == right


def test_a_table_says_what_was_compared_and_whether_the_goal_was_reached() -> None:
    rows = (FASTER.row(4.951, "2^20"), SMALLER.row(1234.5), FASTER.row(8, "2^24"))
    assert pages.lines(Measured("May 2026", "1 core, idle", rows)) == [
        ("sums", "2^20; 2^24", "NumPy", "5.0; 8.0 times as fast", "at least 5: reached by 1 of 2"),
        ("memory", "", "", "1,200 GiB", "at most 2: **missed**"),
    ]
    assert pages.cells([FASTER.row(5), FASTER.row(6)])[-1] == "at least 5: reached"
    assert [row.reached for row in (SMALLER.row(2), SMALLER.row(2.1), Comparison(work="w", unit="s").row(1))] == [
        True,
        False,
        None,
    ]
    assert (
        pages.table(("a", "b", "c"), [("1", "", "2"), ("3", "", "")])
        == "| a | c |\n|---|---|\n| 1 | 2 |\n| 3 |  |\n"
    )


def test_a_table_says_once_what_rows_have_in_common() -> None:
    rows: list[tuple[str, ...]] = [
        ("sums", "2^20", "5"),
        ("sums", "2^20", "6"),
        ("sums", "2^24", "6"),
        ("memory", "2^24", "6"),
    ]
    shown = [("sums", "2^20", "5"), ("", "", "6"), ("", "2^24", "6"), ("memory", "2^24", "6")]
    assert pages.without_repeats(rows) == shown
    assert pages.without_repeats([]) == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.0496, "0.050"), (0.996, "1.0"), (9.96, "10"), (68.4, "68"), (1987.0, "2,000")],
)
def test_numbers_have_two_digits(value: float, shown: str) -> None:
    assert pages.number(value) == shown


def test_needs_follow_from_what_one_report_costs() -> None:
    costs = {sizing.DIRECT: 36.0, sizing.SEALED: 72.0, sizing.STORED: 2**30 / 1e8, sizing.SUMMED: 36.0}
    rows = tuple(made.row(cost) for made, cost in costs.items())
    first, *_ = needs = sizing.needs(Measured("May 2026", "1 core, idle", rows))
    assert len(needs) == 4
    assert {len(row) for row in needs} == {len(sizing.TITLES)}
    assert first[:3] == ("10^8", "1", "1,389")
    most = dict(zip(sizing.TITLES, needs[-2], strict=True))
    assert most["reports a second"] == "13,889"  # 10^9 · 1.2 / 86,400
    assert most["cores"] == "1.0"
    assert most["cores, sealed"] == "2.0"
    assert most["store, GiB"] == "10"
    assert most["adding up, core hours"] == "10"


def test_rows_are_stored_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "MEASURED", tmp_path)
    measured = Measured("May 2026", "1 core, idle", (FASTER.row(4.0, "2^20"), SMALLER.row(1 / 3)))
    measured.store("some")
    assert Measured.stored("some") == measured
    assert measured.rows[1].value == 0.3333


@pytest.mark.parametrize("lacking", [False, True])
def test_a_run_is_stored_unless_the_machine_lacks_something(
    lacking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(name: str, *, small: bool) -> Iterator[Row]:
        yield FASTER.row(6.0)
        if lacking:
            raise Unavailable("a GPU")

    monkeypatch.setattr(measurements, "MEASURED", tmp_path)
    monkeypatch.setattr(command, "measure", made)
    monkeypatch.setattr(command, "machine", lambda name: "1 core, idle")
    monkeypatch.setattr(pages, "write", lambda: None)
    assert command.run("planning", small=False, store=True) is not lacking
    assert list(tmp_path.iterdir()) == ([] if lacking else [tmp_path / "planning.json"])
    assert ("not run, and the stored rows stay: a GPU" in capsys.readouterr().out) == lacking


@pytest.mark.parametrize("wrong", [["nothing"], ["planning", "--small", "--store"]])
def test_a_wrong_command_runs_nothing(wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", *wrong])
    with pytest.raises(SystemExit):
        command.main()


def test_a_machine_is_told_in_general_words() -> None:
    assert re.fullmatch(r"\d+ cores?, (idle|busy with other work)", measurements.machine("planning"))


def test_work_in_a_process_of_its_own_has_its_own_memory() -> None:
    block = bytearray(200 << 20)
    found = clocks.taken_apart(math.sqrt, 2.0)
    assert 0 < found.peak < len(block) / 2**30
    assert clocks.apart(math.sqrt, 4.0) == 2
