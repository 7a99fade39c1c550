"""A campaign before it is joined: whether the policy allows it, and what it would take of the budget."""

import time
from dataclasses import dataclass
from pathlib import Path

from untrackable.accounting import client_check
from untrackable.accounting.joint_account import JointAccount
from untrackable.accounting.spent_budget import Left, Spent
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.client.membership import Clock
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.errors import CampaignRefused
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Offer:
    """What all campaigns together spend without an offered one, and with it; and why it would be refused.

    `left` is what would be left with it. `joined` says that the person takes part already. Then it is counted.
    """

    spent: Spent
    spent_with_it: Spent
    left: Left
    refusal: str | None = None
    joined: bool = False


def accepted_life(ledger: Ledger, campaign: Campaign, policy: Policy, now: float, *, one_network: bool) -> Life:
    """The life with which a client would join. `CampaignRefused` if the policy does not allow it."""
    policy.check_relayed(campaign)
    problems = client_check.recompute(campaign).problems
    if problems:
        raise CampaignRefused(f"this campaign is refused: {'; '.join(problems)}")
    life = ledger.next_life(campaign, now, one_network=one_network)
    ledger.joined(campaign, life).check(policy, ledger)
    return life


def offer(
    folder: Path, campaign: Campaign, policy: Policy, *, clock: Clock = time.time, one_network: bool = False
) -> Offer:
    """What it would take to join a campaign now. Nothing is joined or written."""
    ledger, now = _ledger(folder), clock()
    spent, one_network = spent_of(ledger.joint, policy), one_network or campaign.attending.one_network
    life = ledger.life(campaign.id)
    if life is not None and not life.over:
        return Offer(spent, spent, left_of(ledger.joint, policy), joined=True)
    refusal = None
    try:
        accepted_life(ledger, campaign, policy, now, one_network=one_network)
    except CampaignRefused as reason:
        refusal = str(reason)
    try:
        joint = ledger.joined(campaign, ledger.next_life(campaign, now, one_network=one_network)).joint
    except CampaignRefused:  # It is over.
        joint = ledger.joint
    return Offer(spent, spent_of(joint, policy), left_of(joint, policy), refusal)


def spent_of(joint: JointAccount, policy: Policy) -> Spent:
    """What is spent at the deltas of the policy (upper)."""
    return Spent(
        joint.spent_eps(policy.eps, policy.delta),
        joint.spent_crowd_eps(policy.crowd_eps, policy.crowd_delta),
        joint.recognition(),
    )


def left_of(joint: JointAccount, policy: Policy) -> Left:
    """What is left within the policy (lower)."""
    return Left(
        joint.left_eps(policy.eps, policy.delta), joint.left_crowd_eps(policy.crowd_eps, policy.crowd_delta)
    )


def _ledger(folder: Path) -> Ledger:
    """The ledger of a folder; an empty one if there is no folder yet, which is not made."""
    if not folder.exists():
        return Ledger()
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened)
