"""A folder of private files. They are written whole or not at all, checked when read, by one process at a time.

One process at a time holds the file `lock`. Its size is the number of ledgers that were written beside it: it grows
by a byte before each ledger is written. The ledger names this count, and the lock's inode and time of writing. So
the client notices if only an old ledger was put back. It also notices if the folder was copied or restored, because
then its lock is another file, unless inode and times were restored too. On most file systems, a change of owner,
mode or links changes neither.
"""

import contextlib
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from untrackable import strict_json
from untrackable.errors import FolderBusy, StateError
from untrackable.whole_files import PLAIN, generation, lock_at_once, replace_private, sync_folder

SENDING = "sending"
"""The file that is locked while a report is sent or a campaign is left."""
_MAGIC = b"UTF\x01"
_DIGEST = 32
_LARGEST_FILE = 1 << 30
"""The most bytes of a file that is read. The state of a million wide reports has half of that."""
PATIENCE = 30.0
"""How many seconds to wait for another process, unless something else is asked for."""
_NAP = 0.02

Content = TypeVar("Content")


class Folder:
    """The folder of a client's private files. Its mode is 0700, and that of its files 0600."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._lock = -1
        self.patience = PATIENCE
        for missing in reversed([path for path in (self.path, *self.path.parents) if not path.exists()]):
            with contextlib.suppress(FileExistsError):
                missing.mkdir(mode=0o700)
        status = self.path.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise StateError(f"{self.path} must be a folder")
        # Windows has neither: there, folders below the home of a person are that person's alone.
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            raise StateError(f"{self.path} belongs to somebody else: it must belong to the account that runs this")
        if hasattr(os, "geteuid") and status.st_mode & 0o077:
            raise StateError(f"{self.path} must be for its owner alone: run `chmod 700` on it")
        # They are made before anything is known, and stay: their times do not tell when something was sent.
        for name in ("lock", SENDING):
            os.close(self._opened(name))

    def read(self, name: str, what: str, understood: Callable[[dict[str, Any]], Content]) -> Content | None:
        """The content of a file, or None if there is none. A damaged file is an error, and is left as it is."""
        try:
            with os.fdopen(os.open(self.path / name, os.O_RDONLY | PLAIN), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
                    raise StateError(f"{what} cannot be read: it is no file of at most {_LARGEST_FILE:,} bytes")
                data = file.read()
            return understood(unframed(data, what))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{what} cannot be read: {error.strerror}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"{what} cannot be understood: {type(error).__name__}") from None

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Replace a file. At every moment, either the old one or the new one is there, and whole."""
        replace_private(self.path / name, framed(content))

    def remove(self, name: str) -> None:
        """Delete a file for good, if it is there, and what is left of it from a process that was killed."""
        for path in (self.path / f"{name}.part", self.path / name):
            if os.path.lexists(path):
                path.unlink()
                sync_folder(self.path)

    @contextlib.contextmanager
    def held(self, name: str, patience: float | None = None) -> Iterator[int]:
        """Hold the lock of one file, and yield its descriptor. The file is created if there is none."""
        descriptor = self._opened(name)
        try:
            until = time.monotonic() + (self.patience if patience is None else patience)
            while not lock_at_once(descriptor):
                if time.monotonic() >= until:
                    raise FolderBusy(f"{self.path} is in use by another process")
                time.sleep(_NAP)
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Wait no longer than this for another process."""
        before, self.patience = self.patience, min(seconds, self.patience)
        try:
            yield
        finally:
            self.patience = before

    @contextlib.contextmanager
    def locked(self, patience: float | None = None) -> Iterator[None]:
        """Hold the folder's lock."""
        with self.held("lock", patience) as self._lock:
            try:
                yield
            finally:
                self._lock = -1

    @property
    def count(self) -> int:
        """The number of ledgers that were written or begun; 0 in a new folder."""
        return os.fstat(self._lock).st_size

    def advance(self, count: int) -> None:
        """Write the count. It is never half-written, because it is a size.

        The file is opened for it alone: on Windows, the time of writing may change until a file is closed.
        """
        descriptor = self._opened("lock")
        try:
            os.ftruncate(descriptor, count)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @property
    def mark(self) -> str:
        """A mark that differs between this folder and any copy, and between counts: inode and time of writing.

        A file system may use an inode again, so its generation is part of the mark. If the file system has no
        generations, the time of the last change is, although a change of owner, mode or links changes it too.
        """
        with (self.path / "lock").open("rb") as file:
            return _mark(file.fileno())

    def _opened(self, name: str) -> int:
        return os.open(self.path / name, os.O_RDWR | os.O_CREAT | PLAIN, 0o600)


def _mark(descriptor: int) -> str:
    status, number = os.fstat(descriptor), generation(descriptor)
    version = f"changed {status.st_ctime_ns}" if number is None else int.from_bytes(number, sys.byteorder)
    return f"{status.st_ino}:{version}:{status.st_mtime_ns}"


def framed(content: dict[str, Any]) -> bytes:
    """The bytes of a file: `55 54 46 01`, canonical JSON, and the SHA-256 of both. Byte 01 is the format."""
    body = _MAGIC + strict_json.canonical(content)
    return body + hashlib.sha256(body).digest()


def unframed(data: bytes, what: str) -> Any:
    """The content of a file. Bytes that `framed` would not have written are an error."""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if data.startswith(_MAGIC[:3]) and data[3:4] not in (b"", _MAGIC[3:]):
        raise StateError(
            f"another version of this library wrote {what}: it has format {data[3]}, and this library reads format "
            f"{_MAGIC[3]}; move the whole folder away and answer again: only rounds that begin later are answered "
            "then, and you must subtract what was spent before from the policy; with turns this counts as wiped "
            "storage"
        )
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise StateError(f"{what} is damaged: it was truncated or altered, or this library did not write it")
    return strict_json.parse(body[len(_MAGIC) :])
