from untrackable.theory.experiment import Experiment as Experiment
from untrackable.theory.experiment import Mixture as Mixture
from untrackable.theory.experiment import Worst as Worst
from untrackable.theory.factor import Factor as Factor

__all__: list[str]
