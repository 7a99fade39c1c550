"""Following people in files by attendance: everybody who answers every round, and nobody without cause."""

import csv
import itertools
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Deck, audit
from untrackable.auditing.file_audit import audit_file
from untrackable.auditing.recordings import (
    MOST_ROUNDS,
    AttendanceScore,
    SeenRounds,
    follow_by_attendance,
    round_label,
)
from untrackable.display.evidence import file_verdict
from untrackable.errors import AuditError
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

DECK = Deck(bits=4, slots=400, eps_report=0.5)
Seen = NDArray[np.bool_]


def attend(share: float, rounds: int, people: int, rng: np.random.Generator) -> tuple[Seen, Seen]:
    """Who is seen in which round at each of two places, if a share of the rounds is answered, by a coin."""
    answers, at_home = rng.random((people, rounds)) < share, rng.random((people, rounds)) < 0.5
    return answers & at_home, answers & ~at_home


def advantage(share: float, rounds: int) -> float:
    """How well these rounds tell one person from two: seen at one place only, at neither, or at both (exact)."""
    half = share / 2
    one, two = [share, 1 - share, 0.0], [2 * half * (1 - half), (1 - half) ** 2, half**2]
    return Experiment([(Factor(one, two), rounds)]).advantage().upper


def write(path: Path, share: float, *, people: int, rounds: int, seed: int = 1) -> Path:
    """A file of the reports that a deck sends from two places."""
    first, second = attend(share, rounds, people, np.random.default_rng(seed))
    reports = np.concatenate(
        [batch.reports for batch in DECK.simulate(np.full(people, 3), rounds=rounds, seed=seed)]
    )
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "place", "round", "report"])
        for person, t in itertools.product(range(people), range(rounds)):
            for place, seen in (("home", first), ("work", second)):
                if seen[person, t]:
                    rows.writerow([person, place, t + 1, reports[person, t]])
    return path


def test_people_who_answer_every_day_are_found_and_reports_do_not_help(tmp_path: Path) -> None:
    result = audit_file(write(tmp_path / "a.csv", 1.0, people=600, rounds=40))
    assert result.tracking.lower == 0.0
    assert result.attendance is not None
    assert result.attendance.rounds == 40
    assert result.attendance.tracking.lower > 0.8
    assert result.attendance.tracking.different.hits == 0
    assert result.attendance.matched.people == 300
    assert result.attendance.matched.sampled > 0.99
    assert "Attendance gives people away, whatever their reports say: the 40 rounds" in " ".join(
        file_verdict(result)
    )
    assert "Of 300 people who were held out, 100 % were matched right (sampled; 99 % interval" in " ".join(
        file_verdict(result)
    )
    assert result.as_dict()["attendance"]["advantage_lower"] == result.attendance.tracking.lower


def test_people_who_answer_one_round_in_twenty_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 1 / 20, people=1200, rounds=365)
    result = audit_file(path)
    assert result.attendance is not None
    # The exact advantage is 0.204, which the lower bound must not exceed.
    assert result.attendance.tracking.lower < 0.21
    assert result.attendance.matched.lower < 2 / 600
    assert result.attendance.matched.sampled < 0.02
    assert "but nobody is found by it in a crowd. Of 600 people" in " ".join(file_verdict(result))
    for people, words in (
        (600, "it is NOT DECIDED whether people can be followed"),
        (4000, "no way to follow people"),
    ):
        short = audit_file(write(tmp_path / "b.csv", 1 / 20, people=people, rounds=20))
        assert short.attendance is not None
        assert short.attendance.tracking.lower == 0.0
        assert f"By attendance alone, in 20 rounds, {words}" in " ".join(file_verdict(short))


def test_nobody_is_accused_more_often_than_stated() -> None:
    """Two windows of different people: at 90 % confidence at most one file in ten says that it found somebody.

    Of 200 files, more than 45 would once in 1e6 if it were one in ten. Those who know the two windows to be one
    person's, with attendance that reveals a lot, are found in nearly all.
    """
    assert binom.sf(45, 200, 0.1) < 1e-6
    accused = result = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first, second = (SeenRounds(seen) for seen in attend(0.5, 12, 160, rng))
        other = SeenRounds(attend(0.5, 12, 160, rng)[1])
        accused += follow_by_attendance(first, other, level=0.9, seed=seed).tracking.lower > 0
        result += follow_by_attendance(first, second, level=0.9, seed=seed).tracking.lower > 0
    assert accused <= 45
    assert result >= 100


def test_the_bound_is_below_the_exact_advantage() -> None:
    """At 99.9 % confidence, in each of twenty crowds: a false alarm in one of them has a probability of 2 %."""
    exact = advantage(1 / 3, 30)
    lowers = []
    for seed in range(20):
        first, second = attend(1 / 3, 30, 2000, np.random.default_rng(seed))
        lowers.append(
            follow_by_attendance(SeenRounds(first), SeenRounds(second), level=0.999, seed=1).tracking.lower
        )
    assert max(lowers) <= exact
    assert np.mean(lowers) > exact - 0.2


