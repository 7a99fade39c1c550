"""From reports to frequencies: sums that add and merge, and estimates with error bars.

An `Aggregator` holds the sums of one round's reports and makes an `Estimate` of them; `Rounds` pools the estimates
of many rounds.
"""

from typing import TYPE_CHECKING

from untrackable.lazy_names import lazy_names

if TYPE_CHECKING:
    from untrackable.estimation.aggregators import Aggregator as Aggregator
    from untrackable.estimation.estimate import Estimate as Estimate
    from untrackable.estimation.rounds import Rounds as Rounds

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Aggregator": "aggregators",
        "Estimate": "estimate",
        "Rounds": "rounds",
    },
)
