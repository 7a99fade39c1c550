"""Pure mathematics: how well can an observer tell world P from world Q?

A guarantee is asked of an `Experiment`, a `Mixture` or the `Worst` of several, made of `Factor`s.
Nothing here reads a file or a clock. Functions that sample take a random generator as an argument.
"""

from untrackable.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
