"""What would be sent, as bytes and in words, before anything is."""

import math
from dataclasses import dataclass
from typing import Any

from untrackable.brackets import at_least, at_most
from untrackable.client.state import State
from untrackable.protocol import wire
from untrackable.protocol.ballots import BALLOT
from untrackable.protocol.campaign import Campaign
from untrackable.randomizers.randomness import Entropy


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """An example of a report, made with randomness of its own, and what a report of the campaign can tell.

    `left_lower` is the eps that further campaigns may have. `refusal` says why the campaign would be refused.
    """

    campaign: Campaign
    example: bytes
    left_lower: float
    joined: bool
    refusal: str | None

    @property
    def odds_upper(self) -> float:
        """The factor by which a report changes the odds between any two answers, at most."""
        eps = self.campaign.guarantee.eps
        return math.inf if eps > 700 else 1.0 if eps == 0 else math.nextafter(math.exp(eps), math.inf)

    @property
    def words(self) -> list[str]:
        """All of it, in sentences."""
        asked, size = self.campaign, len(self.example)
        answer = wire.of_campaign(asked).payload
        ballot = f", and {size - wire.HEAD - answer} with the rest of a ballot" if asked.ballots is not None else ""
        told = [
            f"An example of a report about your answer, made with fresh randomness: {self.example.hex()}",
            "The one that is sent looks like it and differs. "
            f"Its {size} bytes are 1 for the version, 4 for the round, {wire.NONCE} drawn for this report alone, "
            f"and {answer} with the answer and its noise{ballot}.",
            "Whoever takes the connection sees your network address and the time, as everywhere on the internet."
            if asked.gateway is None
            else "It is sealed, and goes through a relay of your policy: the collector does not learn who sent it.",
            self._told(),
        ]
        if asked.ballots is not None:
            told.append(
                f"You are counted once: {asked.ballots.issuer} gives you one ballot, and so learns that you take "
                "part. Nobody can tell whose ballot a report shows."
            )
        if asked.turns is not None:
            told.append(f"It is sent once at most, in one of {asked.turns.rounds:,} rounds, drawn in secret.")
        if self.refusal is not None:
            return [*told, f"This campaign would be refused, and nothing sent: {self.refusal}"]
        left = f"eps {at_least(self.left_lower, 3)} of your budget is left for further campaigns (lower)."
        return [*told, f"{'You take part already' if self.joined else 'With this campaign'}: {left}"]

    def _told(self) -> str:
        eps = self.campaign.guarantee.eps
        if eps == 0:
            return "It has no content: it says only that somebody answered (eps 0)."
        return (
            "To somebody who knows that it is yours, all that you send to this campaign changes the odds between "
            f"any two answers by a factor of at most {at_most(self.odds_upper, 3)} (eps {at_most(eps, 3)}, upper)."
        )


def example(campaign: Campaign, value: Any, source: Entropy) -> bytes:
    """A report about an answer, in the round that fresh randomness draws."""
    encoded = campaign.answers.encode(value)
    if (path := campaign.encoding.path) is not None:
        encoded = path.joined([encoded] * path.looks)
    ballot = b"" if campaign.ballots is None else source(BALLOT)
    while (state := State.new(campaign, encoded, 1, source, ballot=ballot)) is None:
        pass  # Some devices have no turn.
    prepared = state.answered(campaign, state.ratchet.round).prepared
    if prepared is None:
        raise AssertionError("an answered state has a report")
    return prepared.body
