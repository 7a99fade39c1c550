"""A deck of reports: a client draws one report for each round in advance, its cards, and sends each card once.

All cards together spend the budget, by composition. It is the paper's general transformation with slots that are
drawn without replacement, so that reports of one person cannot be linked. `Dealt` has cards of any local mechanism,
and `Deck` has noisy inner products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.errors import DeckEmpty, StateError
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.mechanisms import budget
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import After, ObservedRounds, Values, round_number
from untrackable.mechanisms.local import LARGEST_SLOTS, LocalWrapper, ReportSettings, local_base
from untrackable.mechanisms.local_interface import (
    Local,
    SentRounds,
    crowd_size,
    per_round,
    repeat_certainty,
)
from untrackable.randomizers.interface import pack_integers, unpack_reports
from untrackable.randomizers.randomness import Entropy
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor


class Hand(NamedTuple):
    """A client's state: the cards, and for each card whether it has been sent."""

    cards: tuple[int, ...]
    sent: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Dealt(LocalWrapper):
    """A client draws `slots` reports of a local mechanism in advance, its cards, and sends card t in round t.

    While the deck lasts, reports are independent given the value, so the reports of one person and of two people
    look exactly alike. Every card is for one round only, so the value may change from round to round at no cost.
    When the deck is empty, a client sends no more reports ("stop"), or the same cards again ("replay"). A replay
    stays private for ever but makes people trackable.
    """

    base: Local
    slots: int
    when_empty: Literal["stop", "replay"] = "stop"

    persists = "nothing while the deck lasts; with replay, every card that is sent again"
    pools = True
    independent = True

    def __post_init__(self) -> None:
        checks.settle(
            self, base=local_base(self.base), slots=checks.integer("slots", self.slots, low=1, high=LARGEST_SLOTS)
        )
        checks.choice("when_empty", self.when_empty, ("stop", "replay"))

    @property
    def last_round(self) -> int | None:
        """The round of the last card, unless cards are replayed."""
        return self.slots if self.when_empty == "stop" else None

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The sum over independent cards. A card that is sent again must be the same, and counts once."""
        slots = np.array([self._slot(self._number(r)) for r in rounds])
        _, first, again = np.unique(slots, return_index=True, return_inverse=True)
        same = (reports == reports[:, first[again]]).reshape(len(reports), -1).all(axis=1)
        total: FloatArray = self.base.log_likelihood(reports[:, first], value).sum(axis=1)
        return np.where(same, total, -np.inf)

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums. Rounds of one deck may be merged, because its cards are independent."""
        deck = (self._number(round) - 1) // self.slots
        return self.base.aggregator(Scope(self, deck, pools=True))

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """The privacy of all cards, or of the first `reports`. It is exact, and the same when values change.

        A card depends only on the value at the round in which it is first sent. Replays repeat it.
        """
        count = self.slots if reports is None else min(self.slots, reports)
        return Experiment([(self.base.privacy_factor(), count)], certainty=self.base.certainty)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds | None:
        """The cards, each of which is sent once. A replay sends them again, and so links them."""
        count = self.slots if reports is None else reports
        if self.when_empty == "replay":
            return None if reports is None or reports > self.slots else [(self.base, count)]
        return [(self.base, checks.integer("reports", count, low=1, high=self.slots))]

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """Nobody can tell one person from two, unless a replay puts a card on both sides."""
        crossings = {crossed for crossed, _ in self._crossings(observed)}
        certainty = repeat_certainty(self.base)
        return [
            Experiment([(self.base.repeat_factor(), crossed)], certainty=certainty if crossed else "exact")
            for crossed in sorted(crossings)
        ]

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """0, unless cards are replayed."""
        return 1.0 if self.when_empty == "replay" and (reports is None or reports > self.slots) else 0.0

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The cards after the change reveal it. A card that a replay puts on both sides reveals it for certain."""
        base = self.base.privacy_factor()
        # A replayed card and a card of another value count as different for certain, which is an upper bound.
        replayed = Factor([1.0, 0.0], [0.0, 1.0])
        return [
            Experiment([(replayed, crossed), (base, later)], certainty="upper" if crossed else self.base.certainty)
            for crossed, later in sorted(self._crossings(observed))
        ]

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """All scores are 0, because cards are independent given the value. More reports than cards are refused."""
        if first.shape[1] + second.shape[1] > self.slots:
            raise ValueError(
                f"reports must be of one deck, {self.slots} in all: replayed cards are equal and link people"
            )
        return np.zeros((first.shape[0], second.shape[0]))

    def _crossings(self, observed: ObservedRounds) -> set[tuple[int, int]]:
        """The numbers of cards on both sides and on the second side only, for each possible set of first rounds."""
        if observed.counted and observed.reports > self.slots:
            raise ValueError(
                f"reports must be at most slots, {self.slots}, got {observed.reports}: later rounds are not alike; "
                "give rounds and first instead"
            )
        slots = {r: self._slot(self._number(r)) for r in observed.rounds}
        crossings = set()
        for mine in [observed.first] if observed.first is not None else self._worst_sets(slots):
            before, after = ({slots[r] for r in slots if (r in mine) == side} for side in (True, False))
            crossings.add((len(before & after), len(after - before)))
        return crossings

    def _worst_sets(self, slots: dict[int, int]) -> list[frozenset[int]]:
        """Sets of first rounds that put 0, 1, 2, … of the repeated cards on both sides, each by its first round."""
        rounds: dict[int, list[int]] = {}
        for number, slot in slots.items():
            rounds.setdefault(slot, []).append(number)
        repeated = [group[0] for group in rounds.values() if len(group) > 1]
        return [frozenset(repeated[:crossed]) for crossed in range(len(repeated) + 1)]

    def _number(self, round: int) -> int:
        if self.when_empty == "replay":
            return round_number(round)
        return checks.integer("round", round, low=1, high=self.slots)

    def _slot(self, round: int) -> int:
        return (round - 1) % self.slots

    def new_state(self, value: int, source: Entropy) -> Hand:
        checks.private_integer("value", value, below=self.base.values)
        return Hand(tuple(self.base.draw(value, source) for _ in range(self.slots)), (False,) * self.slots)

    def make_report(self, state: Hand, round: int, source: Entropy) -> tuple[int, Hand]:
        """The round's card. The new state marks it as sent."""
        if self.when_empty == "stop" and round > self.slots:
            raise DeckEmpty(f"the deck has {self.slots} cards; round {round} and later ones get no report")
        slot = self._slot(round)
        sent = (*state.sent[:slot], True, *state.sent[slot + 1 :])
        return state.cards[slot], Hand(state.cards, sent)

    def forget_report(self, state: Hand, round: int, source: Entropy) -> Hand:
        """The state with a card of value 0 in place of the round's card, unless cards are replayed."""
        if self.when_empty == "replay":
            return state
        filler = self.base.draw(0, source)
        return state._replace(cards=(*state.cards[: round - 1], filler, *state.cards[round:]))

    def change_value(self, state: Hand, value: int, source: Entropy) -> Hand:
        """Draw every card again that has not been sent. Cards that have been sent stay as they are."""
        checks.private_integer("value", value, below=self.base.values)
        cards = (
            card if sent else self.base.draw(value, source)
            for card, sent in zip(state.cards, state.sent, strict=True)
        )
        return Hand(tuple(cards), state.sent)

    def pack_state(self, state: Hand) -> bytes:
        """A bit for each card that says whether it has been sent, and then the cards."""
        flags = np.packbits(np.array(state.sent, dtype=np.uint8)).tobytes()
        return flags + pack_integers(state.cards, [self.report_bits] * self.slots)

    def unpack_state(self, payload: bytes) -> Hand:
        size = (self.slots + 7) // 8
        cards = unpack_reports(payload[size:], self.report_bits, self.slots, self.base.possible)
        flags = np.unpackbits(np.frombuffer(payload[:size], dtype=np.uint8))
        if flags[self.slots :].any():
            raise StateError("this state has bits set that its mechanism does not use")
        return Hand(tuple(cards), tuple(bool(flag) for flag in flags[: self.slots]))

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        for number in rounds:
            self._number(number)
        slots = np.array([self._slot(number) for number in rounds])
        used, index, column = np.unique(slots, return_index=True, return_inverse=True)
        if values.ndim == 2 and used.size < slots.size:
            raise ValueError("values may not change once cards are replayed; give one value per client")
        held = per_round(values, len(rounds))
        # If every card is sent once and in order, nothing needs to be copied.
        if np.array_equal(used, slots):
            return self.base.simulate(held, rng)
        return self.base.simulate(held[:, index], rng)[:, column]


