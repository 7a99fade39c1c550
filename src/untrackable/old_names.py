"""The text by which version 0.1 recognised a mechanism in saved states and sums.

It was what Python printed for the mechanism. This table keeps that text, so that renaming a class loses no file.
"""

from collections.abc import Mapping
from typing import Any

_CLASSES = {
    "assigned": ("Assigned", ("bits", "eps", "people", "noise")),
    "bitwise": ("Bitwise", ("eps_state", "eps_report")),
    "count-mean-sketch": ("CountMeanSketch", ("hashes", "width", "eps", "values")),
    "dbitflip": ("DBitFlip", ("buckets", "sampled", "eps", "output_flip")),
    "dealt": ("Dealt", ("base", "slots", "when_empty")),
    "deck": ("Deck", ("bits", "slots", "eps_report", "when_empty", "width")),
    "fading": ("Fading", ("bits", "eps", "delta", "power", "scale", "width")),
    "fixed-vector": ("FixedVector", ("bits", "eps", "noise")),
    "fresh": ("Fresh", ("base",)),
    "hadamard-sketch": ("HadamardSketch", ("hashes", "width", "eps", "values")),
    "levelled": ("Levelled", ("base", "levels")),
    "lgrr": ("Lgrr", ("values", "keep", "tell")),
    "loloha": ("Loloha", ("values", "symbols", "keep", "tell", "seed_bits")),
    "memoized": ("Memoized", ("base",)),
    "noisy-inner-product": ("NoisyInnerProduct", ("bits", "eps", "width")),
    "numbered-bit": ("NumberedBit", ("bits", "eps", "width", "people")),
    "one-change": ("OneChange", ("rounds", "changes", "eps")),
    "randomized-response": ("RandomizedResponse", ("eps",)),
    "rappor": ("Rappor", ("bloom_bits", "hashes", "f", "p", "q", "cohorts")),
    "rnip": ("InnerProduct", ("bits", "slots", "eps_report", "width")),
    "stored": ("Stored", ("base", "slots")),
    "unary": ("Unary", ("values", "keep", "add", "q", "p")),
    "vector-question": ("VectorQuestion", ("bits", "eps", "width")),
    "votes": ("Votes", ("eps_vote", "eps_estimate", "votes", "estimates", "updates")),
}
"""By name in JSON: the class of version 0.1 and its parameters in order. Later mechanisms have no entry."""

_REALS = {
    "add", "delta", "eps", "eps_estimate", "eps_report", "eps_state", "eps_vote", "f", "keep", "output_flip", "p",
    "power", "q", "scale", "tell",
}  # fmt: skip
"""Parameters that Python prints with a point, which JSON leaves out of whole numbers."""

_POSITIONAL = {"memoized"}
"""Mechanisms that were printed without the names of their parameters."""


def old_name(description: Mapping[str, Any]) -> str | None:
    """The name that version 0.1 gave to the mechanism of this JSON; None if it did not have that mechanism."""
    name = description.get("mechanism")
    kind, parameters = _CLASSES.get(name, ("", ())) if isinstance(name, str) else ("", ())
    if not kind or {"mechanism", *parameters} != set(description):
        return None
    texts = {key: _text(key, description[key]) for key in parameters}
    if None in texts.values():
        return None
    printed = (f"{text}" if name in _POSITIONAL else f"{key}={text}" for key, text in texts.items())
    return f"{kind}({', '.join(printed)})"


def _text(parameter: str, given: Any) -> str | None:
    if isinstance(given, Mapping):
        return old_name(given)
    if isinstance(given, list):
        return repr(tuple(given))
    return repr(float(given) if parameter in _REALS else given)
