"""What a person reveals by all campaigns together: how much, to whom, and how well reports are linked (upper)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from untrackable.accounting import client_check
from untrackable.accounting.attended_rounds import recognition
from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.accounting.spent_budget import left_eps, spent_eps
from untrackable.theory.attendance import AMONG
from untrackable.theory.integer_losses import STEPS, LossLaw, composed, tracking_step

_Laws = Callable[[ChargedRounds, float], Iterable[LossLaw]]


@dataclass(frozen=True, slots=True)
class JointAccount:
    """All rounds that a person is charged for, one entry for each campaign."""

    charges: tuple[ChargedRounds, ...]

    def delta(self, eps: float) -> float:
        """Delta of all campaigns together at this eps, if somebody knows which reports are whose (upper)."""
        return self.delta_by(eps, *self._alone)

    def crowd_delta(self, eps: float) -> float:
        """The same for an observer who does not know who sent which (upper).

        A campaign that does not rely on a crowd counts with what it reveals to somebody who knows its reports.
        """
        return self.delta_by(eps, *self._in_crowd)

    def spent_eps(self, allowed: float, delta: float) -> float:
        """The eps that all campaigns together spend at this delta (upper)."""
        return spent_eps(self.delta, allowed, delta)

    def spent_crowd_eps(self, allowed: float, delta: float) -> float:
        """The same for an observer who does not know who sent which."""
        return spent_eps(self.crowd_delta, allowed, delta)

    def left_eps(self, eps: float, delta: float) -> float:
        """The eps of a further campaign with half of delta that fits beside all others for certain (lower)."""
        return self._left(eps, delta, self._alone[-1])

    def left_crowd_eps(self, eps: float, delta: float) -> float:
        """The same for an observer who does not know who sent which."""
        return self._left(eps, delta, self._in_crowd[-1])

    @property
    def _alone(self) -> tuple[_Laws, ...]:
        """The accounts of all campaigns, what is promised last. That is the same if all bounds are sharp."""
        sharp = all(charged.campaign.mechanism.integer_law_is_sharp for charged in self.charges)
        return (ChargedRounds.privacy,) if sharp else (ChargedRounds.privacy, ChargedRounds.promised)

    @property
    def _in_crowd(self) -> tuple[_Laws, ...]:
        """The same in a crowd, which is no other if no campaign relies on one."""
        if all(charged.campaign.guarantee.crowd is None for charged in self.charges):
            return self._alone
        return ChargedRounds.in_crowd, ChargedRounds.promised_in_crowd

    def _left(self, eps: float, delta: float, promised: _Laws) -> float:
        """A declared guarantee of (eps, delta) bounds everything that has it.

        In the account of what is `promised`, the further campaign will count with a law that has it, whether or not
        the client's own bound is sharp. In an account of the client's own bounds it may count with more.
        """
        step = _step(eps)
        spent = self._composed(step, promised)

        def fits(further: float) -> bool:
            law = LossLaw.declared(further, delta / 2)
            return composed((spent, law), step).delta(eps) <= delta

        return left_eps(fits, eps)

    def delta_by(self, eps: float, *laws_of: _Laws) -> float:
        """Delta of all campaigns together by the best of these accounts of them (upper)."""
        return min(self._composed(_step(eps), laws).delta(eps) for laws in laws_of)

    def _composed(self, step: float, laws: _Laws) -> LossLaw:
        return composed((law for charged in self.charges for law in laws(charged, step)), step)

    def recognition(self) -> float:
        """How often an observer of two places recognises the person among 1,000, by all campaigns (upper).

        It counts what attendance and reports reveal together, for all rounds that are charged and before any coin
        is tossed. The number of reports that were really sent plays no part.
        """
        charges = [charged for charged in self.charges if charged.states]
        step = client_check.ATTENDANCE_STEP
        reports = [
            client_check.attended_reports(charged.campaign, rounds, step)
            for charged in charges
            for rounds in charged.states
        ]
        found = recognition([charged.attended for charged in charges], (law for law, _ in reports), step)
        return found if found == 1 / AMONG else min(1.0, found + sum(rare for _, rare in reports))

    def tracking_delta(self, gamma: float) -> float:
        """Delta at gamma of one person against two, for all states; sharper if only one can be tracked (upper)."""
        step = tracking_step(gamma)
        laws = [(charged.campaign, *state) for charged in self.charges for state in charged.tracking(step)]
        total = composed((law for *_, law in laws), step).delta(gamma)
        trackable = [(campaign, rounds) for campaign, rounds, law in laws if law.delta(0.0) > 0]
        if len(trackable) == 1:
            return min(total, client_check.tracking_delta(*trackable[0], gamma))
        return total


def _step(eps: float) -> float:
    """The step of laws that are composed to find delta at eps."""
    return max(eps, 1e-3) / STEPS
