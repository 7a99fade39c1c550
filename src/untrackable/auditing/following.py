"""How well people are followed as reports grow, by a mechanism that can be linked and by one that cannot."""

from dataclasses import dataclass
from functools import lru_cache

from untrackable.auditing.confidence import Matched
from untrackable.auditing.different_values import zipf_weights
from untrackable.auditing.link_attack import link
from untrackable.brackets import Bracket
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.rappor import Rappor

PEOPLE = 300
"""The people whom the attack matches."""
_REPORTS = (1, 2, 4, 8)
_SLOTS, _CROWD = 2 * _REPORTS[-1], 100_000
"""The rounds and the people of the deck that a crowd hides with eps = 1."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The share of people whose right match came first (sampled), with this many reports from each of two places.

    `different` says whether people hold different values, of which the observer knows how common they are.
    `bound` is the most that anybody who matches each person alone can reach; None if it is not known.
    """

    name: str
    different: bool
    reports: int
    matched: Matched
    bound: Bracket | None


def followed_beside(name: str, mechanism: Mechanism, seed: int = 1) -> list[Followed]:
    """This mechanism beside one of the other kind: RAPPOR, which can be linked, or a deck that a crowd hides."""
    if mechanism.independent:
        return [*followed(name, mechanism, seed), *followed("RAPPOR, as published", Rappor.preset("paper"), seed)]
    return [*followed(name, mechanism, seed), *followed(f"deck, crowd of {_CROWD:,}", _deck(), seed)]


def followed(name: str, mechanism: Mechanism, seed: int = 1, *, rounds: int | None = None) -> list[Followed]:
    """The attack with several numbers of reports, on people with the same value and with different ones.

    There are at most as many reports as the mechanism has, or as there are `rounds`. The observer is granted which
    reports of one place are one person's. In a crowd, linking them is the first step.
    """
    ends = [end for end in (mechanism.last_round, rounds) if end is not None]
    found = []
    for reports in _REPORTS:
        if 2 * reports > min(ends, default=2 * reports):
            break
        same = link(mechanism, people=PEOPLE, reports=reports, seed=seed)
        apart = link(mechanism, people=PEOPLE, reports=reports, distribution=zipf_weights(mechanism), seed=seed)
        found += [
            Followed(name, different, reports, linked.top1, linked.top1_bound)
            for different, linked in ((False, same), (True, apart))
        ]
    return found


@lru_cache(maxsize=1)
def _deck() -> Deck:
    return Deck.for_crowd(bits=3, slots=_SLOTS, people=_CROWD, eps=1.0, delta=1e-6)
