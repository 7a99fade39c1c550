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
    from untrackable.mechanisms.changing_bit import OneChange as OneChange
    from untrackable.mechanisms.changing_bit import Votes as Votes
    from untrackable.mechanisms.dbitflip import DBitFlip as DBitFlip
    from untrackable.mechanisms.deck import Dealt as Dealt
    from untrackable.mechanisms.deck import Deck as Deck
    from untrackable.mechanisms.divided import Divided as Divided
    from untrackable.mechanisms.fading import Faded as Faded
    from untrackable.mechanisms.fading import Fading as Fading
    from untrackable.mechanisms.fixed_vector import Assigned as Assigned
    from untrackable.mechanisms.fixed_vector import FixedVector as FixedVector
    from untrackable.mechanisms.inner_product import NoisyInnerProduct as NoisyInnerProduct
    from untrackable.mechanisms.interface import Mechanism as Mechanism
    from untrackable.mechanisms.interface import from_json as from_json
    from untrackable.mechanisms.kept_bits import Bitwise as Bitwise
    from untrackable.mechanisms.kept_bits import Unary as Unary
    from untrackable.mechanisms.kept_symbol import Lgrr as Lgrr
    from untrackable.mechanisms.local import Fresh as Fresh
    from untrackable.mechanisms.local import OneBitMean as OneBitMean
    from untrackable.mechanisms.local import Present as Present
    from untrackable.mechanisms.local import RandomizedResponse as RandomizedResponse
    from untrackable.mechanisms.local import SubsetSelection as SubsetSelection
    from untrackable.mechanisms.loloha import Loloha as Loloha
    from untrackable.mechanisms.rappor import Rappor as Rappor
    from untrackable.mechanisms.sketches import CountMeanSketch as CountMeanSketch
    from untrackable.mechanisms.sketches import HadamardSketch as HadamardSketch
    from untrackable.mechanisms.stored import InnerProduct as InnerProduct
    from untrackable.mechanisms.stored import Memoized as Memoized
    from untrackable.mechanisms.stored import Stored as Stored
    from untrackable.mechanisms.string_levels import Levelled as Levelled
    from untrackable.mechanisms.views import Views as Views

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Assigned": "fixed_vector",
        "Bitwise": "kept_bits",
        "CountMeanSketch": "sketches",
        "DBitFlip": "dbitflip",
        "Dealt": "deck",
        "Deck": "deck",
        "Divided": "divided",
        "Faded": "fading",
        "Fading": "fading",
        "FixedVector": "fixed_vector",
        "Fresh": "local",
        "HadamardSketch": "sketches",
        "InnerProduct": "stored",
        "Levelled": "string_levels",
        "Lgrr": "kept_symbol",
        "Loloha": "loloha",
        "Mechanism": "interface",
        "Memoized": "stored",
        "NoisyInnerProduct": "inner_product",
        "OneBitMean": "local",
        "OneChange": "changing_bit",
        "Present": "local",
        "RandomizedResponse": "local",
        "Rappor": "rappor",
        "SubsetSelection": "local",
        "Stored": "stored",
        "Unary": "kept_bits",
        "Views": "views",
        "Votes": "changing_bit",
        "from_json": "interface",
    },
)
