"""Whether a mechanism can tell as many values apart as an encoding has."""

from untrackable.encodings.encoding import Encoding
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.rappor import Rappor


def value_count(mechanism: Mechanism) -> int | None:
    """How many values a mechanism tells apart; None if it takes any string."""
    if isinstance(mechanism, Rappor):
        return None
    for owner in (mechanism, getattr(mechanism, "base", None)):
        for name in ("values", "buckets"):
            if isinstance(found := getattr(owner, name, None), int):
                return found
    bits = getattr(mechanism, "bits", 1)
    return 1 << int(bits)


def check_fits(mechanism: Mechanism, encoding: Encoding) -> None:
    """Refuse an encoding that has more values than the mechanism tells apart."""
    room = value_count(mechanism)
    if room is not None and encoding.values > room:
        raise ValueError(f"the encoding has {encoding.values} values, the mechanism has room for {room}")
