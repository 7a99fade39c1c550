"""A client's state in one campaign: the value, the mechanism's state, the keys, the next report, days of use.

Everything random about a round (the report's time of sending, nonce and noise) is drawn from its key. So a client
that was killed, or put back to an earlier state, makes the same bytes for a round again. With turns there is one
round only, and one key, from which the turn follows, too. If every round is answered, each key is made from the one
before, which the client then forgets, so a key that somebody finds later reveals nothing about earlier reports.

If the answer changes, fresh randomness is added, so the bytes are others. The time of sending does not use it,
because it must not reveal the change.
"""

import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable.client.folder import Folder
from untrackable.errors import ValueChangeRefused
from untrackable.protocol import wire
from untrackable.randomizers.randomness import Entropy, below, word

if TYPE_CHECKING:
    from untrackable.encodings.days_of_use import DaysOfUse
    from untrackable.encodings.record import Path
    from untrackable.protocol.campaign import Campaign
    from untrackable.theory.turns import Turns

SIZE = 32
_NEXT = b"untrackable/next"
_NAME = 16


@dataclass(frozen=True, slots=True, repr=False)
class Ratchet:
    """The key of a round. All later keys follow from it. `fresh` was drawn when the answer last changed."""

    key: bytes
    round: int
    fresh: bytes = b""

    def at(self, round: int) -> "Ratchet":
        """The key of this or of a later round: SHA-256("untrackable/next" ‖ key) as often as needed."""
        if round < self.round:
            raise ValueError(f"the key of round {round} is forgotten: the earliest left is that of {self.round}")
        key = self.key
        for _ in range(round - self.round):
            key = hashlib.sha256(_NEXT + key).digest()
        return replace(self, key=key, round=round)

    def entropy(self, purpose: str) -> Entropy:
        """Bytes for one purpose: HMAC-SHA-256(key, purpose ‖ counter in 8 bytes ‖ fresh) for counter 0, 1, …"""
        left, counter = b"", 0

        def draw(size: int) -> bytes:
            nonlocal left, counter
            while len(left) < size:
                message = purpose.encode() + counter.to_bytes(8, "big") + self.fresh
                left, counter = left + hmac.digest(self.key, message, "sha256"), counter + 1
            drawn, left = left[:size], left[size:]
            return drawn

        return draw

    def turn(self, turns: "Turns") -> int | None:
        """The round of the turn, uniform over all rounds; None if there is none. It depends on the key alone.

        Two numbers are drawn: one says whether there is a turn, with probability `share`, the other which round.
        """
        source = replace(self, fresh=b"").entropy("turn")
        has_one = below(turns.share.denominator, source) < turns.share.numerator
        round = 1 + below(turns.rounds, source)
        return round if has_one else None

    def moment(self) -> float:
        """The position of the sending time in the round, from 0 to 1. It depends on the key alone."""
        return word(replace(self, fresh=b"").entropy("moment")) / (1 << 64)


class LookAnswer(NamedTuple):
    """The last encoded answer that was given in a look. Looks are numbered through all rounds, 0 for the first."""

    look: int
    value: int


