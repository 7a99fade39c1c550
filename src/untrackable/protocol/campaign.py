"""A campaign: one question asked of everyone, as a public document that never changes.

Its id is the SHA-256 of its bytes, so clients with the same id ask the same question and protect the answer in the
same way. The bytes are canonical: a document that this library would write differently is refused. Beside it is
the directory of published campaigns.

The standard library is enough to read a campaign with turns, to check it and to answer it. What a client does not
need of its mechanism is loaded where it is asked for.

A campaign that relies on a crowd declares its guarantee in the crowd, and lists the keys of the collector's
gateway. So the id pins the keys too: everybody has the same ones, and none is fetched, which could mark a person.
It may also name a relay that holds the reports of each round until they are released together.
"""

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from untrackable import checks, strict_json
from untrackable.encodings.encoding import Encoding, check_shown
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.errors import CampaignError, EncodingError, MechanismError, SealingError
from untrackable.extras import extra
from untrackable.protocol.wire import LAST_ROUND
from untrackable.randomizers.interface import FORMS, Randomizer
from untrackable.randomizers.interface import from_json as randomizer_from_json
from untrackable.strict_json import plain
from untrackable.theory.turns import Turns

if TYPE_CHECKING:
    from untrackable.mechanisms.interface import Mechanism
    from untrackable.protocol.campaign_draft import CampaignDraft

