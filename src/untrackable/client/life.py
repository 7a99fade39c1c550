"""The lives of a client in a campaign, one for each state: which rounds each may answer, and from where."""

from dataclasses import dataclass, replace
from typing import Any

from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Life:
    """One state's time in a campaign: it may answer rounds first … last.

    It has answered no round after `through`. It has not tried to send a report of any round after `tried`. Rounds
    after `settled` are answered from the remembered network only; None if all are answered from anywhere.
    """

    name: str
    first: int
    last: int | None
    through: int
    tried: int = 0
    settled: int | None = None

    @property
    def rounds(self) -> int | None:
        """The number of rounds that it may answer in all; None if there is no last one."""
        return None if self.last is None else max(0, self.last - self.first + 1)

    @property
    def over(self) -> bool:
        """Whether it answers no further round."""
        return self.last is not None and self.through >= self.last

    @property
    def rounds_anywhere(self) -> int | None:
        """The number of rounds that it may answer from anywhere; None if there is no last one."""
        if self.settled is None:
            return self.rounds
        last = self.settled if self.last is None else min(self.last, self.settled)
        return max(0, last - self.first + 1)

    @property
    def rounds_settled(self) -> int | None:
        """The number of rounds that it may answer from the remembered network only; None if they have no end."""
        if self.settled is None:
            return 0
        return None if self.rounds is None else self.rounds - (self.rounds_anywhere or 0)

    def ended(self, begun: int) -> "Life":
        """The same life, but without any further round: it ends with the last round that was answered or begun."""
        through = max(self.through, begun)
        last = through if self.last is None else min(self.last, through)
        return replace(self, last=last, through=max(self.through, last))

    def to_json(self) -> list[Any]:
        """The life as it is on disk."""
        settled = [] if self.settled is None else [self.settled]
        return [self.name, self.first, self.last, self.through, self.tried, *settled]

    @staticmethod
    def from_json(content: list[Any]) -> "Life":
        """The life of this JSON. Those of earlier versions do not say `settled`."""
        name, first, last, through, tried, *settled = content
        return Life(str(name), int(first), last, int(through), int(tried), *settled)


def last_begun(campaign: Campaign, now: float) -> int:
    """The last round that has begun; 0 if none has."""
    return max(0, int((now - campaign.first_round) // campaign.round_seconds) + 1)
