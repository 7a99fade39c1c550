"""One campaign that a person takes part in: it decides when to report, makes the report and sends it."""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from untrackable.client import active_days, delivery, http_post, network, saved_state
from untrackable.client.delivery import Outcome
from untrackable.client.ledger import DONE, Ledger, Life, last_begun
from untrackable.client.private_folder import Folder
from untrackable.client.relay_choice import through_relay
from untrackable.client.round_keys import Ratchet
from untrackable.client.saved_state import PreparedReport, State
from untrackable.errors import CampaignRefused, DeckEmpty, FadedAway, FolderBusy, RoundPassed, StateError
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND

Clock = Callable[[], float]
"""Seconds since 1970."""

GRACE = 30.0
"""A report counts as late if its sending time passed more than this many seconds ago."""

MARGIN = 20
"""Reports stay away from both ends of a round by this part of it, because clocks may be wrong."""

_FARTHEST = 1 << 24
"""The most rounds in a row that a client may miss. Making the keys of all of them takes seconds."""

_LOG = logging.getLogger(__name__)

_PATIENCE = http_post.TIMEOUT + 30.0
"""How many seconds `leave` waits for a report that is being sent."""


class Member:
    """A client's part in one campaign. Every method may be called at any time, by any process, in any order."""

    def __init__(self, campaign: Campaign, folder: Folder | Path, *, clock: Clock = time.time) -> None:
        self.campaign = campaign
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        self._clock = clock
        self._id = campaign.id
        self._in_crowd = campaign.guarantee.crowd is not None

    def __repr__(self) -> str:
        return f"<client of campaign {self._id}>"

    def due(self, now: float | None = None) -> float | None:
        """The time at which the next report is sent, random in its round; None if there is no further report."""
        now = self._now(now)
        with self.opened(now) as (ledger, held):
            life = ledger.life(self._id)
            if held is None or life is None:
                return None
            if held.prepared is not None and self._on(life, held.prepared, now):
                return now
            round = max(last_begun(self.campaign, now), life.first, life.through + 1, held.ratchet.round)
            return self._next(life, held, round, now)

    def tried(self, now: float | None = None) -> bool:
        """Whether an attempt to send this round's report was made, and it may be tried again."""
        now = self._now(now)
        with self.opened(now) as (_, held):
            prepared = None if held is None else held.prepared
            return (
                prepared is not None
                and prepared.since is not None
                and prepared.round == self.campaign.round_at(now)
            )

    def report(self, now: float | None = None) -> bytes | None:
        """The report of this round, on disk before it is returned; None if it is not due or already sent.

        Calling it again in the same round returns the same bytes. With turns, all rounds but one change nothing on
        disk. Reports of a campaign that relies on a crowd are not given out: `send` alone sends them, through a
        relay.
        """
        if self._in_crowd:
            raise CampaignRefused("reports of a campaign that relies on a crowd are sent through a relay only")
        now = self._now(now)
        with self.opened(now) as (ledger, held):
            if held is None:
                if ledger.life(self._id) is None:
                    raise StateError("no answer to this campaign has been given yet")
                return None
            prepared = self._prepared(ledger, held, now)
            return None if prepared is None else prepared.body

    def send(
        self,
        server: str,
        *,
        post: http_post.Post = http_post.post,
        look: network.Look = network.look,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Outcome:
        """Send this round's report if it is due. Retries are short and from the same network only.

        With turns, nothing at all happens in all rounds but one.

        If the campaign relies on a crowd, the report goes through a relay of the stored policy, whatever `post` is,
        and not at all without one. If it cannot be sent at its moment, the round is skipped.
        """
        address = http_post.Address.of(server, self._id)
        if self._in_crowd:
            with self.opened(self._now(None)) as (ledger, _):
                address, post = through_relay(self.campaign, ledger.policy, address)
        # A proxy that cannot be used is an error before a report is made.
        address.reached_by()
        outbox = _Outbox(self)
        if not self._is_due() if self._in_crowd else outbox.take() is None:
            return Outcome.NOTHING
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self.folder.held(f"{self._id}.sending", patience=0))
            except FolderBusy:
                return Outcome.NOTHING  # Another process is sending the report.
            outcome = delivery.deliver(outbox, address, post=post, look=look, sleep=sleep)
            if self._in_crowd and outcome is Outcome.OFFLINE:
                outbox.done()
                return Outcome.MISSED
            return outcome

    def _is_due(self) -> bool:
        """Whether there may be a report to send now. Nothing changes on disk."""
        now = self._now(None)
        due = self.due(now)
        return due is not None and due <= now

    def leave(self) -> None:
        """Leave the campaign. Nothing is sent once this returns. What was charged stays charged."""
        with self.posting(patience=_PATIENCE), self.opened(self._now(None)) as (ledger, _):
            if ledger.life(self._id) is not None:
                self._finish(ledger)

    def _finish(self, ledger: Ledger) -> Ledger:
        """Keep nothing but the ledger's account: the campaign was left, or its turn is over."""
        finished = ledger.left(self._id)
        finished.write(self.folder)
        self._forget()
        return finished

    def _forget(self) -> None:
        """Remove the state, the days of use, and the locks, which tell when something was sent."""
        files = (saved_state.name(self._id), active_days.name(self._id))
        for name in (*files, f"{self._id}.sending", f"{self._id}.posting"):
            self.folder.remove(name)

    def posting(self, **patience: float) -> contextlib.AbstractContextManager[object]:
        """Keep other processes from sending a report of this campaign or leaving it."""
        return self.folder.held(f"{self._id}.posting", **patience)

    @contextlib.contextmanager
    def opened(self, now: float) -> Iterator[tuple[Ledger, State | None]]:
        """Hold the folder and read the ledger and the state that it lists; a copied folder is settled first."""
        with opened_ledger(self.folder, now) as ledger:
            held, life = State.read(self.folder, self._id), ledger.life(self._id)
            if held is not None and life == DONE:  # The process was killed before it removed the state.
                self._forget()
                held = None
            if held is not None and (life is None or life.name != held.life):
                raise StateError(
                    "the state of this campaign is not the one in the ledger and is left as it is: "
                    "move it away and answer again"
                )
            if held is not None and life is not None and held.ratchet.round > life.through + 1:
                raise StateError(
                    "the state of this campaign is later than the ledger, which was put back: it is not known what "
                    "was spent since, so nothing is answered"
                )
            if life is not None and life != DONE and self._turn_is_over(life, now):
                ledger, held = self._finish(ledger), None
            yield ledger, held

    def _turn_is_over(self, life: Life, now: float) -> bool:
        turns, last = self.campaign.turns, life.last
        return turns is not None and last is not None and last_begun(self.campaign, now) > last

    def _prepared(
        self, ledger: Ledger, held: State, now: float, mine: bytes | None = None
    ) -> PreparedReport | None:
        """The report of the present round: the one on disk, or a new one if it is time to send it.

        `mine` is the one that the caller took before.
        """
        round, life = self.campaign.round_at(now), ledger.life(self._id)
        if held.prepared is not None:
            if life is not None and self._on(life, held.prepared, now, mine):
                return held.prepared
            if self.campaign.turns is not None:
                self._finish(ledger)
                return None
            held = replace(held, prepared=None)
            held.write(self.folder, self._id)
        if round is None or life is None or not self._open(life, held, round):
            return None
        ratchet = held.ratchet.at(round)
        if now < self._moment(ratchet) or self._missed(ratchet, now):
            return None
        try:
            answered = self._up_to_date(held, now).answered(self.campaign, round)
        except (DeckEmpty, FadedAway, RoundPassed):
            return None
        ledger.marked(self._id, round).write(self.folder)
        answered.write(self.folder, self._id)
        return answered.prepared

    def _up_to_date(self, held: State, now: float) -> State:
        """The state with today's answer, if it is counted from days of use."""
        days = active_days.read(self.folder, self._id)
        if days is None:
            return held
        value = self.campaign.encoding.encode(days.answer(self.campaign.encoding, active_days.day_of(now)))
        # Copies of a state make the same bytes: what is fresh about the answer follows from the key.
        fresh = held.ratchet.entropy(f"days/{value}")
        return held if value == held.value else held.holding(self.campaign, value, fresh)

    def _on(self, life: Life, prepared: PreparedReport, now: float, mine: bytes | None = None) -> bool:
        """Whether a report is of the present round. If it was never tried, the ledger must say so too.

        In a crowd, a report that was not tried when it was made is dropped.
        """
        if prepared.round != self.campaign.round_at(now):
            return False
        if prepared.since is not None:
            return True
        return life.tried < prepared.round and (not self._in_crowd or prepared.body == mine)

    def _open(self, life: Life, held: State, round: int) -> bool:
        """Whether a round may be answered: it belongs to this life, and no round from it on was answered."""
        return (
            life.first <= round <= (LAST_ROUND if life.last is None else life.last)
            and round > life.through
            and 0 <= round - held.ratchet.round <= _FARTHEST
        )

    def _next(self, life: Life, held: State, round: int, now: float) -> float | None:
        """The sending time of the next round that is answered, from this one on."""
        while self._open(life, held, round):
            ratchet = held.ratchet.at(round)
            if not self._missed(ratchet, now):
                return self._moment(ratchet)
            round += 1
        return None

    def _missed(self, ratchet: Ratchet, now: float) -> bool:
        """Whether a round is skipped because its moment has passed.

        That is so in a crowd only: late reports of several campaigns would leave together, as one person's.
        """
        return self._in_crowd and now > self._moment(ratchet) + GRACE

    def _moment(self, ratchet: Ratchet) -> float:
        """The time at which the report of a round is sent, uniform over the round except for its ends."""
        share, length = ratchet.moment(), self.campaign.round_seconds
        return self.campaign.begins(ratchet.round) + length / MARGIN + share * length * (1 - 2 / MARGIN)

    def _now(self, given: float | None) -> float:
        now = self._clock() if given is None else given
        if not math.isfinite(now):
            raise ValueError(f"now must be finite, in seconds since 1970, got {now}")
        return now


