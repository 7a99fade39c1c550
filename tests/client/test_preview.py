"""A preview shows what would be sent, and changes nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.samples import GATEWAY, Clock, client, nonce_of, snapshot, turns_campaign
from untrackable.client.client import preview
from untrackable.client.policy import Policy
from untrackable.encodings.encoding import Presence
from untrackable.encodings.numbers import IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.mechanisms.local import Present, RandomizedResponse
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Guarantee
from untrackable.protocol.wire import Wire


def times(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in [folder, *folder.iterdir()]}


def test_nothing_on_disk_changes(tmp_path: Path) -> None:
    clock, asked = Clock(), turns_campaign()
    person = client(tmp_path / "c", asked, clock)
    assert person.preview(2).joined is False
    assert not (tmp_path / "c").exists()
    (tmp_path / "empty").mkdir()
    assert client(tmp_path / "empty", asked, clock).preview(2).refusal is None
    assert list((tmp_path / "empty").iterdir()) == []
    person.answer(2)
    before, then = snapshot(tmp_path / "c"), times(tmp_path / "c")
    shown = person.preview(3)
    assert shown.joined
    assert (snapshot(tmp_path / "c"), times(tmp_path / "c")) == (before, then)


def test_the_example_is_a_report_of_the_answer_made_with_fresh_randomness(tmp_path: Path) -> None:
    asked = turns_campaign(RandomizedResponse(eps=1.0))
    person = client(tmp_path / "c", asked, Clock())
    shown = [person.preview(1).example for _ in range(400)]
    assert len({nonce_of(body) for body in shown}) == 400
    decoded = Wire.decode(Wire(report_bits=1), b"".join(shown))
    assert set(decoded.rounds.tolist()) == set(range(1, 31))
    # e/(1+e) = 0.731 of 400 tell the truth; 0.6 and 0.86 are 5 standard deviations away (false alarms below 1e-6).
    assert 0.6 < sum(body[-1] for body in shown) / 400 < 0.86


def test_it_says_what_a_report_can_tell_and_what_is_left(tmp_path: Path) -> None:
    asked = turns_campaign()
    person = client(tmp_path / "c", asked, Clock(), eps=3.0)
    shown = person.preview(2)
    assert 2.718281828459045 <= shown.odds_upper < 2.7183
    assert shown.left_lower == 2.0
    said = " ".join(shown.words)
    assert shown.example.hex() in said
    for words in (
        "An example",
        "differs",
        "at most 2.72 (eps 1, upper)",
        "one of 30 rounds",
        "eps 2 of your budget",
    ):
        assert words in said
    refused = client(tmp_path / "c", asked, Clock(), eps=0.5).preview(2)
    assert "would be refused" in refused.words[-1]
    assert shown.example.hex() not in repr(shown)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (turns_campaign(base=Present(), encoding=Presence(), eps=0.0), "no content"),
        (
            turns_campaign(
                Views(bits=4, views=((0, 1, 2, 3),), eps=1.0),
                encoding=AnswerPath(of=IntegerRange(low=0, high=3), looks=2),
            ),
            "22 bytes",
        ),
    ],
    ids=["people", "path"],
)
def test_other_questions(asked: Campaign, words: str, tmp_path: Path) -> None:
    value = True if isinstance(asked.encoding, Presence) else 2
    shown = preview(tmp_path / "c", asked, value, Policy())
    assert words in " ".join(shown.words)


def test_with_a_relay_it_says_so(tmp_path: Path) -> None:
    plain = turns_campaign()
    crowd = CrowdGuarantee(eps=0.5, delta=1e-6, reports=1000)
    asked = replace(plain, guarantee=Guarantee(eps=1.0, crowd=crowd), gateway=GATEWAY)
    said = " ".join(preview(tmp_path / "c", asked, 2, Policy()).words)
    assert "sealed" in said
    assert "names no relay" in said


def test_a_wrong_answer_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 0 and at most 3") as refused:
        client(tmp_path / "c", turns_campaign(), Clock()).preview(77)
    assert "77" not in str(refused.value)
