"""The policy that a person's folder holds: read it, or change it on purpose."""

import time
from dataclasses import replace
from pathlib import Path

from untrackable.client.membership import Clock, opened_ledger
from untrackable.client.offered_campaign import read_ledger
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder


def stored_policy(folder: Path) -> Policy | None:
    """The policy in a folder, without pins; None if no answer has been given there yet."""
    return read_ledger(folder).policy


def store_policy(folder: Path, policy: Policy, *, clock: Clock = time.time) -> Policy | None:
    """Store a policy that may also allow more than the one before, which is returned. Pins are not stored.

    It limits what is joined from now on. What was spent stays spent, and campaigns that were joined go on.
    """
    opened = Folder(folder)
    with opened_ledger(opened, clock()) as ledger:
        replace(ledger, policy=replace(policy, pins=())).write(opened)
        return ledger.policy
