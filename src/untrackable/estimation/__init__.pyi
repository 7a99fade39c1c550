from untrackable.estimation.aggregators import Aggregator as Aggregator
from untrackable.estimation.estimate import Estimate as Estimate
from untrackable.estimation.rounds import Rounds as Rounds

__all__: list[str]
