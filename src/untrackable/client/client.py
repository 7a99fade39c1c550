"""The client: it joins campaigns for a person, within their policy, and answers for them."""

import time
from pathlib import Path
from typing import Any

from untrackable.accounting import client_check
from untrackable.client import active_days, saved_state
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life, last_begun
from untrackable.client.membership import Clock, Member
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.client.saved_state import State
from untrackable.encodings.days_of_use import DaysOfUse
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.entropy import system
from untrackable.protocol.campaign import Campaign, Directory


class Client(Member):
    """Takes part in a campaign for a person, if the policy allows it.

    The campaign must be pinned, or listed in a pinned `directory`. `folder` holds the person's ledger, the states
    of all campaigns, and the policy that was used first. A policy that allows less replaces it. A policy that
    allows more is refused, unless `store_policy` stored it before.

    With `one_network`, reports are sent from one network only: the first one that is used, which the folder
    remembers for all such campaigns. Elsewhere, rounds are let go. Then attendance reveals nothing, because there
    is no second stream of reports. Campaigns may ask for that too. It lasts until the campaign is left.
    """

    def __init__(
        self,
        campaign: Campaign,
        directory: Directory | None,
        policy: Policy,
        *,
        folder: Path,
        clock: Clock = time.time,
        one_network: bool = False,
    ) -> None:
        policy.check_published(campaign, directory)
        super().__init__(campaign, folder, clock=clock)
        self.policy = policy
        self.one_network = one_network or campaign.attending.one_network

    def answer(self, value: Any) -> None:
        """Set the person's value from now on. The first value joins the campaign, from the next round on.

        A campaign is refused if its guarantee is not confirmed, or if all campaigns together exceed the policy.
        `PolicyRaised` if the policy allows more than the stored one.
        """
        encoded = self.campaign.encoding.encode(value)
        now = self._now(None)
        with self.opened(now) as (ledger, held):
            life, limited = ledger.life(self._id), ledger.under(self.policy)
            if held is None or life is None or life.over:
                self._join(limited, held, encoded, now)
                return
            if self.one_network:
                limited = limited.settled(self._id, max(life.through, last_begun(self.campaign, now)))
            if limited != ledger:
                limited.write(self.folder)
            if encoded != held.value:
                held.holding(self.campaign, encoded, system).write(self.folder, self._id)

    def used(self, *, newcomer: bool = True) -> None:
        """Note a use, and answer a ready question about days of use from now on.

        The days stay in the folder, 28 at most, until the campaign is left. Each report has the answer of the day
        on which it is made, as `untrackable.encodings.days_of_use` defines it. At the first use, `newcomer` says
        whether it really is the first one; somebody who had used it before does not count for retention.
        """
        if self.campaign.guarantee.values == "fixed":
            raise CampaignRefused("this campaign is about a value that never changes, and days of use do")
        now = self._now(None)
        today = active_days.day_of(now)
        with self.opened(now):
            before = active_days.read(self.folder, self._id)
        days = DaysOfUse.begun(today, newcomer=newcomer) if before is None else before.used(today)
        # The answer comes first: if the campaign is refused, nothing is kept.
        self.answer(days.answer(self.campaign.encoding, today))
        if days != before:
            with self.opened(now):
                active_days.write(self.folder, self._id, days)

    def _join(self, ledger: Ledger, before: State | None, value: int, now: float) -> None:
        self.policy.check_relayed(self.campaign)
        recomputed = client_check.recompute(self.campaign)
        if recomputed.problems:
            raise CampaignRefused(f"this campaign is refused: {'; '.join(recomputed.problems)}")
        first = self._first(ledger, now)
        last = self._last()
        if last is not None and first > last:
            raise CampaignRefused("this campaign is over: no later round is left")
        state = State.new(self.campaign, value, first, system)
        settled = first - 1 if self.one_network else None
        joined = ledger.joined(self.campaign, Life(state.life, first, last, first - 1, settled=settled))
        joined.check(self.policy, ledger)
        # The old state belongs to a life that is over.
        if before is not None:
            self.folder.remove(saved_state.name(self._id))
        # The ledger is written first, so that there is never a state that no ledger lists.
        joined.write(self.folder)
        state.write(self.folder, self._id)

    def _first(self, ledger: Ledger, now: float) -> int:
        """The first round that a new state may answer. It begins later, and comes after all answered rounds."""
        account = ledger.accounts.get(self._id)
        through = max((life.through for life in account.lives), default=0) if account else 0
        return max(last_begun(self.campaign, now), through) + 1

    def _last(self) -> int | None:
        """The last round of the campaign or of the mechanism, whichever is earlier; None if neither has one."""
        ends = (self.campaign.rounds, self.campaign.mechanism.last_round)
        return min((end for end in ends if end is not None), default=None)


def members(folder: Path, *, clock: Clock = time.time) -> list[Member]:
    """Every campaign that the person of this folder takes part in."""
    opened = Folder(folder)
    with opened.locked():
        ledger = Ledger.read(opened)
    living = [name for name in sorted(ledger.accounts) if (opened.path / saved_state.name(name)).exists()]
    return [Member(ledger.accounts[name].campaign, opened, clock=clock) for name in living]
