"""The policy that a person's folder holds: read it, compare it with what is spent, or change it on purpose."""

import time
from dataclasses import replace
from pathlib import Path

from untrackable.accounting.joint_account import JointAccount
from untrackable.accounting.spent_budget import Left, Spent
from untrackable.client.ledger import Ledger
from untrackable.client.membership import Clock, opened_ledger
from untrackable.client.offered_campaign import left_of, spent_of
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder


def stored_policy(folder: Path) -> Policy | None:
    """The policy in a folder, without pins; None if no answer has been given there yet."""
    if not folder.exists():
        return None
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened).policy


def spent_budget(folder: Path) -> Spent | None:
    """What all campaigns of a folder spend, at the deltas of its policy (upper); None if it has no policy yet."""
    found = _joint_and_policy(folder)
    return None if found is None else spent_of(*found)


def left_budget(folder: Path) -> Left | None:
    """What is left in a folder for a further campaign (lower); None if it has no policy yet."""
    found = _joint_and_policy(folder)
    return None if found is None else left_of(*found)


def _joint_and_policy(folder: Path) -> tuple[JointAccount, Policy] | None:
    if not folder.exists():
        return None
    opened = Folder(folder)
    with opened.locked():
        ledger = Ledger.read(opened)
    return None if ledger.policy is None else (ledger.joint, ledger.policy)


def store_policy(folder: Path, policy: Policy, *, clock: Clock = time.time) -> Policy | None:
    """Store a policy that may also allow more than the one before, which is returned. Pins are not stored.

    It limits what is joined from now on. What was spent stays spent, and campaigns that were joined go on.
    """
    opened = Folder(folder)
    with opened_ledger(opened, clock()) as ledger:
        replace(ledger, policy=replace(policy, pins=())).write(opened)
        return ledger.policy
