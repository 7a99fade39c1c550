"""Whether a mechanism takes as many values as an encoding has."""

from untrackable.encodings.encoding import Encoding
from untrackable.mechanisms.interface import Mechanism


def check_room(mechanism: Mechanism, encoding: Encoding) -> None:
    """Refuse an encoding with more values than a mechanism takes."""
    if not mechanism.has_room_for(encoding.values):
        raise ValueError(
            f"the encoding has {encoding.values} values, the mechanism has room for {mechanism.capacity}"
        )
