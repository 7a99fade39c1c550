"""Files of reports: what is found in them, and what is wrong with them."""

import csv
import itertools
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy.stats import binomtest

from untrackable import Deck, InnerProduct, Memoized, RandomizedResponse, Rappor
from untrackable.auditing.file_audit import PeopleSample, audit_file
from untrackable.auditing.recordings import TwoWindows
from untrackable.display.evidence import file_verdict
from untrackable.errors import AuditError
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.csv import TOO_LONG

RAPPOR = Rappor(bloom_bits=32, hashes=2, f=0.5, p=0.25, q=0.75)


def simulated(mechanism: Mechanism, value: object, people: int, reports: int, seed: int = 1) -> list[list[int]]:
    """Reports as integers: people × reports."""
    told: list[list[int]] = []
    for batch in mechanism.simulate(np.array([value] * people), rounds=reports, seed=seed):
        if batch.reports.ndim == 2:
            told += [[int(report) for report in row] for row in batch.reports]
        else:
            told += [[int.from_bytes(report.tobytes(), "little") for report in row] for row in batch.reports]
    return told


def write_csv(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def in_two_places(told: list[list[int]]) -> list[tuple[str, str, int]]:
    half = len(told[0]) // 2
    return [
        (f"u{i}", "home" if t < half else "work", told[i][t]) for t in range(2 * half) for i in range(len(told))
    ]


def test_rappor_is_followed_nearly_as_well_as_can_be(tmp_path: Path) -> None:
    rows = in_two_places(simulated(RAPPOR, "x", 2000, 8))
    exact = RAPPOR.tracking(reports=8, split=4).advantage()
    for name, write in (("bits", lambda r: format(r, "032b")), ("hex", lambda r: f"{r:08x}"), ("integer", str)):
        told = [(who, where, write(report)) for who, where, report in rows]
        path = write_csv(tmp_path / f"{name}.csv", ["user", "place", "irr"], told)
        result = audit_file(path)
        assert exact.lower - 0.15 < result.tracking.lower < exact.upper
        assert result.format == name
        assert (result.rows, result.malformed, result.people, result.reports) == (16_000, 0, 2000, 16_000)
        assert result.windows == ("home", "work")
    by_law = audit_file(tmp_path / "hex.csv", mechanism=RAPPOR, value="x")
    assert exact.lower - 0.08 < by_law.tracking.lower < exact.upper
    assert by_law.tracking.same.trials == 1000
    assert by_law.mechanism == repr(RAPPOR)
    assert "can be followed" in " ".join(file_verdict(by_law))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "arrows"])
def test_deck_is_not_followed_in_any_kind_of_file(suffix: str, tmp_path: Path) -> None:
    deck = Deck(bits=8, slots=8, eps_report=0.5)
    told = np.array(simulated(deck, 3, 1000, 8))
    table = pa.table({"id": np.tile(np.arange(1000), 8), "report": told.T.reshape(-1)})
    path = tmp_path / f"deck.{suffix}"
    if suffix == "csv":
        write_csv(path, ["id", "report"], zip(*(table.column(i).to_pylist() for i in (0, 1)), strict=True))
    elif suffix == "parquet":
        pq.write_table(table, path, row_group_size=777)
    elif suffix == "feather":
        feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    for mechanism in (None, deck):
        result = audit_file(path, mechanism=mechanism, value=3)
        assert result.tracking.lower == 0.0
        assert result.windows is None
        assert result.people == 1000
        assert result.reports == 8000
    assert "No way to follow" in " ".join(file_verdict(result))
    assert "different values" in " ".join(file_verdict(result))


def test_repeats_give_away_whoever_replays(tmp_path: Path) -> None:
    told = simulated(InnerProduct(bits=16, slots=20, eps_report=0.5), 3, 2000, 8)
    path = write_csv(tmp_path / "a.csv", ["pseudonym", "report"], ((i, r) for i in range(2000) for r in told[i]))
    result = audit_file(path)
    assert result.tracking.lower > 0.4
    assert "repeats" in result.tracking.similarity
    texts = write_csv(
        tmp_path / "b.csv", ["pseudonym", "report"], ((i, f"<{r}>") for i in range(2000) for r in told[i])
    )
    assert audit_file(texts).format == "text"
    assert audit_file(texts).tracking.lower > 0.4
    with pytest.raises(AuditError, match="reports are text"):
        audit_file(texts, mechanism=RAPPOR, value="x")


