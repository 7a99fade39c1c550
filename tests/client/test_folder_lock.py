"""The count of ledgers: half-written, damaged, lost."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from untrackable.client.folder_lock import Lock
from untrackable.errors import StateError


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    yield opened
    os.close(opened)


def test_it_counts_and_every_count_is_another_place(descriptor: int, tmp_path: Path) -> None:
    lock = Lock(descriptor)
    assert lock.count == 0
    for count in (1, 2, 3, 3, 256, 257):
        lock.advance(count)
        assert lock.count == count
    before = lock.folder_mark
    assert lock.folder_mark == before
    os.utime(tmp_path / "lock", ns=(1, 1))
    assert lock.folder_mark != before


def test_a_copy_is_another_place_even_with_the_same_times(descriptor: int, tmp_path: Path) -> None:
    Lock(descriptor).advance(1)
    shutil.copy2(tmp_path / "lock", tmp_path / "copy")
    with (tmp_path / "copy").open("rb") as file:
        assert Lock(file.fileno()).folder_mark != Lock(descriptor).folder_mark


def test_another_mode_owner_or_link_is_the_same_place(
    descriptor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lock, "_generation", lambda lock: 7)  # as most file systems have one
    lock, file = Lock(descriptor), tmp_path / "lock"
    lock.advance(1)
    before, changed = lock.folder_mark, file.stat().st_ctime_ns
    for change in (
        lambda: file.chmod(0o600),
        lambda: os.chown(file, os.geteuid(), os.getegid()),
        lambda: os.link(file, tmp_path / "snapshot"),
        lambda: file.read_bytes(),
    ):
        time.sleep(0.02)  # file systems count time in steps
        change()
        assert lock.folder_mark == before
    assert file.stat().st_ctime_ns != changed


def test_where_inodes_have_no_generation_any_change_tells(
    descriptor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inode that is used again, with the time of writing put back, would be the same otherwise."""
    monkeypatch.setattr(Lock, "_generation", lambda lock: None)
    lock, file = Lock(descriptor), tmp_path / "lock"
    lock.advance(1)
    before, written = lock.folder_mark, file.stat().st_mtime_ns
    time.sleep(0.02)
    os.utime(file, ns=(written, written))
    assert file.stat().st_mtime_ns == written
    assert lock.folder_mark != before


@pytest.mark.parametrize("whole", [0, 1, 2, 255])
def test_a_half_written_count_leaves_the_one_before(
    whole: int, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, write = Lock(descriptor), os.pwrite
    for count in range(1, whole + 1):
        lock.advance(count)
    for size in range(16):

        def full(to: int, data: bytes, at: int, size: int = size) -> int:
            write(to, data[:size], at)
            raise OSError("full")

        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="full"):
            lock.advance(whole + 1)
        assert lock.count == whole
    monkeypatch.undo()
    lock.advance(whole + 1)
    assert lock.count == whole + 1


@pytest.mark.parametrize("data", [b"x", b"\1" * 16, b"\1" * 32, b"nothing of this library at all, but long"])
def test_damage_is_an_error(data: bytes, descriptor: int) -> None:
    os.pwrite(descriptor, data, 0)
    with pytest.raises(StateError, match="lock is damaged"):
        _ = Lock(descriptor).count
