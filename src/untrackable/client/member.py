"""One campaign that the person takes part in: when to report, what, and sending it."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from untrackable.campaign import LAST_ROUND, Campaign
from untrackable.client import attachments, posting, sending, state
from untrackable.client.files import Folder
from untrackable.client.ledger import Ledger, Life, last_begun
from untrackable.client.sending import Outcome
from untrackable.client.state import Sealed, State
from untrackable.errors import DeckEmpty, FadedAway, FolderBusy, RoundPassed, StateError
from untrackable.mechanisms.entropy import word

Clock = Callable[[], float]
"""Seconds since 1970."""

_MARGIN = 20
"""Reports keep away from the ends of a round by this part of it, as clocks are not all right."""

_FARTHEST = 1 << 24
"""Rounds that a client may have missed in a row: the keys of all of them have to be made, some seconds' work."""


class Member:
    """A client's part in one campaign. Every method may be called at any time, by any process, in any order."""

    def __init__(self, campaign: Campaign, folder: Folder | Path, *, clock: Clock = time.time) -> None:
        self.campaign = campaign
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        self._clock = clock
        self._id = campaign.id

    def __repr__(self) -> str:
        return f"<client of campaign {self._id}>"

    def due(self, now: float | None = None) -> float | None:
        """When the next report is to go out, a moment drawn anew for each round; None if there are no more."""
        now = self._clock() if now is None else now
        with self.opened(now) as (ledger, held):
            life = ledger.life(self._id)
            if held is None or life is None:
                return None
            if held.sealed is not None and held.sealed.round == self.campaign.round_at(now):
                return now
            round = max(last_begun(self.campaign, now), life.first, life.through + 1, held.ratchet.round)
            return self._moment(held, round) if self._open(life, held, round) else None

    def report(self, now: float | None = None) -> bytes | None:
        """The report of this round, on disk before it is returned; None if it is not due, or gone.

        Asked again in the same round, it is the same bytes. A round that is over is let go.
        """
        now = self._clock() if now is None else now
        with self.opened(now) as (ledger, held):
            if held is None:
                raise StateError("no answer to this campaign has been given yet")
            sealed = self._sealed(ledger, held, now)
            return None if sealed is None else sealed.body

    def send(
        self,
        server: str,
        *,
        post: posting.Post = posting.post,
        look: attachments.Look = attachments.look,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Outcome:
        """Send this round's report if it is due, trying again for a short while and from the same network only."""
        address = posting.Address.of(server, self._id)
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self.folder.locked(f"{self._id}.sending", patience=0))
            except FolderBusy:
                return Outcome.NOTHING  # another process is at it
            return sending.deliver(_Outbox(self), address, post=post, look=look, sleep=sleep)

    def leave(self) -> None:
        """Answer no more; rounds that were not answered are no longer charged."""
        with self.opened(self._clock()) as (ledger, _):
            if ledger.life(self._id) is not None:
                ledger.left(self._id).write(self.folder)
            for name in (state.name(self._id), f"{self._id}.sending"):
                self.folder.remove(name)

    @contextlib.contextmanager
    def opened(self, now: float) -> Iterator[tuple[Ledger, State | None]]:
        """Alone with the ledger and the state that it lists; both as of this folder, not of a copy of it."""
        with self.folder.locked() as place:
            ledger = Ledger.read(self.folder, place)
            if ledger.place != place:
                ledger = self._settle(ledger.moved(place, now))
            held, life = State.read(self.folder, self._id), ledger.life(self._id)
            listed = held is not None and life is not None and life.name == held.life
            yield ledger, held if listed else None

    def _settle(self, ledger: Ledger) -> Ledger:
        """A folder that was restored or copied: what was about to be sent may have been sent already."""
        for name in ledger.accounts:
            held = State.read(self.folder, name)
            if held is not None and held.sealed is not None:
                replace(held, sealed=None).write(self.folder, name)
        ledger.write(self.folder)
        return ledger

    def _sealed(self, ledger: Ledger, held: State, now: float) -> Sealed | None:
        """The report of the round that is on: the one on disk, or a new one if its moment has come."""
        round = self.campaign.round_at(now)
        if held.sealed is not None:
            if held.sealed.round == round:
                return held.sealed
            held = replace(held, sealed=None)
            held.write(self.folder, self._id)
        life = ledger.life(self._id)
        if round is None or life is None or not self._open(life, held, round) or now < self._moment(held, round):
            return None
        try:
            answered = held.answered(self.campaign, round)
        except (DeckEmpty, FadedAway, RoundPassed):
            return None
        ledger.marked(self._id, round).write(self.folder)
        answered.write(self.folder, self._id)
        return answered.sealed

    def _open(self, life: Life, held: State, round: int) -> bool:
        """Whether a round may be answered: within this life, and neither it nor a later one has been."""
        return (
            life.first <= round <= (LAST_ROUND if life.last is None else life.last)
            and round > life.through
            and 0 <= round - held.ratchet.round <= _FARTHEST
        )

    def _moment(self, held: State, round: int) -> float:
        """Uniform over the round but for its ends."""
        share = word(held.ratchet.at(round).entropy("moment")) / (1 << 64)
        length = self.campaign.round_seconds
        return self.campaign.begins(round) + length / _MARGIN + share * length * (1 - 2 / _MARGIN)


class _Outbox:
    """What delivery sees of a member: the sealed report, and notes about it that are on disk before they matter."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def now(self) -> float:
        """Seconds since 1970."""
        return self._member._clock()

    def take(self) -> Sealed | None:
        """The report that is to be sent now, if there is one."""
        now = self.now()
        with self._member.opened(now) as (ledger, held):
            return None if held is None else self._member._sealed(ledger, held, now)

    def note(self, sealed: Sealed | None) -> None:
        """How it has gone; None: it is done with."""
        with self._member.opened(self.now()) as (_, held):
            if held is not None and held.sealed is not None:
                replace(held, sealed=sealed).write(self._member.folder, self._member._id)
