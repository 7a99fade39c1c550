"""The beginning of a campaign, as a plan writes it: encoding, mechanism, rounds and the declared guarantee."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.errors import CampaignError, EncodingError, MechanismError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.registry import from_json as mechanism_from_json
from untrackable.protocol.campaign import Campaign, Guarantee, attendance_from_json, check_attendance, check_wipes
from untrackable.protocol.crowd_declaration import Gateway, check_crowd
from untrackable.theory.attendance import Attendance


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDraft:
    """All of a campaign but its question and its times, and the keys of the gateway if it relies on a crowd.

    `encoding` is None where no more is known than how wide values are. With `rounds` None there is no last round.
    """

    encoding: Encoding | None
    mechanism: Mechanism
    rounds: int | None
    guarantee: Guarantee
    attendance: Attendance | None = None

    def __post_init__(self) -> None:
        for name, kind in (("encoding", Encoding | None), ("mechanism", Mechanism), ("guarantee", Guarantee)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must not be of type {type(getattr(self, name)).__name__}")
        if self.rounds is not None:
            checks.settle(self, rounds=checks.rounds(self.rounds))
        check_attendance(self.attendance, self.guarantee)
        check_crowd(self.guarantee.crowd, self.mechanism, self.rounds, attended=self.attendance is not None)
        check_wipes(self.attendance, self.guarantee)

    def to_json(self) -> dict[str, Any]:
        """The draft as JSON, from which `from_json` makes an equal one."""
        attendance = {} if self.attendance is None else {"attendance": self.attendance.to_json()}
        return {
            "encoding": None if self.encoding is None else self.encoding.to_json(),
            "mechanism": self.mechanism.to_json(),
            "rounds": self.rounds,
            "guarantee": self.guarantee.to_json(),
            **attendance,
        }

    @staticmethod
    def from_json(document: object) -> "CampaignDraft":
        """The draft that wrote this; a missing, unknown or wrong field is a `CampaignError`."""
        fields = _fields(document)
        encoding, attendance = fields["encoding"], fields.get("attendance")
        try:
            return CampaignDraft(
                encoding=None if encoding is None else encoding_from_json(encoding),
                mechanism=mechanism_from_json(fields["mechanism"]),
                rounds=fields["rounds"],
                guarantee=_guarantee(fields["guarantee"], attendance=attendance is not None),
                attendance=None if attendance is None else attendance_from_json(attendance),
            )
        except (TypeError, ValueError, OverflowError, EncodingError, MechanismError) as error:
            raise CampaignError(f"the campaign draft is not valid: {error}") from error

    def with_encoding(self, encoding: Encoding) -> "CampaignDraft":
        """The same draft for other answers."""
        return dataclasses.replace(self, encoding=encoding)

    def campaign(
        self, *, question: str, first_round: int, round_seconds: int, gateway: Gateway | None = None
    ) -> Campaign:
        """The whole campaign."""
        if self.encoding is None:
            raise ValueError("the draft has no encoding: it only says how wide answers are")
        return Campaign(
            question=question,
            encoding=self.encoding,
            mechanism=self.mechanism,
            first_round=first_round,
            round_seconds=round_seconds,
            rounds=self.rounds,
            guarantee=self.guarantee,
            attendance=self.attendance,
            gateway=gateway,
        )


def _guarantee(given: object, *, attendance: bool) -> Guarantee:
    """The guarantee of a draft. It says itself whether it relies on a crowd, and whether it declares wipes."""
    present = {name: isinstance(given, dict) and name in given for name in ("crowd", "wipes")}
    return Guarantee.from_json(given, attendance=attendance, **present)


def _fields(given: object) -> dict[str, Any]:
    """A JSON object with exactly the fields of a draft. Those of earlier versions have no attendance."""
    names = [name for name in CampaignDraft.__slots__ if name != "attendance"]
    if not isinstance(given, dict) or set(given) - {"attendance"} != set(names):
        raise CampaignError(
            f"a campaign draft must be a JSON object with exactly the fields {', '.join(names)}, "
            "and with attendance if clients do not answer every round"
        )
    return given
