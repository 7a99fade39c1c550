"""From files of reports and of sums to answers: the same as without files, pooled where that is right."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reports.samples import DECK, FORMATS, MECHANISMS, pieces, written
from untrackable import (
    Bit,
    Categories,
    Deck,
    Fading,
    Fresh,
    HashedStrings,
    InnerProduct,
    IntegerRange,
    NoisyInnerProduct,
    Rappor,
    estimate_files,
    read_reports,
    write_reports,
)
from untrackable.display.estimate import answer_view, as_dict, notes, summary
from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.estimation import Rounds
from untrackable.estimation.aggregators import CandidateAggregator
from untrackable.mechanisms import CountMeanSketch
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports import sums as summing
from untrackable.reports.files import Header
from untrackable.reports.sums import FileAnswer, write_sums

COLOURS = Categories(names=["red", "green", "blue"], unknown="other")


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_estimated_as_without_files(name: str, tmp_path: Path) -> None:
    mechanism, path = MECHANISMS[name], tmp_path / "x.parquet"
    made = pieces(mechanism, 60, 3)
    write_reports(path, made, mechanism=mechanism)
    listed: dict[str, Any] = {} if name not in _LISTED else {"candidates": [0, 1]}
    answer = estimate_files(path, **listed)
    numbers = [number for number in (1, 2, 3) if mechanism.takes(number)]
    assert list(answer.rounds) == numbers
    for number in numbers:
        sums: Any = mechanism.aggregator(number)
        for taken in mechanism.takes(number):
            sums.add(made[taken - 1][1])
        alone = sums.estimate(**listed)
        for field in ("frequencies", "radius", "simultaneous_radius", "standard_error"):
            assert np.array_equal(getattr(answer.rounds[number], field), getattr(alone, field)), field
    assert summary(answer)
    assert len(labels(answer, top=2)) == 2


_LISTED = ("63 bits", "64 bits", "256 bits", "rappor", "wide rappor")


def labels(answer: FileAnswer, top: int = 20) -> list[str]:
    """The names of the values in the table."""
    return [row[0] for row in answer_view(answer, top=top).tables[0].rows]


def test_pooled_sums_of_one_deck_and_weighted_rounds_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    made = pieces(DECK, 50, 3)
    write_reports(path, made, mechanism=DECK)
    together = DECK.aggregator()
    for _, reports in made:
        together.add(reports)
    answer = estimate_files(path)
    assert answer.pooled is not None
    assert np.array_equal(answer.pooled.frequencies, together.estimate().frequencies)
    assert answer.pooled.tail == "exact binomial"
    fading = Fading(bits=3, eps=6.0, delta=1e-3)
    written(path, fading, people=50, rounds=3)
    answer = estimate_files(path)
    assert answer.pooled is not None
    assert np.array_equal(answer.pooled.frequencies, Rounds(fading, answer.rounds).pooled().frequencies)
    written(path, MECHANISMS["loloha"], people=50, rounds=3)
    answer = estimate_files(path)
    assert answer.pooled is None
    assert "cannot be pooled" in answer.pooling
    assert answer.best is answer.rounds[3]
    assert any("cannot be pooled" in note for note in notes(answer))
    written(path, MECHANISMS["bitwise"], people=50, rounds=3)
    assert any("pooling them gains nothing" in note for note in notes(estimate_files(path)))


def test_several_files_are_counted_together(tmp_path: Path) -> None:
    made = pieces(DECK, 60, 2)
    paths = [tmp_path / f"x{ending}" for ending in FORMATS]
    for i, path in enumerate(paths):
        write_reports(path, [(number, reports[i::6]) for number, reports in made], mechanism=DECK)
    whole = tmp_path / "whole.parquet"
    write_reports(whole, made, mechanism=DECK, encoding=COLOURS)
    one, many = estimate_files(whole), estimate_files(paths, encoding=COLOURS)
    assert np.array_equal(one.best.frequencies, many.best.frequencies)
    assert many.reports == one.reports == 120
    with pytest.raises(ReportFileError, match="given twice"):
        estimate_files([paths[0], tmp_path / "." / paths[0].name])
    write_reports(paths[1], made, mechanism=Deck(bits=4, slots=9, eps_report=1.1, width=1))
    with pytest.raises(ReportFileError, match=r"x\.arrow: its reports were made with the mechanism"):
        estimate_files(paths)
    with pytest.raises(ValueError, match="at least one file"):
        estimate_files([])


def test_one_damaged_file_among_several_and_there_is_no_answer(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for path in paths:
        written(path, DECK)
    paths[2].write_bytes(paths[2].read_bytes()[:-4])
    with pytest.raises(ReportFileError, match=r"2\.csv is damaged or truncated"):
        estimate_files(paths)


def test_only_the_rounds_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    written(path, DECK, rounds=5)
    assert list(estimate_files(path, rounds=[2, 4, 77]).rounds) == [2, 4]
    with pytest.raises(ReportFileError, match="no reports in these rounds"):
        estimate_files(path, rounds=[7])
    monkeypatch.setattr(summing, "MOST_SUMS", 40)
    assert len(estimate_files(path, rounds=[1, 2]).rounds) == 2
    with pytest.raises(ReportFileError, match="sums of 3 rounds would have more than 40 entries"):
        estimate_files(path)


def test_nobody_and_one(tmp_path: Path) -> None:
    for ending in FORMATS:
        path = tmp_path / f"x{ending}"
        write_reports(path, [], mechanism=DECK)
        with pytest.raises(ReportFileError, match="there are no reports"):
            estimate_files(path)
        write_reports(path, [(1, [5])], mechanism=DECK)
        answer = estimate_files(path)
        assert answer.best.n == answer.reports == 1
        assert answer.best.frequencies.sum() == pytest.approx(1)
        assert not any(row.stands_out for row in answer.best.top(16))
        assert (answer.best.interval(simultaneous=True).upper == 1).all()
        assert len(labels(answer)) == 16


def test_names_of_values(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    deck = Deck(bits=2, slots=2, eps_report=8.0)
    (batch,) = deck.simulate(COLOURS.encode_many(["blue"] * 500 + ["pink"] * 300 + ["red"] * 10), rounds=1, seed=1)
    write_reports(path, [(1, batch.reports[:, 0])], mechanism=deck, encoding=COLOURS)
    answer = estimate_files(path)
    assert labels(answer, top=2) == ["blue", "other"]
    assert [row["value"] for row in as_dict(answer)["pooled"]["top"]][:2] == ["blue", "other"]
    assert answer.labelled(answer.best).to_arrow().column("value").to_pylist() == ["red", "green", "blue", "other"]


def test_values_that_an_encoding_lacks_are_left_out(tmp_path: Path) -> None:
    path, ages = tmp_path / "x.csv", IntegerRange(low=10, high=12)
    written(path, DECK, people=300, encoding=ages)
    answer = estimate_files(path)
    bare = estimate_files(path.rename(tmp_path / "y.csv"), encoding=ages)
    assert answer.best.frequencies.size == bare.best.frequencies.size == 3
    assert sorted(labels(answer)) == ["10", "11", "12"]
    assert answer.best.consistent().sum() == pytest.approx(1)
    written(path, DECK, encoding=None)
    with pytest.raises(ValueError, match="the encoding has 99 values, the mechanism has room for 16"):
        estimate_files(path, encoding=IntegerRange(low=1, high=99))


def test_hashed_strings_by_candidates(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    strings = HashedStrings(bits=8, salt=bytes(16), longest=20)
    fresh = Fresh(NoisyInnerProduct(bits=8, eps=4.0))
    held = strings.encode_many(["cat"] * 3000 + ["dog"] * 1000)
    (batch,) = fresh.simulate(held, rounds=2, seed=1)
    write_reports(path, [(t, batch.reports[:, t - 1]) for t in (1, 2)], mechanism=fresh, encoding=strings)
    answer = estimate_files(path, candidates=["dog", "cat", "cow", "dog"], beta=0.06)
    assert answer.best.beta == pytest.approx(0.06)
    first, second, third = sorted(answer.best.top(3), key=lambda row: -row.unclamped)
    assert (first.value, second.value, third.value) == ("cat", "dog", "cow")
    assert first.lower < 0.75 < first.upper
    sums = fresh.aggregator()
    sums.add(batch.reports)
    direct = strings.candidates(sums.estimate(0.02), ["dog", "cat", "cow"])
    assert np.allclose(answer.best.frequencies, direct.frequencies)
    buckets = estimate_files(path)
    assert labels(buckets, top=1) == [strings.label(strings.encode("cat"))]
    same = next(f"x{i}" for i in range(9999) if strings.encode(f"x{i}") == strings.encode("cat"))
    together = estimate_files(path, candidates=["dog", "cat", same])
    assert labels(together, top=1) == [f"cat or {same}"]


def test_wide_hashes_and_sketches_by_candidates(tmp_path: Path) -> None:
    path, strings = tmp_path / "x.npz", HashedStrings(bits=60, salt=bytes(16), longest=20)
    mechanisms = (
        Fresh(NoisyInnerProduct(bits=60, eps=4.0)),
        Fresh(CountMeanSketch(hashes=64, width=64, eps=4.0, values=1 << 60)),
    )
    for mechanism in mechanisms:
        (batch,) = mechanism.simulate(strings.encode_many(["cat"] * 900 + ["dog"] * 100), rounds=1, seed=1)
        write_reports(path, [(1, batch.reports[:, 0])], mechanism=mechanism, encoding=strings)
        answer = estimate_files(path, candidates=["dog", "cat", "cow"])
        assert labels(answer, top=1) == ["cat"]
        with pytest.raises(ValueError, match="candidates must be given"):
            estimate_files(path)


def test_reports_of_wide_values_are_not_kept_where_candidates_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several rounds of several files, pooled by adding up counts; by names, by numbers and by an encoding."""
    strings = HashedStrings(bits=256, salt=bytes(16), longest=20)
    colours = [COLOURS.names.index(name) for name in ("red", "green")]
    fresh, rnip = (
        Fresh(NoisyInnerProduct(bits=256, eps=4.0)),
        InnerProduct(bits=40, slots=3, eps_report=4.0, width=1),
    )
    cases: list[tuple[Any, Any, list[int], list[Any] | None]] = [
        (fresh, strings, [strings.encode("cat"), strings.encode("dog")], ["dog", "cat", "cow"]),
        (fresh, None, [5, 6], [6, 5, 1 << 255]),
        (rnip, COLOURS, colours, None),
    ]
    for mechanism, encoding, held, candidates in cases:
        clients = [mechanism.client(held[i % 4 == 0]) for i in range(40)]
        made = [(t, [client.report(t) for client in clients]) for t in (1, 2)]
        paths = [tmp_path / "x.parquet", tmp_path / "y.csv"]
        for path, half in zip(paths, (slice(0, 20), slice(20, 40)), strict=True):
            write_reports(path, [(t, all_[half]) for t, all_ in made], mechanism=mechanism, encoding=encoding)
        asked = (
            range(4)
            if candidates is None
            else candidates
            if encoding is None
            else [*map(encoding.encode, candidates)]
        )
        kept: Any = mechanism.aggregator(2).add(made[1][1])
        beta = 0.05 if encoding is None or candidates is None else 0.05 / 3
        alone = kept.estimate(beta, candidates=asked)
        if encoding is strings:
            alone = strings.candidates(alone, candidates, of=asked)
        with monkeypatch.context() as patch:
            patch.setattr(CandidateAggregator, "_add", None)
            answer = estimate_files(paths, candidates=candidates)
        for field in ("frequencies", "radius", "simultaneous_radius", "standard_error"):
            assert np.array_equal(getattr(answer.rounds[2], field), getattr(alone, field)), field
        assert answer.pooled is not None
        assert answer.pooled.n == 80
        if mechanism is fresh and encoding is None:
            both = kept.add(made[0][1]).estimate(beta, candidates=asked)
            assert np.array_equal(answer.pooled.frequencies, both.frequencies)


