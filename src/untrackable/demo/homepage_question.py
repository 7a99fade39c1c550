"""The question of the demonstration, "which of 1,024 homepages is yours?", and the people who answer it."""

import dataclasses
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable.accounting.crowd_deck import alone_eps, crowd_deck
from untrackable.encodings.categories import Categories
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway
from untrackable.theory.attendance import Attendance
from untrackable.theory.crowd_counts import MARGIN, counted_crowd

DAYS = 30
"""The demonstration collects this many rounds, one a day."""
ROUNDS = 365
"""The campaign has this many rounds."""
DELTA = 1e-6
CROWD_EPS = 1.0
"""The eps of the campaign in a crowd, for an observer who does not know who sent which report."""
PARTICIPATION = Fraction(1, 20)
"""The probability with which a client answers on a day."""
RECOGNITION = 0.002
"""The campaign declares that people are recognised among 1,000 with at most this probability."""
HOME_AND_WORK = (Fraction(4, 5), Fraction(1, 5))
"""The share of days on which the people whom the observer follows answer from home, and from work."""
EVERY_DAY = Attendance(Fraction(1), HOME_AND_WORK)
ONE_IN_TWENTY = Attendance(PARTICIPATION, HOME_AND_WORK)
_DAY = 86_400
_SHARE = 0.1
"""The deck for the crowd has the smallest error for a homepage of this share of people."""
_POPULAR = (
    "news", "mail", "search", "video", "social", "maps", "weather", "shop",
    "wiki", "games", "bank", "travel", "sport", "music", "school", "blank",
)  # fmt: skip
HOMEPAGES = (*_POPULAR, *(f"site {i}" for i in range(len(_POPULAR), 1024)))


def paper_rappor() -> Rappor:
    """RAPPOR with the paper's parameters, for comparison."""
    return Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)


def homepage_deck() -> Deck:
    """A deck for all rounds, as private for ever as RAPPOR."""
    bits, eps = (len(HOMEPAGES) - 1).bit_length(), paper_rappor().privacy().pure()
    return Deck.for_budget(bits=bits, slots=ROUNDS, eps=eps, delta=DELTA, participation=PARTICIPATION)


def homepage_campaign(now: float) -> Campaign:
    """A daily question with a deck as private as RAPPOR, answered by chance. Its first `DAYS` rounds are over."""
    encoding = Categories(names=HOMEPAGES, unknown="error")
    eps = paper_rappor().privacy().pure()
    return Campaign(
        question="Which homepage is yours?",
        encoding=encoding,
        mechanism=homepage_deck(),
        first_round=(int(now) // _DAY - DAYS) * _DAY,
        round_seconds=_DAY,
        rounds=ROUNDS,
        guarantee=Guarantee(
            eps=eps, delta=DELTA, values="any", gamma=0.0, tracking_delta=0.0, recognition=RECOGNITION
        ),
        attendance=Attendance(PARTICIPATION),
    )


def promised_crowd(people: int) -> CrowdGuarantee:
    """What the campaign in a crowd promises if so many people are asked. Few rounds have too few reports for it."""
    return CrowdGuarantee(eps=CROWD_EPS, delta=DELTA, people=max(2, counted_crowd(people, PARTICIPATION, MARGIN)))


def crowd_campaign(now: float, crowd: CrowdGuarantee, gateway: Gateway) -> Campaign:
    """The same question in a crowd: more private than before if nobody knows who sent which report."""
    alone = homepage_campaign(now)
    bits = (len(HOMEPAGES) - 1).bit_length()
    deck = crowd_deck(bits=bits, rounds=ROUNDS, crowd=crowd, participation=PARTICIPATION, share=_SHARE)
    eps = alone_eps(deck, rounds=ROUNDS, delta=DELTA, participation=PARTICIPATION)
    guarantee = dataclasses.replace(alone.guarantee, eps=eps, crowd=crowd)
    return dataclasses.replace(alone, mechanism=deck, guarantee=guarantee, gateway=gateway)


def recognised_if_kept(days: int) -> float:
    """How well the campaign's people are recognised among 1,000, if places are kept for so many days (upper)."""
    return Attendance(PARTICIPATION).with_persistence(days).recognition(ROUNDS).upper


def population(people: int, seed: int) -> NDArray[np.int64]:
    """The homepages of simulated people. A few homepages are popular."""
    weights = np.arange(1.0, len(HOMEPAGES) + 1) ** -1.3
    return np.random.default_rng([seed, 1, people]).choice(len(HOMEPAGES), size=people, p=weights / weights.sum())
