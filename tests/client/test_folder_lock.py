"""The lock of a folder: its count of ledgers, and its mark."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from untrackable.client import folder
from untrackable.client.folder import Folder


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[Folder]:
    tmp_path.chmod(0o700)
    opened = Folder(tmp_path)
    with opened.locked():
        yield opened


def test_it_counts_and_every_count_is_another_place(lock: Folder, tmp_path: Path) -> None:
    assert lock.count == 0
    for count in (1, 2, 3, 3, 256, 257):
        lock.advance(count)
        assert lock.count == count
    before = lock.mark
    assert lock.mark == before
    os.utime(tmp_path / "lock", ns=(1, 1))
    assert lock.mark != before


def test_a_copy_is_another_place_even_with_the_same_times(lock: Folder, tmp_path: Path) -> None:
    lock.advance(1)
    shutil.copy2(tmp_path / "lock", tmp_path / "copy")
    with (tmp_path / "copy").open("rb") as file:
        assert folder._mark(file.fileno()) != lock.mark


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no owners as on Unix")
def test_another_mode_owner_or_link_is_the_same_place(
    lock: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "generation", lambda descriptor: b"7777")  # as most file systems have one
    file = tmp_path / "lock"
    lock.advance(1)
    before, changed = lock.mark, file.stat().st_ctime_ns
    for change in (
        lambda: file.chmod(0o600),
        lambda: os.chown(file, os.geteuid(), os.getegid()),
        lambda: os.link(file, tmp_path / "snapshot"),
        lambda: file.read_bytes(),
    ):
        time.sleep(0.02)  # file systems count time in steps
        change()
        assert lock.mark == before
    assert file.stat().st_ctime_ns != changed


def test_where_inodes_have_no_generation_any_change_tells(
    lock: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inode that is used again, with the time of writing put back, would be the same otherwise."""
    monkeypatch.setattr(folder, "generation", lambda descriptor: None)
    file = tmp_path / "lock"
    lock.advance(1)
    before, written = lock.mark, file.stat().st_mtime_ns
    time.sleep(0.02)
    os.utime(file, ns=(written, written))
    assert file.stat().st_mtime_ns == written
    assert lock.mark != before


def test_a_count_that_is_not_written_leaves_the_one_before(lock: Folder) -> None:
    """On a full disk, or where files may not grow."""
    resource = pytest.importorskip("resource")
    lock.advance(3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            lock.advance(4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert lock.count == 3


def test_it_must_be_held(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        _ = Folder(tmp_path / "c").count
