"""The times at which reports are sent, for a process that keeps running.

Each round has its own sending time. If it passes while the machine is off, asleep or without a network, the client
does not send at once: reports of all campaigns in one burst would reveal when the machine was switched on. Reports
of campaigns that rely on a crowd are not sent late at all, because a burst would show that they are one person's.
"""

import math
import secrets
import time
from collections.abc import Callable

from untrackable.client.delivery import Outcome
from untrackable.client.membership import GRACE, MARGIN, Clock, Member

LONGEST = 3600.0
"""A late report is sent after a random delay of at most this many seconds."""


class SendTimes:
    """The planned sending time of each campaign, which is forgotten when the process ends."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._planned: dict[str, float] = {}

    def tend(self, member: Member, send: Callable[[], Outcome]) -> tuple[Outcome, float | None]:
        """Send if it is time. The result is the outcome, and when to call this again; None if no round is left."""
        outcome, name = Outcome.NOTHING, member.campaign.id
        if self._come(member, self._clock()):
            outcome = send()
            self._planned.pop(name, None)
            self._come(member, self._clock())
        return outcome, self._planned.get(name)

    def _come(self, member: Member, now: float) -> bool:
        """Whether to send now. A sending time that was missed is replaced by a new random one soon."""
        due, name = member.due(now), member.campaign.id
        if due is None:
            self._planned.pop(name, None)
            return False
        planned = self._planned.get(name, -math.inf)
        if due > now or member.tried(now):
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
        span = min(LONGEST, max(left - campaign.round_seconds / MARGIN, left / 2))
        return span * secrets.randbits(53) / (1 << 53)
