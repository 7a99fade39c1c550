from untrackable.randomizers.divided import Divided as Divided
from untrackable.randomizers.fresh import Fresh as Fresh
from untrackable.randomizers.inner_product import NoisyInnerProduct as NoisyInnerProduct
from untrackable.randomizers.interface import Randomizer as Randomizer
from untrackable.randomizers.interface import from_json as from_json
from untrackable.randomizers.local import OneBitMean as OneBitMean
from untrackable.randomizers.local import Present as Present
from untrackable.randomizers.local import RandomizedResponse as RandomizedResponse
from untrackable.randomizers.local import SubsetSelection as SubsetSelection
from untrackable.randomizers.views import Levelled as Levelled
from untrackable.randomizers.views import ViewReports as ViewReports
from untrackable.randomizers.views import Views as Views

__all__: list[str]
