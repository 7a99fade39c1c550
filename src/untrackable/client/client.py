"""The client: it joins campaigns for a person, within their policy, and makes and sends their reports.

A program that has a client starts fast: what is only needed to join, or to send, is loaded then.
"""

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable import checks
from untrackable.client import quiet, sender
from untrackable.client.folder import SENDING, Folder
from untrackable.client.ledger import Clock, Ledger, opened_ledger, read_ledger
from untrackable.client.policy import Policy
from untrackable.client.state import Ratchet, State, file_name, noted_look, path_of
from untrackable.errors import (
    CampaignRefused,
    DeckEmpty,
    ExtraMissing,
    FadedAway,
    FolderBusy,
    RoundPassed,
    StateError,
)
from untrackable.extras import require
from untrackable.protocol.wire import LAST_ROUND
from untrackable.randomizers.randomness import system, word

if TYPE_CHECKING:
    from untrackable.client import ballot, sending
    from untrackable.client.preview import Preview
    from untrackable.client.sending import Outcome, Reply
    from untrackable.encodings.days_of_use import DaysOfUse
    from untrackable.protocol.campaign import Campaign, Directory

GRACE = 30.0
"""A report counts as late if its sending time passed more than this many seconds ago."""
LONGEST = 3600.0
"""A late report is sent after a random delay of at most this many seconds."""
MARGIN = 20
"""Reports stay away from both ends of a round by this part of it, because clocks may be wrong."""
_FARTHEST = 1 << 24
"""The most rounds in a row that a client may miss. Making the keys of all of them takes seconds."""
_PATIENCE = 90.0
"""How many seconds leaving waits for a report that is being sent: longer than an attempt (`sending.TIMEOUT`)."""

Switch = bool | Callable[[], bool]


