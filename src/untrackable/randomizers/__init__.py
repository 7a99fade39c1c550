"""Randomizers: a client's noisy report of a value, and the most that it reveals, with the standard library alone.

Campaigns with turns send a `Fresh` report of one of these: `RandomizedResponse`, `NoisyInnerProduct`,
`SubsetSelection`, `OneBitMean`, `Present`, `Divided`, and `Views` and `Levelled`, which are `ViewReports`. The
classes of the same names in `untrackable.mechanisms` are built on them, and add simulations, sums, estimates and
theory. Every mechanism is a `Randomizer`; `from_json` makes those that are here from their JSON.
"""

from untrackable.lazy_names import lazy_names

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
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

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Divided": "divided",
        "Fresh": "fresh",
        "Levelled": "views",
        "NoisyInnerProduct": "inner_product",
        "OneBitMean": "local",
        "Present": "local",
        "RandomizedResponse": "local",
        "Randomizer": "interface",
        "SubsetSelection": "local",
        "ViewReports": "views",
        "Views": "views",
        "from_json": "interface",
    },
)
