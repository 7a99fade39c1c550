"""A campaign: one question asked of everyone, as a public document that never changes.

Its id is the SHA-256 of its bytes, so clients with the same id ask the same question and protect the answer in the
same way. The bytes are canonical: a document that this library would write differently is refused.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from untrackable import checks, strict_json
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.encodings.shown_text import check_shown
from untrackable.errors import CampaignError, EncodingError, MechanismError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.registry import from_json as mechanism_from_json
from untrackable.mechanisms.registry import plain
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway, check_crowd, check_gateway
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.attendance import Attendance

_ATTENDED, _IN_A_CROWD = 2, 3
"""The versions of campaigns with attendance, and of those that rely on a crowd. Others stay at version 1."""
_WIPES = 2
"""What is added to the version if the campaign declares wipes of storage: 4, or 5 with a crowd."""
_MOST_WIPES = 100
"""The largest number of wipes that a campaign declares."""
_DIRECTORY_VERSION = 1
"""The version of directories."""
LARGEST = 1 << 20
"""The largest size of a document, in bytes."""
_LAST_SECOND = 1 << 40
"""The latest start of a campaign, in seconds since 1970."""
LONGEST_QUESTION = 1000
"""The largest number of characters of a question."""
_LONGEST_FRACTION = 40
"""The largest number of characters of a fraction."""
LONGEST_ROUND = 366 * 86400
"""The longest round, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A declared guarantee: all reports ever are (eps, delta)-private and (gamma, tracking_delta)-untrackable.

    `values` says when privacy holds: "fixed" for a value that never changes (clients refuse a change), or "any" for
    any sequence of values (clients follow a change). Untrackability is for all rounds of the campaign together, and
    it is about what the reports say. `recognition` is about the rounds that people answer, too: an observer of two
    places recognises a person among 1,000 with at most this probability. Campaigns of version 1 do not declare it.

    All of this is about an observer who knows which reports are one person's. `crowd` is about one who sees the
    reports of everybody and does not know who sent which, because a relay stands in between.

    A client whose storage is wiped is a new client. `wipes` says how often that may happen to a person so that all
    of this still holds: a number, or "any". Campaigns that do not declare it leave wiped storage out.
    """

    eps: float
    delta: float
    values: Literal["fixed", "any"]
    gamma: float
    tracking_delta: float
    recognition: float | None = None
    crowd: CrowdGuarantee | None = None
    wipes: int | Literal["any"] | None = None

    def __post_init__(self) -> None:
        checks.choice("values", self.values, ("fixed", "any"))
        checks.settle(
            self,
            eps=_finite("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=_finite("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
        )
        if self.recognition is not None:
            checks.settle(self, recognition=checks.probability("recognition", self.recognition))
        if self.wipes is not None and self.wipes != "any":
            checks.settle(self, wipes=checks.integer("wipes", self.wipes, low=0, high=_MOST_WIPES))

    def to_json(self) -> dict[str, Any]:
        """The guarantee as JSON, without what it does not declare."""
        crowd = {} if self.crowd is None else {"crowd": self.crowd.to_json()}
        declared = {name: getattr(self, name) for name in Guarantee.__slots__ if name != "crowd"}
        return {**{name: plain(value) for name, value in declared.items() if value is not None}, **crowd}

    @staticmethod
    def from_json(given: object, *, attendance: bool, crowd: bool = False, wipes: bool = False) -> "Guarantee":
        """The guarantee of this JSON.

        It has `recognition` just if the campaign is one with attendance, `crowd` if it relies on one, and `wipes`
        if it declares them.
        """
        present = {"recognition": attendance, "crowd": crowd, "wipes": wipes}
        names = [name for name in Guarantee.__slots__ if present.get(name, True)]
        if not isinstance(given, dict) or set(given) != set(names):
            raise CampaignError(f"the guarantee must have exactly the fields {', '.join(names)}")
        if wipes and given["wipes"] is None:
            raise CampaignError("wipes must be a number or any")
        return Guarantee(**{**given, "crowd": CrowdGuarantee.from_json(given["crowd"]) if crowd else None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A campaign: its question, encoding, mechanism, rounds and declared guarantee.

    Round t begins at `first_round` + (t-1)·`round_seconds`, in seconds since 1970 (UTC), and lasts `round_seconds`.
    With `rounds` None the campaign has no last round. `attendance` says how often clients answer, and for which
    places the guarantee counts. Without it, clients answer every round, and the guarantee leaves attendance out.
    A campaign that relies on a crowd has the public keys of the collector's `gateway`, and is answered through a
    relay only.
    """

    question: str
    encoding: Encoding
    mechanism: Mechanism
    first_round: int
    round_seconds: int
    rounds: int | None
    guarantee: Guarantee
    attendance: Attendance | None = None
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, str):
            raise TypeError(f"question must be a string, not {type(self.question).__name__}")
        if not 1 <= len(self.question) <= LONGEST_QUESTION:
            raise ValueError(f"question must have 1 to {LONGEST_QUESTION} characters")
        check_shown("question", self.question)
        for name, kind in (("encoding", Encoding), ("mechanism", Mechanism), ("guarantee", Guarantee)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be of type {kind.__name__}, not {type(getattr(self, name)).__name__}")
        checks.settle(
            self,
            first_round=checks.integer("first_round", self.first_round, low=0, high=_LAST_SECOND),
            round_seconds=checks.integer("round_seconds", self.round_seconds, low=1, high=LONGEST_ROUND),
        )
        if self.rounds is not None:
            checks.settle(self, rounds=checks.rounds(self.rounds))
        check_attendance(self.attendance, self.guarantee)
        check_crowd(self.guarantee.crowd, self.mechanism, self.rounds, attended=self.attendance is not None)
        check_gateway(self.gateway, self.guarantee.crowd)
        check_wipes(self.attendance, self.guarantee)

    @property
    def attending(self) -> Attendance:
        """The attendance, declared or not. Without a declared one, clients answer every round from anywhere."""
        return Attendance() if self.attendance is None else self.attendance

    @property
    def participation(self) -> Fraction:
        """The probability with which a client answers a round."""
        return self.attending.participation

    @property
    def changing_values(self) -> int:
        """The number of values that a person may change between; 1 if the guarantee is about a fixed value."""
        return 1 if self.guarantee.values == "fixed" else self.encoding.values

    @property
    def states(self) -> int | None:
        """The number of states of one person that the guarantee counts; None if there may be any number.

        Where each round has a report of its own, whichever state makes it, the number of states makes no
        difference, and counts as 1.
        """
        wipes = self.guarantee.wipes
        if not wipes or self.mechanism.charged_by != "states":
            return 1
        return None if wipes == "any" else wipes + 1

    @property
    def fewest_reports(self) -> int:
        """The smallest number of reports of a round that is published: what the counted crowd sends on average.

        That crowd is so much smaller than the one that was asked that few rounds are below (`counted_crowd`). 0 if
        the campaign does not rely on a crowd.
        """
        crowd = self.guarantee.crowd
        return 0 if crowd is None else math.ceil(self.participation * crowd.people)

    @property
    def id(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return identify(self.to_bytes())

    def begins(self, round: int) -> int:
        """The start of a round, in seconds since 1970. A round ends when the next one would begin."""
        return self.first_round + (checks.integer("round", round, low=1) - 1) * self.round_seconds

    def round_at(self, now: float) -> int | None:
        """The round in progress at a time, or None."""
        number = math.floor((now - self.first_round) / self.round_seconds) + 1
        return number if 1 <= number <= (self.rounds or LAST_ROUND) else None

    def to_json(self) -> dict[str, Any]:
        """The document as a JSON object."""
        attendance = {} if self.attendance is None else {"attendance": self.attendance.to_json()}
        gateway = {} if self.gateway is None else {"gateway": self.gateway.to_json()}
        return {
            **attendance,
            **gateway,
            "encoding": self.encoding.to_json(),
            "first_round": self.first_round,
            "guarantee": self.guarantee.to_json(),
            "mechanism": self.mechanism.to_json(),
            "question": self.question,
            "round_seconds": self.round_seconds,
            "rounds": self.rounds,
            "version": (_IN_A_CROWD if gateway else _ATTENDED if attendance else 1)
            + (0 if self.guarantee.wipes is None else _WIPES),
        }

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return _document(self)

    @staticmethod
    def from_bytes(data: bytes) -> "Campaign":
        """Read a campaign. Unknown fields, unknown versions and bytes that are not canonical are errors."""
        names = ["version", *(name for name in Campaign.__slots__ if name not in ("attendance", "gateway"))]
        attended = [*names, "attendance"]
        in_crowd = [*attended, "gateway"]
        fields = {1: names, _ATTENDED: attended, _IN_A_CROWD: in_crowd}
        fields |= {_ATTENDED + _WIPES: attended, _IN_A_CROWD + _WIPES: in_crowd}
        document = read_document("campaign", data, fields)
        version, crowd = document["version"], "gateway" in document
        try:
            campaign = Campaign(
                question=document["question"],
                encoding=encoding_from_json(document["encoding"]),
                mechanism=mechanism_from_json(document["mechanism"]),
                first_round=document["first_round"],
                round_seconds=document["round_seconds"],
                rounds=document["rounds"],
                guarantee=Guarantee.from_json(
                    document["guarantee"],
                    attendance=version >= _ATTENDED,
                    crowd=crowd,
                    wipes=version > _IN_A_CROWD,
                ),
                attendance=attendance_from_json(document["attendance"]) if version >= _ATTENDED else None,
                gateway=Gateway.from_json(document["gateway"]) if crowd else None,
            )
        except RecursionError:
            raise CampaignError("the campaign is not valid: its parts are nested too deeply") from None
        except (TypeError, ValueError, OverflowError, EncodingError, MechanismError) as error:
            raise CampaignError(f"the campaign is not valid: {error}") from error
        if campaign.to_bytes() != data:
            raise CampaignError("the campaign is not canonical: it must be written exactly as `to_bytes` writes it")
        return campaign


@dataclass(frozen=True, slots=True)
class Directory:
    """The ids of published campaigns. A client that pins the directory's digest takes part in no others."""

    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        for given in self.ids:
            check_id(given)
        checks.settle(self, ids=tuple(sorted(set(self.ids))))

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return identify(self.to_bytes())

    def with_ids(self, ids: Iterable[str]) -> "Directory":
        """A directory that also lists these ids."""
        return Directory((*self.ids, *ids))

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return strict_json.canonical({"campaigns": list(self.ids), "version": _DIRECTORY_VERSION})

    @staticmethod
    def from_bytes(data: bytes) -> "Directory":
        """Read a directory. The same strict rules apply as for a campaign."""
        ids = read_document("directory", data, {_DIRECTORY_VERSION: ("version", "campaigns")})["campaigns"]
        if not isinstance(ids, list):
            raise CampaignError("campaigns must be a list of ids")
        directory = Directory(tuple(ids))
        if directory.to_bytes() != data:
            raise CampaignError(
                "the directory is not canonical: it must be written exactly as `to_bytes` writes it"
            )
        return directory


@lru_cache(maxsize=64)
def _document(campaign: Campaign) -> bytes:
    """A campaign's bytes, made once: it never changes, and they are asked for again and again."""
    return strict_json.canonical(campaign.to_json())


def identify(data: bytes) -> str:
    """The SHA-256 of the bytes in hexadecimal, which names a document."""
    return hashlib.sha256(data).hexdigest()


def check_id(given: object) -> str:
    """Return `given` if it is an id: 64 lower-case hexadecimal digits."""
    if not isinstance(given, str) or len(given) != 64 or not set(given) <= set("0123456789abcdef"):
        raise CampaignError("an id must be 64 lower-case hexadecimal digits")
    return given


def check_attendance(attendance: Attendance | None, guarantee: Guarantee) -> None:
    """Refuse attendance without a declared recognition, a recognition without attendance, and nobody answering."""
    if not isinstance(attendance, Attendance | None):
        raise TypeError(f"attendance must be of type Attendance, not {type(attendance).__name__}")
    if (attendance is None) != (guarantee.recognition is None):
        raise ValueError("a campaign has both attendance and a guarantee with recognition, or neither")
    if attendance is not None and attendance.participation == 0:
        raise ValueError("participation must be above 0: nobody would answer")


def check_wipes(attendance: Attendance | None, guarantee: Guarantee) -> None:
    """Refuse wipes without attendance, and for clients that must remember their network."""
    if guarantee.wipes is not None and attendance is None:
        raise ValueError("a campaign that declares wipes has attendance, too")
    if guarantee.wipes and attendance is not None and attendance.one_network:
        raise ValueError("wipes must be 0 with one_network: a client whose storage is wiped forgets its network")


def attendance_from_json(given: object) -> Attendance:
    """The attendance of this JSON. Fractions are texts in lowest terms."""
    if not isinstance(given, dict) or set(given) != set(Attendance.__slots__):
        raise CampaignError(f"the attendance must have exactly the fields {', '.join(Attendance.__slots__)}")
    if not isinstance(given["places"], list):
        raise CampaignError("places must be a list of fractions")
    for text in (given["participation"], *given["places"]):
        if not isinstance(text, str) or len(text) > _LONGEST_FRACTION:
            raise CampaignError(f"a fraction must be a text of at most {_LONGEST_FRACTION} characters")
    return Attendance(**{**given, "places": tuple(given["places"])})


def read_document(what: str, data: bytes, versions: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """Read a JSON object of one of these versions, which has exactly the fields of its version."""
    if not isinstance(data, bytes) or len(data) > LARGEST:
        raise CampaignError(f"a {what} must be at most {LARGEST} bytes")
    try:
        document = strict_json.parse(data)
    except ValueError as error:
        raise CampaignError(f"the {what} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CampaignError(f"a {what} must be a JSON object")
    version = document.get("version")
    if type(version) is not int or version not in versions:
        raise CampaignError(f"the version of a {what} must be {_either(versions)}")
    fields = versions[version]
    if missing := [name for name in fields if name not in document]:
        raise CampaignError(f"the {what} lacks {', '.join(missing)}")
    if unknown := [name for name in document if name not in fields]:
        raise CampaignError(f"the {what} has no field {', '.join(map(repr, unknown))}")
    return document


def _either(versions: Iterable[int]) -> str:
    *others, last = versions
    return f"{', '.join(map(str, others))} or {last}" if others else str(last)


def _finite(name: str, given: float) -> float:
    number = checks.non_negative(name, given)
    if number == math.inf:
        raise ValueError(f"{name} must be finite")
    return number