class Member:
    """A client's part in one campaign. Every method may be called at any time, by any process, in any order.

    Nothing is stored, looked up or sent while it is `off`: `enabled` is False or a function that says so, or the
    environment has DO_NOT_TRACK or CI. Leaving is always possible.
    """

    def __init__(
        self, campaign: "Campaign", folder: Path, *, clock: Clock = time.time, enabled: Switch = True
    ) -> None:
        self.campaign = campaign
        self._path, self._enabled = Path(folder), enabled
        self._clock = clock
        self._id = campaign.id

    @functools.cached_property
    def folder(self) -> Folder:
        """The folder, which is made when it is first needed."""
        return Folder(self._path)

    @property
    def off(self) -> bool:
        """Whether nothing may be stored, looked up or sent now."""
        return quiet.switched_off(self._enabled)

    def __repr__(self) -> str:
        return f"<client of campaign {self._id}>"

    def due(self, now: float | None = None) -> float | None:
        """The time from which the next report is sent; None if there is no further report.

        It is random in its round. If a relay holds reports, it is the start of the round, or of its last look.
        """
        if self.off:
            return None
        now = self._clock() if now is None else now
        with self.opened(now) as (ledger, held):
            return self._next(ledger, held, now)[1]

    def report(self, now: float | None = None) -> bytes | None:
        """The report of this round, on disk before it is returned; None if it is not due or already sent.

        Calling it again in the same round returns the same bytes. With turns, all rounds but one change nothing on
        disk. Reports of a campaign that relies on a crowd are not given out: `send` alone sends them, through a
        relay.
        """
        if self.campaign.gateway is not None:
            raise CampaignRefused("reports of a campaign that relies on a crowd are sent through a relay only")
        if self.off:
            return None
        now = self._clock() if now is None else now
        with self.opened(now) as (ledger, held):
            if self._id not in ledger.accounts:
                raise StateError("no answer to this campaign has been given yet")
            return self._prepared(ledger, held, now, tried=False)

    def send(
        self,
        server: str,
        *,
        timeout: float = 5.0,
        at_once: bool = False,
        post: "sending.Post | None" = None,
        look: "sending.Look | None" = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> "Outcome":
        """Send this round's report if it is due, within `timeout` seconds. Retries are from the same network only.

        With turns, one small file is read in all rounds but one, and nothing else happens. A report that could not
        leave this machine stays due in its round (`Outcome.LATER`). `at_once` looks at everything, whatever the
        small file says.

        If the campaign relies on a crowd, the report goes through a relay of the stored policy, whatever `post` is,
        and not at all without one. If it cannot be sent within 30 seconds of its moment, the round is skipped. If
        the relay holds reports, it can be sent at any time of the round, and later in it if it was not delivered.
        """
        from untrackable.client.sending import Address, Outcome

        timeout, address = checks.positive("timeout", timeout), Address.of(server, self._id)
        if self.off:
            return Outcome.OFF
        if self.idle() and not at_once:
            return Outcome.NOTHING
        with self.folder.patient(timeout):
            return self._sent_within(timeout, address, post, look, sleep)

    def _sent_within(
        self,
        timeout: float,
        address: "sending.Address",
        post: "sending.Post | None",
        look: "sending.Look | None",
        sleep: Callable[[float], None],
    ) -> "Outcome":
        from untrackable.client import sending
        from untrackable.client.sending import Outcome

        until = time.monotonic() + timeout
        posted = functools.partial(sending.post, until=until) if post is None else post
        if self.campaign.gateway is not None:
            with self.opened(self._clock()) as (ledger, _):
                relays = () if ledger.policy is None else ledger.policy.relays
            address, posted = sending.through_relay(self.campaign, relays, address, until=until)
        address.reached_by()  # A proxy that cannot be used is an error at once, and before a report is made.
        now = self._clock()
        due = self.due(now)
        if due is None or due > now:
            return Outcome.NOTHING
        looked = functools.partial(sending.look, until=until) if look is None else look
        outcome, tried = sending.deliver(
            self._attempt, address, post=posted, look=looked, clock=self._clock, sleep=sleep, window=timeout
        )
        if outcome in (Outcome.GIVEN_UP, Outcome.LATER):
            outcome = self._undelivered(outcome, tried)
        if tried is not None and outcome is not Outcome.LATER:
            self._sent(tried)
        return outcome

    def _undelivered(self, outcome: "Outcome", tried: bytes | None) -> "Outcome":
        """The outcome for a report that was not delivered: with a relay that holds, it may still be due."""
        from untrackable.client.sending import Outcome

        if self.campaign.gateway is None:
            return outcome
        if self.campaign.relay is None:
            return Outcome.GIVEN_UP  # The round is lost, because the report did not get through at its moment.
        now = self._clock()
        with self.opened(now) as (_, held):
            due = held is not None and held.prepared == (self.campaign.round_at(now), tried)
        return Outcome.LATER if due else Outcome.GIVEN_UP

    def send_later(self, server: str, *, timeout: float = 2.0) -> "Outcome":
        """Hand this round's report to a process of its own if it is due, and return at once.

        That tries for 20 seconds; if nothing has gone out by then, the next call in the round tries again. Where no
        process can be started, this sends by itself, for at most about `timeout` seconds.
        """
        from untrackable.client.sending import Address, Outcome

        Address.of(server, self._id)
        if self.off:
            return Outcome.OFF
        if self.idle():
            return Outcome.NOTHING
        job = {
            "answer": None,
            "campaign": self.campaign.to_bytes(),
            "folder": str(self._path.absolute()),
            "server": server,
        }
        if sender.hand_over(job, self._id, self._clock()):
            return Outcome.HANDED_OVER
        return self.send(server, timeout=timeout, at_once=True)

    @property
    def _in_crowd(self) -> bool:
        """Whether a round is lost if its report does not get through at its moment."""
        return self.campaign.gateway is not None and self.campaign.relay is None

    def leave(self) -> None:
        """Leave the campaign. Nothing is sent once this returns. What was charged stays charged."""
        with self.folder.held(SENDING, _PATIENCE), opened_ledger(self.folder, self._clock()) as ledger:
            if self._id in ledger.accounts:
                self._finish(ledger)

    @contextlib.contextmanager
    def opened(self, now: float) -> Iterator[tuple[Ledger, State | None]]:
        """Hold the folder and read the ledger and the state that it lists; a copied folder is settled first."""
        with opened_ledger(self.folder, now) as ledger:
            account, held = ledger.accounts.get(self._id), None
            self._forget_request(ledger)
            if account is not None and not account.life:
                self.folder.remove(file_name(self._id))  # The process may have been killed before it did.
            elif account is not None and self.campaign.turns and self.campaign.last_begun(now) > account.first:
                ledger = self._finish(ledger)  # The turn is over.
            elif account is not None:
                held = State.read(self.folder, self._id)
                if held is not None and (held.life != account.life or held.ratchet.round > account.through + 1):
                    raise StateError(
                        "the state of this campaign and the ledger are not of the same time: one of them was put "
                        "back, so it is not known what was spent since, and nothing is answered; put the later one "
                        "back; without it, this campaign is not answered any more"
                    )
            known = quiet.next_looks(self._path)
            yield ledger, held
            self._note_next(known, now)

    def _forget_request(self, ledger: Ledger) -> None:
        """Once a campaign is joined, forget the secret that connects the request for its ballot with the ballot."""
        if self.campaign.ballots is not None and self._id in ledger.accounts:
            from untrackable.client import ballot

            self.folder.remove(ballot.file_name(self._id))

    def rest(self, seconds: float) -> None:
        """Need no look at this campaign for so long, unless a ledger is written before."""
        with self.folder.locked():
            looks = {**quiet.next_looks(self._path), self._id: self._clock() + seconds}
            quiet.note(self._path, looks, quiet.place_of(self._path))

    def idle(self) -> bool:
        """Whether there is nothing to do now. This reads one small file."""
        return quiet.next_look(self._path, self._id) > self._clock()

    def _note_next(self, known: dict[str, float], now: float) -> None:
        """Note when this campaign needs the next look, beside what is known of the others."""
        when, before = self._next_look(now), known.get(self._id, -math.inf)
        if when <= now < before <= now + sender.SECONDS:
            when = before  # A sender was started for it.
        own = {} if when == -math.inf else {self._id: when}
        noted = {name: time for name, time in known.items() if name != self._id} | own
        if noted != quiet.next_looks(self._path):
            with contextlib.suppress(OSError):
                quiet.note(self._path, noted, quiet.place_of(self._path))

    def _next_look(self, now: float) -> float:
        """The time before which this campaign needs nothing; inf if it is over, and -inf if that is not known."""
        from untrackable.encodings.days_of_use import DAY_SECONDS

        ledger = Ledger.read(self.folder)
        account = ledger.accounts.get(self._id)
        if account is None or self.campaign.turns is None:
            return -math.inf
        if not account.life:
            return math.inf
        if (held := State.read(self.folder, self._id)) is None:
            return -math.inf
        due = self._next(ledger, held, now)[1]
        looks = [self.campaign.begins(account.first + 1) if due is None else due]
        if self.campaign.encoding.path is not None:  # Every look counts from the last one before the round.
            looks.append(self.campaign.begins(account.first) - self.campaign.look_seconds)
        if held.days is not None:
            looks.append((held.days.days[-1] + 1) * DAY_SECONDS)
        return float(min(looks))

    def _finish(self, ledger: Ledger) -> Ledger:
        """Keep nothing but the ledger's account: the campaign was left, or its turn is over."""
        finished = ledger.joined(self.campaign)
        finished.write(self.folder)
        self.folder.remove(file_name(self._id))
        return finished

    def _attempt(
        self, tried: bytes | None, post: "Callable[[bytes, Callable[[], bool]], Reply]"
    ) -> "tuple[bytes | None, Reply]":
        """An attempt to send: the report, or None; and the reply.

        No other process can send meanwhile, and if one does, this one has nothing to send. The ledger notes that
        the report is tried right before it goes out; in a crowd, when it is made. Only the process that noted it
        may try it again, until the client has left. If a relay holds reports, every process may try it again: the
        relay and the collector each see too little to link two attempts.
        """
        from untrackable.client.sending import Reply

        with contextlib.suppress(FolderBusy), self.folder.held(SENDING, 0.0):
            now, body = self._clock(), tried
            with self.opened(now) as (ledger, held):
                if tried is None:
                    body = self._prepared(ledger, held, now, tried=self._in_crowd)
                elif held is None or held.prepared != (self.campaign.round_at(now), tried):
                    body = None
            if body is not None:
                return body, post(body, functools.partial(self._noted, body))
        return None, Reply(None)

    def _noted(self, body: bytes) -> bool:
        """Note that a report is tried; False if another process did, or it is not this round's any more."""
        now = self._clock()
        if self.campaign.gateway is not None:
            return True  # It is noted already, or every process may try it.
        with self.opened(now) as (ledger, held):
            return self._prepared(ledger, held, now, tried=True) == body

    def _sent(self, body: bytes) -> None:
        """Note that a report was sent or given up, and is not sent again. After a turn, nothing else is kept."""
        with self.opened(self._clock()) as (ledger, held):
            if held is not None and self.campaign.turns is not None:
                self._finish(ledger)
            elif held is not None and held.prepared is not None and held.prepared.body == body:
                replace(held, prepared=None).write(self.folder, self._id)

    def _next(self, ledger: Ledger, held: State | None, now: float) -> tuple[int, float | None]:
        """The next round with a report, and when to send it: now, if it was made and never tried; or (0, None).

        No round is answered up to one that was answered or tried. In a crowd, a round whose moment has passed is
        skipped, because late reports of several campaigns would leave together, as one person's. If a relay holds
        reports, all of a round leave together.
        """
        if held is None:
            return 0, None
        account, begun = ledger.accounts[self._id], self.campaign.last_begun(now)
        if held.prepared is not None and account.tried < held.prepared.round == begun:
            return begun, now
        first, last = max(begun, account.through + 1), min(account.last, held.ratchet.round + _FARTHEST)
        for round in range(first, last + 1):
            moment = self._moment(held.ratchet.at(round))
            if self.campaign.gateway is None or self.campaign.relay is not None or now <= moment + GRACE:
                return round, moment
        return 0, None

    def _prepared(self, ledger: Ledger, held: State | None, now: float, *, tried: bool) -> bytes | None:
        """The report of the present round: the one on disk, or a new one if it is time to send it.

        None once it was tried, which is noted here if it is `tried` now.
        """
        round, due = self._next(ledger, held, now)
        if held is None or due is None or due > now:
            return None
        made = held
        if held.prepared is None or held.prepared.round != round:
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
        if encoding.path is not None:
            value = path_of(held.looks, encoding.path, held.ratchet.round)
        elif held.days is not None:
            value = encoding.encode(held.days.answer(encoding, _day(now)))
        # Copies of a state make the same bytes: what is fresh about the answer follows from the key.
        return held.holding(self.campaign, value, held.ratchet.entropy(f"value/{value}"))

    def _moment(self, ratchet: Ratchet) -> float:
        """The time from which the report of a round is sent: uniform over its last look except for its ends.

        If a relay holds reports, it is the start of that look, so that every later visit may send it.
        """
        share, length = ratchet.moment(), self.campaign.look_seconds
        begins = self.campaign.begins(ratchet.round + 1) - length
        if self.campaign.relay is not None:
            return begins
        return begins + length / MARGIN + share * length * (1 - 2 / MARGIN)


class Client(Member):
    """Takes part in a campaign for a person, if the policy allows it.

    The campaign must be pinned, or listed in a pinned `directory`. `folder`, or else the usual one of the system,
    holds the person's ledger, the states of all campaigns, and the policy that was used first. A policy that
    allows less replaces it. One that allows more is refused, unless `store_policy` stored it before.

    A campaign with ballots is joined once the issuer has given one for the `enrolment`: an invitation code, a token
    of an account, or nothing if anybody may have one. `ask` sends the request.
    """

    def __init__(
        self,
        campaign: "Campaign",
        directory: "Directory | None",
        policy: Policy,
        *,
        folder: Path | None = None,
        clock: Clock = time.time,
        enabled: Switch = True,
        enrolment: str = "",
        ask: "ballot.Ask | None" = None,
    ) -> None:
        policy.check_published(campaign, directory)
        if (place := folder or quiet.default_folder()) is None:
            raise StateError("there is no home folder, so nothing can be kept: give a folder")
        super().__init__(campaign, Path(place), clock=clock, enabled=enabled)
        self.policy = replace(policy, pins=())
        self._enrolment, self._ask = enrolment, ask

    def answer(self, value: Any) -> None:
        """Set the person's value from now on. The first value joins the campaign, from the next round on.

        With turns, it draws in secret the one round that is answered. Once that is over, or the campaign was left,
        nothing is answered again. A campaign is joined once.

        If a campaign asks for paths, the value is a plain answer, and the last one of each look is kept for the
        report.

        A campaign is refused if its guarantee is not confirmed, or if all campaigns together exceed the policy.
        `PolicyRaised` if the policy allows more than the stored one. If the campaign has ballots, joining it asks
        the issuer for one, and `BallotError` says that it gives none now.
        """
        self._hold(value, None)

    def _ballot(self) -> bytes:
        """A ballot to join the campaign with; empty if it has none, or was joined before."""
        ballots, now = self.campaign.ballots, self._clock()
        if ballots is None:
            return b""
        from untrackable.client import ballot, sending

        with self.opened(now) as (ledger, _):
            if self._id in ledger.accounts:
                return b""
            _checked_offer(ledger.under(self.policy), self.campaign, self.policy, now)
            secret = ballot.secret(self.folder, self._id, system)
        # The folder is not held meanwhile. Another process would ask for the same ballot.
        return ballot.fetched(ballots, self._id, secret, self._enrolment, self._ask or sending.ask)

    def _hold(self, value: Any, days: "DaysOfUse | None") -> None:
        if self.off:
            return
        encoding, now = self.campaign.encoding, self._clock()
        path = encoding.path
        given = self.campaign.answers.encode(value)
        # Until there are other answers, a path is this one in every look.
        encoded = path.joined([given] * path.looks) if path else given
        with_ballot = self._ballot()
        with self.opened(now) as (ledger, held):
            changed, state = ledger.under(self.policy), held
            if self._id not in ledger.accounts:
                first = _checked_offer(changed, self.campaign, self.policy, now)
                state = State.new(self.campaign, encoded, first, system, ballot=with_ballot)
                listed = () if state is None else (state.ratchet.round, state.life)
                changed = changed.joined(self.campaign, *listed)
            elif held is not None and not path:
                state = held.holding(self.campaign, encoded, system)
            if state is not None:
                looks = noted_look(state.looks, self.campaign, given, now) if path else ()
                state = replace(state, days=days, looks=looks)
            # The ledger is written first, so that there is never a state that no ledger lists.
            if changed != ledger:
                changed.write(self.folder)
            if state is not None and state != held:
                state.write(self.folder, self._id)
            self._forget_request(changed)

    def used(self, *, newcomer: bool = True) -> None:
        """Note a use, and answer a ready question about days of use from now on.

        The days stay in the folder, 28 at most, until the turn is over or the campaign is left. A report has the
        answer of the day on which it is made, as `untrackable.encodings.days_of_use` defines it. At the first use,
        `newcomer` says whether it really is the first one; somebody who had used it before does not count for
        retention.
        """
        if self.off:
            return
        from untrackable.encodings.days_of_use import DaysOfUse

        if self.campaign.encoding.values == 1:  # A campaign that only counts people has no days.
            self.answer(True)
            return
        if self.campaign.guarantee.values == "fixed":
            raise CampaignRefused("this campaign is about a value that never changes, and days of use do")
        now = self._clock()
        with self.opened(now) as (_, held):
            before = None if held is None else held.days
        days = DaysOfUse.begun(_day(now), newcomer=newcomer) if before is None else before.used(_day(now))
        self._hold(days.answer(self.campaign.encoding, _day(now)), days)

    def preview(self, value: Any) -> "Preview":
        """What would be sent for an answer: an example of the report, what it tells, what is left of the budget.

        Nothing on disk is read but the ledger, and nothing is changed.
        """
        return preview(self._path, self.campaign, value, self.policy, clock=self._clock)


class Offer(NamedTuple):
    """The ledger without an offered campaign, and with it; and why it would be refused.

    `joined` says that the person takes part already, or did. Then it is counted.
    """

    before: Ledger
    after: Ledger
    refusal: str | None = None
    joined: bool = False


def offer(folder: Path, campaign: "Campaign", policy: Policy, *, clock: Clock = time.time) -> Offer:
    """What it would take to join a campaign now. Nothing is joined or written."""
    ledger, refusal = read_ledger(folder), None
    if campaign.id in ledger.accounts:
        return Offer(ledger, ledger, joined=True)
    try:
        _checked_offer(ledger, campaign, policy, clock())
    except CampaignRefused as reason:
        refusal = str(reason)
    return Offer(ledger, ledger.joined(campaign), refusal)


def preview(
    folder: Path, campaign: "Campaign", value: Any, policy: Policy, *, clock: Clock = time.time
) -> "Preview":
    """What would be sent for an answer, to a campaign that need not be joined. Nothing is changed."""
    from untrackable.client.preview import Preview, example

    offered = offer(folder, campaign, policy, clock=clock)
    left = max(0.0, policy.eps - offered.after.spent.eps)
    return Preview(campaign, example(campaign, value, system), left, offered.joined, offered.refusal)


def _checked_offer(ledger: Ledger, campaign: "Campaign", policy: Policy, now: float) -> int:
    """Refuse a campaign that the policy does not allow. The result is the first round that could be answered."""
    from untrackable.accounting.check import client_problems

    policy.check_sending(campaign)
    _check_sendable(campaign)
    if problems := client_problems(campaign):
        raise CampaignRefused(f"this campaign is refused: {'; '.join(problems)}")
    first = campaign.last_begun(now) + 1
    if first > (campaign.last_round or LAST_ROUND):
        raise CampaignRefused("this campaign is over: no later round is left")
    if campaign.ballots is not None and now >= campaign.ballots.expires:
        raise CampaignRefused("no more ballots are issued for this campaign, so nobody joins it any more")
    if campaign.first_round < ledger.settled:
        raise CampaignRefused(
            "this campaign began before the client's folder was restored or copied, or writing it was interrupted, "
            "so you may have answered it already: only campaigns that begin later are joined"
        )
    ledger.joined(campaign).check(policy, ledger)
    return first


def _check_sendable(campaign: "Campaign") -> None:
    """Refuse a campaign whose reports could not be sealed here."""
    if campaign.gateway is not None:
        try:
            require("crowd")
        except ExtraMissing as missing:
            raise CampaignRefused(f"this campaign is refused: {missing}") from None


def _day(now: float) -> int:
    """The day in UTC, numbered from 1970."""
    from untrackable.encodings.days_of_use import DAY_SECONDS

    return int(now // DAY_SECONDS)


def members(folder: Path, *, clock: Clock = time.time) -> list[Member]:
    """Every campaign in which the person of this folder has a report to send, now or later."""
    accounts = sorted(read_ledger(folder).accounts.items())
    # Of a state that was only half-written, the member removes what is left once the turn is over.
    living = [account for name, account in accounts if any(folder.glob(f"{file_name(name)}*"))]
    return [Member(account.campaign, folder, clock=clock) for account in living]


class SendTimes:
    """The planned sending time of each campaign, for a process that keeps running. They are forgotten when it ends.

    Each round has its own sending time. If it passes while the machine is off, asleep or without a network, the
    client does not send at once: reports of all campaigns in one burst would reveal when the machine was switched
    on. Reports of campaigns that rely on a crowd are not sent late at all, because a burst would show that they are
    one person's. If a relay holds reports, they are sent a random time after the start of their round, so that not
    everybody sends at once, or at once if the round has begun.
    """

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._planned: dict[str, float] = {}

    def tend(self, member: Member, send: "Callable[[], Outcome]") -> "tuple[Outcome, float | None]":
        """Send if it is time. The result is the outcome, and when to call this again; None if no round is left."""
        from untrackable.client.sending import Outcome

        outcome, planned = Outcome.NOTHING, self._plan(member)
        if planned is not None and planned <= self._clock():
            outcome = send()
            del self._planned[member.campaign.id]
            if outcome in (Outcome.OFFLINE, Outcome.LATER):
                self._planned[member.campaign.id] = self._clock() + self._delay(member, self._clock())
            planned = self._plan(member)
        return outcome, planned

    def _plan(self, member: Member) -> float | None:
        """The sending time, if any is left. One that was missed is replaced by a new random one soon."""
        now, name, held = self._clock(), member.campaign.id, member.campaign.relay is not None
        due, planned = member.due(now), self._planned.pop(name, -math.inf)
        if due is None:
            return None
        if due > now:
            if not (held and due <= planned <= due + LONGEST):
                planned = due + (self._delay(member, due) if held else 0.0)
        elif not now - GRACE <= planned <= now + LONGEST:
            planned = now if held else now + self._delay(member, now)
        self._planned[name] = planned
        return planned

    @staticmethod
    def _delay(member: Member, now: float) -> float:
        """A random delay, uniform over an hour, or less if the round ends soon.

        Then it is uniform over the rest of the round without its last part, or over half of the rest if the round
        is in its last part.
        """
        campaign = member.campaign
        left = campaign.begins(campaign.last_begun(now) + 1) - now
        span = min(LONGEST, max(left - campaign.look_seconds / MARGIN, left / 2))
        return span * word(system) / (1 << 64)
