"""The client: it joins campaigns for a person, within their policy, and answers for them."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from untrackable.client import active_days, saved_state
from untrackable.client.ledger import DONE, Ledger, Life
from untrackable.client.membership import Clock, Member
from untrackable.client.offered_campaign import Offer, check_offer, offer
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
        nothing is answered again.

        A campaign is refused if its guarantee is not confirmed, or if all campaigns together exceed the policy.
        `PolicyRaised` if the policy allows more than the stored one.
        """
        encoded = self.campaign.encoding.encode(value)
        now = self._now(None)
        with self.opened(now) as (ledger, held):
            limited = ledger.under(self.policy)
            if self._joins(ledger, held):
                self._join(limited, held, encoded, now)
                return
            if limited != ledger:
                limited.write(self.folder)
            if held is not None and encoded != held.value:
                held.holding(self.campaign, encoded, system).write(self.folder, self._id)

    def _joins(self, ledger: Ledger, held: State | None) -> bool:
        """Whether an answer joins the campaign. A campaign with turns is joined once."""
        life = ledger.life(self._id)
        return life is None or (self.campaign.turns is None and (held is None or life.over))

    def offer(self) -> Offer:
        """What answering would take of the budget, without joining."""
        return offer(self.folder.path, self.campaign, self.policy, clock=self._clock)

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
        today = active_days.day_of(now)
        with self.opened(now) as (ledger, held):
            if held is None and not self._joins(ledger, held):
                return
            before = active_days.read(self.folder, self._id)
        days = DaysOfUse.begun(today, newcomer=newcomer) if before is None else before.used(today)
        # The answer comes first: if the campaign is refused, nothing is kept.
        self.answer(days.answer(self.campaign.encoding, today))
        with self.opened(now) as (_, held):
            if held is not None and days != before:
                active_days.write(self.folder, self._id, days)

    def _join(self, ledger: Ledger, before: State | None, value: int, now: float) -> None:
        life = check_offer(ledger, self.campaign, self.policy, now)
        state = State.new(self.campaign, value, life.first, system)
        if state is None:
            life = DONE
        elif self.campaign.turns is not None:
            life = Life(state.life, turn := state.ratchet.round, turn, turn - 1)
        else:
            life = replace(life, name=state.life)
        # The old state belongs to a life that is over.
        if before is not None:
            self.folder.remove(saved_state.name(self._id))
        # The ledger is written first, so that there is never a state that no ledger lists.
        ledger.joined(self.campaign, life).write(self.folder)
        if state is not None:
            state.write(self.folder, self._id)


def members(folder: Path, *, clock: Clock = time.time) -> list[Member]:
    """Every campaign in which the person of this folder has a report to send, now or later."""
    opened = Folder(folder)
    with opened.locked():
        ledger = Ledger.read(opened)
    living = [name for name in sorted(ledger.accounts) if (opened.path / saved_state.name(name)).exists()]
    return [Member(ledger.accounts[name].campaign, opened, clock=clock) for name in living]
