"""The question that visitors of the demonstration answer themselves, in short rounds so that they see it happen."""

from untrackable.demo.homepage_question import EPS, HOMEPAGES, report
from untrackable.encodings.categories import Categories
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

ROUND_SECONDS, ROUNDS = 10, 12
"""Two minutes in all."""


def visitor_campaign(now: float) -> Campaign:
    """A question with a dozen short rounds, from now on. Each visitor answers in one of them."""
    return Campaign(
        question="Your own answer: which homepage is yours?",
        encoding=Categories(names=HOMEPAGES, unknown="error"),
        mechanism=report(),
        first_round=int(now),
        round_seconds=ROUND_SECONDS,
        rounds=ROUNDS,
        guarantee=Guarantee(eps=EPS),
        turns=Turns(rounds=ROUNDS),
    )
