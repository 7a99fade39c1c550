"""Files that are either complete or absent."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file that takes its name only once it is complete and on disk; if anything fails, nothing is left of it.

    `mode` are its permissions, less the umask. It is written as `.NAME.….part` in the same folder, which is all
    that a power cut can leave behind.
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make sure that the new name is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