def test_a_memoized_bit_is_followed_as_much_as_the_law_says(tmp_path: Path) -> None:
    mechanism = Memoized(RandomizedResponse(eps=1.0))
    told = simulated(mechanism, 1, 8000, 2)
    path = write_csv(tmp_path / "a.csv", ["id", "report"], ((i, r) for i in range(8000) for r in told[i]))
    exact = mechanism.tracking(reports=2, split=1).advantage()
    result = audit_file(path)
    assert exact.lower - 0.12 < result.tracking.lower < exact.upper
    assert result.tracking.sampled == pytest.approx(exact.upper, abs=0.05)


def test_sample_of_people_is_kept_whole(tmp_path: Path) -> None:
    rows = in_two_places(simulated(RAPPOR, "x", 900, 6))
    path = write_csv(tmp_path / "a.csv", ["user", "place", "irr"], rows)
    result = audit_file(path, people=300)
    assert (result.pseudonyms, result.people, result.reports) == (300, 300, 1800)
    assert result.sampled
    assert (
        "Used were 1,800 of 5,400 rows, on average 6 for each of 300 people. There are 300 people in the uniform"
        in (file_verdict(result)[0])
    )
    assert audit_file(path, people=300, seed=1).tracking != result.tracking
    assert audit_file(path, people=300) == result


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    peaks = []
    for repeats in (1, 4):
        rows = ((f"u{i % 2000}", i * 7919 % 256) for i in range(16_000 * repeats))  # several chunks either way
        path = write_csv(tmp_path / f"{repeats}.csv", ["id", "report"], rows)
        tracemalloc.start()
        audit_file(path, people=50)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def by_day(path: Path, told: list[list[int]], **more: Callable[[int, int], Any]) -> Path:
    """A Parquet file of one report a day from everyone. `more` makes further columns from person and day."""
    cells = [(i, t) for t in range(len(told[0])) for i in range(len(told))]
    columns = {name: [make(i, t) for i, t in cells] for name, make in more.items()}
    users, days = [i for i, _ in cells], [t + 1 for _, t in cells]
    pq.write_table(
        pa.table({"user": users, "day": days, "report": [told[i][t] for i, t in cells], **columns}), path
    )
    return path


def test_a_column_of_days_is_not_a_window_and_all_rows_are_used(tmp_path: Path) -> None:
    """People who can be followed by 20 days of RAPPOR must not be cleared by comparing two of them."""
    mechanism = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75)
    path = by_day(tmp_path / "a.parquet", simulated(mechanism, "x", 1000, 20))
    result = audit_file(path)
    assert result.tracking.lower > 0.2
    assert (result.windows, result.columns.window, result.columns.round) == (None, None, "day")
    assert (result.rows, result.reports, result.elsewhere, result.rounds) == (20_000, 20_000, 0, 20)
    assert file_verdict(result)[0] == (
        "Each person's reports were dealt at random into two halves, and the halves were compared. Used were "
        "20,000 of 20,000 rows, on average 20 for each of 1,000 people. There are 1,000 people in the file, and "
        "20 rounds (column day)."
    )
    assert "no column that says where reports were seen was used" in file_verdict(result)[2]
    bare = audit_file(pq.read_table(path).select(["user", "report"]))
    assert bare.tracking == result.tracking == audit_file(path, window="none").tracking
    assert audit_file(path, mechanism=mechanism, value="x").tracking.lower > 0.3
    # Named, the column is cut in two: numbers are in the order of their size.
    named = audit_file(path, window="day")
    assert named.windows == ("1 to 10 (10 values)", "11 to 20 (10 values)")
    assert (named.reports, named.elsewhere) == (20_000, 0)
    assert named.tracking.lower > 0.2
    assert "the windows are rounds themselves (day)" in file_verdict(named)[2]
    two = audit_file(path, window="day", windows=("1", "2"))
    assert (two.tracking.lower, two.reports, two.elsewhere) == (0.0, 2000, 18_000)
    assert file_verdict(two)[0].startswith(
        "Reports with day 1 were compared with those with day 2. NOT USED: 18,000 rows in other windows. Used were"
    )
    assert "was found between these two windows" in file_verdict(two)[1]


