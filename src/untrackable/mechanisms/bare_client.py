"""A mechanism's own client: one state in memory, without a campaign, a ledger or a network."""

from typing import TYPE_CHECKING, Any

from untrackable import framing
from untrackable.mechanisms import entropy
from untrackable.mechanisms.observed_rounds import round_number

if TYPE_CHECKING:
    from untrackable.mechanisms.interface import Mechanism


class BareClient:
    """A client in memory: it keeps a person's secret state and makes one report per round."""

    __slots__ = ("_mechanism", "_state")

    def __init__(self, mechanism: "Mechanism", state: Any) -> None:
        self._mechanism = mechanism
        self._state = state

    def report(self, round: int, value: Any = None) -> int:
        """The report for a round. `value` changes the value first, where the mechanism allows that."""
        round = round_number(round)
        state = self._state
        if value is not None:
            state = self._mechanism.change_value(state, value, entropy.system)
        report, self._state = self._mechanism.make_report(state, round, entropy.system)
        return report

    def to_bytes(self) -> bytes:
        """The state as bytes. Keep it as secret as the value. `mechanism.restore` makes the client again."""
        return framing.frame_state(self._mechanism, self._mechanism.pack_state(self._state))

    def __repr__(self) -> str:
        return f"<client of {self._mechanism!r}>"
