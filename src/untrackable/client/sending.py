"""Delivering one sealed report: a few attempts, close together, from one network; then the round is let go."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from untrackable.client.attachments import Attachment, Look
from untrackable.client.posting import Address, Post
from untrackable.client.state import Sealed

WINDOW = 300.0
"""Seconds after the first attempt during which others may follow."""
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0


class Outcome(StrEnum):
    """How it went."""

    NOTHING = "nothing to send"
    OFFLINE = "no network; nothing was sent yet"
    ACCEPTED = "accepted"
    REFUSED = "refused by the server; this round is let go"
    LET_GO = "not delivered; this round is let go"


class Outbox(Protocol):
    """Where a sealed report is kept while it is being sent."""

    def now(self) -> float:
        """Seconds since 1970."""

    def take(self) -> Sealed | None:
        """The report that is to be sent now, if there is one."""

    def note(self, sealed: Sealed | None) -> None:
        """How it has gone; None: it is done with. On disk when this returns."""


def deliver(outbox: Outbox, address: Address, *, post: Post, look: Look, sleep: Callable[[float], None]) -> Outcome:
    """Try until it is accepted or refused, the time is up, or the network is another one."""
    here: Attachment | None = None
    while (sealed := outbox.take()) is not None:
        now, found = outbox.now(), look(*address.reached_by())
        if sealed.since is None and not found.description:
            return Outcome.OFFLINE
        if not _may_try(sealed, now) or not _same(sealed, here, found):
            break
        here = found
        since = now if sealed.since is None else sealed.since
        attachment = sealed.attachment if sealed.since is not None else found.digest()
        sealed = replace(sealed, since=since, tries=sealed.tries + 1, attachment=attachment)
        outbox.note(sealed)
        reply = post(address, sealed.body)
        if reply.accepted or not reply.later:
            outbox.note(None)
            return Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED
        wait = max(_wait(sealed.tries), reply.retry_after or 0.0)
        if sealed.tries >= TRIES or outbox.now() + wait > since + WINDOW:
            break
        sleep(wait)
    else:
        return Outcome.NOTHING if here is None else Outcome.LET_GO
    outbox.note(None)
    return Outcome.LET_GO


def _may_try(sealed: Sealed, now: float) -> bool:
    """Never tried, or not long ago; a clock that went back says nothing."""
    return sealed.since is None or (sealed.since <= now <= sealed.since + WINDOW and sealed.tries < TRIES)


def _same(sealed: Sealed, here: Attachment | None, found: Attachment) -> bool:
    """Whether the network is the one of the first attempt, made by this process or by one before it."""
    if here is not None:
        return found == here
    return sealed.since is None or found.matches(sealed.attachment)


def _wait(tries: int) -> float:
    """Twice as long each time, times something between ½ and 1½."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + secrets.randbits(53) / (1 << 53))