def test_a_window_by_itself_has_two_values(tmp_path: Path) -> None:
    told = [[i] * 6 for i in range(100)]
    places = {"place": lambda i, t: "abc"[(i + t) % 3], "network": lambda i, t: ("home", "work")[t % 2]}
    result = audit_file(by_day(tmp_path / "a.parquet", told, **places))
    assert (result.columns.window, result.windows) == ("network", ("home", "work"))
    assert result.columns.passed_over is None
    assert result.attendance_missing == "no round was seen in both windows"
    three = by_day(tmp_path / "b.parquet", told, place=lambda i, t: "abc"[(i + t) % 3])
    result = audit_file(three)
    assert (result.windows, result.reports, result.columns.passed_over) == (None, 600, "place")
    assert "--window-column place --windows A,B" in " ".join(file_verdict(result))
    assert result.as_dict()["columns"]["passed_over"] == "place"
    result = audit_file(three, windows=("c", "a"))
    assert (result.columns.window, result.windows, result.elsewhere) == ("place", ("c", "a"), 200)
    result = audit_file(three, window="place")
    assert (result.windows, result.elsewhere, result.reports) == (("a", "b or c"), 0, 600)
    assert result.attendance is not None
    one = by_day(tmp_path / "c.parquet", told, place=lambda i, t: "here")
    assert audit_file(one).windows is None
    with pytest.raises(AuditError, match="all rows are in one window"):
        audit_file(one, window="place")
    # A place that is missing is no reason to leave out a row if places are not used.
    gaps = by_day(tmp_path / "d.parquet", told, place=lambda i, t: None if i == 1 else "abc"[t % 3])
    assert audit_file(gaps).malformed == 0
    assert audit_file(gaps, window="place").malformed == 6


def test_values_are_cut_in_order_where_the_smaller_part_has_most_rows() -> None:
    rows = Counter({"10": 5, "9": 1, "2": 3, "1e1": 0, "30": 1})
    assert TwoWindows.of(rows, None) == TwoWindows(first=("2", "9"), second=("10", "1e1", "30"))
    days = Counter({"2026-02-01": 1, "2025-12-31": 1, "2026-01-05": 9})
    assert TwoWindows.of(days, None).names == ("2025-12-31", "2026-01-05 or 2026-02-01")
    names = TwoWindows.of(Counter({f"{i:02}": 1 for i in range(2000)}), None).names
    assert names == ("00 to 999 (1,000 values)", "1000 to 1999 (1,000 values)")
    for counts in itertools.product((1, 2, 5), repeat=4):
        cut = len(TwoWindows.of(Counter(dict(zip("abcd", counts, strict=True))), None).first)
        smaller = [min(sum(counts[:at]), sum(counts[at:])) for at in range(1, 4)]
        assert smaller[cut - 1] == max(smaller)
    with pytest.raises(AuditError, match="no row says which window"):
        TwoWindows.of(Counter(), None)


def test_reports_are_dealt_by_coins_and_evenly(tmp_path: Path) -> None:
    """A card that comes back after four rounds would always be in the same half if reports were dealt in turn."""
    rng = np.random.default_rng(3)
    cards = rng.integers(0, 1 << 30, (400, 4))
    path = by_day(tmp_path / "a.parquet", np.concatenate([cards, cards], axis=1).tolist())
    assert audit_file(path).tracking.lower > 0.5
    assert audit_file(path).tracking != audit_file(path, seed=1).tracking
    sample = PeopleSample(2000, width=4, seed=1, keep_raw=True)
    for _ in range(5):
        for who in range(2000):
            sample.add(str(who).encode(), None, who % 16)
    counts = Counter((first.count, second.count) for first, second in sample.in_both_windows())
    assert counts.keys() == {(2, 3), (3, 2)}
    assert binomtest(counts[2, 3], 2000).pvalue > 1e-9


