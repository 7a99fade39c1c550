"""The observer of the demonstration, who tries to match people at home with people at work.

Everybody is at home in half of the weeks, and at work in the others. The observer sees who answers in which week
from where, and reads the reports. Three kinds of clients are compared: RAPPOR and a deck, which answer every week,
and those of the demonstration, which answer once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from untrackable.auditing.attendance_attack import match_by_attendance
from untrackable.auditing.confidence import Matched, clopper_pearson
from untrackable.auditing.link_attack import match
from untrackable.demo.homepage_question import DELTA, EPS, HOMEPAGES, WEEKS
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.rappor import Rappor

LINKED = 1_000
"""The number of people in a crowd. All hold the same homepage, so that it does not tell them apart."""
_CROWDS = 1000
"""So many crowds with turns are matched, so that chance can be told from a little more than chance."""
_LEVEL = 0.95


class Followed(NamedTuple):
    """The share of people who are matched (sampled): by what their reports say, and by attendance alone.

    There is nothing to match by reports if nobody sends two.
    """

    name: str
    by_reports: Matched | None
    by_attendance: Matched


def follow(seed: int, show: Callable[[float], None]) -> tuple[Followed, ...]:
    """Match people who use RAPPOR every week, a deck every week, and people who answer once."""
    show(0.0)
    # RAPPOR has the parameters of its publication.
    rappor = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
    deck = Deck.for_budget(bits=(len(HOMEPAGES) - 1).bit_length(), slots=WEEKS, eps=EPS, delta=DELTA)
    attended = match_by_attendance(rounds=WEEKS, people=LINKED, seed=seed, level=_LEVEL).alone
    found = [Followed("RAPPOR, every week", _by_reports(rappor, HOMEPAGES[0], seed), attended)]
    show(0.5)
    found.append(Followed("Deck, every week", _by_reports(deck, 0, seed), attended))
    show(0.8)
    return *found, Followed("one turn", None, _by_turns(seed))


def _by_reports(mechanism: Mechanism, value: Any, seed: int) -> Matched:
    """Match people with this value by the reports of half of the weeks and those of the other half."""
    sent = mechanism.simulate(np.full(LINKED, value), rounds=WEEKS, seed=seed + 1)
    reports = np.concatenate([batch.reports for batch in sent])
    return match(mechanism.link_scores(reports[:, : WEEKS // 2], reports[:, WEEKS // 2 :], value))


def _by_turns(seed: int) -> Matched:
    """Match people who answer once, from where they happen to be in their week; all of them at once.

    Nobody is seen twice. So the best that an observer can do is to match everybody who was seen at home with
    somebody who was not seen at work, and the other way round.
    """
    rng, hits = np.random.default_rng([seed, 3]), 0
    for _ in range(_CROWDS):
        at_home = rng.random(LINKED) < 0.5
        for some in (np.flatnonzero(at_home), np.flatnonzero(~at_home)):
            hits += int((rng.permutation(some) == some).sum())
    people = _CROWDS * LINKED
    return Matched(people, hits / people, *clopper_pearson(hits, people, _LEVEL), _LEVEL)
