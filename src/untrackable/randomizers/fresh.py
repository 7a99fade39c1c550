"""A fresh report in every round: all that is needed where each person answers once."""

from dataclasses import dataclass

from untrackable import checks
from untrackable.randomizers.interface import (
    BoundedLocal,
    LocalRandomizer,
    Randomizer,
    pack_integers,
    unpack_integers,
)
from untrackable.randomizers.randomness import Entropy


@dataclass(frozen=True, slots=True)
class Fresh(Randomizer):
    """A client sends a new report of a local mechanism in every round, with fresh noise.

    Reports are independent, so nobody can link them. But every report spends privacy, so only a few reports are
    private. `Memoized` is the opposite extreme.
    """

    base: LocalRandomizer

    independent = True

    def __post_init__(self) -> None:
        if isinstance(self.base, Randomizer) or not isinstance(self.base, LocalRandomizer):
            raise TypeError(
                "base must be a local mechanism, such as RandomizedResponse or NoisyInnerProduct, "
                f"not {type(self.base).__name__}"
            )

    @property
    def report_bits(self) -> int:
        return self.base.report_bits

    @property
    def capacity(self) -> int:
        return self.base.values

    @property
    def loss_of_one_report(self) -> float | None:
        """That of the base, if it can say."""
        return self.base.largest_loss() if isinstance(self.base, BoundedLocal) else None

    def new_state(self, value: int, source: Entropy) -> int:
        """The value itself."""
        return checks.private_integer("value", value, below=self.base.values)

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        return self.base.draw(state, source), state

    def change_value(self, state: int, value: int, source: Entropy) -> int:
        return self.new_state(value, source)

    def pack_state(self, state: int) -> bytes:
        """The value, in as few bytes as the values of the base need."""
        return pack_integers([state], [(self.base.values - 1).bit_length()])

    def unpack_state(self, payload: bytes) -> int:
        return unpack_integers(payload, [(self.base.values - 1).bit_length()])[0]
