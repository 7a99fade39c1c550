"""What a client keeps about one campaign: the value, the mechanism's state, the keys and the next report."""

from dataclasses import dataclass, replace
from typing import Any

from untrackable import framing
from untrackable.client.private_folder import Folder
from untrackable.client.round_keys import SIZE, Ratchet
from untrackable.errors import StateError, ValueChangeRefused
from untrackable.mechanisms.entropy import Entropy
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

VERSION = 2
_NAME = 16


@dataclass(frozen=True, slots=True, repr=False)
class PreparedReport:
    """A report as it is sent, and what is known about sending it so far.

    `since` is the time of the first attempt. `attachment` says from which network it was made, as a keyed digest
    that only this client can make again; it is None where the network is not known.
    """

    round: int
    body: bytes
    since: float | None = None
    tries: int = 0
    attachment: tuple[bytes, bytes] | None = None


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """The secret state of one life in one campaign; `kept` has a state of the mechanism for each value it needs."""

    life: str
    value: int
    kept: tuple[tuple[int, bytes], ...]
    ratchet: Ratchet
    sealed: PreparedReport | None = None

    @staticmethod
    def new(campaign: Campaign, value: int, first: int, source: Entropy) -> "State":
        """A state that answers from round `first` on: entropy for its name, its key and the mechanism's state."""
        name, key = source(_NAME).hex(), source(SIZE)
        made = _seal(campaign, campaign.mechanism.new_state(value, source))
        return State(name, value, ((value, made),), Ratchet(key, first))

    def holding(self, campaign: Campaign, value: int, source: Entropy) -> "State":
        """With another value from now on: the mechanism's state changes, or there is a state for each value.

        New entropy for the keys comes first. Without it, a state that was put back and then given another value
        would draw the same noise again, and the two reports would reveal the difference of the values.
        """
        if campaign.guarantee.values == "fixed":
            raise ValueChangeRefused(
                "this campaign is about a value that never changes: its guarantee would not hold"
            )
        ratchet = replace(self.ratchet, fresh=source(SIZE))
        kept, mechanism = dict(self.kept), campaign.mechanism
        if value not in kept and mechanism.changes_in_place:
            kept = {value: _seal(campaign, mechanism.change_value(self._mechanism_state(campaign), value, source))}
        elif value not in kept:
            kept[value] = _seal(campaign, mechanism.new_state(value, source))
        return replace(self, value=value, kept=tuple(kept.items()), ratchet=ratchet)

    def answered(self, campaign: Campaign, round: int) -> "State":
        """With the report of a round, its randomness drawn from the round's key, which is then forgotten."""
        ratchet, mechanism = self.ratchet.at(round), campaign.mechanism
        report, after = mechanism.make_report(self._mechanism_state(campaign), round, ratchet.entropy("noise"))
        after = mechanism.forget_report(after, round, ratchet.entropy("filler"))
        kept = {**dict(self.kept), self.value: _seal(campaign, after)}
        nonce = ratchet.entropy("nonce")(wire.NONCE)
        body = wire.of(mechanism).encode(round=round, nonce=nonce, report=report)
        return replace(
            self, kept=tuple(kept.items()), ratchet=ratchet.at(round + 1), sealed=PreparedReport(round, body)
        )

    def _mechanism_state(self, campaign: Campaign) -> Any:
        payload = framing.unframe_state(campaign.mechanism, dict(self.kept)[self.value])
        return campaign.mechanism.unpack_state(payload)

    def write(self, folder: Folder, campaign: str) -> None:
        """Replace what is on disk."""
        content = {
            "campaign": campaign,
            "fresh": self.ratchet.fresh.hex(),
            "kept": [[value, made.hex()] for value, made in self.kept],
            "key": self.ratchet.key.hex(),
            "life": self.life,
            "round": self.ratchet.round,
            "sealed": None if self.sealed is None else _sealed_content(self.sealed),
            "value": self.value,
            "version": VERSION,
        }
        folder.write(name(campaign), content)

    @staticmethod
    def read(folder: Folder, campaign: str) -> "State | None":
        """What is on disk, if anything; a state that is damaged or of another campaign is an error."""
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
                tuple((int(value), bytes.fromhex(made)) for value, made in content["kept"]),
                Ratchet(bytes.fromhex(content["key"]), int(content["round"]), bytes.fromhex(content["fresh"])),
                None if content["sealed"] is None else _sealed(content["sealed"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state cannot be understood: {type(error).__name__}") from None


def name(campaign: str) -> str:
    """The name of its file."""
    return f"{campaign}.state"


def _seal(campaign: Campaign, made: Any) -> bytes:
    return framing.frame_state(campaign.mechanism, campaign.mechanism.pack_state(made))


def _sealed_content(sealed: PreparedReport) -> dict[str, Any]:
    return {
        "attachment": None if sealed.attachment is None else [part.hex() for part in sealed.attachment],
        "body": sealed.body.hex(),
        "round": sealed.round,
        "since": sealed.since,
        "tries": sealed.tries,
    }


def _sealed(content: dict[str, Any]) -> PreparedReport:
    salt, digest = content["attachment"] or ("", "")
    return PreparedReport(
        int(content["round"]),
        bytes.fromhex(content["body"]),
        None if content["since"] is None else float(content["since"]),
        int(content["tries"]),
        (bytes.fromhex(salt), bytes.fromhex(digest)) if digest else None,
    )
