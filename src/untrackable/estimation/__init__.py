"""From reports to frequencies: sums that add and merge, and estimates with error bars.

An `Aggregator` holds the sums of one round's reports and makes an `Estimate` of them; `Rounds` pools the estimates
of many rounds.
"""

from untrackable.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
