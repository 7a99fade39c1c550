"""A campaign before it is joined: whether the policy allows it, and what it would take of the budget."""

import time
from dataclasses import dataclass
from pathlib import Path

from untrackable.accounting.client_check import problems
from untrackable.client.ledger import DONE, Ledger, Life, Spent
from untrackable.client.membership import Clock
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.errors import CampaignRefused
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Offer:
    """What all campaigns together spend without an offered one, and with it (upper); and why it would be refused.

    `turns` and `turns_with_it` are the numbers of turns ever taken. `joined` says that the person takes part
    already, or did. Then it is counted.
    """

    spent: Spent
    spent_with_it: Spent
    turns: int
    turns_with_it: int
    refusal: str | None = None
    joined: bool = False


def check_offer(ledger: Ledger, campaign: Campaign, policy: Policy, now: float) -> Life:
    """Refuse a campaign that the policy does not allow. The result is a life with which it could be joined.

    It is one of every round. Which round a turn is, is drawn only when a client joins.
    """
    policy.check_relayed(campaign)
    policy.check_every_round(campaign)
    if found := problems(campaign):
        raise CampaignRefused(f"this campaign is refused: {'; '.join(found)}")
    life = ledger.next_life(campaign, now)
    ledger.joined(campaign, life).check(policy, ledger)
    return life


def offer(folder: Path, campaign: Campaign, policy: Policy, *, clock: Clock = time.time) -> Offer:
    """What it would take to join a campaign now. Nothing is joined or written."""
    ledger = read_ledger(folder)
    life = ledger.life(campaign.id)
    if life is not None and (campaign.turns is not None or not life.over):
        return Offer(ledger.spent, ledger.spent, ledger.turns, ledger.turns, joined=True)
    refusal = None
    try:
        check_offer(ledger, campaign, policy, clock())
    except CampaignRefused as reason:
        refusal = str(reason)
    living = DONE if campaign.turns is not None else Life("", 1, None, 0)
    joined = ledger.joined(campaign, living)
    return Offer(ledger.spent, joined.spent, ledger.turns, joined.turns, refusal)


def read_ledger(folder: Path) -> Ledger:
    """The ledger of a folder; an empty one if there is no folder yet, which is not made."""
    if not folder.exists():
        return Ledger()
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened)