class Deck(ReportSettings, Dealt):
    """A client draws `slots` noisy inner products in advance, its cards, and sends one card in each round.

    The cards are as private as the stored reports of `InnerProduct`. But no card is sent twice, so nobody can tell
    whether two reports come from one person. After the last card, clients stop or, with "replay", start again.
    """

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(
        self,
        *,
        bits: int,
        slots: int,
        eps_report: float,
        when_empty: Literal["stop", "replay"] = "stop",
        width: int | None = None,
    ) -> None:
        Dealt.__init__(self, budget.checked_base(bits, eps_report, width), slots, when_empty)

    @classmethod
    def for_crowd(
        cls,
        *,
        bits: int,
        slots: int,
        people: int,
        eps: float,
        delta: float,
        share: float = 0.0,
    ) -> Self:
        """The deck with the smallest error that a crowd keeps (eps, delta)-private.

        The observer sees all reports of `people` people in every round, but not who sent which. Somebody
        who knows which reports are a person's learns far more. The error is that of a value that this `share` of
        people holds.
        """
        base = budget.best_crowd_base(
            bits=bits,
            slots=checks.integer("slots", slots, low=1),
            people=crowd_size(people),
            eps=checks.positive("eps", eps),
            delta=checks.open_probability("delta", delta),
            share=share,
        )
        return cls(bits=bits, slots=slots, eps_report=base.eps, width=base.width)


def dealt_for_budget(base: Any, *, slots: int, eps: float, delta: float) -> Dealt:
    """The deck of this base with the largest eps of a card that keeps all cards together (eps, delta)-private.

    The base's own eps does not count. The factor of the two values that are easiest to tell apart is used as it is.
    """
    slots, eps = checks.integer("slots", slots, low=1), checks.positive("eps", eps)
    delta = checks.open_probability("delta", delta)
    # A solved eps is kept for all bases that differ in eps alone.
    plain: Any = budget.with_eps(local_base(base), 1.0)
    return Dealt(budget.with_eps(base, budget.largest_eps(plain, slots, eps, delta)), slots)
