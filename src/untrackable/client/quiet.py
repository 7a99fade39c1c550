"""What a run looks at first: whether the client is switched off, and whether there is anything to do.

A folder's file `next` says for each campaign when the client has to look again: a time, or never. Almost every run
of a program reads this one file and is done. It says no more than the other files of the folder: while there is a
turn to come the state has it, and afterwards `never` is the same for everyone.

The file is only a shortcut. It begins with the size, inode and times of the folder's lock, which change whenever a
ledger is written, and ends with a check sum. If it is missing, old, damaged or from another folder, everything is
looked at.

Nothing heavy is imported here, because this is all that most runs of a program need.
"""

from __future__ import annotations

import os
import sys
from binascii import crc32

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "next"
LOCK = "lock"
_EVER = float("inf")
_HEAD = "untrackable-next 1"
_LARGEST = 1 << 20
"""The most bytes that are read. Ten thousand campaigns have less."""


def switched_off(enabled: bool | Callable[[], bool] = True) -> bool:
    """Whether nothing may be stored, looked up or sent.

    DO_NOT_TRACK says so with anything but 0, CI with anything but 0 or false, and the program's own switch.
    """
    if os.environ.get("DO_NOT_TRACK", "") not in ("", "0"):
        return True
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return True
    return not (enabled() if callable(enabled) else enabled)


def next_look(folder: str | os.PathLike[str], campaign: str) -> float:
    """The time before which a campaign needs nothing: -inf if that is not known, and inf if it never does again."""
    return next_looks(folder).get(campaign, -_EVER)


def next_looks(folder: str | os.PathLike[str]) -> dict[str, float]:
    """What the file says of each campaign; nothing if it does not belong to the ledger that is there now."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(os.path.join(folder, NAME), flags | getattr(os, "O_BINARY", 0))
        try:
            data = os.read(descriptor, _LARGEST)
        finally:
            os.close(descriptor)
        body, _, check = data.rpartition(b"\n")
        head, *lines = body.decode("ascii").split("\n")
        if check != _check(body) or head != f"{_HEAD} {place_of(folder)}":
            return {}
        times = {name: float(when) for name, _, when in (line.partition(" ") for line in lines)}
        return {} if any(when != when for when in times.values()) else times
    except (OSError, ValueError):
        return {}


def note(folder: str | os.PathLike[str], looks: Mapping[str, float], place: str) -> None:
    """Write the file, in place: a half-written one is not believed, so that nothing is lost with it.

    `place` is what `place_of` said before it was found out what the file is to say.
    """
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    lines = [f"{_HEAD} {place}", *(f"{name} {when!r}" for name, when in sorted(looks.items()))]
    body = "\n".join(lines).encode("ascii")
    data = body + b"\n" + _check(body)
    descriptor = os.open(os.path.join(folder, NAME), flags, 0o600)
    try:
        os.ftruncate(descriptor, os.write(descriptor, data))
    finally:
        os.close(descriptor)


def place_of(folder: str | os.PathLike[str]) -> str:
    """What changes with every ledger that is written, and with every copy."""
    status = os.stat(os.path.join(folder, LOCK))
    return f"{status.st_size}:{status.st_ino}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def _check(body: bytes) -> bytes:
    return f"{crc32(body):08x}".encode("ascii")


def default_folder() -> str | None:
    """Where a client keeps its files on this system, unless UNTRACKABLE_FOLDER says it; None without a home."""
    if named := os.environ.get("UNTRACKABLE_FOLDER"):
        return named
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        parent = os.path.join(home, "Library", "Application Support")
    else:
        parent = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(parent):
            parent = os.path.join(home, ".local", "state")
    return os.path.join(parent, "untrackable") if os.path.isabs(parent) else None
