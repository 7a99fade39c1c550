"""The file of held reports: all of it or nothing, in random order, with nothing about senders or times."""

import math
import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from untrackable.errors import StoreError
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.held_reports import FIRST, HeldReports, HoldingFailed, Release

ONE, OTHER = Release("study", 7200), Release("study", 10_800)


def body(number: int) -> bytes:
    return number.to_bytes(4, "big") * (SEALED_LENGTH // 4) + b"xyz"[: SEALED_LENGTH % 4]


def numbers(held: HeldReports, release: Release) -> list[int]:
    return [int.from_bytes(found[:4], "big") for _, found in held.some(release, FIRST, 1 << 20)]


def test_what_is_added_is_there_after_opening_again(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(1)), (OTHER, body(2))])
    held.add([(ONE, body(1))])  # The same bytes again are another report: nobody compares.
    held.close()
    held = HeldReports(tmp_path / "held.db")
    assert held.counts() == {ONE: 2, OTHER: 1}
    assert numbers(held, ONE) == [1, 1]
    held.close()
    assert (tmp_path / "held.db").stat().st_mode & 0o777 == 0o600


def test_reports_are_read_in_an_order_that_says_nothing_about_their_arrival(tmp_path: Path) -> None:
    """The rank correlation of arrival and place has a standard deviation of 1/√(n-1). Sorted by arrival it is 1."""
    held, count = HeldReports(tmp_path / "held.db"), 2000
    for begin in range(0, count, 50):
        held.add([(ONE, body(number)) for number in range(begin, begin + 50)])
    places = numbers(held, ONE)
    held.close()
    assert sorted(places) == list(range(count))

    def correlation(order: list[int]) -> float:
        return 1 - 6 * sum((place - number) ** 2 for place, number in enumerate(order)) / (count**3 - count)

    assert abs(correlation(places)) < 6 / math.sqrt(count - 1)
    assert correlation(list(range(count))) == 1
    within = [places.index(number) for number in range(50)]  # Those that arrived together are shuffled, too.
    assert within != sorted(within)


def test_pages_of_reports_follow_each_other(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(number)) for number in range(10)] + [(OTHER, body(99))])
    seen, after = [], FIRST
    while some := held.some(ONE, after, 3):
        seen += [found for _, found in some]
        after = some[-1][0]
    held.close()
    assert sorted(seen) == sorted(body(number) for number in range(10))


def test_the_beginning_of_a_release_is_remembered_with_its_number(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(number)) for number in range(3)])
    assert held.begin(ONE) == 3
    held.delete(ONE, [name for name, _ in held.some(ONE, FIRST, 2)])
    held.close()
    held = HeldReports(tmp_path / "held.db")
    assert held.begin(ONE) == 3
    assert (held.begun(), held.counts()) == ({ONE: 3}, {ONE: 1})
    held.forget(ONE.time)
    assert held.begun() == {ONE: 3}
    held.forget(ONE.time + 1)
    assert held.begun() == {}
    held.delete_all(ONE)
    assert held.counts() == {}
    held.close()


def test_no_byte_of_a_deleted_report_stays_in_the_files(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    mark = b"a mark that is in no other place"
    filled = mark + bytes(SEALED_LENGTH - len(mark))
    held.add([(ONE, filled)] * 300)

    def files() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert mark in files()
    held.delete(ONE, [name for name, _ in held.some(ONE, FIRST, 300)])
    held.tidy()
    assert mark not in files()
    assert (tmp_path / "held.db").stat().st_size < 100_000
    held.close()


def test_the_file_has_a_release_a_random_name_and_the_bytes_and_nothing_else(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(1))])
    held.close()
    with sqlite3.connect(tmp_path / "held.db") as database:
        columns = {
            table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        rows = database.execute("SELECT * FROM held").fetchall()
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            database.execute("SELECT rowid FROM held")
    database.close()
    assert columns == {"held": ["gateway", "time", "name", "body"], "begun": ["gateway", "time", "reports"]}
    assert [(gateway, time, len(name), content) for gateway, time, name, content in rows] == [(*ONE, 16, body(1))]


def test_a_full_or_failing_disk_is_told_and_nothing_is_stored_by_halves(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(number)) for number in range(20)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(path.stat().st_size for path in tmp_path.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, hard))
    try:
        with pytest.raises(HoldingFailed) as failed:  # noqa: PT012
            for _ in range(50):
                held.add([(ONE, body(number)) for number in range(100, 400)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not failed.value.full
    assert sorted(numbers(held, ONE)) == list(range(20))
    held._database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(HoldingFailed, match="full") as failed:
        held.add([(ONE, body(number)) for number in range(100, 400)])
    assert failed.value.full
    held._database.execute("PRAGMA max_page_count = 1000000")
    assert sorted(numbers(held, ONE)) == list(range(20))
    held.add([(ONE, body(20))])
    held.close()
    held = HeldReports(tmp_path / "held.db")
    assert sorted(numbers(held, ONE)) == list(range(21))
    held.close()


def test_other_files_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, and longer than the head of one " * 10)
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("CREATE TABLE held (x)")
    database.close()
    for name in ("text", "other.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match=name):
            HeldReports(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(StoreError, match="No such file"):
        HeldReports(tmp_path / "missing" / "held.db")


def test_another_relay_cannot_use_the_file_at_the_same_time(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")
    code = (
        "import sys; from pathlib import Path; from untrackable.relay.held_reports import HeldReports\n"
        "HeldReports(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "held.db")]
    found = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)  # noqa: S603
    assert "perhaps another relay uses it" in found.stderr
    held.close()
    assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == 0  # noqa: S603
