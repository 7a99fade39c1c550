"""A program in Node.js gets a ballot from a real issuer, and shows it with its report."""

from pathlib import Path

import pytest

from tests.ballots.samples import EXPIRES
from tests.browser.questions import question
from tests.cli.test_ballots import serving
from tests.node.programs import Asked, Installed
from tests.node.test_crashes import BEFORE, JUST_BEFORE, collector, killed
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.protocol import wire
from untrackable.protocol.ballots import CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]


def asked_by(issuer: str, register: Register) -> Campaign:
    """A question whose reports need ballots."""
    return question(ballots=CampaignBallots(issuer, register.key, EXPIRES))


def test_each_code_is_heard_once(people: Installed, tmp_path: Path) -> None:
    """One person is killed at random moments and loses nothing; another one's storage is wiped."""
    register = Register.make(tmp_path / "a.ballots", Entitled.CODES, EXPIRES)
    codes = register.new_codes(3)
    with serving(tmp_path / "a.ballots") as issuer, collector(asked_by(issuer, register)) as (server, bodies):
        campaign = asked_by(issuer, register)

        def person(name: str, code: str) -> Asked:
            return Asked(campaign, server, tmp_path / name, enrolment=code)

        one, other, again = person("one", codes[0]), person("other", codes[1]), person("again", codes[1])
        for each in (one, other, again):
            assert people.does(each, (BEFORE, "answer", "page 1")) == ["not yet"]
        assert register.state().issued == 0
        for _ in range(4):
            killed(people, one, (JUST_BEFORE, "answer", "page 2"))
        for each in (one, other):
            assert people.does(each, (JUST_BEFORE, "answer", "page 2")) == ["kept"]
        assert people.does(again, (JUST_BEFORE, "answer", "page 2")) == [
            {"refused": "the issuer of ballots says that this person's ballot was issued before"}
        ]
        nobody = person("nobody", "no code")
        told = people.does(nobody, (BEFORE, "answer", "page 1"), (JUST_BEFORE, "answer", "page 1"))
        assert told == ["not yet", {"refused": "the issuer of ballots says that this does not entitle to a ballot"}]
        assert register.state().issued == 2
        outcomes = [
            people.does(each, *((campaign.begins(number + 1) - 1.0, "send") for number in range(1, 5)))
            for each in (one, other)
        ]
    assert [found.count("accepted") for found in outcomes] == [1, 1]
    shown = [ballot for body in bodies for ballot in wire.of_campaign(campaign).ballots(body)]
    assert len({ballot[:32] for ballot in shown}) == 2
    assert all(is_valid(register.key, campaign.id, ballot) for ballot in shown)
    for name in ("one", "other"):
        kept = "".join(path.read_text() for path in (tmp_path / name).iterdir())
        assert not any(ballot[:32].hex() in kept or ballot[32:].hex() in kept for ballot in shown)


def test_an_issuer_that_is_down_delays_joining(people: Installed, tmp_path: Path) -> None:
    register = Register.make(tmp_path / "a.ballots", Entitled.ANYBODY, EXPIRES)
    campaign = asked_by("http://127.0.0.1:9", register)
    with collector(campaign) as (server, _):
        asked = Asked(campaign, server, tmp_path / "mine")
        told = people.does(asked, (BEFORE, "answer", "page 1"), (JUST_BEFORE, "answer", "page 1"))
    assert told == ["not yet", {"refused": "the issuer of ballots cannot be reached"}]
