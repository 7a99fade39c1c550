"""When each campaign's report goes out, for a process that stays.

Each round has a moment of its own. One that passed unseen, while the machine was off, asleep or without a network,
is not made up for at once: that would tell when it was switched on, of all campaigns in one burst.
"""

import math
import secrets
import time
from collections.abc import Callable

from untrackable.client.delivery import Outcome
from untrackable.client.member import MARGIN, Clock, Member

LONGEST = 3600.0
"""Seconds by which a report that is late already may be later."""
_GRACE = 30.0
"""Seconds after a moment that still count as having been there."""


class Moments:
    """What is planned, by campaign; forgotten when the process ends."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._planned: dict[str, float] = {}

    def tend(self, member: Member, send: Callable[[], Outcome]) -> tuple[Outcome, float | None]:
        """Send if the moment has come; how that went, and when to be here next, None if no round is left."""
        outcome, name = Outcome.NOTHING, member.campaign.id
        if self._come(member, self._clock()):
            outcome = send()
            self._planned.pop(name, None)
            self._come(member, self._clock())
        return outcome, self._planned.get(name)

    def _come(self, member: Member, now: float) -> bool:
        """Whether to send now; a moment that was missed is replaced by a fresh one, soon."""
        due, name = member.due(now), member.campaign.id
        if due is None:
            self._planned.pop(name, None)
            return False
        planned = self._planned.get(name, -math.inf)
        if due > now or member.tried(now):
            planned = due
        elif not now - _GRACE <= planned <= now + LONGEST:
            planned = now + self._delay(member, now)
        self._planned[name] = planned
        return planned <= now

    @staticmethod
    def _delay(member: Member, now: float) -> float:
        """Uniform over an hour, or what is left of the round but for its end; at its end, over half of that."""
        campaign = member.campaign
        left = campaign.round_seconds - (now - campaign.first_round) % campaign.round_seconds
        span = min(LONGEST, max(left - campaign.round_seconds / MARGIN, left / 2))
        return span * secrets.randbits(53) / (1 << 53)
