"""Takes away what Windows does not have, before anything else is imported, and gives what it has instead.

`python -m tests.client.like_windows ARGUMENTS` runs pytest with these arguments so.
"""

import os
import signal
import sys
import types
from typing import Any

ABSENT = ("fcntl", "resource", "uvloop", "termios", "grp", "pty", "tty")
_NAMES = ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "geteuid", "fchmod", "posix_spawn", "setsid")


def pretend() -> None:
    """From now on, Python has no modules of Unix systems, and a msvcrt that locks a byte far behind the end."""
    import fcntl
    import subprocess  # noqa: F401 - the standard library believes in this msvcrt, too, and would miss more

    lock = fcntl.flock
    how = fcntl.LOCK_EX | fcntl.LOCK_NB
    msvcrt: Any = types.ModuleType("msvcrt")

    def locking(descriptor: int, mode: int, size: int) -> None:
        assert (mode, size) == (msvcrt.LK_NBLCK, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
        try:
            lock(descriptor, how)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    msvcrt.LK_NBLCK, msvcrt.locking = 2, locking
    sys.modules["msvcrt"] = msvcrt
    for name in ABSENT:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in _NAMES:
        delattr(os, name)
    delattr(signal, "pthread_sigmask")


if __name__ == "__main__":
    pretend()
    import pytest

    sys.exit(pytest.main(sys.argv[1:]))
