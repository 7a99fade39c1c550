"""Private telemetry that cannot be used to follow people.

Mechanisms: `Deck`, `Fading`, `Bitwise`, `InnerProduct`, `Rappor`, `Unary`, `Stored`, `Dealt`, `Fresh`, `Memoized`,
over the local mechanisms `RandomizedResponse` and `NoisyInnerProduct`. Their guarantees are asked of an
`Experiment`, a `Mixture` or a `Worst`, made of `Factor`s, and answered by `Bracket`s. Bounds and theorems are in
`untrackable.theory`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from untrackable.brackets import Bracket
    from untrackable.mechanisms.bitwise import Bitwise
    from untrackable.mechanisms.dealt import Dealt
    from untrackable.mechanisms.fading import Fading
    from untrackable.mechanisms.fresh import Fresh
    from untrackable.mechanisms.inner_product import Deck, InnerProduct
    from untrackable.mechanisms.noisy_inner_product import NoisyInnerProduct
    from untrackable.mechanisms.randomized_response import RandomizedResponse
    from untrackable.mechanisms.rappor import Rappor
    from untrackable.mechanisms.stored import Memoized, Stored
    from untrackable.mechanisms.unary import Unary
    from untrackable.theory.experiment import Experiment, Mixture, Worst
    from untrackable.theory.factor import Factor

__version__ = "0.1.0"

_HOMES = {
    "Bitwise": "mechanisms.bitwise",
    "Bracket": "brackets",
    "Dealt": "mechanisms.dealt",
    "Deck": "mechanisms.inner_product",
    "Experiment": "theory.experiment",
    "Factor": "theory.factor",
    "Fading": "mechanisms.fading",
    "Fresh": "mechanisms.fresh",
    "InnerProduct": "mechanisms.inner_product",
    "Memoized": "mechanisms.stored",
    "Mixture": "theory.experiment",
    "NoisyInnerProduct": "mechanisms.noisy_inner_product",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Rappor": "mechanisms.rappor",
    "Stored": "mechanisms.stored",
    "Unary": "mechanisms.unary",
    "Worst": "theory.experiment",
}

__all__ = [
    "Bitwise",
    "Bracket",
    "Dealt",
    "Deck",
    "Experiment",
    "Factor",
    "Fading",
    "Fresh",
    "InnerProduct",
    "Memoized",
    "Mixture",
    "NoisyInnerProduct",
    "RandomizedResponse",
    "Rappor",
    "Stored",
    "Unary",
    "Worst",
]


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    """Load a name where it is first used, so that `import untrackable` stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'untrackable' has no attribute {name!r}")
    return getattr(importlib.import_module(f"untrackable.{_HOMES[name]}"), name)
