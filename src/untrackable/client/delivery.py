"""Delivering one sealed report: a few attempts, close together, from one network; then the round is let go."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from untrackable.client.http_post import Address, Post
from untrackable.client.network import Attachment, Look, attached
from untrackable.client.saved_state import PreparedReport

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

    def take(self) -> PreparedReport | None:
        """The report that is to be sent now, if there is one."""

    def attempt(self, sealed: PreparedReport) -> AbstractContextManager[bool]:
        """Whether it may be sent while this lasts: not if it is gone. The attempt is on disk before it begins."""

    def note(self, sealed: PreparedReport) -> bool:
        """Put on disk, during an attempt, how it goes; whether it may still be sent."""

    def done(self) -> None:
        """It is not to be sent again. On disk when this returns."""


def deliver(outbox: Outbox, address: Address, *, post: Post, look: Look, sleep: Callable[[float], None]) -> Outcome:
    """Try until it is accepted or refused, the time is up, or the network is another one."""
    way = _Way(outbox, address, look)
    while (sealed := outbox.take()) is not None:
        if way.sealed is not None and way.sealed.body != sealed.body:
            way = _Way(outbox, address, look)  # of another round, which may come long after
        now, found = outbox.now(), way.found()
        if sealed.since is None and not found.description:
            return Outcome.OFFLINE
        if not _may_try(sealed, now) or not way.same(sealed, found):
            break
        since = now if sealed.since is None else sealed.since
        attachment = found.digest() if sealed.since is None or way.untaken else sealed.attachment
        sealed = replace(sealed, since=since, tries=sealed.tries + 1, attachment=attachment)
        with outbox.attempt(sealed) as going:
            if not going:
                continue
            way.begin(sealed, found)
            reply = post(address, sealed.body, way.ready)
        if reply.accepted or not reply.later:
            outbox.done()
            return Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED
        wait = max(_wait(sealed.tries), reply.retry_after or 0.0)
        if sealed.tries >= TRIES or outbox.now() + wait > since + WINDOW:
            break
        sleep(wait)
    else:
        return Outcome.NOTHING if way.sealed is None else Outcome.LET_GO
    outbox.done()
    return Outcome.LET_GO


class _Way:
    """How one process's attempts to send a report go out: looked at before each, and again when it is connected.

    In between a name is looked up and a connection made, which takes up to a minute, in which people move; and of
    the addresses of a host, another may answer than the one that was looked at.
    """

    def __init__(self, outbox: Outbox, address: Address, look: Look) -> None:
        self._outbox, self._address, self._look = outbox, address, look
        self.sealed: PreparedReport | None = None
        self._looked: Attachment | None = None
        self._taken: Attachment | None = None
        self.untaken = False
        """Whether nothing has gone out yet; known only where all attempts are this process's."""

    def found(self, peer: str | None = None) -> Attachment:
        """What it is now."""
        proxied = self._address.proxy() is not None
        return attached(self._look, *self._address.reached_by(), proxied=proxied, peer=peer)

    def same(self, sealed: PreparedReport, found: Attachment) -> bool:
        """Whether the network is the one of the first attempt, made by this process or by one before it."""
        if sealed.since is None or self.untaken:
            return True
        if self._looked is None:
            return found.matches(sealed.attachment)
        return found in (self._looked, self._taken)

    def begin(self, sealed: PreparedReport, found: Attachment) -> None:
        """An attempt that is on disk."""
        if self.sealed is None:
            self.untaken = sealed.tries == 1
        if self.sealed is None or self.untaken:
            self._looked = found
        self.sealed = sealed

    def ready(self, local: str, peer: str) -> bool:
        """Whether it goes the way on disk, over this connection; the first to go out is noted as it really does."""
        sealed, found = self.sealed, self.found(peer)
        if sealed is None or not found.description or found.local not in ("", local):
            return False
        if self.untaken:
            if found != self._looked and not self._outbox.note(replace(sealed, attachment=found.digest())):
                return False
            self._taken, self.untaken = found, False
        return found.matches(sealed.attachment) if self._taken is None else found == self._taken


def _may_try(sealed: PreparedReport, now: float) -> bool:
    """Never tried, or not long ago; a clock that went back says nothing."""
    return sealed.since is None or (sealed.since <= now <= sealed.since + WINDOW and sealed.tries < TRIES)


def _wait(tries: int) -> float:
    """Twice as long each time, times something between ½ and 1½."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + secrets.randbits(53) / (1 << 53))
