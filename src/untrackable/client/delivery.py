"""Delivery of one report: a few attempts within minutes, from one network. Then the client gives up the round."""

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
"""Further attempts may follow within this many seconds after the first one."""
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0


class Outcome(StrEnum):
    """The result of sending."""

    NOTHING = "nothing to send"
    OFFLINE = "no network; nothing was sent yet"
    MISSED = "no network at its moment; nothing was sent, and this round is skipped"
    ACCEPTED = "accepted"
    REFUSED = "refused by the server; this round is given up"
    GIVEN_UP = "not delivered; this round is given up"


class Outbox(Protocol):
    """The place where a report is kept while it is being sent."""

    def now(self) -> float:
        """Seconds since 1970."""

    def take(self) -> PreparedReport | None:
        """The report to send now, if there is one."""

    def attempt(self, prepared: PreparedReport) -> AbstractContextManager[bool]:
        """A context that yields whether the report may be sent. The attempt is on disk before it begins."""

    def note(self, prepared: PreparedReport) -> bool:
        """Write the progress of an attempt to disk. The result says whether the report may still be sent."""

    def done(self) -> None:
        """Note that the report is not sent again. That is on disk when this returns."""


def deliver(outbox: Outbox, address: Address, *, post: Post, look: Look, sleep: Callable[[float], None]) -> Outcome:
    """Try until the server accepts or refuses the report, the time is up, or the network has changed."""
    route = _Route(outbox, address, look)
    while (prepared := outbox.take()) is not None:
        # This report is of another round, which may come long after the last one.
        if route.prepared is not None and route.prepared.body != prepared.body:
            route = _Route(outbox, address, look)
        now, attachment = outbox.now(), route.attachment()
        if prepared.since is None and not attachment.description:
            return Outcome.OFFLINE
        if not _may_try(prepared, now) or not route.same(prepared, attachment):
            break
        since = now if prepared.since is None else prepared.since
        digest = attachment.digest() if prepared.since is None or route.unused else prepared.attachment
        prepared = replace(prepared, since=since, tries=prepared.tries + 1, attachment=digest)
        with outbox.attempt(prepared) as going:
            if not going:
                continue
            route.begin(prepared, attachment)
            reply = post(address, prepared.body, route.ready)
        if reply.accepted or not reply.later:
            outbox.done()
            return Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED
        wait = max(_wait(prepared.tries), reply.retry_after or 0.0)
        if prepared.tries >= TRIES or outbox.now() + wait > since + WINDOW:
            break
        sleep(wait)
    else:
        return Outcome.NOTHING if route.prepared is None else Outcome.GIVEN_UP
    outbox.done()
    return Outcome.GIVEN_UP


class _Route:
    """The network through which one process sends a report. It is checked before each attempt and after connecting.

    Two checks are needed because looking up a name and connecting take up to a minute, and a person may move to
    another network meanwhile. Besides, a host may have several addresses, and another one than expected may answer.
    """

    def __init__(self, outbox: Outbox, address: Address, look: Look) -> None:
        self._outbox, self._address, self._look = outbox, address, look
        self.prepared: PreparedReport | None = None
        self._expected: Attachment | None = None
        self._used: Attachment | None = None
        self.unused = False
        """True if nothing has gone out yet. That is known only if this process made all attempts."""

    def attachment(self, peer: str | None = None) -> Attachment:
        """The network to the server now, or to `peer` once there is a connection."""
        proxied = self._address.proxy() is not None
        return attached(self._look, *self._address.reached_by(), proxied=proxied, peer=peer)

    def same(self, prepared: PreparedReport, attachment: Attachment) -> bool:
        """Whether the network is that of the first attempt, by this process or by an earlier one."""
        if prepared.since is None or self.unused:
            return True
        if self._expected is None:
            return attachment.matches(prepared.attachment)
        return attachment in (self._expected, self._used)

    def begin(self, prepared: PreparedReport, attachment: Attachment) -> None:
        """Remember an attempt, which is on disk already."""
        if self.prepared is None:
            self.unused = prepared.tries == 1
        if self.prepared is None or self.unused:
            self._expected = attachment
        self.prepared = prepared

    def ready(self, local: str, peer: str) -> bool:
        """Whether this connection uses the network that is on disk.

        The first connection may use another network than the one that was found before; then that one is noted.
        """
        prepared, attachment = self.prepared, self.attachment(peer)
        if prepared is None or not attachment.description or attachment.local not in ("", local):
            return False
        if self.unused:
            if attachment != self._expected:
                noted = self._outbox.note(replace(prepared, attachment=attachment.digest()))
                if not noted:
                    return False
            self._used, self.unused = attachment, False
        return attachment.matches(prepared.attachment) if self._used is None else attachment == self._used


def _may_try(prepared: PreparedReport, now: float) -> bool:
    """Whether the report was never tried, or first tried not long ago. If the clock went back, it is too late."""
    return prepared.since is None or (prepared.since <= now <= prepared.since + WINDOW and prepared.tries < TRIES)


def _wait(tries: int) -> float:
    """Seconds until the next attempt: twice as long each time, times a random number between ½ and 1½."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + secrets.randbits(53) / (1 << 53))
