"""Files that are there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file that takes its name only once it is complete and on disk; if anything fails, nothing is left of it.

    `mode` says who may read it, less the umask. It is written beside its place as `.NAME.….part`, which is all that
    a power cut can leave behind.
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
    """The new name on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
