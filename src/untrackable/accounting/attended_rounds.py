"""What the rounds that a person answers in all campaigns reveal together, by attendance and by reports.

Two campaigns with the same rounds are like one that is answered more often: a person who answers one of them at a
place was there. Two campaigns one after the other are like one with more rounds. Which of the two reveals more
depends on the participation, so the larger figure counts. It is a bound in these two cases. That it is one for all
campaigns that overlap in part is not proved.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from untrackable.theory.attendance import AMONG, Attendance
from untrackable.theory.integer_attendance import attendance_law, recognition_upper
from untrackable.theory.integer_losses import LossLaw, composed

_Places = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class AttendedRounds:
    """The rounds of one campaign: those answered from anywhere, and those from the remembered network only.

    None means without end.
    """

    attending: Attendance
    anywhere: int | None
    settled: int | None

    def stays(self, rounds: int) -> list[tuple[Fraction, int]]:
        """The probability of answering during a stay at a place, and the number of such stays; long ones first."""
        return replace(self.attending, one_network=False).blocks(rounds) if rounds else []


@dataclass(frozen=True, slots=True)
class _Stays:
    """Several stays in a row.

    During each, a person answers with probability `anywhere` at any place, and with `remembered` if the place is
    the remembered network.
    """

    anywhere: Fraction
    remembered: Fraction
    count: int

    def law(self, places: _Places, network: int) -> LossLaw:
        """The law of what they reveal if the remembered network is the one with this number among the places."""
        if not self.remembered:
            return LossLaw.nothing()
        smaller = self.anywhere / self.remembered
        shares = [share if i == network else share * smaller for i, share in enumerate(places)]
        return attendance_law([(self.remembered, self.count)], shares)


def recognition(campaigns: Sequence[AttendedRounds], reports: Iterable[LossLaw], step: float) -> float:
    """How often an observer of two places recognises a person among 1,000, by all campaigns together (upper).

    `reports` are the laws of what the reports of each campaign reveal. Rounds that are answered from the
    remembered network only reveal nothing by themselves. Beside others, they show when the person is at that
    network.
    """
    if all(campaign.anywhere == 0 for campaign in campaigns):
        return 1 / AMONG
    if any(campaign.anywhere is None for campaign in campaigns):
        return 1.0
    revealed = composed(reports, step)
    found = 0.0
    for places in {campaign.attending.places for campaign in campaigns}:
        for stays in {_at_the_same_times(campaigns), _one_after_the_other(campaigns)}:
            for network in _networks(stays, places):
                laws = (revealed, *(stay.law(places, network) for stay in stays))
                found = max(found, recognition_upper(composed(laws, step), AMONG))
    return found


def _at_the_same_times(campaigns: Sequence[AttendedRounds]) -> tuple[_Stays, ...]:
    """Stay i of all campaigns together, for each i up to the largest number of stays that are answered anywhere."""
    anywhere = [campaign.stays(campaign.anywhere or 0) for campaign in campaigns]
    longest = max(sum(count for _, count in stays) for stays in anywhere)
    settled = [
        # Rounds without end are at least as many as all others.
        [(campaign.stays(campaign.attending.persistence)[0][0], longest)]
        if campaign.settled is None
        else campaign.stays(campaign.settled)
        for campaign in campaigns
    ]
    found: list[_Stays] = []
    begin = 0
    for end in sorted(
        {end for stays in (*anywhere, *settled) for end in _ends(stays) if end < longest} | {longest}
    ):
        away = [1 - _chance_at(stays, begin) for stays in anywhere]
        home = [1 - _chance_at(stays, begin) for stays in settled]
        found.append(_Stays(1 - _product(away), 1 - _product([*away, *home]), end - begin))
        begin = end
    return tuple(found)


def _one_after_the_other(campaigns: Sequence[AttendedRounds]) -> tuple[_Stays, ...]:
    """The stays of one campaign after those of another. At the remembered network only, they reveal nothing."""
    counts: dict[Fraction, int] = {}
    for campaign in campaigns:
        for chance, count in campaign.stays(campaign.anywhere or 0):
            counts[chance] = counts.get(chance, 0) + count
    return tuple(_Stays(chance, chance, count) for chance, count in counts.items())


def _networks(stays: Sequence[_Stays], places: _Places) -> list[int]:
    """The numbers of the places that may be the remembered network. Of several with equal shares, one is tried."""
    if all(stay.anywhere == stay.remembered for stay in stays):
        return [0]
    return [places.index(share) for share in sorted(set(places))]


def _ends(stays: Sequence[tuple[Fraction, int]]) -> list[int]:
    """The numbers of stays after which the probability of answering changes."""
    return [sum(count for _, count in stays[: i + 1]) for i in range(len(stays))]


def _chance_at(stays: Sequence[tuple[Fraction, int]], number: int) -> Fraction:
    """The probability of answering in stay `number`, counted from 0; 0 if there are fewer stays."""
    for chance, count in stays:
        if number < count:
            return chance
        number -= count
    return Fraction(0)


def _product(chances: Iterable[Fraction]) -> Fraction:
    product = Fraction(1)
    for chance in chances:
        product *= chance
    return product
