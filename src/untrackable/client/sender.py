"""A process of its own that sends a report, so that the program it came from ends when it likes.

It has a session of its own, no descriptor of the program, and ends after a minute whatever happens. What it is to
do, with the answer, comes through a pipe, and is never part of a command line, an environment or a file. It may be
killed at any time: then the next run of the program in the round tries again, if nothing has gone out yet.
"""

from __future__ import annotations

import marshal
import os
import sys

from untrackable.client import quiet

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from typing import Any

LIMIT = 60.0
"""After this many seconds, the process ends."""
SECONDS = 20.0
"""How long it tries to send."""
_START = (
    "import marshal, sys; job = marshal.loads(sys.stdin.buffer.read()); sys.path[:] = job['path']; "
    "from untrackable.client.job import main; main(job)"
)
_PIPE = 60_000
"""Bytes that a pipe takes without a reader; a larger job needs a larger pipe."""
_INTERPRETERS = ("python", "pypy")
_started: list[int] = []
"""Processes that have not been waited for."""


def hand_over(job: dict[str, Any], campaign: str, now: float) -> bool:
    """Start a process for a campaign's job. While it works, the next runs leave it in peace."""
    try:
        folder = job["folder"]
        place = quiet.place_of(folder)
        if known := quiet.next_looks(folder):
            quiet.note(folder, {**known, campaign: now + SECONDS}, place)
    except OSError:
        pass  # They look again, then.
    return start(job)


def start(job: dict[str, Any]) -> bool:
    """Start a process for a job; False if there is no Python to start, as in a program that brings its own.

    It does not wait for the process.
    """
    program = sys.executable or ""
    if getattr(sys, "frozen", False) or not os.path.basename(program).lower().startswith(_INTERPRETERS):
        return False
    here = os.getcwd()
    try:
        data = marshal.dumps({**job, "path": [os.path.join(here, place) for place in sys.path]})
    except ValueError:
        raise TypeError("answer must be a truth value, a number, a text, or a list or dict of them") from None
    try:
        return (_spawned if hasattr(os, "posix_spawn") else _opened)([program, "-I", "-c", _START], data)
    except OSError:
        return False


def _spawned(command: list[str], data: bytes) -> bool:
    _started[:] = [process for process in _started if not _ended(process)]
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        if len(data) > _PIPE:
            import fcntl

            if not hasattr(fcntl, "F_SETPIPE_SZ"):
                return False
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, len(data))
        if os.write(writing, data) < len(data):
            return False
        files = [
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        _started.append(os.posix_spawn(command[0], command, os.environ, file_actions=files))
        return True
    finally:
        os.close(reading)
        os.close(writing)


def _ended(process: int) -> bool:
    try:
        return os.waitpid(process, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _opened(command: list[str], data: bytes) -> bool:
    """The same on Windows."""
    import subprocess

    flags = sum(
        getattr(subprocess, name, 0)
        for name in ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP", "CREATE_BREAKAWAY_FROM_JOB")
    )
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603 - this Python, and a constant
        command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, creationflags=flags
    )
    stdin: Any = process.stdin
    stdin.write(data)
    stdin.close()
    process.returncode = 0  # Nobody waits for it.
    return True


def let_go() -> None:
    """Give up everything that a process inherited: session, descriptors, folder."""
    if hasattr(os, "setsid"):
        os.setsid()
        for name in os.listdir("/dev/fd"):
            if int(name) > 2:
                os.closerange(int(name), int(name) + 1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    if nowhere:
        os.close(nowhere)
    os.chdir(os.path.abspath(os.sep))
