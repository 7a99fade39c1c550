"""The draft of a campaign, which a plan writes: a campaign without its question and its times."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.encodings.record import Path
from untrackable.errors import CampaignError, EncodingError, MechanismError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.interface import from_json as mechanism_from_json
from untrackable.protocol.ballots import CampaignBallots
from untrackable.protocol.campaign import (
    Campaign,
    Gateway,
    Guarantee,
    check_crowd,
    check_turns,
    common_fields,
    common_json,
    fields_of,
)
from untrackable.theory.turns import Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDraft:
    """All of a campaign but its question and its times, and the keys of the gateway if it relies on a crowd.

    `encoding` is None where no more is known than how wide values are. With `rounds` None there is no last round.
    Of a path, a round has all its looks.
    """

    encoding: Encoding | None
    mechanism: Mechanism
    rounds: int | None
    guarantee: Guarantee
    turns: Turns | None = None

    def __post_init__(self) -> None:
        for name, kind in (("encoding", Encoding | None), ("mechanism", Mechanism), ("guarantee", Guarantee)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must not be of type {type(getattr(self, name)).__name__}")
        if self.rounds is not None:
            checks.settle(self, rounds=checks.rounds(self.rounds))
        check_turns(self.turns, self.mechanism, self.rounds, self.guarantee)
        check_crowd(self.guarantee.crowd, self.mechanism, self.rounds)

    def to_json(self) -> dict[str, Any]:
        """The draft as JSON, from which `from_json` makes an equal one."""
        return common_json(self, self.mechanism)

    @staticmethod
    def from_json(document: object) -> "CampaignDraft":
        """The draft that wrote this; a missing, unknown or wrong field is a `CampaignError`."""
        names = (name for name in CampaignDraft.__slots__ if name != "turns")
        fields = fields_of("a campaign draft must be a JSON object: it", document, names, "turns")
        encoding = fields["encoding"]
        try:
            return CampaignDraft(
                encoding=None if encoding is None else encoding_from_json(encoding),
                mechanism=mechanism_from_json(fields["mechanism"]),
                **common_fields(fields),
            )
        except (TypeError, ValueError, OverflowError, EncodingError, MechanismError) as error:
            raise CampaignError(f"the campaign draft is not valid: {error}") from error

    def with_encoding(self, encoding: Encoding) -> "CampaignDraft":
        """This draft for other answers, with the same number of looks."""
        path = self.encoding
        looked = Path(of=encoding, looks=path.looks) if isinstance(path, Path) else encoding
        return dataclasses.replace(self, encoding=looked)

    def campaign(
        self,
        *,
        question: str,
        first_round: int,
        round_seconds: int,
        gateway: Gateway | None = None,
        ballots: CampaignBallots | None = None,
    ) -> Campaign:
        """The whole campaign. If it asks for paths, `round_seconds` are those of a look."""
        if self.encoding is None:
            raise ValueError("the draft has no encoding: it only says how wide answers are")
        return Campaign(
            question=question,
            encoding=self.encoding,
            randomizer=self.mechanism,
            first_round=first_round,
            round_seconds=round_seconds * (self.encoding.looks if isinstance(self.encoding, Path) else 1),
            rounds=self.rounds,
            guarantee=self.guarantee,
            turns=self.turns,
            gateway=gateway,
            ballots=ballots,
        )