def test_nobody_is_cleared_by_a_comparison_that_could_not_find_anything(tmp_path: Path) -> None:
    deck = Deck(bits=8, slots=8, eps_report=0.5)
    for people, words in ((16, "not even an attack that is always right"), (100, "There are only few people")):
        result = audit_file(by_day(tmp_path / "a.parquet", simulated(deck, 3, people, 8)))
        assert result.tracking.weak
        assert file_verdict(result)[1].startswith(f"NOT DECIDED: {people} people are too few to say")
        assert words in file_verdict(result)[1]
        assert "too few" in repr(result)
    enough = audit_file(by_day(tmp_path / "b.parquet", simulated(deck, 3, 1000, 8)))
    assert file_verdict(enough)[1].startswith("No way to follow the people in this file")
    assert (
        "If this attack had an advantage of 0.334 or more (upper), it would have been found"
        in file_verdict(enough)[1]
    )
    assert "no way to follow 1,000 people" in repr(enough)


def test_windows(tmp_path: Path) -> None:
    rows = [
        (f"u{i % 50}", day, i % 50) for i in range(200) for day in ("mon", "tue", "wed") if day != "mon" or i % 2
    ]
    path = write_csv(tmp_path / "a.csv", ["user", "day", "report"], rows)
    assert audit_file(path, window="day", windows=("mon", "wed")).elsewhere == 200
    with pytest.raises(AuditError, match="no rows in the window 'sun'"):
        audit_file(path, window="day", windows=("mon", "sun"))
    with pytest.raises(ValueError, match="must differ"):
        audit_file(path, window="day", windows=("mon", "mon"))
    with pytest.raises(
        ValueError, match=r"the file has no column of windows .usually window, .* are user, day, report"
    ):
        audit_file(path, windows=("mon", "tue"))
    with pytest.raises(ValueError, match="no column of windows is to be used"):
        audit_file(path, window="none", windows=("mon", "tue"))


HIDDEN = "9d41c0de"


def test_malformed_rows_are_counted_and_named_by_line(tmp_path: Path) -> None:
    lines = [f"user{i % 100},home,{i % 256:08b}" for i in range(200)]
    lines += [f"user{i % 100},work,{i % 256:08b}" for i in range(200)]
    wrong = {
        4: (f"{HIDDEN},home", "2 columns instead of 3"),
        6: (f",home,{0:08b}", "the pseudonym is missing"),
        9: (f"{HIDDEN},,{0:08b}", "the window is missing"),
        12: (f"{HIDDEN},home,", "the report is missing"),
        20: (f"{HIDDEN},home,{HIDDEN}", "the report is not a row of 0 and 1"),
        30: (f"{HIDDEN},home,0000", "the report has 4 bits, but most have 8"),
        40: (f'{HIDDEN},home,"{0:08b}', "a quotation mark is left open or misplaced"),
        50: (f"{HIDDEN}\udcff,home,{0:08b}", "not UTF-8"),
        60: (f"{HIDDEN},home,{0:08b},1", "4 columns instead of 3"),
    }
    for line, (text, _) in wrong.items():
        lines[line - 2] = text
    lines.insert(150, "")  # a blank line is nothing
    path = tmp_path / "a.csv"
    path.write_bytes(("user,place,report\n" + "\n".join(lines)).encode("utf-8", "surrogateescape"))
    result = audit_file(path)
    assert result.malformed == len(wrong)
    assert result.rows == 400
    assert result.examples == tuple((line, reason) for line, (_, reason) in list(wrong.items())[:5])
    assert "9 of 400 rows are malformed" in " ".join(file_verdict(result))
    assert "line 4: 2 columns instead of 3" in " ".join(file_verdict(result))
    assert HIDDEN not in str(result)
    assert HIDDEN not in str(result.as_dict())
    # one by one, to see the reasons that come later
    for line, (text, reason) in wrong.items():
        few = [text, *lines[100:140], *lines[300:340]]
        path.write_bytes(("user,place,report\n" + "\n".join(few)).encode("utf-8", "surrogateescape"))
        assert audit_file(path).examples == ((2, reason),), line


