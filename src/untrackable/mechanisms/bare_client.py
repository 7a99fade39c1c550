"""A mechanism's own client: one state in memory, without a campaign, a ledger or a network."""

from typing import TYPE_CHECKING, Any

from untrackable import framing
from untrackable.mechanisms import entropy
from untrackable.mechanisms.observed_rounds import round_number

if TYPE_CHECKING:
    from untrackable.mechanisms.interface import Mechanism


class BareClient:
    """What runs beside the person: it keeps the secret state and makes one report a round."""

    __slots__ = ("_mechanism", "_state")

    def __init__(self, mechanism: "Mechanism", state: Any) -> None:
        self._mechanism = mechanism
        self._state = state

    def report(self, round: int, value: Any = None) -> int:
        """The report for a round; with `value`, the value from now on, where the mechanism allows a change."""
        round = round_number(round)
        state = self._state
        if value is not None:
            state = self._mechanism.change_value(state, value, entropy.system)
        report, self._state = self._mechanism.make_report(state, round, entropy.system)
        return report

    def to_bytes(self) -> bytes:
        """The state, to be kept as secret as the value; `mechanism.restore` takes it back."""
        return framing.frame_state(self._mechanism, self._mechanism.pack_state(self._state))

    def __repr__(self) -> str:
        return f"<client of {self._mechanism!r}>"