@contextlib.contextmanager
def opened_ledger(folder: Folder, now: float) -> Iterator[Ledger]:
    """Hold a folder and read its ledger; a copied folder is settled first."""
    with folder.locked() as lock:
        ledger = Ledger.read(folder)
        if ledger.folder_mark != lock.folder_mark:
            ledger = _settle(folder, ledger, now)
        yield replace(ledger, time=max(ledger.time, int(now)))


def _settle(folder: Folder, ledger: Ledger, now: float) -> Ledger:
    """Settle a folder that was restored or copied. Reports that were about to be sent may have been sent."""
    ledger = replace(ledger.moved(now), time=max(ledger.time, int(now)))
    for name in ledger.accounts:
        # A damaged state concerns its own campaign only.
        with contextlib.suppress(StateError):
            held = State.read(folder, name)
            if held is not None and held.prepared is not None:
                replace(held, prepared=None).write(folder, name)
    ledger.write(folder)
    found = Ledger.read(folder)
    if found.folder_mark != folder.folder_mark():
        raise StateError(
            f"{folder.path} is on a file system where a file that is opened again looks like another one "
            "(inode, time of writing), so the client cannot notice copies and answers nothing: "
            "move the folder to another file system"
        )
    _LOG.warning(
        "%s was restored or copied, or writing it was interrupted: it is not known what was answered since, so "
        "rounds that have begun are not answered, and reports that were about to be sent are dropped",
        folder.path,
    )
    return found


