"""The client: it joins campaigns for a person, within their policy, and makes and sends their reports."""

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from untrackable.accounting.check import client_problems
from untrackable.client import sending
from untrackable.client.folder import SENDING, Folder
from untrackable.client.ledger import Account, Clock, Ledger, last_begun, last_round, opened_ledger, read_ledger
from untrackable.client.policy import Policy
from untrackable.client.sending import Address, Outcome
from untrackable.client.state import Ratchet, State, file_name, noted_look, path_of
from untrackable.encodings.days_of_use import DAY_SECONDS, DaysOfUse
from untrackable.encodings.record import Path as AnswerPath
from untrackable.errors import CampaignRefused, DeckEmpty, ExtraMissing, FadedAway, RoundPassed, StateError
from untrackable.extras import require
from untrackable.protocol.campaign import Campaign, Directory
from untrackable.randomizers.randomness import system

GRACE = 30.0
"""A report counts as late if its sending time passed more than this many seconds ago."""
LONGEST = 3600.0
"""A late report is sent after a random delay of at most this many seconds."""
MARGIN = 20
"""Reports stay away from both ends of a round by this part of it, because clocks may be wrong."""
_FARTHEST = 1 << 24
"""The most rounds in a row that a client may miss. Making the keys of all of them takes seconds."""
_PATIENCE = sending.TIMEOUT + 30.0
"""How many seconds to wait for a report that is being sent."""


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
            if held is None:
                return None
            account = ledger.accounts[self._id]
            if self._may_send(account, held, now):
                return now
            round = max(last_begun(self.campaign, now), account.through + 1)
            while self._open(account, held, round):
                ratchet = held.ratchet.at(round)
                if not self._missed(ratchet, now):
                    return self._moment(ratchet)
                round += 1
            return None

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
            if self._id not in ledger.accounts:
                raise StateError("no answer to this campaign has been given yet")
            return None if held is None else self._prepared(ledger, held, now, tried=False)

    def send(
        self,
        server: str,
        *,
        post: sending.Post = sending.post,
        look: sending.Look = sending.look,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Outcome:
        """Send this round's report if it is due. Retries are short and from the same network only.

        With turns, nothing at all happens in all rounds but one.

        If the campaign relies on a crowd, the report goes through a relay of the stored policy, whatever `post` is,
        and not at all without one. If it cannot be sent within 30 seconds of its moment, the round is skipped.
        """
        address = Address.of(server, self._id)
        if self._in_crowd:
            with self.opened(self._now(None)) as (ledger, _):
                address, post = sending.through_relay(self.campaign, ledger.policy, address)
        # A proxy that cannot be used is an error before a report is made.
        address.reached_by()
        now = self._now(None)
        due = self.due(now)
        if due is None or due > now:
            return Outcome.NOTHING
        outcome, tried = sending.deliver(
            self._attempt, address, post=post, look=look, clock=self._clock, sleep=sleep
        )
        if tried is not None:
            self._sent(tried)
        return outcome

    def leave(self) -> None:
        """Leave the campaign. Nothing is sent once this returns. What was charged stays charged."""
        with self.folder.held(SENDING, _PATIENCE), opened_ledger(self.folder, self._now(None)) as ledger:
            if self._id in ledger.accounts:
                self._finish(ledger)

    @contextlib.contextmanager
    def opened(self, now: float) -> Iterator[tuple[Ledger, State | None]]:
        """Hold the folder and read the ledger and the state that it lists; a copied folder is settled first."""
        with opened_ledger(self.folder, now) as ledger:
            account, held = ledger.accounts.get(self._id), None
            if account is not None and not account.life:
                self._forget()  # The process may have been killed before it did.
            elif account is not None and self.campaign.turns and last_begun(self.campaign, now) > account.first:
                ledger = self._finish(ledger)  # The turn is over.
            elif account is not None:
                held = State.read(self.folder, self._id)
                if held is not None and (held.life != account.life or held.ratchet.round > account.through + 1):
                    raise StateError(
                        "the state of this campaign and the ledger are not of the same time: one of them was put "
                        "back, so it is not known what was spent since, and nothing is answered; put the later one "
                        "back; without it, this campaign is not answered any more"
                    )
            yield ledger, held

    def _finish(self, ledger: Ledger) -> Ledger:
        """Keep nothing but the ledger's account: the campaign was left, or its turn is over."""
        finished = ledger.joined(self.campaign)
        finished.write(self.folder)
        self._forget()
        return finished

    def _forget(self) -> None:
        """Remove the state, and one that was half-written when the process was killed."""
        self.folder.remove(f"{file_name(self._id)}.part", file_name(self._id))

    @contextlib.contextmanager
    def _attempt(self, tried: bytes | None) -> Iterator[bytes | None]:
        """An attempt to send. It yields the report, which the ledger then has as tried; or None.

        No other process can send meanwhile. Only the process that tried a report before has it, and may try it
        again until the client has left.
        """
        with self.folder.held(SENDING, _PATIENCE):
            now, body = self._now(None), None
            with self.opened(now) as (ledger, held):
                if held is not None and tried is None:
                    body = self._prepared(ledger, held, now, tried=True)
                elif held is not None and held.prepared == (self.campaign.round_at(now), tried):
                    body = tried
            yield body

    def _sent(self, body: bytes) -> None:
        """Note that a report was sent or given up, and is not sent again. After a turn, nothing else is kept."""
        with self.opened(self._now(None)) as (ledger, held):
            if held is not None and self.campaign.turns is not None:
                self._finish(ledger)
            elif held is not None and held.prepared is not None and held.prepared.body == body:
                replace(held, prepared=None).write(self.folder, self._id)

    def _prepared(self, ledger: Ledger, held: State, now: float, *, tried: bool) -> bytes | None:
        """The report of the present round: the one on disk, or a new one if it is time to send it.

        None once it was tried, which is noted here if it is `tried` now.
        """
        account, round = ledger.accounts[self._id], self.campaign.round_at(now)
        if round is None:
            return None
        made = held
        if not self._may_send(account, held, now):
            if not self._open(account, held, round):
                return None
            ratchet = held.ratchet.at(round)
            if now < self._moment(ratchet) or self._missed(ratchet, now):
                return None
            try:
                made = self._up_to_date(held, now).answered(self.campaign, round)
            except (DeckEmpty, FadedAway, RoundPassed):
                return None
        if (marked := ledger.marked(self._id, round, tried=tried)) != ledger:
            marked.write(self.folder)
        if made is not held:
            made.write(self.folder, self._id)
        return None if made.prepared is None else made.prepared.body

    def _up_to_date(self, held: State, now: float) -> State:
        """The state with the present value, if that is counted from days of use or made of the answers of looks."""
        encoding, value = self.campaign.encoding, held.value
        if isinstance(encoding, AnswerPath):
            value = path_of(held.looks, encoding, held.ratchet.round)
        elif held.days is not None:
            value = encoding.encode(held.days.answer(encoding, _day(now)))
        # Copies of a state make the same bytes: what is fresh about the answer follows from the key.
        fresh = held.ratchet.entropy(f"value/{value}")
        return held if value == held.value else held.holding(self.campaign, value, fresh)

    def _may_send(self, account: Account, held: State, now: float) -> bool:
        """Whether there is a report of the present round that was never tried."""
        prepared = held.prepared
        return prepared is not None and account.tried < prepared.round == self.campaign.round_at(now)

    def _open(self, account: Account, held: State, round: int) -> bool:
        """Whether a round may be answered: no round from it on was answered."""
        return account.through < round <= account.last and 0 <= round - held.ratchet.round <= _FARTHEST

    def _missed(self, ratchet: Ratchet, now: float) -> bool:
        """Whether a round is skipped because its moment has passed.

        That is so in a crowd only: late reports of several campaigns would leave together, as one person's.
        """
        return self._in_crowd and now > self._moment(ratchet) + GRACE

    def _moment(self, ratchet: Ratchet) -> float:
        """The time at which the report of a round is sent, uniform over its last look except for its ends."""
        share, length = ratchet.moment(), self.campaign.look_seconds
        begins = self.campaign.begins(ratchet.round + 1) - length
        return begins + length / MARGIN + share * length * (1 - 2 / MARGIN)

    def _now(self, given: float | None) -> float:
        now = self._clock() if given is None else given
        if not math.isfinite(now):
            raise ValueError(f"now must be finite, in seconds since 1970, got {now}")
        return now


class Client(Member):
    """Takes part in a campaign for a person, if the policy allows it.

    The campaign must be pinned, or listed in a pinned `directory`. `folder` holds the person's ledger, the states
    of all campaigns, and the policy that was used first. A policy that allows less replaces it. A policy that
    allows more is refused, unless `store_policy` stored it before.
    """

    def __init__(
        self,
        campaign: Campaign,
        directory: Directory | None,
        policy: Policy,
        *,
        folder: Path,
        clock: Clock = time.time,
    ) -> None:
        policy.check_published(campaign, directory)
        super().__init__(campaign, folder, clock=clock)
        self.policy = policy

    def answer(self, value: Any) -> None:
        """Set the person's value from now on. The first value joins the campaign, from the next round on.

        With turns, it draws in secret the one round that is answered. Once that is over, or the campaign was left,
        nothing is answered again. A campaign is joined once.

        If a campaign asks for paths, the value is a plain answer, and the last one of each look is kept for the
        report.

        A campaign is refused if its guarantee is not confirmed, or if all campaigns together exceed the policy.
        `PolicyRaised` if the policy allows more than the stored one.
        """
        self._hold(value, None)

    def _hold(self, value: Any, days: DaysOfUse | None) -> None:
        encoding, now = self.campaign.encoding, self._now(None)
        path = encoding if isinstance(encoding, AnswerPath) else None
        given = (path.of if path else encoding).encode(value)
        # Until there are other answers, a path is this one in every look.
        encoded = path.joined([given] * path.looks) if path else given
        with self.opened(now) as (ledger, held):
            changed, state = ledger.under(self.policy), held
            if self._id not in ledger.accounts:
                first = _checked_offer(changed, self.campaign, self.policy, now)
                state = State.new(self.campaign, encoded, first, system)
                listed = () if state is None else (state.ratchet.round, state.life)
                changed = changed.joined(self.campaign, *listed)
            elif held is not None and not path and encoded != held.value:
                state = held.holding(self.campaign, encoded, system)
            if state is not None:
                looks = noted_look(state.looks, self.campaign, given, now) if path else ()
                state = replace(state, days=days, looks=looks)
            # The ledger is written first, so that there is never a state that no ledger lists.
            if changed != ledger:
                changed.write(self.folder)
            if state is not None and state != held:
                state.write(self.folder, self._id)

    def used(self, *, newcomer: bool = True) -> None:
        """Note a use, and answer a ready question about days of use from now on.

        The days stay in the folder, 28 at most, until the turn is over or the campaign is left. A report has the
        answer of the day on which it is made, as `untrackable.encodings.days_of_use` defines it. At the first use,
        `newcomer` says whether it really is the first one; somebody who had used it before does not count for
        retention.
        """
        if self.campaign.encoding.values == 1:  # A campaign that only counts people has no days.
            self.answer(True)
            return
        if self.campaign.guarantee.values == "fixed":
            raise CampaignRefused("this campaign is about a value that never changes, and days of use do")
        now = self._now(None)
        with self.opened(now) as (_, held):
            before = None if held is None else held.days
        days = DaysOfUse.begun(_day(now), newcomer=newcomer) if before is None else before.used(_day(now))
        self._hold(days.answer(self.campaign.encoding, _day(now)), days)


class Offer(NamedTuple):
    """The ledger without an offered campaign, and with it; and why it would be refused.

    `joined` says that the person takes part already, or did. Then it is counted.
    """

    before: Ledger
    after: Ledger
    refusal: str | None = None
    joined: bool = False


def offer(folder: Path, campaign: Campaign, policy: Policy, *, clock: Clock = time.time) -> Offer:
    """What it would take to join a campaign now. Nothing is joined or written."""
    ledger, refusal = read_ledger(folder), None
    if campaign.id in ledger.accounts:
        return Offer(ledger, ledger, joined=True)
    try:
        _checked_offer(ledger, campaign, policy, clock())
    except CampaignRefused as reason:
        refusal = str(reason)
    return Offer(ledger, ledger.joined(campaign), refusal)


def _checked_offer(ledger: Ledger, campaign: Campaign, policy: Policy, now: float) -> int:
    """Refuse a campaign that the policy does not allow. The result is the first round that could be answered."""
    policy.check_relayed(campaign)
    policy.check_every_round(campaign)
    _check_sendable(campaign)
    if problems := client_problems(campaign):
        raise CampaignRefused(f"this campaign is refused: {'; '.join(problems)}")
    first = last_begun(campaign, now) + 1
    if first > last_round(campaign):
        raise CampaignRefused("this campaign is over: no later round is left")
    if campaign.first_round < ledger.settled:
        raise CampaignRefused(
            "this campaign began before the client's folder was restored or copied, or writing it was interrupted, "
            "so you may have answered it already: only campaigns that begin later are joined"
        )
    ledger.joined(campaign).check(policy, ledger)
    return first


def _check_sendable(campaign: Campaign) -> None:
    """Refuse a campaign whose reports could not be sealed here."""
    if campaign.gateway is not None:
        try:
            require("crowd")
        except ExtraMissing as missing:
            raise CampaignRefused(f"this campaign is refused: {missing}") from None


def _day(now: float) -> int:
    """The day in UTC, numbered from 1970."""
    return int(now // DAY_SECONDS)


def members(folder: Path, *, clock: Clock = time.time) -> list[Member]:
    """Every campaign in which the person of this folder has a report to send, now or later."""
    opened = Folder(folder)
    with opened.locked():
        ledger = Ledger.read(opened)
    # Of a state that was only half-written, the member removes what is left once the turn is over.
    living = [name for name in sorted(ledger.accounts) if any(opened.path.glob(f"{file_name(name)}*"))]
    return [Member(ledger.accounts[name].campaign, opened, clock=clock) for name in living]


class SendTimes:
    """The planned sending time of each campaign, for a process that keeps running. They are forgotten when it ends.

    Each round has its own sending time. If it passes while the machine is off, asleep or without a network, the
    client does not send at once: reports of all campaigns in one burst would reveal when the machine was switched
    on. Reports of campaigns that rely on a crowd are not sent late at all, because a burst would show that they are
    one person's.
    """

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._planned: dict[str, float] = {}

    def tend(self, member: Member, send: Callable[[], Outcome]) -> tuple[Outcome, float | None]:
        """Send if it is time. The result is the outcome, and when to call this again; None if no round is left."""
        outcome, name = Outcome.NOTHING, member.campaign.id
        if self._is_time(member):
            outcome = send()
            self._planned.pop(name, None)
            self._is_time(member)
        return outcome, self._planned.get(name)

    def _is_time(self, member: Member) -> bool:
        """Whether to send now. A sending time that was missed is replaced by a new random one soon."""
        now = self._clock()
        due, name = member.due(now), member.campaign.id
        if due is None:
            self._planned.pop(name, None)
            return False
        planned = self._planned.get(name, -math.inf)
        if due > now:
            planned = due
        elif not now - GRACE <= planned <= now + LONGEST:
            planned = now + self._delay(member, now)
        self._planned[name] = planned
        return planned <= now

    @staticmethod
    def _delay(member: Member, now: float) -> float:
        """A random delay, uniform over an hour, or less if the round ends soon.

        Then it is uniform over the rest of the round without its last part, or over half of the rest if the round
        is in its last part.
        """
        campaign = member.campaign
        left = campaign.round_seconds - (now - campaign.first_round) % campaign.round_seconds
        span = min(LONGEST, max(left - campaign.look_seconds / MARGIN, left / 2))
        return span * secrets.randbits(53) / (1 << 53)
