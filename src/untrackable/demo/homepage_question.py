"""The question of the demonstration, and who is asked: which of 1,024 homepages is yours?"""

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.categories import Categories
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.protocol.campaign import Campaign, Guarantee

DAYS = 3
"""Rounds that are collected, each a day."""
ROUNDS = 20
"""Rounds that the campaign has."""
DELTA = 1e-6
_DAY = 86_400
_POPULAR = (
    "news", "mail", "search", "video", "social", "maps", "weather", "shop",
    "wiki", "games", "bank", "travel", "sport", "music", "school", "blank",
)  # fmt: skip
HOMEPAGES = (*_POPULAR, *(f"site {i}" for i in range(len(_POPULAR), 1024)))


def rival() -> Rappor:
    """RAPPOR as the paper has it; what everything is compared with."""
    return Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)


def deck() -> Deck:
    """A deck for all rounds, as private for ever as RAPPOR."""
    bits = (len(HOMEPAGES) - 1).bit_length()
    return Deck.for_budget(bits=bits, slots=ROUNDS, eps=rival().privacy().pure(), delta=DELTA)


def campaign(now: float) -> Campaign:
    """The deck, asked daily; of its rounds, the first `DAYS` are over."""
    encoding = Categories(names=HOMEPAGES, unknown="error")
    eps = rival().privacy().pure()
    return Campaign(
        question="Which homepage is yours?",
        encoding=encoding,
        mechanism=deck(),
        first_round=(int(now) // _DAY - DAYS) * _DAY,
        round_seconds=_DAY,
        rounds=ROUNDS,
        guarantee=Guarantee(eps=eps, delta=DELTA, values="any", gamma=0.0, tracking_delta=0.0),
    )


def population(people: int, seed: int) -> NDArray[np.int64]:
    """Everyone has a homepage; a few are popular."""
    weights = np.arange(1.0, len(HOMEPAGES) + 1) ** -1.3
    return np.random.default_rng([seed, 1, people]).choice(len(HOMEPAGES), size=people, p=weights / weights.sum())
