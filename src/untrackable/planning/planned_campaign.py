"""The campaign that a plan recommends: the encoding of its question, and the guarantee that it can declare."""

import dataclasses

from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import LARGEST_COUNT, IntegerRange
from untrackable.mechanisms.attended_tracking import integer_recognition
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.mechanisms.tracking_delta import tracking_delta_beyond_engine
from untrackable.planning.crowd_view import in_crowd
from untrackable.planning.goals import FOREVER, LARGEST_EPS, Goals
from untrackable.planning.participation import recognised
from untrackable.planning.rounding import rounded_up
from untrackable.planning.separate_campaigns import SeparateCampaigns
from untrackable.protocol.campaign import Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.protocol.crowd_declaration import CrowdGuarantee
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.integer_losses import STEPS, LossLaw

_TRIES, _COARSER = 20, 1.002
"""How often, and by which factor, a declared eps is raised until clients can confirm it."""
_CROWD_MARGIN = 1.01
"""The factor by which the declared eps in a crowd is larger, so that a client can confirm it with coarser sums."""
_MUCH = 1.1
"""The factor by which whole numbers may exceed the engine, or what is declared what is spent."""


def draft(goals: Goals, mechanism: Mechanism, salt: bytes) -> CampaignDraft:
    """The beginning of a campaign with this mechanism; discovered strings are hashed with `salt`.

    It has no encoding where the goals only say how wide values are.
    """
    gamma = goals.untrackable[0] if goals.untrackable else 0.0
    tracking_delta = _tracking_delta(goals, mechanism, gamma)
    return CampaignDraft(
        encoding=chosen_encoding(goals, salt),
        mechanism=mechanism,
        rounds=None if goals.rounds == FOREVER else goals.rounds,
        guarantee=Guarantee(
            eps=_declared_eps(goals, mechanism),
            delta=goals.delta,
            values=goals.secret,
            gamma=gamma,
            tracking_delta=tracking_delta,
            recognition=_recognition(goals, mechanism, gamma, tracking_delta),
            crowd=_crowd(goals),
        ),
        attendance=goals.attendance,
    )


def separate_drafts(goals: Goals, found: SeparateCampaigns) -> dict[str, CampaignDraft]:
    """The beginning of a campaign for each table, by its name. Each declares what its own reports reveal."""
    if goals.encoding is None:
        raise TypeError("goals must have an encoding of several answers at once")
    drafts = {}
    parts = goals.encoding.alone()
    for (name, encoding), deck in zip(parts, found.decks([part.asked is None for _, part in parts]), strict=True):
        own = goals.replace(encoding=encoding, participation=found.participation, reports=None, error=None)
        hidden = in_crowd(deck, own).eps
        own = own.replace(eps=min(_alone_eps(own, deck), LARGEST_EPS))
        if goals.crowd_eps is not None and hidden is not None:
            own = own.replace(crowd_eps=rounded_up(hidden.upper * _CROWD_MARGIN, 3))
        drafts[name] = draft(own, deck, b"")
    return drafts


def _crowd(goals: Goals) -> CrowdGuarantee | None:
    """What is declared about the crowd, if the campaign relies on it."""
    if goals.crowd_eps is None:
        return None
    return CrowdGuarantee(eps=goals.crowd_eps, delta=goals.crowd_delta, people=goals.enrolled)


def _declared_eps(goals: Goals, mechanism: Mechanism) -> float:
    """The goals' eps. In a crowd that is a limit, and less is declared if the crowd asks for quieter reports."""
    limit = goals.eps or LARGEST_EPS
    if goals.crowd_eps is None or _privacy(goals, mechanism).delta(limit / _MUCH).upper > goals.delta:
        return limit
    return min(limit, _alone_eps(goals, mechanism))


def _alone_eps(goals: Goals, mechanism: Mechanism) -> float:
    """What the reports of a campaign spend alone, rounded up to what clients can confirm, in whole numbers."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    privacy = _privacy(goals, mechanism)
    declared = rounded_up(privacy.gamma(goals.delta).upper, 3)
    for _ in range(_TRIES):
        law = mechanism.integer_privacy(
            rounds, values=goals.secret, step=declared / STEPS, participation=goals.answered
        )
        if law is None or law.delta(declared) <= goals.delta:
            break
        declared = rounded_up(declared * _COARSER, 3)
    return declared


def _privacy(goals: Goals, mechanism: Mechanism) -> Pair:
    """What all reports reveal to somebody who knows whose they are."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    return mechanism.privacy(reports=rounds, values=goals.secret, participation=goals.answered)


def _recognition(goals: Goals, mechanism: Mechanism, gamma: float, tracking_delta: float) -> float:
    """By reports and attendance together; rounded up to what clients can confirm, in whole numbers and no engine.

    Where they would confirm much less than the engine does, it is what the engine confirms.
    """
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    values = goals.size if goals.changes else 1
    found = recognised(mechanism, goals).recognition.upper

    def law_of(reports: int, step: float) -> LossLaw:
        law = mechanism.integer_tracking(reports, values=values, step=step)
        return LossLaw.declared(gamma, tracking_delta) if law is None else law

    confirmed = integer_recognition(mechanism, goals.attendance, rounds, law_of)
    return min(1.0, rounded_up(max(found, confirmed if confirmed <= _MUCH * found else 0.0)))


def _tracking_delta(goals: Goals, mechanism: Mechanism, gamma: float) -> float:
    """Of all rounds together, whatever the goals' measure and observer; rounded up, so that it holds anywhere."""
    reports = max(2, goals.rounds) if isinstance(goals.rounds, int) else None
    values = goals.size if goals.changes else 1
    try:
        found = mechanism.tracking_upper(reports or LAST_ROUND, values=values).delta(gamma).upper
    except ValueError:  # There are too many reports for the engine.
        found = tracking_delta_beyond_engine(mechanism, reports, values=values).upper
    return min(1.0, rounded_up(found))


def chosen_encoding(goals: Goals, salt: bytes) -> Encoding | None:
    """The encoding that was given, or else the plainest one that has so many values."""
    if goals.encoding is not None:
        return goals.encoding
    if goals.discovered is not None:
        return dataclasses.replace(goals.discovered, salt=salt)
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None