class PreparedReport(NamedTuple):
    """The report of a round, in the bytes that are sent."""

    round: int
    body: bytes


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """A secret state, by the name in the ledger. `kept` holds the mechanism's state for each value.

    The value may be counted from `days` of use, or be the path of the answers in the `looks` of a round. Neither is
    ever sent. The `ballot` is shown with the report, if the campaign has ballots.
    """

    life: str
    value: int
    kept: Mapping[int, bytes]
    ratchet: Ratchet
    prepared: PreparedReport | None = None
    days: "DaysOfUse | None" = None
    looks: tuple[LookAnswer, ...] = ()
    ballot: bytes = b""

    @staticmethod
    def new(
        campaign: "Campaign", value: int, first: int, source: Entropy, *, ballot: bytes = b""
    ) -> "State | None":
        """A new state for rounds from `first` on; with turns, for a single round, or none if it comes earlier.

        Its name takes entropy first, then key and mechanism. The turn follows from the key.
        """
        life, ratchet = source(_NAME).hex(), Ratchet(source(SIZE), first)
        if campaign.turns is not None:
            turn = ratchet.turn(campaign.turns)
            if turn is None or turn < first:
                return None
            ratchet = replace(ratchet, round=turn)
        mechanism = campaign.randomizer
        kept = {value: mechanism.pack_state(mechanism.new_state(value, source))}
        return State(life, value, kept, ratchet, ballot=ballot)

    def holding(self, campaign: "Campaign", value: int, source: Entropy) -> "State":
        """The state with a value from now on, which may be the one before.

        The mechanism changes its state, or there is one state for each value. The keys get new entropy first.
        Without it, a state that was put back and then given another value would draw the same noise again, and the
        two reports would reveal the difference of the values.
        """
        if value == self.value:
            return self
        if campaign.guarantee.values == "fixed":
            raise ValueChangeRefused(
                "this campaign is about a value that never changes: its guarantee would not hold"
            )
        ratchet, kept, mechanism = replace(self.ratchet, fresh=source(SIZE)), self.kept, campaign.randomizer
        if value not in kept and mechanism.changes_in_place:
            changed = mechanism.change_value(mechanism.unpack_state(kept[self.value]), value, source)
            kept = {value: mechanism.pack_state(changed)}
        elif value not in kept:
            kept = {**kept, value: mechanism.pack_state(mechanism.new_state(value, source))}
        return replace(self, value=value, kept=kept, ratchet=ratchet)

    def answered(self, campaign: "Campaign", round: int) -> "State":
        """The state with the report of a round. The round's key gives its randomness, and is then forgotten."""
        ratchet, mechanism = self.ratchet.at(round), campaign.randomizer
        before = mechanism.unpack_state(self.kept[self.value])
        report, after = mechanism.make_report(before, round, ratchet.entropy("noise"))
        after = mechanism.forget_report(after, round, ratchet.entropy("filler"))
        kept = {**self.kept, self.value: mechanism.pack_state(after)}
        nonce = self.ballot or ratchet.entropy("nonce")(wire.NONCE)
        body = wire.of_campaign(campaign).encode(round=round, nonce=nonce, report=report)
        prepared = PreparedReport(round, body)
        return replace(self, kept=kept, ratchet=ratchet.at(round + 1), prepared=prepared)

    def write(self, folder: Folder, campaign: str) -> None:
        """Replace the state on disk."""
        content = {
            **({"ballot": self.ballot.hex()} if self.ballot else {}),
            "days": None if self.days is None else asdict(self.days),
            "fresh": self.ratchet.fresh.hex(),
            "kept": [[value, state.hex()] for value, state in self.kept.items()],
            "key": self.ratchet.key.hex(),
            "life": self.life,
            "looks": self.looks,
            "round": self.ratchet.round,
            "sealed": None if self.prepared is None else [self.prepared.round, self.prepared.body.hex()],
            "value": self.value,
        }
        folder.write(file_name(campaign), content)

    @staticmethod
    def read(folder: Folder, campaign: str) -> "State | None":
        """The state on disk, if there is one. A damaged one is an error."""
        return folder.read(file_name(campaign), "the state", State.from_content)

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> "State":
        """The state of this JSON."""
        from untrackable.encodings.days_of_use import DaysOfUse

        sealed, days = content["sealed"], content["days"]
        return State(
            str(content["life"]),
            int(content["value"]),
            {int(value): bytes.fromhex(state) for value, state in content["kept"]},
            Ratchet(bytes.fromhex(content["key"]), int(content["round"]), bytes.fromhex(content["fresh"])),
            None if sealed is None else PreparedReport(int(sealed[0]), bytes.fromhex(sealed[1])),
            None if days is None else DaysOfUse(**days),
            tuple(LookAnswer(int(look), int(value)) for look, value in content["looks"]),
            bytes.fromhex(content.get("ballot", "")),
        )


def file_name(campaign: str) -> str:
    """The name of the file that holds the state of a campaign."""
    return f"{campaign}.state"


def noted_look(
    looks: tuple[LookAnswer, ...], campaign: "Campaign", value: int, now: float
) -> tuple[LookAnswer, ...]:
    """The answers of looks with one of the present look.

    Of earlier rounds, only the last answer is kept. Answers of later looks come from a wrong clock, and go.
    """
    look = math.floor((now - campaign.first_round) / campaign.look_seconds)
    earlier = [each for each in looks if each.look < look]
    begun = [each for each in earlier if each.look >= look - look % campaign.looks]
    return (*earlier[: len(earlier) - len(begun)][-1:], *begun, LookAnswer(look, value))


def path_of(looks: tuple[LookAnswer, ...], path: "Path", round: int) -> int:
    """The encoded path of a round. Looks before the first answer have that one."""

    def value(look: int) -> int:
        return next((each.value for each in reversed(looks) if each.look <= look), looks[0].value)

    return path.joined([value(look) for look in range((round - 1) * path.looks, round * path.looks)])
