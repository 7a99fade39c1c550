"""One call with which a program lets a person take part in a campaign, at the price of reading one small file."""

from __future__ import annotations

import os
import time

from untrackable.client import quiet

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from untrackable.client.policy import Policy

try:  # hashlib is heavy, as the module random says, which does the same.
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256

OFF = "switched off: nothing is stored, looked up or sent"
NOTHING = "nothing to send"
HANDED_OVER = "handed to a sender of its own"
FAILED = "failed: "
"""What an outcome begins with if something went wrong."""
_USED = object()


def take_part(
    campaign: bytes,
    server: str,
    answer: Any = _USED,
    *,
    folder: str | os.PathLike[str] | None = None,
    policy: Policy | None = None,
    newcomer: bool = True,
    enabled: bool | Callable[[], bool] = True,
    enrolment: str = "",
    timeout: float = 2.0,
    strict: bool = False,
    clock: Callable[[], float] = time.time,
) -> str:
    """Answer a campaign for a person who has agreed, and send the report when it is time. It never waits.

    Call it whenever the program runs. Almost always it reads one small file. Otherwise another process does the
    work, and this returns at once.

    `campaign` is the document, built into the program, which is what pins it: never take it from the server.
    `answer` is the answer of today, or a function that finds it out when it is needed. Without one, a use is noted,
    for a question about days of use; `newcomer` says whether the first use is really the first one.
    `folder` and `policy` are the person's; without them, the usual folder and the policy stored there.
    `enrolment` is what entitles the person to a ballot, if the campaign has ballots: an invitation code, or a new
    token of an account.
    `enabled` is the program's own switch, beside DO_NOT_TRACK and CI: False unless the person has agreed.

    The result says what was done, in words. What goes wrong is a result, too, without private values, unless
    `strict` asks for an exception. Where no process can be started, the work is done here, for at most about
    `timeout` seconds.
    """
    try:
        return _taken(campaign, server, answer, folder, policy, newcomer, enabled, enrolment, timeout, clock)
    except Exception as error:
        if strict:
            raise
        return FAILED + _reason(error)


def _taken(
    campaign: bytes,
    server: str,
    answer: Any,
    folder: str | os.PathLike[str] | None,
    policy: Policy | None,
    newcomer: bool,
    enabled: bool | Callable[[], bool],
    enrolment: str,
    timeout: float,
    clock: Callable[[], float],
) -> str:
    if quiet.switched_off(enabled):
        return OFF
    place = quiet.default_folder() if folder is None else os.path.abspath(folder)
    if place is None:
        raise FileNotFoundError(2, "there is no home folder, so nothing can be kept")
    now, name = clock(), sha256(campaign).hexdigest()
    if quiet.next_look(place, name) > now:
        return NOTHING
    _check_writable(place)
    try:
        given = [] if answer is _USED else [answer() if callable(answer) else answer]
    except Exception as error:  # Its message may have the answer.
        raise RuntimeError(f"the function for the answer failed with {type(error).__name__}") from error
    job = {
        "answer": given,
        "campaign": campaign,
        "enrolment": enrolment,
        "folder": place,
        "newcomer": newcomer,
        "policy": None if policy is None else policy.limits(),
        "server": server,
    }
    from untrackable.client import sender

    if sender.hand_over(job, name, now):
        return HANDED_OVER
    from untrackable.client.job import done

    return str(done(job, timeout=timeout, clock=clock))


def _check_writable(folder: str) -> None:
    """Refuse a folder that cannot be written or made, before a process is started for it."""
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "the folder cannot be written, so nothing can be kept")


def _reason(error: Exception) -> str:
    """What went wrong, without anything private: messages of this library have no values."""
    from untrackable.errors import UntrackableError

    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return (
        str(error)
        if isinstance(error, (UntrackableError, RuntimeError, TypeError, ValueError))
        else type(error).__name__
    )
