"""The account of one campaign in a ledger: the lives of its states, and what is charged for them."""

from dataclasses import dataclass
from functools import lru_cache

from untrackable.accounting import wiped_storage
from untrackable.accounting.attended_rounds import AttendedRounds
from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.client.life import Life, last_begun
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Account:
    """A campaign's document and the lives of its states. The present one is last."""

    document: bytes
    lives: tuple[Life, ...]

    @property
    def campaign(self) -> Campaign:
        """The campaign of the document."""
        return _campaign(self.document)

    @property
    def charged(self) -> ChargedRounds:
        """What is charged for all lives. No round is answered by two of them."""
        reports = tuple(count for count in self._charged() if count != 0)
        return ChargedRounds(self.campaign, tuple(self.counted), reports, self._attended())

    @property
    def counted(self) -> list[int | None]:
        """The number of rounds of each state that counts; None means without end."""
        lives = [life.rounds for life in self.lives]
        return [rounds for rounds in wiped_storage.counted_rounds(self.campaign, lives) if rounds != 0]

    def _charged(self) -> list[int | None]:
        """The numbers of reports that are charged, each as an experiment of its own; None means without end."""
        charged_by = self.campaign.mechanism.charged_by
        if charged_by == "states" or self.campaign.guarantee.wipes:
            return self.counted
        if any(life.rounds is None for life in self.lives):
            return [None]
        if charged_by == "last round":
            return [max((life.last or 0 for life in self.lives if life.rounds), default=0)]
        return [sum(life.rounds or 0 for life in self.lives)]

    def _attended(self) -> AttendedRounds:
        if self.campaign.guarantee.wipes:
            return AttendedRounds(self.campaign.attending, self.campaign.rounds, 0)
        anywhere = [life.rounds_anywhere for life in self.lives]
        settled = [life.rounds_settled for life in self.lives]
        return AttendedRounds(self.campaign.attending, _sum(anywhere), _sum(settled))

    def ended(self, now: float) -> tuple[Life, ...]:
        """The lives without any further round.

        If rounds are answered by chance, those that have begun stay charged, whatever their coins said. If every
        round is answered, those after the last answered one were missed, and are given back.
        """
        begun = 0 if self.campaign.participation == 1 else last_begun(self.campaign, now)
        return (*(life.ended(0) for life in self.lives[:-1]), *(life.ended(begun) for life in self.lives[-1:]))

    def needs_network(self, now: float) -> bool:
        """Whether a round to come is answered from the remembered network only."""
        life, begun = self.lives[-1], last_begun(self.campaign, now)
        return life.settled is not None and not life.over and (life.last is None or begun <= life.last)


@lru_cache(maxsize=64)
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def _sum(counts: list[int | None]) -> int | None:
    """The sum of all counts; None if one of them has no end."""
    return None if None in counts else sum(count or 0 for count in counts)