def test_malformed_rows_of_parquet_have_row_numbers(tmp_path: Path) -> None:
    people = [i % 100 if i != 7 else None for i in range(400)]
    cases: list[tuple[Callable[[int], Any], Any, str]] = [
        (lambda i: i % 9, -5, "the report is negative"),
        (lambda i: [i % 2, 1, 0], [1, 2, 0], "the report is not a list of 0 and 1"),
        (lambda i: bytes([i % 9, 1]), b"x", "the report has 8 bits, but most have 16"),
        (lambda i: float(i % 9), 0.5, "the report is not an integer"),
        (lambda i: f"{i % 9:04x}", "xyz", "the report is not hexadecimal"),
    ]
    for make, bad, reason in cases:
        told = [make(i) if i != 20 else bad for i in range(400)]
        pq.write_table(pa.table({"user_id": people, "report": told}), tmp_path / "a.parquet")
        result = audit_file(tmp_path / "a.parquet", format="hex" if isinstance(bad, str) else "auto")
        assert result.examples == ((8, "the pseudonym is missing"), (21, reason))
        assert result.unit == "row"


def test_quoted_fields_may_go_on(tmp_path: Path) -> None:
    rows = [(f"u{i % 50}", "two\nlines, é" if i == 5 else "x", i % 4) for i in range(200)]
    result = audit_file(write_csv(tmp_path / "a.csv", ["user", "note", "report"], rows))
    assert (result.rows, result.malformed) == (200, 0)
    path = tmp_path / "b.csv"
    path.write_text("user;report\n" + "x" * (3 << 20) + "\n" + "\n".join(f"u{i % 50};{i % 4}" for i in range(200)))
    assert audit_file(path).examples == ((2, TOO_LONG),)


def damaged(data: bytes) -> bytes:
    return data[:100] + bytes(byte ^ 0x5A for byte in data[100:400]) + data[400:]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    table = pa.table({"id": list(range(2000)), "report": list(range(2000))})
    pq.write_table(table, tmp_path / "good.parquet", compression="zstd", use_dictionary=False)
    feather.write_feather(table, tmp_path / "good.feather", compression="zstd")
    parquet, arrow = (tmp_path / "good.parquet").read_bytes(), (tmp_path / "good.feather").read_bytes()
    pq.write_table(table.slice(0, 0), tmp_path / "norows.parquet")
    files = {
        "empty.csv": (b"", "is empty"),
        "header.csv": (b"user,report\n", "no row can be used"),
        "junk.bin": (bytes(range(256)) * 9, "must be Parquet, Arrow or CSV"),
        "line.txt": (b"no line ends here", "must be Parquet, Arrow or CSV"),
        "junk.parquet": (b"user,report\na,1\n", "although its name says so"),
        "short.parquet": (parquet[: len(parquet) // 2], "damaged or truncated within its"),
        "damaged.parquet": (damaged(parquet), "damaged"),
        "short.feather": (arrow[: len(arrow) // 2], "damaged or truncated within its"),
        "damaged.feather": (damaged(arrow), "damaged"),
        "bare.csv": (
            f"{HIDDEN},1\n{HIDDEN},2\n".encode(),
            "no column of pseudonyms called .* its first line has 2 columns, which may not be names",
        ),
        "columns.csv": (
            b"user,told\na,1\n",
            "reports called report or irr: its columns are user, told",
        ),
        "negative.csv": (
            b"user,report\n" + b"a,-1\n" * 40,
            "no row can be used; 40 of 40 rows are malformed .line 2",
        ),
        "few.csv": (b"user,report\na,1\na,2\n", "in both windows, but only 1 do"),
    }
    for name, (content, message) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(AuditError, match=message) as caught:
            audit_file(path)
        assert HIDDEN not in str(caught.value), name
    for name, message in (
        ("missing.csv", "No such file"),
        (".", "Is a directory"),
        ("norows.parquet", "no row can be used"),
    ):
        with pytest.raises(AuditError, match=message):
            audit_file(tmp_path / name)
    with pytest.raises(AuditError, match="called nothing: its columns are id, report"):
        audit_file(tmp_path / "good.parquet", report="nothing")


def test_bad_arguments(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", ["id", "report"], ((i % 50, i) for i in range(200)))
    with pytest.raises(ValueError, match="format must be one of"):
        audit_file(path, format="octal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="people must be at least 16"):
        audit_file(path, people=3)
    with pytest.raises(TypeError, match="mechanism must be a Mechanism, not object"):
        audit_file(path, mechanism=object())  # type: ignore[arg-type]
    wide = audit_file(path, mechanism=Deck(bits=6, slots=4, eps_report=1.0, width=1), value=0)
    assert wide.malformed == 72
    assert "more bits than the mechanism's 7" in " ".join(file_verdict(wide))
