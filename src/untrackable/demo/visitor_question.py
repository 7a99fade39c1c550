"""The question that visitors of the demonstration answer themselves, in short rounds so that they see it happen."""

from untrackable.demo.homepage_question import DELTA, HOMEPAGES
from untrackable.encodings.categories import Categories
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.attendance import Attendance

ROUND_SECONDS = 15
ROUNDS = 480
"""Two hours."""
_EPS = 2.0
_SHOWN = 16
"""Visitors choose among this many homepages."""


def visitor_campaign(now: float) -> Campaign:
    """A question every few seconds, from now on. Every round is answered, so that there is something to see."""
    encoding = Categories(names=HOMEPAGES[:_SHOWN])
    return Campaign(
        question="Your own answer: which homepage is yours?",
        encoding=encoding,
        mechanism=Deck.for_budget(bits=encoding.bits, slots=ROUNDS, eps=_EPS, delta=DELTA),
        first_round=int(now),
        round_seconds=ROUND_SECONDS,
        rounds=ROUNDS,
        guarantee=Guarantee(
            eps=_EPS, delta=DELTA, values="any", gamma=0.0, tracking_delta=0.0, recognition=1.0, wipes="any"
        ),
        attendance=Attendance(),
    )
