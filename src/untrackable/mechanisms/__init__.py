"""The mechanisms: they turn a value into reports, and compute what the reports reveal.

All of them implement `Mechanism`; `from_json` makes one from its JSON description. Our own are `Deck`, `Fading`,
`Faded`, `InnerProduct` and `Bitwise`. `RandomizedResponse`, `NoisyInnerProduct`, `SubsetSelection`,
`CountMeanSketch`, `HadamardSketch`, `Views`, `Divided`, `OneBitMean`, `Levelled` and `Present` are local
mechanisms: they report a value once. `Fresh`, `Memoized`, `Stored` and `Dealt` wrap a local mechanism and report in
every round. Other authors published `Rappor`, `Unary`, `Lgrr`, `Loloha`, `DBitFlip`, `FixedVector`, `Assigned`,
`OneChange` and `Votes`.
"""

from typing import TYPE_CHECKING

from untrackable.lazy_names import lazy_names

if TYPE_CHECKING:
    from untrackable.mechanisms.inner_product.deck import Deck as Deck
    from untrackable.mechanisms.inner_product.faded import Faded as Faded
    from untrackable.mechanisms.inner_product.fading import Fading as Fading
    from untrackable.mechanisms.inner_product.rnip import InnerProduct as InnerProduct
    from untrackable.mechanisms.interface import Mechanism as Mechanism
    from untrackable.mechanisms.kept.bitwise import Bitwise as Bitwise
    from untrackable.mechanisms.kept.dbitflip import DBitFlip as DBitFlip
    from untrackable.mechanisms.kept.lgrr import Lgrr as Lgrr
    from untrackable.mechanisms.kept.loloha import Loloha as Loloha
    from untrackable.mechanisms.kept.rappor import Rappor as Rappor
    from untrackable.mechanisms.kept.unary import Unary as Unary
    from untrackable.mechanisms.local.divided import Divided as Divided
    from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct as NoisyInnerProduct
    from untrackable.mechanisms.local.one_bit_mean import OneBitMean as OneBitMean
    from untrackable.mechanisms.local.present import Present as Present
    from untrackable.mechanisms.local.randomized_response import RandomizedResponse as RandomizedResponse
    from untrackable.mechanisms.local.sketches import CountMeanSketch as CountMeanSketch
    from untrackable.mechanisms.local.sketches import HadamardSketch as HadamardSketch
    from untrackable.mechanisms.local.string_levels import Levelled as Levelled
    from untrackable.mechanisms.local.subset_selection import SubsetSelection as SubsetSelection
    from untrackable.mechanisms.local.views import Views as Views
    from untrackable.mechanisms.others.assigned import Assigned as Assigned
    from untrackable.mechanisms.others.fixed_vector import FixedVector as FixedVector
    from untrackable.mechanisms.others.one_change import OneChange as OneChange
    from untrackable.mechanisms.others.votes import Votes as Votes
    from untrackable.mechanisms.registry import from_json as from_json
    from untrackable.mechanisms.wrappers.card_dealing import Dealt as Dealt
    from untrackable.mechanisms.wrappers.fresh import Fresh as Fresh
    from untrackable.mechanisms.wrappers.stored import Memoized as Memoized
    from untrackable.mechanisms.wrappers.stored import Stored as Stored

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Assigned": "others.assigned",
        "Bitwise": "kept.bitwise",
        "CountMeanSketch": "local.sketches",
        "DBitFlip": "kept.dbitflip",
        "Dealt": "wrappers.card_dealing",
        "Deck": "inner_product.deck",
        "Divided": "local.divided",
        "Faded": "inner_product.faded",
        "Fading": "inner_product.fading",
        "FixedVector": "others.fixed_vector",
        "Fresh": "wrappers.fresh",
        "HadamardSketch": "local.sketches",
        "InnerProduct": "inner_product.rnip",
        "Levelled": "local.string_levels",
        "Lgrr": "kept.lgrr",
        "Loloha": "kept.loloha",
        "Mechanism": "interface",
        "Memoized": "wrappers.stored",
        "NoisyInnerProduct": "local.noisy_inner_product",
        "OneBitMean": "local.one_bit_mean",
        "OneChange": "others.one_change",
        "Present": "local.present",
        "RandomizedResponse": "local.randomized_response",
        "Rappor": "kept.rappor",
        "SubsetSelection": "local.subset_selection",
        "Stored": "wrappers.stored",
        "Unary": "kept.unary",
        "Views": "local.views",
        "Votes": "others.votes",
        "from_json": "registry",
    },
)
