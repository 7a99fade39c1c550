"""Files that are replaced whole or not at all, and locks between processes, on every system that Python runs on."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

fcntl: Any = None
with contextlib.suppress(ModuleNotFoundError):  # Windows has none.
    import fcntl
if fcntl is None:
    import msvcrt

    _msvcrt: Any = msvcrt

PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags with which files are opened: no links, and every byte as it is, where the system knows these."""
_FAR = 1 << 30
"""The byte that is locked on Windows, behind the end of every file, because a locked byte cannot be read there."""
_TRIES, _NAP = 50, 0.02
_GENERATION = 0x80087601
"""The code of FS_IOC_GETVERSION on Linux."""


def replace_private(path: Path, data: bytes) -> None:
    """Replace a file. At every moment, either the old one or the new one is there, whole, for its owner alone."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)  # It was left over by a process that was killed.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _replace(part, path)
    except BaseException:  # This includes an interrupt.
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def _replace(part: Path, path: Path) -> None:
    """Put a file in place of another. On Windows that fails while somebody, such as a virus scanner, reads it."""
    for _ in range(0 if fcntl is not None else _TRIES):
        with contextlib.suppress(PermissionError):
            part.replace(path)
            return
        time.sleep(_NAP)
    part.replace(path)


def sync_folder(folder: Path) -> None:
    """Make sure that new names are on disk, and removed ones are not. Windows has no way to ask for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_at_once(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another process has it."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            _msvcrt.locking(descriptor, _msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):
        return False
    return True


def generation(descriptor: int) -> bytes | None:
    """The generation of an inode, where the system and the file system have one."""
    try:
        return None if fcntl is None else bytes(fcntl.ioctl(descriptor, _GENERATION, bytes(8)))[:4]
    except OSError:
        return None
