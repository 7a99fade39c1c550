"""The mechanisms: they turn a value into reports, and compute what the reports reveal.

All of them implement `Mechanism`; `from_json` makes one from its JSON description. Our own are `Deck`, `Fading`,
`Faded`, `InnerProduct` and `Bitwise`. `RandomizedResponse`, `NoisyInnerProduct`, `SubsetSelection`,
`CountMeanSketch`, `HadamardSketch`, `Views`, `Divided`, `OneBitMean`, `Levelled` and `Present` are local
mechanisms: they report a value once. `Fresh`, `Memoized`, `Stored` and `Dealt` wrap a local mechanism and report in
every round. `Rarely` is for comparison only. Other authors published `Rappor`, `Unary`, `Lgrr`, `Loloha`,
`DBitFlip`, `FixedVector`, `Assigned`, `OneChange` and `Votes`.
"""

from untrackable.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
