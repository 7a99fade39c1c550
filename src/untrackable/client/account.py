"""The account of one campaign in a ledger: the lives of its states, and what they reveal."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from untrackable.accounting import client_check, wiped_storage
from untrackable.client.attended_rounds import AttendedRounds
from untrackable.client.life import Life, last_begun
from untrackable.protocol.campaign import Campaign
from untrackable.theory.integer_losses import LossLaw


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
    def counted(self) -> list[int | None]:
        """The number of rounds of each state that counts; None means without end."""
        lives = [life.rounds for life in self.lives]
        return [rounds for rounds in wiped_storage.counted_rounds(self.campaign, lives) if rounds != 0]

    def privacy(self, step: float) -> Iterator[LossLaw]:
        """The privacy losses of the campaign's reports."""
        for count in self._charged():
            if count != 0:
                yield client_check.privacy(self.campaign, count, step)

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

    def promised(self, step: float) -> Iterator[LossLaw]:
        """The same, or the declared guarantee, confirmed on joining, if the client's own bound is not sharp."""
        if self.campaign.mechanism.integer_law_is_sharp:
            yield from self.privacy(step)
        elif self.counted:
            yield LossLaw.declared(self.campaign.guarantee.eps, self.campaign.guarantee.delta)

    def in_crowd(self, step: float) -> Iterator[LossLaw]:
        """The same for an observer who does not know who sent which report, if the campaign relies on a crowd."""
        for count in self._charged():
            if count != 0:
                yield client_check.crowd(self.campaign, count, step)

    def promised_in_crowd(self, step: float) -> Iterator[LossLaw]:
        """The same, or the declared guarantees, confirmed on joining."""
        crowd = self.campaign.guarantee.crowd
        if crowd is None:
            yield from self.promised(step)
        elif self.counted:
            yield LossLaw.declared(crowd.eps, crowd.delta)

    def attended(self) -> AttendedRounds:
        """The rounds of all lives. No round is answered by two of them."""
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

    def tracking(self, step: float) -> Iterator[tuple[int | None, LossLaw]]:
        """For each state, its number of rounds, and how well they tell one person from two."""
        for rounds in self.counted:
            yield rounds, client_check.tracking(self.campaign, rounds, step)


@lru_cache(maxsize=64)
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def _sum(counts: list[int | None]) -> int | None:
    """The sum of all counts; None if one of them has no end."""
    return None if None in counts else sum(count or 0 for count in counts)
