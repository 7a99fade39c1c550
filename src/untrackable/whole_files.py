"""Files that are replaced whole or not at all, and that a power cut does not undo."""

import contextlib
import os
from pathlib import Path


def replace_private(path: Path, data: bytes) -> None:
    """Replace a file. At every moment, either the old one or the new one is there, whole, for its owner alone."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)  # It was left over by a process that was killed.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        part.replace(path)
    except BaseException:  # This includes an interrupt.
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that new names are on disk, and removed ones are not."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