def test_wide_values_without_candidates_are_refused_before_reports_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "x.csv", MECHANISMS["256 bits"])
    monkeypatch.setattr(CandidateAggregator, "_add", None)
    with pytest.raises(ValueError, match=r"candidates must be given, as there are 2\^256 values"):
        estimate_files(tmp_path / "x.csv")


def test_candidates_where_all_values_are_estimated(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    written(path, DECK, encoding=COLOURS)
    with pytest.raises(ValueError, match="here all values are estimated"):
        estimate_files(path, candidates=["red"])
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75)
    written(path, rappor)
    with pytest.raises(ValueError, match="candidates must be given, as this mechanism's reports tell nothing"):
        estimate_files(path)
    written(path, rappor, encoding=COLOURS)
    assert sorted(labels(estimate_files(path))) == ["blue", "green", "other", "red"]


def test_memory_is_of_a_batch_not_of_the_file(tmp_path: Path) -> None:
    """No piece is larger than a batch, whatever the row groups and record batches of others are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from untrackable.reports.files import BATCH
    from untrackable.reports.reader import read_reports

    reports = np.full(2 * BATCH + 5, 5, dtype=np.uint8)
    one = pa.table({"round": np.ones(reports.size, dtype=np.int8), "report": reports})
    pq.write_table(one, tmp_path / "x.parquet", row_group_size=reports.size)
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file, pa.ipc.new_file(file, one.schema) as writer:
        writer.write_batch(one.to_batches()[0])
    np.savez(tmp_path / "x.npz", report=reports, round=np.ones(reports.size, dtype=np.int8))
    np.save(tmp_path / "x.npy", reports)
    for path in tmp_path.iterdir():
        file_of = read_reports(path, mechanism=DECK, assume_round=1)
        sizes = [len(piece.reports) for piece in file_of.pieces()]
        assert sum(sizes) == reports.size
        assert max(sizes) <= BATCH


def test_answers_are_frozen(tmp_path: Path) -> None:
    written(tmp_path / "x.csv", DECK)
    answer = estimate_files(tmp_path / "x.csv")
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.pooled = None  # type: ignore[misc]


SUMS_DECK = Deck(bits=2, slots=9, eps_report=1.0, width=1)
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
    answer = estimate_files([*files, tmp_path / "first.csv"], **listed)
    assert list(answer.rounds) == list(whole.rounds)
    assert answer.reports == whole.reports
    assert [file.path for file in answer.files] == [*files, tmp_path / "first.csv"]
    assert all(file.checked for file in answer.files)
    for field in FIELDS:
        for number, alone in whole.rounds.items():
            assert np.array_equal(getattr(answer.rounds[number], field), getattr(alone, field)), field
        assert whole.pooled is None or np.array_equal(getattr(answer.pooled, field), getattr(whole.pooled, field))


def test_sums_of_one_round_from_several_machines_are_added_up(tmp_path: Path) -> None:
    ((_, reports),) = pieces(SUMS_DECK, 60, 1)
    files = [saved(tmp_path / f"{i}.parquet", SUMS_DECK, 1, reports[i::3], COLOURS) for i in range(3)]
    answer = estimate_files(files)
    assert np.array_equal(answer.best.frequencies, SUMS_DECK.aggregator().add(reports).estimate().frequencies)
    assert {row["value"] for row in as_dict(answer)["pooled"]["top"]} == {"red", "green", "blue", "other"}
    assert "60 reports" in summary(answer)[0]
    with pytest.raises(ReportFileError, match="given twice"):
        estimate_files([files[0], files[0]])
    with pytest.raises(ReportFileError, match="no reports in these rounds"):
        estimate_files(files, rounds=[2])


def test_nobody(tmp_path: Path) -> None:
    with pytest.raises(ReportFileError, match="there are no reports"):
        estimate_files(saved(tmp_path / "x.parquet", SUMS_DECK, 1, []))


def test_foreign_sums_are_refused(tmp_path: Path) -> None:
    first = saved(tmp_path / "x.parquet", SUMS_DECK, 1, [5, 6])
    other = Deck(bits=2, slots=9, eps_report=1.1, width=1)
    for second, why in (
        (saved(tmp_path / "y.parquet", SUMS_DECK, 2, [5], campaign="d" * 64), "of another campaign than"),
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
    saved(first, SUMS_DECK, 1, [5, 6], COLOURS)
    with pytest.raises(ReportFileError, match="made with the encoding"):
        estimate_files(first, encoding=Bit())


def test_sums_that_contradict_what_is_said_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    row: dict[str, Any] = {"campaign": "c" * 64, "round": 1, "reports": 2}
    sums = SUMS_DECK.aggregator().add([5, 6]).to_bytes()
    for change, why in (
        ({"reports": 3}, "its sums are of 2 reports where it says 3"),
        ({"sums": SUMS_DECK.aggregator().to_bytes()[:-1]}, "checksum"),
        ({"sums": Deck(bits=2, slots=8, eps_report=1.0, width=1).aggregator().to_bytes()}, "of another mechanism"),
        ({"round": 0}, "round"),
        ({"sums": b""}, "truncated"),
    ):
        write_sums(path, Header(SUMS_DECK), **{**row, "sums": sums, **change})
        with pytest.raises(ReportFileError, match=f"{re.escape(str(path))}.*{why}"):
            estimate_files(path)


def test_files_of_others_and_earlier_ones_without_a_description(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    sums = SUMS_DECK.aggregator().add([5, 6]).to_bytes()
    row: dict[str, list[Any]] = {"campaign": ["c"], "round": [3], "reports": [2], "sums": [sums]}
    pq.write_table(pa.table(row), path)
    with pytest.raises(ReportFileError, match="does not say which mechanism made its reports"):
        estimate_files(path)
    answer = estimate_files(path, mechanism=SUMS_DECK)
    assert (list(answer.rounds), answer.best.n, answer.files[0].checked) == ([3], 2, False)
    for wrong, why in (
        (pa.table({name: cells * 2 for name, cells in row.items()}), "must have one row of"),
        (pa.table({name: row[name] for name in ("round", "sums")}), "must have one row of"),
        (pa.table({**row, "sums": pa.array([None], pa.binary())}), "lacks sums"),
        (pa.table({**row, "round": ["first"]}), "damaged"),
    ):
        pq.write_table(wrong, path)
        with pytest.raises(ReportFileError, match=why):
            estimate_files(path, mechanism=SUMS_DECK)


def test_damage_anywhere_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.parquet", SUMS_DECK, 1, [5, 6, 4], COLOURS)
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
