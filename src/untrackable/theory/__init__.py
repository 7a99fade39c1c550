"""Pure mathematics: how well can an observer tell world P from world Q?

A guarantee is asked of an `Experiment`, a `Mixture` or the `Worst` of several, made of `Factor`s.
Nothing here reads a file or a clock. Functions that sample take a random generator as an argument.
"""

from typing import TYPE_CHECKING

from untrackable.lazy_names import lazy_names

if TYPE_CHECKING:
    from untrackable.theory.experiment import Experiment as Experiment
    from untrackable.theory.experiment import Mixture as Mixture
    from untrackable.theory.experiment import Worst as Worst
    from untrackable.theory.factor import Factor as Factor

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Experiment": "experiment",
        "Factor": "factor",
        "Mixture": "experiment",
        "Worst": "experiment",
    },
)
