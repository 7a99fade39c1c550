"""Files of sums: the same answer as from the reports; foreign or damaged, an error."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reports.samples import MECHANISMS, pieces
from untrackable import Bit, Categories, Deck, Rappor, estimate_files, read_reports, write_reports
from untrackable.display.estimate import as_dict, summary
from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.estimation.aggregators import CandidateAggregator
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.files import Header
from untrackable.reports.sums_file import write_sums

DECK = Deck(bits=2, slots=9, eps_report=1.0, width=1)
COLOURS = Categories(names=["red", "green", "blue"], unknown="other")
FIELDS = ("frequencies", "radius", "simultaneous_radius", "standard_error")


def saved(
    path: Path,
    mechanism: Mechanism,
    number: int,
    reports: Any,
    encoding: Encoding | None = None,
    campaign: str = "c" * 64,
) -> Path:
    sums = mechanism.aggregator(number).add(reports)
    header = Header(mechanism, encoding)
    write_sums(path, header, campaign=campaign, round=number, reports=sums.n, sums=sums.to_bytes())
    return path


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "one-change"])
def test_every_mechanism_is_estimated_as_from_its_reports(name: str, tmp_path: Path) -> None:
    """Rounds of sums and of reports together; one-change needs several rounds for each sum, which no round has."""
    mechanism = MECHANISMS[name]
    made = [(t, reports) for t, reports in pieces(mechanism, 40, 3) if mechanism.takes(t)]
    write_reports(tmp_path / "all.parquet", made, mechanism=mechanism)
    write_reports(tmp_path / "first.csv", made[:1], mechanism=mechanism)
    files = [saved(tmp_path / f"{t}.parquet", mechanism, t, reports) for t, reports in made[1:]]
    kept = isinstance(mechanism.aggregator(made[0][0]), CandidateAggregator) or isinstance(mechanism, Rappor)
    listed: dict[str, Any] = {"candidates": [0, 1]} if kept else {}
    whole = estimate_files(tmp_path / "all.parquet", **listed)
    found = estimate_files([*files, tmp_path / "first.csv"], **listed)
    assert list(found.rounds) == list(whole.rounds)
    assert found.reports == whole.reports
    assert [file.path for file in found.files] == [*files, tmp_path / "first.csv"]
    assert all(file.checked for file in found.files)
    for field in FIELDS:
        for number, alone in whole.rounds.items():
            assert np.array_equal(getattr(found.rounds[number], field), getattr(alone, field)), field
        assert whole.pooled is None or np.array_equal(getattr(found.pooled, field), getattr(whole.pooled, field))


def test_sums_of_one_round_from_several_machines_are_added_up(tmp_path: Path) -> None:
    ((_, reports),) = pieces(DECK, 60, 1)
    files = [saved(tmp_path / f"{i}.parquet", DECK, 1, reports[i::3], COLOURS) for i in range(3)]
    found = estimate_files(files)
    assert np.array_equal(found.best.frequencies, DECK.aggregator().add(reports).estimate().frequencies)
    assert {row["value"] for row in as_dict(found)["pooled"]["top"]} == {"red", "green", "blue", "other"}
    assert "60 reports" in summary(found)[0]
    with pytest.raises(ReportFileError, match="given twice"):
        estimate_files([files[0], files[0]])
    with pytest.raises(ReportFileError, match="no reports in these rounds"):
        estimate_files(files, rounds=[2])


def test_nobody(tmp_path: Path) -> None:
    with pytest.raises(ReportFileError, match="there are no reports"):
        estimate_files(saved(tmp_path / "x.parquet", DECK, 1, []))


def test_foreign_sums_are_refused(tmp_path: Path) -> None:
    first = saved(tmp_path / "x.parquet", DECK, 1, [5, 6])
    other = Deck(bits=2, slots=9, eps_report=1.1, width=1)
    for second, why in (
        (saved(tmp_path / "y.parquet", DECK, 2, [5], campaign="d" * 64), "of another campaign than"),
        (saved(tmp_path / "z.parquet", other, 1, [5]), "made with the mechanism"),
    ):
        with pytest.raises(ReportFileError, match=why):
            estimate_files([first, second])
    with pytest.raises(ReportFileError, match="made with the mechanism"):
        estimate_files(first, mechanism=other)
    with pytest.raises(ReportFileError, match="is of round 1, not of the one given, 2"):
        estimate_files(first, assume_round=2)
    with pytest.raises(
        ReportFileError, match="has the sums of a closed round, not reports; `untrackable estimate`"
    ):
        read_reports(first)
    saved(first, DECK, 1, [5, 6], COLOURS)
    with pytest.raises(ReportFileError, match="made with the encoding"):
        estimate_files(first, encoding=Bit())


def test_sums_that_contradict_what_is_said_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    row: dict[str, Any] = {"campaign": "c" * 64, "round": 1, "reports": 2}
    sums = DECK.aggregator().add([5, 6]).to_bytes()
    for change, why in (
        ({"reports": 3}, "its sums are of 2 reports where it says 3"),
        ({"sums": DECK.aggregator().to_bytes()[:-1]}, "checksum"),
        ({"sums": Deck(bits=2, slots=8, eps_report=1.0, width=1).aggregator().to_bytes()}, "of another mechanism"),
        ({"round": 0}, "round"),
        ({"sums": b""}, "truncated"),
    ):
        write_sums(path, Header(DECK), **{**row, "sums": sums, **change})
        with pytest.raises(ReportFileError, match=f"{re.escape(str(path))}.*{why}"):
            estimate_files(path)


def test_files_of_others_and_earlier_ones_without_a_description(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    sums = DECK.aggregator().add([5, 6]).to_bytes()
    row: dict[str, list[Any]] = {"campaign": ["c"], "round": [3], "reports": [2], "sums": [sums]}
    pq.write_table(pa.table(row), path)
    with pytest.raises(ReportFileError, match="does not say which mechanism made its reports"):
        estimate_files(path)
    found = estimate_files(path, mechanism=DECK)
    assert (list(found.rounds), found.best.n, found.files[0].checked) == ([3], 2, False)
    for wrong, why in (
        (pa.table({name: cells * 2 for name, cells in row.items()}), "must have one row of"),
        (pa.table({name: row[name] for name in ("round", "sums")}), "must have one row of"),
        (pa.table({**row, "sums": pa.array([None], pa.binary())}), "lacks sums"),
        (pa.table({**row, "round": ["first"]}), "damaged"),
    ):
        pq.write_table(wrong, path)
        with pytest.raises(ReportFileError, match=why):
            estimate_files(path, mechanism=DECK)


def test_damage_anywhere_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.parquet", DECK, 1, [5, 6, 4], COLOURS)
    whole, data = as_dict(estimate_files(path)), path.read_bytes()
    cut = [data[:place] for place in range(0, len(data), 16)]
    changed = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in range(0, len(data), 3)]
    noticed = []
    for other in cut + changed:
        path.write_bytes(other)
        try:
            assert as_dict(estimate_files(path)) == whole
        except ReportFileError as error:
            noticed.append(str(error))
    assert all(str(path) in said for said in noticed)
    assert len(noticed) > len(cut) + len(changed) // 2