def test_scores_are_the_logarithms_of_observed_over_expected() -> None:
    """By counting rounds one by one; pairs agree with single scores."""
    rng = np.random.default_rng(2)
    first, second = (rng.random((6, 9)) < 0.4 for _ in range(2))
    score = AttendanceScore(SeenRounds(first), SeenRounds(second))
    seen, expected = np.zeros((2, 2)), np.zeros((2, 2))
    for t in range(9):
        here, there = first[:, t].mean(), second[:, t].mean()
        for i in range(6):
            seen[int(first[i, t]), int(second[i, t])] += 1
        for x, y in itertools.product((0, 1), repeat=2):
            expected[x, y] += 6 * (here if x else 1 - here) * (there if y else 1 - there)
    losses = np.log((seen + 0.5) / (expected + 0.5))
    table = score.pairs(SeenRounds(first), SeenRounds(second))
    single = score(SeenRounds(first), SeenRounds(second))
    for i, j in itertools.product(range(6), repeat=2):
        total = math.fsum(losses[int(first[i, t]), int(second[j, t])] for t in range(9))
        assert table[i, j] == pytest.approx(total)
        assert i != j or single[i] == pytest.approx(total)


def test_a_calendar_that_everybody_follows_tells_nothing() -> None:
    """Everybody is at home on some days and at work on others, and answers half of the time."""
    home = np.arange(60) % 7 < 3
    rng = np.random.default_rng(4)
    answers = rng.random((2000, 60)) < 0.5
    result = follow_by_attendance(SeenRounds(answers & home), SeenRounds(answers & ~home), level=0.99, seed=1)
    assert result.tracking.lower == 0.0
    assert result.matched.sampled < 0.01


def test_times_are_days(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 5, 12, 30, tzinfo=UTC)
    same: list[tuple[Any, str]] = [
        (noon, "day"),
        (noon.date(), "day"),
        ("2026-01-05T12:30:00Z", "time"),
        ("2026-01-05 23:59:59.5", "date"),
        ("2026-01-05", "date"),
    ]
    assert {round_label(cell, column) for cell, column in same} == {"2026-01-05"}
    seconds = int(noon.timestamp())
    day = str(seconds // 86_400)
    assert {round_label(cell, "timestamp") for cell in (seconds, str(seconds), seconds * 1000, seconds + 0.25)} == {
        day
    }
    assert round_label(seconds, "round") == str(seconds)
    assert round_label("week 3", "time") == "week 3"
    people, rounds = 200, 30
    first, second = attend(1.0, rounds, people, np.random.default_rng(1))
    columns: dict[str, list[Any]] = {"user": [], "place": [], "time": [], "report": []}
    for person, t in itertools.product(range(people), range(rounds)):
        columns["user"].append(person)
        columns["place"].append("home" if first[person, t] else "work")
        columns["time"].append(datetime(2026, 1, 1 + t, person % 24, tzinfo=UTC))
        columns["report"].append(person % 3)
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    result = audit_file(tmp_path / "a.parquet")
    assert result.attendance is not None
    assert result.attendance.rounds == 30
    assert result.attendance.matched.sampled > 0.95
    assert second.any()


def lines(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    return path


def test_files_without_what_attendance_needs(tmp_path: Path) -> None:
    rows = [(f"u{i % 50}", ("home", "work")[i // 50 % 2], i // 50, i % 4) for i in range(400)]
    whole = audit_file(lines(tmp_path / "a.csv", "user,place,week,report", rows), round="week")
    assert whole.attendance is None
    assert whole.attendance_missing == "no round was seen in both windows"
    bare = audit_file(lines(tmp_path / "b.csv", "user,place,report", [(u, w, r) for u, w, _, r in rows]))
    assert "Attendance was not looked at: the file has no column of rounds or times (round, date" in " ".join(
        file_verdict(bare)
    )
    assert bare.as_dict()["attendance"] is None
    alone = lines(tmp_path / "c.csv", "user,round,report", [(u, t, r) for u, _, t, r in rows])
    for told in (audit_file(alone), audit_file(alone, round="round")):
        assert "no column that says where reports were seen was used" in " ".join(file_verdict(told))
        assert "8 rounds (column round)" in file_verdict(told)[0]
    with pytest.raises(
        AuditError, match="no column of rounds called moon: its columns are user, place, week, report"
    ):
        audit_file(tmp_path / "a.csv", round="moon")
    days = lines(tmp_path / "d.csv", "user,day,report", [(u, w, r) for u, w, _, r in rows])
    assert audit_file(days, window="day").attendance_missing == (
        "the windows are rounds themselves (day), so no round was seen in both"
    )
    gaps = [(u, w, "" if i == 7 else i % 9, r) for i, (u, w, _, r) in enumerate(rows)]
    told = audit_file(lines(tmp_path / "e.csv", "user,place,round,report", gaps))
    assert told.examples == ((9, "the round is missing"),)
    assert told.attendance is not None
    many = [(f"u{i % 50}", ("home", "work")[i % 2], i // 2, i % 4) for i in range(2 * MOST_ROUNDS + 100)]
    many += [(f"u{i}", place, 0, 1) for i in range(50) for place in ("home", "work")]
    told = audit_file(lines(tmp_path / "f.csv", "user,place,round,report", many))
    assert told.attendance_missing == "the file has more than 4,096 different rounds"


def test_the_audit_of_the_mechanism_agrees(tmp_path: Path) -> None:
    """What is found in a file is what the audit of the same campaign says can be found."""
    promised = audit(DECK, reports=6, crowd=150, attack=False).attended
    result = audit_file(write(tmp_path / "a.csv", 1.0, people=300, rounds=6), level=0.999999)
    assert result.attendance is not None
    assert result.attendance.tracking.lower <= promised.advantage.upper
    assert result.attendance.matched.lower <= promised.alone.upper
