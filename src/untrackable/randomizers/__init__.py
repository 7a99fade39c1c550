"""Randomizers: a client's noisy report of a value, and the most that it reveals, with the standard library alone.

Campaigns with turns send a `Fresh` report of one of these: `RandomizedResponse`, `NoisyInnerProduct`,
`SubsetSelection`, `OneBitMean`, `Present`, `Divided`, and `Views` and `Levelled`, which are `ViewReports`. The
classes of the same names in `untrackable.mechanisms` are built on them, and add simulations, sums, estimates and
theory. Every mechanism is a `Randomizer`; `from_json` makes those that are here from their JSON.
"""

from untrackable.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