_VERSION = 1
"""The version of campaigns and of directories."""
LARGEST = 1 << 20
"""The largest size of a document, in bytes."""
LONGEST_QUESTION = 1000
"""The largest number of characters of a question."""
LONGEST_ROUND = 366 * 86400
"""The longest round, in seconds."""
_LAST_SECOND = 1 << 40
"""The latest start of a campaign, in seconds since 1970."""
_LARGEST_CROWD = 10**9
"""The largest crowd: that of `theory.crowd`, which a client does not load."""
_MOST_SUITES = 8
"""The largest number of suites of a gateway key."""
LONGEST_DELAY = 30 * 86400
"""The longest time from the end of a round to its release, in seconds."""
_SHORTEST_DELAY, _HOUR = 600, 3600
_MOST_WIPES = 100
"""The largest number of wipes that a campaign allows."""
_LONGEST_FRACTION = 40
"""The largest number of characters of a fraction."""
_HEX = re.compile(r"([0-9a-f]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdGuarantee:
    """All reports ever are (eps, delta)-private in a crowd: the observer does not know who sent which report.

    It holds while every round has at least `reports` reports, by as many people who send them as they should
    (shuffle model). Rounds with fewer are not published. It is the fewest that are likely: at most one round in a
    hundred is below (`theory.crowd.fewest_likely_reports`).
    """

    eps: float
    delta: float
    reports: int

    def __post_init__(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            reports=checks.integer("reports", self.reports, low=2, high=_LARGEST_CROWD),
        )

    def to_json(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in CrowdGuarantee.__slots__}

    @staticmethod
    def from_json(given: object) -> "CrowdGuarantee":
        return CrowdGuarantee(**fields_of("the crowd", given, CrowdGuarantee.__slots__))


@dataclass(frozen=True, slots=True)
class GatewayKey:
    """One public key of the gateway, and the first round whose reports are sealed for it.

    `config` is the key configuration of RFC 9458, section 3.1, without a length before it.
    """

    config: bytes
    first_round: int

    def __post_init__(self) -> None:
        checks.settle(
            self,
            config=_checked_config(self.config),
            first_round=checks.integer("first_round of a gateway key", self.first_round, low=1, high=LAST_ROUND),
        )

    @property
    def id(self) -> int:
        """The number by which sealed reports name the key."""
        return self.config[0]

    def to_json(self) -> dict[str, Any]:
        return {"config": self.config.hex(), "first_round": self.first_round}

    @staticmethod
    def from_json(given: object) -> "GatewayKey":
        fields = fields_of("the gateway key", given, GatewayKey.__slots__)
        if not isinstance(fields["config"], str) or not _HEX.fullmatch(fields["config"]):
            raise CampaignError("the config of a gateway key must be lower-case hexadecimal digits")
        return GatewayKey(bytes.fromhex(fields["config"]), fields["first_round"])


@dataclass(frozen=True, slots=True)
class HoldingRelay:
    """The relay that holds the reports of each round, and releases them once and together.

    The release is `delay` seconds after the end of the round. The crowd that is accounted for is one release.
    """

    address: str
    delay: int

    def __post_init__(self) -> None:
        from untrackable.web_address import WebAddress

        if not isinstance(self.address, str):
            raise TypeError(f"the relay's address must be a text, not {type(self.address).__name__}")
        WebAddress.parse("the relay's address", self.address)
        checks.settle(self, delay=checks.integer("delay", self.delay, low=0, high=LONGEST_DELAY))

    @staticmethod
    def usual(address: str, first_end: int) -> "HoldingRelay":
        """The relay that releases at the first full hour at least ten minutes after the end of the first round."""
        return HoldingRelay(address, -(-(first_end + _SHORTEST_DELAY) // _HOUR) * _HOUR - first_end)

    def to_json(self) -> dict[str, Any]:
        return {"address": self.address, "delay": self.delay}

    @staticmethod
    def from_json(given: object) -> "HoldingRelay":
        return HoldingRelay(**fields_of("the relay", given, HoldingRelay.__slots__))


@dataclass(frozen=True, slots=True)
class Gateway:
    """The way of reports to the collector: the keys of its gateway, and perhaps a relay that holds reports.

    Each key serves from its first round until the next one's. Without `relay`, reports are passed on at once, by
    any relay that the person trusts.
    """

    keys: tuple[GatewayKey, ...]
    relay: HoldingRelay | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.relay, HoldingRelay | None):
            raise TypeError(f"relay must be of type HoldingRelay, not {type(self.relay).__name__}")
        checks.settle(self, keys=tuple(self.keys))
        if not self.keys or self.keys[0].first_round != 1:
            raise ValueError("the first gateway key must serve from round 1")
        if any(one.first_round >= other.first_round for one, other in itertools.pairwise(self.keys)):
            raise ValueError("gateway keys must be in the order of their first rounds, and no two serve from one")
        if len({key.id for key in self.keys}) < len(self.keys):
            raise ValueError("no two gateway keys may have the same id")

    def keys_from(self, round: int) -> tuple[GatewayKey, ...]:
        """The key of a round, and then those that may be tried if it was revoked, in their order."""
        serving = sum(key.first_round <= checks.integer("round", round, low=1) for key in self.keys)
        return self.keys[serving - 1 :]

    def to_json(self) -> dict[str, Any]:
        relay = {} if self.relay is None else {"relay": self.relay.to_json()}
        return {"keys": [key.to_json() for key in self.keys], **relay}

    @staticmethod
    def from_json(given: object) -> "Gateway":
        """The gateway of this JSON. It has `relay` just if the relay holds reports."""
        fields = fields_of("the gateway", given, ["keys"], "relay")
        if not isinstance(fields["keys"], list):
            raise CampaignError("the keys of a gateway must be a list")
        relay = HoldingRelay.from_json(fields["relay"]) if "relay" in fields else None
        return Gateway(tuple(GatewayKey.from_json(key) for key in fields["keys"]), relay)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A declared guarantee about everything that one person ever sends.

    With turns it is `eps` alone: one report, so delta is 0, nothing can be linked, and values may change. If every
    round is answered, all reports are (eps, delta)-private, and (gamma, tracking_delta)-untrackable by what they
    say. Then `values` is "fixed" if that holds for a value that never changes (clients refuse a change), or "any".

    All of this is about an observer who knows which reports are one person's. `crowd` is about one who sees the
    reports of everybody and does not know who sent which, because a relay stands in between.
    """

    eps: float
    delta: float = 0.0
    values: Literal["fixed", "any"] = "any"
    gamma: float = 0.0
    tracking_delta: float = 0.0
    crowd: CrowdGuarantee | None = None

    def __post_init__(self) -> None:
        checks.choice("values", self.values, ("fixed", "any"))
        checks.settle(
            self,
            eps=_finite("eps", self.eps),
            delta=checks.probability("delta", self.delta),
            gamma=_finite("gamma", self.gamma),
            tracking_delta=checks.probability("tracking_delta", self.tracking_delta),
        )

    @property
    def is_of_one_report(self) -> bool:
        """Whether nothing but eps, and perhaps a crowd, is declared."""
        return self == Guarantee(eps=self.eps, crowd=self.crowd)

    def to_json(self, *, turns: bool) -> dict[str, Any]:
        crowd = {} if self.crowd is None else {"crowd": self.crowd.to_json()}
        return {**{name: plain(getattr(self, name)) for name in _guarantee_fields(turns)}, **crowd}

    @staticmethod
    def from_json(given: object, *, turns: bool) -> "Guarantee":
        """The guarantee of this JSON. It has `crowd` just if the campaign relies on one."""
        fields = fields_of("the guarantee", given, _guarantee_fields(turns), "crowd")
        crowd = {"crowd": CrowdGuarantee.from_json(fields["crowd"])} if "crowd" in fields else {}
        return Guarantee(**{**fields, **crowd})


def _guarantee_fields(turns: bool) -> list[str]:
    return ["eps"] if turns else [name for name in Guarantee.__slots__ if name != "crowd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A campaign: its question, encoding, mechanism, rounds and declared guarantee.

    `randomizer` is the client's part of the mechanism. It may be given as the whole mechanism, too.

    Round t begins at `first_round` + (t-1)·`round_seconds`, in seconds since 1970 (UTC), and lasts `round_seconds`.
    With `turns`, each person answers once, in a round that their device draws in secret. Without, everybody answers
    every round, and `rounds` may be None if there is no last one. A campaign that relies on a crowd has the public
    keys of the collector's `gateway`, and is answered through a relay only.
    """

    question: str
    encoding: Encoding
    randomizer: Randomizer
    first_round: int
    round_seconds: int
    rounds: int | None
    guarantee: Guarantee
    turns: Turns | None = None
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, str):
            raise TypeError(f"question must be a string, not {type(self.question).__name__}")
        if not 1 <= len(self.question) <= LONGEST_QUESTION:
            raise ValueError(f"question must have 1 to {LONGEST_QUESTION} characters")
        check_shown("question", self.question)
        for name, kind in (("encoding", Encoding), ("randomizer", Randomizer), ("guarantee", Guarantee)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be of type {kind.__name__}, not {type(getattr(self, name)).__name__}")
        checks.settle(
            self,
            randomizer=self.randomizer.client_part(),
            first_round=checks.integer("first_round", self.first_round, low=0, high=_LAST_SECOND),
            round_seconds=checks.integer("round_seconds", self.round_seconds, low=1, high=LONGEST_ROUND),
        )
        if self.rounds is not None:
            checks.settle(self, rounds=checks.rounds(self.rounds))
        check_turns(self.turns, self.randomizer, self.rounds, self.guarantee)
        check_crowd(self.guarantee.crowd, self.randomizer, self.rounds)
        check_gateway(self.gateway, self.guarantee.crowd)
        if self.looks > 1 and (self.turns is None or self.round_seconds % self.looks):
            raise ValueError("a path needs turns, and a round whose seconds can be divided by its looks")

    @property
    def mechanism(self) -> "Mechanism":
        """The whole mechanism, with its sums, estimates and theory. It takes more than a client needs."""
        return _whole(self.randomizer)

    @property
    def looks(self) -> int:
        """The number of equal parts of a round of which a report tells the answers; 1 for plain questions."""
        return 1 if self.encoding.path is None else self.encoding.path.looks

    @property
    def answers(self) -> Encoding:
        """The encoding of what a person answers: of a path, that of one look."""
        return self.encoding if self.encoding.path is None else self.encoding.path.of

    @property
    def look_seconds(self) -> float:
        """The length of a look."""
        return self.round_seconds / self.looks

    @property
    def chance(self) -> Fraction:
        """The probability with which somebody who takes part answers a given round."""
        return Fraction(1) if self.turns is None else self.turns.chance

    @property
    def changing_values(self) -> int:
        """The number of values that a person may change between; 1 if the guarantee is about a fixed value."""
        return 1 if self.guarantee.values == "fixed" else self.encoding.values

    @property
    def fewest_reports(self) -> int:
        """The smallest number of reports of a round that is published; 0 if the campaign relies on no crowd."""
        return 0 if self.guarantee.crowd is None else self.guarantee.crowd.reports

    @property
    def relay(self) -> HoldingRelay | None:
        """The relay that holds the reports of each round; None if there is none."""
        return None if self.gateway is None else self.gateway.relay

    @property
    def ends(self) -> int | None:
        """The end of the last round, in seconds since 1970; None if there is no last one."""
        return None if self.rounds is None else self.begins(self.rounds + 1)

    @property
    def last_round(self) -> int | None:
        """The last round that anybody can answer, by the campaign and its mechanism; None if there is none."""
        return min((end for end in (self.rounds, self.randomizer.last_round) if end is not None), default=None)

    @property
    def id(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return identify(self.to_bytes())

    def begins(self, round: int) -> int:
        """The start of a round, in seconds since 1970. A round ends when the next one would begin."""
        return self.first_round + (checks.integer("round", round, low=1) - 1) * self.round_seconds

    def leaves(self, round: int) -> int:
        """When the last reports of a round leave for the collector: at its end, or at its release by the relay."""
        return self.begins(round + 1) + (0 if self.relay is None else self.relay.delay)

    def last_begun(self, now: float) -> int:
        """The last round that has begun at a time, if there were no end; 0 if none has."""
        return max(0, math.floor((now - self.first_round) / self.round_seconds) + 1)

    def round_at(self, now: float) -> int | None:
        """The round in progress at a time, or None."""
        number = self.last_begun(now)
        return number if 1 <= number <= (self.rounds or LAST_ROUND) else None

    def to_json(self) -> dict[str, Any]:
        return {
            **common_json(self, self.randomizer),
            **({} if self.gateway is None else {"gateway": self.gateway.to_json()}),
            "first_round": self.first_round,
            "question": self.question,
            "round_seconds": self.round_seconds,
            "version": _VERSION,
        }

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return _document(self)

    @staticmethod
    def from_bytes(data: bytes) -> "Campaign":
        """Read a campaign. Unknown fields, unknown versions and bytes that are not canonical are errors."""
        document = read_document("campaign", data, _FIELDS, ("turns", "gateway"))
        try:
            campaign = Campaign(
                question=document["question"],
                encoding=encoding_from_json(document["encoding"]),
                randomizer=_randomizer(document["mechanism"]),
                first_round=document["first_round"],
                round_seconds=document["round_seconds"],
                gateway=Gateway.from_json(document["gateway"]) if "gateway" in document else None,
                **common_fields(document),
            )
        except RecursionError:
            raise CampaignError("the campaign is not valid: its parts are nested too deeply") from None
        except (TypeError, ValueError, OverflowError, EncodingError, MechanismError) as error:
            raise CampaignError(f"the campaign is not valid: {error}") from error
        if campaign.to_bytes() != data:
            raise CampaignError("the campaign is not canonical: it must be written exactly as `to_bytes` writes it")
        return campaign


_FIELDS = ("encoding", "first_round", "guarantee", "mechanism", "question", "round_seconds", "rounds")
"""The fields that every document has, beside the version."""


def _randomizer(description: Any) -> Randomizer:
    """The client's part of the mechanism of this description; the whole one if a client does not know it."""
    if FORMS.knows(description):
        return randomizer_from_json(description)
    with extra("all"):
        from untrackable.mechanisms.interface import from_json
    return from_json(description)


@lru_cache(maxsize=64)
def _whole(randomizer: Randomizer) -> "Mechanism":
    with extra("all"):
        from untrackable.mechanisms.interface import whole
    return whole(randomizer)


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
        return strict_json.canonical({"campaigns": list(self.ids), "version": _VERSION})

    @staticmethod
    def from_bytes(data: bytes) -> "Directory":
        """Read a directory. The same strict rules apply as for a campaign."""
        ids = read_document("directory", data, ["campaigns"])["campaigns"]
        if not isinstance(ids, list):
            raise CampaignError("campaigns must be a list of ids")
        directory = Directory(tuple(ids))
        if directory.to_bytes() != data:
            raise CampaignError(
                "the directory is not canonical: it must be written exactly as `to_bytes` writes it"
            )
        return directory


def common_json(asked: "Campaign | CampaignDraft", randomizer: Randomizer) -> dict[str, Any]:
    """The fields that a campaign and its draft have in common, as JSON."""
    return {
        "encoding": None if asked.encoding is None else asked.encoding.to_json(),
        "mechanism": randomizer.to_json(),
        "rounds": asked.rounds,
        "guarantee": asked.guarantee.to_json(turns=asked.turns is not None),
        **({} if asked.turns is None else {"turns": turns_to_json(asked.turns)}),
    }


def common_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """These fields from JSON, but for the encoding and the mechanism."""
    return {
        "rounds": fields["rounds"],
        "guarantee": Guarantee.from_json(fields["guarantee"], turns="turns" in fields),
        "turns": turns_from_json(fields["turns"], fields["rounds"]) if "turns" in fields else None,
    }


def check_turns(turns: Turns | None, randomizer: Randomizer, rounds: int | None, guarantee: Guarantee) -> None:
    """Refuse turns of other rounds, with a mechanism that keeps anything, or with more guarantees than eps."""
    if not isinstance(turns, Turns | None):
        raise TypeError(f"turns must be of type Turns, not {type(turns).__name__}")
    if turns is None:
        return
    if turns.rounds != rounds:
        raise ValueError(f"turns are of {turns.rounds} rounds, and the campaign has {rounds}")
    if turns.wipes > _MOST_WIPES:
        raise ValueError(f"wipes must be at most {_MOST_WIPES}, got {turns.wipes}")
    if randomizer.loss_of_one_report is None:
        raise ValueError("with turns, the mechanism must be fresh, with a known largest loss of one report")
    if not guarantee.is_of_one_report:
        raise ValueError("with turns, the guarantee is eps, and perhaps a crowd: there is only one report")


def check_crowd(crowd: CrowdGuarantee | None, randomizer: Randomizer, rounds: int | None) -> None:
    """Refuse a crowd guarantee for reports that can be linked."""
    if not isinstance(crowd, CrowdGuarantee | None):
        raise TypeError(f"crowd must be of type CrowdGuarantee, not {type(crowd).__name__}")
    if crowd is None:
        return
    if randomizer.tracking_advantage_upper(rounds) > 0:
        raise ValueError("its reports can be linked, so a crowd does not hide them")


def check_gateway(gateway: Gateway | None, crowd: CrowdGuarantee | None) -> None:
    """Refuse a crowd guarantee without a gateway, and a gateway without one."""
    if not isinstance(gateway, Gateway | None):
        raise TypeError(f"gateway must be of type Gateway, not {type(gateway).__name__}")
    if (gateway is None) != (crowd is None):
        raise ValueError("a campaign has both a gateway and a guarantee in a crowd, or neither")


def _checked_config(config: bytes) -> bytes:
    """The bytes of a key configuration, if it is one that clients know."""
    from untrackable.oblivious.key_config import KeyConfig

    if not isinstance(config, bytes):
        raise TypeError(f"config must be bytes, not {type(config).__name__}")
    try:
        suites = KeyConfig.from_bytes(config).suites
    except SealingError as error:
        raise ValueError(f"a gateway key must be one key configuration of RFC 9458: {error}") from None
    if len(suites) > _MOST_SUITES:
        raise ValueError(f"a gateway key must have at most {_MOST_SUITES} suites")
    return config


def fields_of(what: str, given: object, names: Iterable[str], optional: str = "") -> dict[str, Any]:
    """A JSON object with exactly these fields, and perhaps the optional one."""
    wanted = tuple(names)
    if not isinstance(given, dict) or set(given) - {optional} != set(wanted):
        more = f", and perhaps {optional}" if optional else ""
        raise CampaignError(f"{what} must have exactly the fields {', '.join(wanted)}{more}")
    return given


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


def turns_to_json(turns: Turns) -> dict[str, Any]:
    """Turns as JSON, without the number of rounds, which the campaign says. Fractions are texts in lowest terms."""
    return {"share": str(turns.share), "wipes": turns.wipes}


def turns_from_json(given: object, rounds: Any) -> Turns:
    """The turns of this JSON, in this number of rounds."""
    fields = fields_of("turns", given, ("share", "wipes"))
    if not isinstance(fields["share"], str) or len(fields["share"]) > _LONGEST_FRACTION:
        raise CampaignError(f"share must be a text of at most {_LONGEST_FRACTION} characters")
    return Turns(rounds=checks.rounds(rounds), share=checks.chance("share", fields["share"]), wipes=fields["wipes"])


def read_document(what: str, data: bytes, fields: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Read a JSON object that has a version, exactly these fields, and perhaps the optional ones."""
    if not isinstance(data, bytes) or len(data) > LARGEST:
        raise CampaignError(f"a {what} must be at most {LARGEST} bytes")
    try:
        document = strict_json.parse(data)
    except ValueError as error:
        raise CampaignError(f"the {what} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CampaignError(f"a {what} must be a JSON object")
    if type(document.get("version")) is not int or document["version"] != _VERSION:
        raise CampaignError(f"the version of a {what} must be {_VERSION}")
    if missing := [name for name in fields if name not in document]:
        raise CampaignError(f"the {what} lacks {', '.join(missing)}")
    if unknown := [name for name in document if name not in ("version", *fields, *optional)]:
        raise CampaignError(f"the {what} has no field {', '.join(map(repr, unknown))}")
    return document


def _finite(name: str, given: float) -> float:
    number = checks.non_negative(name, given)
    if number == math.inf:
        raise ValueError(f"{name} must be finite")
    return number
