"""The file of held reports: all of it or nothing, in random order, with nothing about senders or times."""

import errno
import math
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from untrackable.errors import StoreError
from untrackable.relay import held_reports
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
    assert sorted(path.stat().st_size for path in tmp_path.glob("*-new*")) == [0, 0]
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
    held.add([(ONE, body(number)) for number in range(20, 320)])
    with pytest.raises(HoldingFailed, match="full") as failed:
        held.spread()
    assert failed.value.full
    held.add([(ONE, body(320))])
    held._database.execute("PRAGMA max_page_count = 1000000")
    assert sorted(numbers(held, ONE)) == list(range(321)), "what was acknowledged waited"
    held.add([(ONE, body(321))])
    held.close()
    held = HeldReports(tmp_path / "held.db")
    assert sorted(numbers(held, ONE)) == list(range(322))
    held.close()


def test_reports_wait_for_room_while_those_before_become_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_reports, "_MOST_NEW", 10)
    monkeypatch.setattr(held_reports, "_PATIENCE", 0.01)
    held = HeldReports(tmp_path / "held.db")
    held.add([(ONE, body(number)) for number in range(10)])
    held.wait_for_room()
    held.add([(ONE, body(10))])
    with pytest.raises(HoldingFailed, match="slow") as failed:
        held.wait_for_room()
    assert not failed.value.full
    held._database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(HoldingFailed):
        held.spread()
    held.add([(ONE, body(number)) for number in range(11, 22)])
    with pytest.raises(HoldingFailed, match="full") as failed:
        held.wait_for_room()
    assert failed.value.full
    held._database.execute("PRAGMA max_page_count = 1000000")
    monkeypatch.setattr(held_reports, "_PATIENCE", 30.0)
    held.spread()  # Those of before; the others wait.
    waiting = threading.Thread(target=held.wait_for_room)
    waiting.start()
    held.spread()
    waiting.join(10)
    assert not waiting.is_alive()
    assert sorted(numbers(held, ONE)) == list(range(22))
    held.close()


def as_after_a_kill(folder: Path, copy: Path) -> HeldReports:
    """What the next relay finds if the present one is killed now."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    return HeldReports(copy / "held.db")


def test_after_a_kill_at_any_step_everything_acknowledged_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "now"
    place.mkdir()
    held = HeldReports(place / "held.db")
    wanted: list[int] = []

    def killed() -> list[int]:
        copy = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        after = as_after_a_kill(place, copy)
        found = sorted(numbers(after, ONE))
        assert after.begin(ONE) == len(found)
        after.close()
        return found

    def add(*some: int) -> None:
        held.add([(ONE, body(number)) for number in some])
        wanted.extend(some)

    add(0, 1)
    add(2)
    assert killed() == wanted
    with monkeypatch.context() as failing:  # The rows are there, and the short file is not empty yet.
        failing.setattr(held_reports._NewReports, "erase", fails)
        with pytest.raises(HoldingFailed):
            held.spread()
    assert killed() == wanted
    add(3, 4)  # Both short files have reports.
    assert killed() == wanted
    held.spread()
    assert killed() == wanted
    add(5)
    held.spread()
    held.spread()
    assert killed() == wanted
    assert {path.stat().st_size for path in place.glob("*-new*")} == {0}
    held.close()


def fails(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_group_that_a_kill_cut_off_is_left_out_and_all_before_it_stay(tmp_path: Path) -> None:
    place = tmp_path / "now"
    place.mkdir()
    held = HeldReports(place / "held.db")
    held.add([(ONE, body(0)), (OTHER, body(1))])
    [short] = [path for path in place.glob("*-new*") if path.stat().st_size]
    whole = short.stat().st_size
    held.add([(ONE, body(2)), (ONE, body(3))])
    data = short.read_bytes()
    for number, cut in enumerate(
        (whole, whole + 1, whole + 16, whole + 20, whole + 1100, len(data) - 1, len(data))
    ):
        damaged = data[:cut] + bytes(len(data) - cut) * (number % 2)  # Cut off, or with zeros behind.
        copy = tmp_path / str(number)
        shutil.copytree(place, copy, ignore=shutil.ignore_patterns("*-shm"))
        (copy / short.name).write_bytes(damaged)
        after = HeldReports(copy / "held.db")
        after.add([(ONE, body(4))])
        kept = [0, 2, 3] if cut == len(data) else [0]
        assert (sorted(numbers(after, ONE)), numbers(after, OTHER)) == ([*kept, 4], [1])
        after.close()
    held.close()


def test_a_group_that_was_not_written_whole_gives_its_place_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "now"
    place.mkdir()
    held = HeldReports(place / "held.db")
    held.add([(ONE, body(0))])
    write = os.pwrite

    def full(file: int, data: bytes, at: int) -> int:
        if len(data) < 1000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[: len(data) // 2], at)

    with monkeypatch.context() as failing:
        failing.setattr(os, "pwrite", full)
        with pytest.raises(HoldingFailed) as failed:
            held.add([(ONE, body(1))])
    assert failed.value.full
    with monkeypatch.context() as failing:  # All is written, and perhaps not on disk.
        failing.setattr(os, "fdatasync", fails)
        with pytest.raises(HoldingFailed) as failed:
            held.add([(ONE, body(2))])
    assert not failed.value.full
    held.add([(ONE, body(3))])
    after = as_after_a_kill(place, tmp_path / "later")
    assert sorted(numbers(after, ONE)) == sorted(numbers(held, ONE)) == [0, 3]
    after.close()
    held.close()


def test_reports_that_are_added_while_others_become_rows_are_all_there(tmp_path: Path) -> None:
    held = HeldReports(tmp_path / "held.db")

    def add() -> None:
        for number in range(200):
            held.add([(ONE, body(number)), (ONE, body(number + 200))])

    adding = threading.Thread(target=add)
    adding.start()
    while adding.is_alive():
        held.spread()
    adding.join()
    assert sorted(numbers(held, ONE)) == list(range(400))
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
