"""A client's state in one campaign: the value, the mechanism's state, the keys and the next report."""

from dataclasses import dataclass, replace
from typing import Any

from untrackable import framing
from untrackable.client.private_folder import Folder
from untrackable.client.round_keys import SIZE, Ratchet
from untrackable.errors import StateError, ValueChangeRefused
from untrackable.mechanisms.entropy import Entropy
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

VERSION = 1
_NAME = 16


@dataclass(frozen=True, slots=True, repr=False)
class PreparedReport:
    """A report in the bytes that are sent, and the progress of sending it.

    `since` is the time of the first attempt. `attachment` identifies the network of that attempt, as a keyed digest
    that only this client can make again. It is None if the network is not known.
    """

    round: int
    body: bytes
    since: float | None = None
    tries: int = 0
    attachment: tuple[bytes, bytes] | None = None


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """The secret state of one life in one campaign. `kept` holds a state of the mechanism for each value."""

    life: str
    value: int
    kept: tuple[tuple[int, bytes], ...]
    ratchet: Ratchet
    prepared: PreparedReport | None = None

    @staticmethod
    def new(campaign: Campaign, value: int, first: int, source: Entropy) -> "State | None":
        """A new state for rounds from `first` on; with turns, for a single round, or none if it comes earlier.

        Its name takes entropy first, then key and mechanism. The turn follows from the key.
        """
        name, key = source(_NAME).hex(), source(SIZE)
        ratchet = Ratchet(key, first)
        if campaign.turns is not None:
            turn = ratchet.turn(campaign.turns)
            if turn is None or turn < first:
                return None
            ratchet = Ratchet(key, turn)
        kept = _framed(campaign, campaign.mechanism.new_state(value, source))
        return State(name, value, ((value, kept),), ratchet)

    def holding(self, campaign: Campaign, value: int, source: Entropy) -> "State":
        """The state with another value from now on.

        The mechanism changes its state, or there is one state for each value. The keys get new entropy first.
        Without it, a state that was put back and then given another value would draw the same noise again, and the
        two reports would reveal the difference of the values.
        """
        if campaign.guarantee.values == "fixed":
            raise ValueChangeRefused(
                "this campaign is about a value that never changes: its guarantee would not hold"
            )
        ratchet = replace(self.ratchet, fresh=source(SIZE))
        kept, mechanism = dict(self.kept), campaign.mechanism
        if value not in kept and mechanism.changes_in_place:
            kept = {
                value: _framed(campaign, mechanism.change_value(self._mechanism_state(campaign), value, source))
            }
        elif value not in kept:
            kept[value] = _framed(campaign, mechanism.new_state(value, source))
        return replace(self, value=value, kept=tuple(kept.items()), ratchet=ratchet)

    def answered(self, campaign: Campaign, round: int) -> "State":
        """The state with the report of a round. The round's key gives its randomness, and is then forgotten."""
        ratchet, mechanism = self.ratchet.at(round), campaign.mechanism
        report, after = mechanism.make_report(self._mechanism_state(campaign), round, ratchet.entropy("noise"))
        after = mechanism.forget_report(after, round, ratchet.entropy("filler"))
        kept = {**dict(self.kept), self.value: _framed(campaign, after)}
        nonce = ratchet.entropy("nonce")(wire.NONCE)
        body = wire.of(mechanism).encode(round=round, nonce=nonce, report=report)
        return replace(
            self, kept=tuple(kept.items()), ratchet=ratchet.at(round + 1), prepared=PreparedReport(round, body)
        )

    def _mechanism_state(self, campaign: Campaign) -> Any:
        payload = framing.unframe_state(campaign.mechanism, dict(self.kept)[self.value])
        return campaign.mechanism.unpack_state(payload)

    def write(self, folder: Folder, campaign: str) -> None:
        """Replace the state on disk."""
        content = {
            "campaign": campaign,
            "fresh": self.ratchet.fresh.hex(),
            "kept": [[value, state.hex()] for value, state in self.kept],
            "key": self.ratchet.key.hex(),
            "life": self.life,
            "round": self.ratchet.round,
            "sealed": None if self.prepared is None else _prepared_content(self.prepared),
            "value": self.value,
            "version": VERSION,
        }
        folder.write(name(campaign), content)

    @staticmethod
    def read(folder: Folder, campaign: str) -> "State | None":
        """The state on disk, if there is one. A state that is damaged or of another campaign is an error."""
        content = folder.read(name(campaign), "the state")
        if content is None:
            return None
        if content.get("version") != VERSION:
            raise StateError(
                f"another version of this library wrote the state: it has version {content.get('version')!r:.9}, "
                f"and this library reads version {VERSION}; move {name(campaign)} away and answer again: only "
                "rounds that begin later are answered then, and the ledger knows what was spent before"
            )
        if content.get("campaign") != campaign:
            raise StateError("the state is of another campaign")
        try:
            return State(
                str(content["life"]),
                int(content["value"]),
                tuple((int(value), bytes.fromhex(state)) for value, state in content["kept"]),
                Ratchet(bytes.fromhex(content["key"]), int(content["round"]), bytes.fromhex(content["fresh"])),
                None if content["sealed"] is None else _prepared(content["sealed"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state cannot be understood: {type(error).__name__}") from None


def name(campaign: str) -> str:
    """The name of the file that holds the state of a campaign."""
    return f"{campaign}.state"


def _framed(campaign: Campaign, state: Any) -> bytes:
    return framing.frame_state(campaign.mechanism, campaign.mechanism.pack_state(state))


def _prepared_content(prepared: PreparedReport) -> dict[str, Any]:
    return {
        "attachment": None if prepared.attachment is None else [part.hex() for part in prepared.attachment],
        "body": prepared.body.hex(),
        "round": prepared.round,
        "since": prepared.since,
        "tries": prepared.tries,
    }


def _prepared(content: dict[str, Any]) -> PreparedReport:
    salt, digest = content["attachment"] or ("", "")
    return PreparedReport(
        int(content["round"]),
        bytes.fromhex(content["body"]),
        None if content["since"] is None else float(content["since"]),
        int(content["tries"]),
        (bytes.fromhex(salt), bytes.fromhex(digest)) if digest else None,
    )
