"""Delivering one sealed report: a few attempts, close together, from one network; then the round is let go."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from untrackable.client.attachments import Attachment, Look, attached
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

    def attempt(self, sealed: Sealed) -> AbstractContextManager[bool]:
        """Whether it may be sent while this lasts: not if it is gone. The attempt is on disk before it begins."""

    def done(self) -> None:
        """It is not to be sent again. On disk when this returns."""


def deliver(outbox: Outbox, address: Address, *, post: Post, look: Look, sleep: Callable[[float], None]) -> Outcome:
    """Try until it is accepted or refused, the time is up, or the network is another one."""
    here: Attachment | None = None
    while (sealed := outbox.take()) is not None:
        now, found = outbox.now(), attached(look, *address.reached_by(), proxied=address.proxy() is not None)
        if sealed.since is None and not found.description:
            return Outcome.OFFLINE
        if not _may_try(sealed, now) or not _same(sealed, here, found):
            break
        since = now if sealed.since is None else sealed.since
        attachment = sealed.attachment if sealed.since is not None else found.digest()
        sealed = replace(sealed, since=since, tries=sealed.tries + 1, attachment=attachment)
        with outbox.attempt(sealed) as going:
            if not going:
                continue
            here = found
            reply = post(address, sealed.body)
        if reply.accepted or not reply.later:
            outbox.done()
            return Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED
        wait = max(_wait(sealed.tries), reply.retry_after or 0.0)
        if sealed.tries >= TRIES or outbox.now() + wait > since + WINDOW:
            break
        sleep(wait)
    else:
        return Outcome.NOTHING if here is None else Outcome.LET_GO
    outbox.done()
    return Outcome.LET_GO


def _may_try(sealed: Sealed, now: float) -> bool:
    """Never tried, or not long ago; a clock that went back says nothing."""
    return sealed.since is None or (sealed.since <= now <= sealed.since + WINDOW and sealed.tries < TRIES)


def _same(sealed: Sealed, here: Attachment | None, found: Attachment) -> bool:
    """Whether the network is the one of the first attempt, made by this process or by one before it."""
    if sealed.since is None:
        return True
    return found.matches(sealed.attachment) if here is None else found == here


def _wait(tries: int) -> float:
    """Twice as long each time, times something between ½ and 1½."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + secrets.randbits(53) / (1 << 53))