class _Outbox:
    """The outbox of a member: it holds the report, and writes notes about it to disk before they matter."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._taken: bytes | None = None

    def now(self) -> float:
        """Seconds since 1970."""
        return self._member._now(None)

    def take(self) -> PreparedReport | None:
        """The report to send now, if there is one."""
        now = self.now()
        with self._member.opened(now) as (ledger, held):
            prepared = None if held is None else self._member._prepared(ledger, held, now, self._taken)
        self._taken = None if prepared is None else prepared.body
        return prepared

    @contextlib.contextmanager
    def attempt(self, prepared: PreparedReport) -> Iterator[bool]:
        """Write the attempt to disk, and say whether the report may be sent."""
        with self._member.posting():
            yield self.note(prepared)

    def note(self, prepared: PreparedReport) -> bool:
        """Write the progress to disk, first in the state and then in the ledger. False if the report is gone."""
        member = self._member
        with member.opened(self.now()) as (ledger, held):
            if held is None or held.prepared is None or held.prepared.body != prepared.body:
                return False
            replace(held, prepared=prepared).write(member.folder, member._id)
            tried = ledger.attempted(member._id, prepared.round)
            if tried != ledger:
                tried.write(member.folder)
        return True

    def done(self) -> None:
        """Note that the report was sent or given up, and is not sent again. After a turn, nothing else is kept."""
        member = self._member
        with member.opened(self.now()) as (ledger, held):
            if held is not None and held.prepared is not None:
                if member.campaign.turns is not None:
                    member._finish(ledger)
                else:
                    replace(held, prepared=None).write(member.folder, member._id)
