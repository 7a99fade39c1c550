"""Registers, requests and ballots for tests."""

from pathlib import Path

from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.protocol.ballots import BallotRequest
from untrackable.randomizers.randomness import system

CAMPAIGN = "5d" * 32
START = 1_800_000_000
EXPIRES = START + 30 * 86400


def register(folder: Path, entitled: Entitled = Entitled.CODES, name: str = "a.ballots") -> Register:
    """A new register."""
    return Register.make(folder / name, entitled, EXPIRES)


def request(issuer: Register) -> BallotRequest:
    """A new request."""
    return BallotRequest.draw(issuer.key, CAMPAIGN, system)
