"""The rounds of one campaign that a person is charged for, and the laws of what they reveal."""

from collections.abc import Iterator
from dataclasses import dataclass

from untrackable.accounting import client_check, wiped_storage
from untrackable.accounting.attended_rounds import AttendedRounds
from untrackable.protocol.campaign import Campaign
from untrackable.theory.integer_losses import LossLaw, composed


@dataclass(frozen=True, slots=True)
class ChargedRounds:
    """What counts of one campaign: the rounds of each state, the reports, and the rounds that are attended.

    `reports` are the numbers of reports that are charged, each as an experiment of its own. None means without end.
    """

    campaign: Campaign
    states: tuple[int | None, ...]
    reports: tuple[int | None, ...]
    attended: AttendedRounds

    @staticmethod
    def of_all(campaign: Campaign) -> "ChargedRounds":
        """All rounds of a campaign, for a client that joins before the first one."""
        ends = [end for end in (campaign.rounds, campaign.mechanism.last_round) if end is not None]
        rounds = min(ends, default=None)
        states = tuple(wiped_storage.counted_rounds(campaign, [rounds]))
        at_home = campaign.attending.one_network and not campaign.guarantee.wipes
        away, home = (0, rounds) if at_home else (rounds, 0)
        return ChargedRounds(campaign, states, states, AttendedRounds(campaign.attending, away, home))

    def privacy(self, step: float) -> Iterator[LossLaw]:
        """The privacy losses of the campaign's reports."""
        for count in self.reports:
            yield client_check.privacy(self.campaign, count, step)

    def promised(self, step: float) -> Iterator[LossLaw]:
        """The same, or the declared guarantee, confirmed on joining, if the client's own bound is above that."""
        own, declared = list(self.privacy(step)), self.campaign.guarantee
        sharp = self.campaign.mechanism.integer_law_is_sharp
        yield from own if sharp else _at_most(own, declared.eps, declared.delta, step)

    def in_crowd(self, step: float) -> Iterator[LossLaw]:
        """The same for an observer who does not know who sent which report, if the campaign relies on a crowd."""
        for count in self.reports:
            yield client_check.crowd(self.campaign, count, step)

    def promised_in_crowd(self, step: float) -> Iterator[LossLaw]:
        """The same, or the declared guarantee, confirmed on joining, if the client's own bound is above that."""
        crowd = self.campaign.guarantee.crowd
        if crowd is None:
            yield from self.promised(step)
        else:
            yield from _at_most(list(self.in_crowd(step)), crowd.eps, crowd.delta, step)

    def tracking(self, step: float) -> Iterator[tuple[int | None, LossLaw]]:
        """For each state, its number of rounds, and how well they tell one person from two."""
        for rounds in self.states:
            yield rounds, client_check.tracking(self.campaign, rounds, step)


def _at_most(own: list[LossLaw], eps: float, delta: float, step: float) -> list[LossLaw]:
    """These laws if all of them together keep (eps, delta), or else the one that dominates all that do."""
    return own if composed(own, step).delta(eps) <= delta else [LossLaw.declared(eps, delta)]
