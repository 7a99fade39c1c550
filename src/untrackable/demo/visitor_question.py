"""The question that visitors of the demonstration answer themselves, in short rounds so that they see it happen."""

from untrackable.demo.homepage_question import HOMEPAGES
from untrackable.encodings.categories import Categories
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

ROUND_SECONDS = 10
ROUNDS = 6
_AHEAD = 2
"""The campaign begins this many rounds later: a browser joins once it has remembered an earlier round."""
_EPS = 2.0
_WIPES = 1
"""Browsers delete what pages store, so that a person may answer once more."""
_SHOWN = 16
"""Visitors choose among this many homepages."""


def visitor_campaign(now: float) -> Campaign:
    """A question that everybody answers once within a minute, which begins soon."""
    encoding = Categories(names=HOMEPAGES[:_SHOWN])
    return Campaign(
        question="Your own answer: which homepage is yours?",
        encoding=encoding,
        mechanism=Fresh(NoisyInnerProduct(bits=encoding.bits, eps=_EPS)),
        first_round=int(now) + _AHEAD * ROUND_SECONDS,
        round_seconds=ROUND_SECONDS,
        rounds=ROUNDS,
        turns=Turns(rounds=ROUNDS, wipes=_WIPES),
        guarantee=Guarantee(eps=(_WIPES + 1) * _EPS),
    )
