"""What a sender does: it notes the answer, if there is one, and sends the report if it is due."""

import contextlib
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from untrackable.client.client import Client, Member
from untrackable.client.ledger import Clock, read_ledger
from untrackable.client.policy import Policy
from untrackable.client.sender import LIMIT, SECONDS, let_go
from untrackable.client.sending import Outcome
from untrackable.errors import CampaignRefused, ValueChangeRefused
from untrackable.protocol.campaign import Campaign

DAY = 86_400.0
"""A campaign that was refused is looked at again after this many seconds."""


def main(job: dict[str, Any]) -> NoReturn:
    """The process of a sender: it lets go of everything that it inherited, does its job and ends."""
    guard = threading.Timer(LIMIT, os._exit, (1,))
    guard.daemon = True
    guard.start()
    let_go()
    with contextlib.suppress(Exception):
        done(job, timeout=SECONDS)
    os._exit(0)


def done(job: dict[str, Any], *, timeout: float, clock: Clock = time.time) -> Outcome:
    """Do a job in this process."""
    asked, folder, member = Campaign.from_bytes(job["campaign"]), Path(job["folder"]), None
    if (given := job["answer"]) is not None:
        limits = job["policy"]
        policy = (read_ledger(folder).policy or Policy()) if limits is None else Policy.from_limits(limits)
        member = client = Client(asked, None, replace(policy, pins=(asked.id,)), folder=folder, clock=clock)
        try:
            with contextlib.suppress(ValueChangeRefused):  # The first value stays.
                client.answer(given[0]) if given else client.used(newcomer=job["newcomer"])
        except CampaignRefused:
            client.rest(DAY)
            raise
    return (member or Member(asked, folder, clock=clock)).send(job["server"], timeout=timeout, at_once=True)
