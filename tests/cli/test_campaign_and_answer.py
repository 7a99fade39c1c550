"""`untrackable campaign`, `answer` and `send`, as a person uses them."""

import json
import math
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.commands import output, run
from tests.own_sleep import replace_sleep
from tests.protocol.test_crowd_declaration import GATEWAY
from untrackable import strict_json
from untrackable.cli.answer import _sleep
from untrackable.client import sending
from untrackable.client.client import Member
from untrackable.client.folder import Folder
from untrackable.client.policy import LIMITS
from untrackable.client.state import State
from untrackable.display import campaign as campaign_words
from untrackable.encodings.days_of_use import READY_QUESTIONS
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.errors import StateError
from untrackable.protocol.campaign import Campaign, Directory, HoldingRelay
from untrackable.relay.holding import HoldingSettings
from untrackable.theory.crowd import fewest_likely_reports
from untrackable.theory.turns import Turns

NEW = ["--question", "Which browser?", "--category", "Firefox", "--category", "Chromium", "--category", "Safari"]
EVERY_ROUND = ["--every-round"]
"""Campaigns in which everybody answers every round, and people who do not mind that."""
Collector = tuple[str, list[tuple[str, bytes]]]
"""The address of a server, and what it got."""
STRINGS = json.dumps(DiscoveredStrings(prefixes=[1, 2], bucket_bits=16, longest=2, salt=bytes(16)).to_json())
BITWISE = '{"mechanism": "bitwise", "eps_report": 1, "eps_state": 1}'


MONTH = ["--rounds", "30", "--every", "1d", "--first", "2027-01-31T12:00"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A campaign of 30 days, in which everybody answers every round."""
    place = tmp_path / "campaign.json"
    done = run("campaign", "new", str(place), *NEW, *MONTH, *EVERY_ROUND)
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture
def once(tmp_path: Path) -> Path:
    """A campaign of 30 days, in which each person answers once."""
    place = tmp_path / "once.json"
    done = run("campaign", "new", str(place), *NEW, *MONTH)
    assert done.exit_code == 0, done.output
    return place


def test_a_new_campaign(made: Path, tmp_path: Path) -> None:
    result = Campaign.from_bytes(made.read_bytes())
    assert result.question == "Which browser?"
    assert result.first_round == 1801396800
    assert (result.round_seconds, result.rounds) == (86400, 30)
    shown = run("campaign", "show", str(made)).output
    for words in (
        result.id,
        "Which browser?",
        "A round every day from 31 January 2027, 12:00 UTC, 30 in all.",
        "a factor of at most 2.719 (eps = 1), except with probability 1e-06",
        "People answer every round",
    ):
        assert words in shown
    assert json.loads(run("campaign", "show", str(made), "--json").output)["campaign"] == result.to_json()
    again = run("campaign", "new", str(made), *NEW, "--rounds", "30")
    assert again.exit_code == 1
    assert "never changes" in again.output
    listed = tmp_path / "names.txt"
    listed.write_text("a\nb\nc\n", encoding="utf-8")
    place = tmp_path / "json.json"
    mechanism = '{"mechanism": "rnip", "bits": 2, "slots": 9, "eps_report": 0.01, "width": 1}'
    asked = ["--question", "Which?", "--categories", str(listed), "--rounds", "5", "--values", "fixed"]
    linked = ["--every-round", "--mechanism", mechanism, "--tracking-delta", "1"]
    told = run("campaign", "new", str(place), *asked, *linked, "--json")
    assert json.loads(told.output)["id"] == Campaign.from_bytes(place.read_bytes()).id


def test_each_person_answers_once_unless_somebody_says_otherwise(once: Path) -> None:
    result = Campaign.from_bytes(once.read_bytes())
    assert result.turns == Turns(rounds=30)
    assert result.guarantee.to_json(turns=True) == {"eps": 1}
    shown = run("campaign", "show", str(once)).output
    for words in (
        "Each person answers once, in one of 30 rounds that their device draws in secret.",
        "a factor of at most 2.719 (eps = 1, upper), for ever and without exception (delta = 0)",
        "nobody has to be trusted",
        "Reports cannot be linked, because a person sends only one (exact).",
        "recognises a person among 1,000 with probability at most 0.20 % (upper; guessing: 0.10 %)",
        "This holds as long as the client's stored data is not deleted.",
    ):
        assert words in shown
    checked = run("campaign", "verify", str(once))
    assert checked.exit_code == 0
    for words in (
        "eps of everything that a person ever sends: 1 (exact), declared 1",
        "delta: 0 (exact)",
        "at most 2/N (upper)",
        "it keeps what it declares",
    ):
        assert words in checked.output
    told = json.loads(run("campaign", "verify", str(once), "--json").output)
    assert told["eps"] == {"lower": 1.0, "upper": 1.0, "certainty": "exact"}
    document = json.loads(once.read_bytes())
    document["guarantee"]["eps"] = 0.9
    once.write_bytes(strict_json.canonical(document))
    wrong = run("campaign", "verify", str(once))
    assert wrong.exit_code == 1
    assert "wrong: it declares eps = 0.9, and has 1" in wrong.output


@pytest.mark.parametrize(
    ("options", "base"),
    [
        (NEW, "noisy-inner-product"),
        (["--question", "?", "--choice", "a", "--choice", "b", "--choice", "c"], "views"),
        (["--question", "?", "--buckets", "0:8:4", "--want", "mean"], "one-bit-mean"),
        (["--question", "?", "--encoding", STRINGS], "levelled"),
        (["--ready", "people"], "present"),
    ],
)
def test_the_report_suits_the_question(options: list[str], base: str, tmp_path: Path) -> None:
    place = tmp_path / "c.json"
    done = run("campaign", "new", str(place), *options, "--rounds", "12")
    assert done.exit_code == 0, done.output
    mechanism = Campaign.from_bytes(place.read_bytes()).mechanism.to_json()
    assert mechanism["mechanism"] == "fresh"
    assert mechanism["base"]["mechanism"] == base


def test_share_and_wipes(tmp_path: Path) -> None:
    place = tmp_path / "c.json"
    told = run("campaign", "new", str(place), *NEW, "--rounds", "1,000", "--share", "1/2", "--wipes", "1")
    assert told.exit_code == 0, told.output
    assert "Each person answers once with probability 1/2, and else never, in one of 1,000 rounds" in told.output
    assert "if the client's stored data is deleted once: a client that forgets may answer again" in told.output
    asked = Campaign.from_bytes(place.read_bytes())
    assert asked.turns == Turns(rounds=1000, share=Fraction(1, 2), wipes=1)
    assert asked.mechanism.loss_of_one_report == pytest.approx(0.5)
    assert asked.guarantee.eps == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--share", "0"], "share must be above 0"),
        (["--share", "often"], "share must be a fraction such as 1/20"),
        (["--wipes", "-1"], "wipes must be"),
        (["--wipes", "101"], "wipes must be"),
        (["--people", "0"], "--people must be between 1 and"),
        (["--want", "mean"], "these values are not numbers"),
        (["--mechanism", "deck"], "--mechanism is for --every-round. If each person answers once, delta is 0"),
        (["--delta", "0"], "--delta is for --every-round"),
        (["--every-round", "--wipes", "1"], "--wipes is for campaigns in which each person answers once"),
        (["--every-round", "--share", "1/2"], "--share is for campaigns in which each person answers once"),
    ],
)
def test_turns_that_cannot_be(options: list[str], reason: str, tmp_path: Path) -> None:
    place = tmp_path / "none.json"
    done = run("campaign", "new", str(place), *NEW, "--rounds", "30", *options)
    assert done.exit_code == 1
    assert reason in done.output
    assert not place.exists()


def test_counting_people_has_nothing_to_protect(tmp_path: Path) -> None:
    place, folder = tmp_path / "people.json", str(tmp_path / "mine")
    told = run("campaign", "new", str(place), "--ready", "people", "--rounds", "12")
    assert "It says nothing but that somebody answered (eps = 0, exact)." in told.output
    asked = Campaign.from_bytes(place.read_bytes())
    assert asked.guarantee.eps == 0
    assert run("campaign", "verify", str(place)).exit_code == 0
    assert run("answer", str(place), "--pin", asked.id, "--used", "--folder", folder).exit_code == 0
    spent = json.loads(run("policy", "show", "--folder", folder, "--json").output)
    assert (spent["spent_upper"]["eps"], spent["turns"]) == (0, 1)
    wrong = run("campaign", "new", str(tmp_path / "x.json"), "--ready", "people", "--rounds", "12", "--eps", "1")
    assert "--eps has no meaning here" in wrong.output


def test_nobody_is_told_when_a_turn_is(
    once: Path, tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it is joined, nor later, nor whether it is over; and each person sends one report."""
    begins, result = 1801396800.0, Campaign.from_bytes(once.read_bytes())
    now = begins - 60
    monkeypatch.setattr("time.time", lambda: now)
    folder = str(tmp_path / "mine")
    answer = ["answer", str(once), "--folder", folder, "--pin", result.id]
    noted = run(*answer, given="Safari\n")
    assert noted.exit_code == 0, noted.output
    assert "answers this campaign once at most, in one of its 30 rounds, which it draws in secret" in noted.output
    assert not re.search(r"20\d\d-", noted.output)
    assert json.loads(run(*answer, "--json", given="Safari\n").output)["next_report"] is None
    told = []
    for day in range(1, 32):
        now = begins + day * 86400 - 1
        assert run(*answer, given="Firefox\n").output == noted.output
        told.append(run("send", collector[0], "--folder", folder))
        assert not re.search(r"20\d\d-", told[-1].output)
    assert len(collector[1]) == 1
    assert sum("accepted" in each.output for each in told) == 1
    assert told[-1].output == "nothing to send\n"
    assert "1 taken" in run("policy", "show", "--folder", folder).output
    assert run(*answer[:4], "--leave").output == "left; no report will be sent\n"


def test_a_second_turn_at_the_same_time_is_refused_with_the_way_out(once: Path, tmp_path: Path) -> None:
    other, later = tmp_path / "other.json", tmp_path / "later.json"
    run("campaign", "new", str(other), "--question", "And now?", *NEW[2:], "--rounds", "3", "--first", "2027-02-05")
    run("campaign", "new", str(later), "--question", "And now?", *NEW[2:], "--rounds", "3", "--first", "2027-04-05")
    given = ["--folder", str(tmp_path / "mine"), "--eps", "5"]

    def answer(place: Path) -> Result:
        pin = Campaign.from_bytes(place.read_bytes()).id
        return run("answer", str(place), "--pin", pin, *given, given="Safari\n")

    assert answer(once).exit_code == 0
    refused = answer(other)
    assert refused.exit_code == 1
    assert "runs at the same time as another one in which you have or had a turn" in refused.output
    assert "put all questions into one campaign" in refused.output
    assert answer(later).exit_code == 0
    shown = run("policy", "show", *given[:2]).output
    assert "2 taken, one after the other." in shown
    assert "with probability 4 in N by the strongest attack that is known (lower; no upper bound" in shown
    told = json.loads(run("policy", "show", *given[:2], "--json").output)
    assert (told["turns"], told["found_in_n_lower"], told["found_in_n_upper"]) == (2, 4, None)
    assert run("policy", "set", "--turns-a-year", "2", *given[:2]).exit_code == 0
    third = tmp_path / "third.json"
    run("campaign", "new", str(third), *NEW, "--rounds", "3", "--first", "2027-06-05")
    given = given[:2]
    assert "more than 2 turns within a year" in answer(third).output


def test_a_new_campaign_says_how_accurate_it_will_be(tmp_path: Path) -> None:
    few, many = (
        run("campaign", "new", str(tmp_path / f"{n}.json"), *NEW, "--rounds", "30", "--people", n, "--json")
        for n in ("1000", "1e8")
    )
    assert (
        json.loads(few.output)["accuracy"]["error_upper"] > 0.1 > json.loads(many.output)["accuracy"]["error_upper"]
    )
    told = run("campaign", "new", str(tmp_path / "told.json"), *NEW, "--rounds", "365").output
    assert "NOT USABLE for one round: with 10,000 people" in told
    assert "people     10,000 are assumed; give --people" in told


def test_a_new_campaign_is_not_over(tmp_path: Path) -> None:
    place = tmp_path / "over.json"
    done = run("campaign", "new", str(place), *NEW, "--rounds", "30", "--first", "2020-01-31")
    assert done.exit_code == 1
    assert "the first round ended at 2020-02-01 00:00 UTC; give a later --first" in done.output
    assert not place.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--question", "?", "--rounds", "3"], "give the possible answers with one of --category"),
        ([*NEW, "--rounds", "3", "--every", "soon"], "--every must be"),
        ([*NEW, "--rounds", "3", "--first", "soon"], "--first must be"),
        ([*NEW, "--rounds", "3", "--every-round", "--mechanism", "{}"], "--mechanism: mechanism must be one of"),
        (
            [*NEW, "--rounds", "3", "--every-round", "--mechanism", "{"],
            "--mechanism: a mechanism in JSON cannot be read: Expecting",
        ),
        ([*NEW, "--rounds", "3", "--every-round", "--mechanism", "no.json"], "--mechanism: cannot read no.json"),
        (
            [*NEW, "--rounds", "3", "--every-round", "--mechanism", "poker"],
            "--mechanism: mechanism must be one of deck",
        ),
        (
            [*NEW, "--rounds", "3", "--every-round", "--mechanism", "deck bits"],
            "--mechanism: a parameter must be written key=value",
        ),
        ([*NEW], "give --rounds, or a --plan"),
        (["--question", "?", "--rounds", "3", "--encoding", "bit"], "--encoding must be JSON, or a file of it"),
        ([*NEW, "--plan", "{"], "--plan must be JSON, or a file of it"),
        ([*NEW, "--plan", '{"campaign": null}'], "the goals of this plan are not met"),
        ([*NEW, "--plan", '{"rounds": 3}'], "--plan: must be what `untrackable plan --json` prints"),
        ([*NEW, "--plan", "{}", "--eps", "1", "--tracking-delta", "0"], "already sets --eps, --tracking-delta"),
        (["--question", "?", "--encoding", '{"type": "x"}', "--rounds", "3"], "--encoding: type must be one of"),
        ([*NEW, "--rounds", "3", "--eps", "-1"], "eps must be"),
        (
            [*NEW[:6], "--rounds", "3", "--every-round", "--mechanism", BITWISE],
            "would not keep what it declares",
        ),
    ],
)
def test_a_campaign_that_is_not_made(arguments: list[str], reason: str, tmp_path: Path) -> None:
    done = run("campaign", "new", str(tmp_path / "c.json"), *arguments)
    assert done.exit_code == 1
    assert reason in done.output
    assert list(tmp_path.iterdir()) == []


def test_verifying(made: Path, tmp_path: Path) -> None:
    good = run("campaign", "verify", str(made))
    assert good.exit_code == 0
    assert "it keeps what it declares" in good.output
    assert "(exact)" in good.output
    document = json.loads(made.read_text(encoding="utf-8"))
    document["guarantee"]["delta"] = 1e-7
    weak = tmp_path / "weak.json"
    weak.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")), encoding="utf-8")
    bad = run("campaign", "verify", str(weak))
    assert bad.exit_code == 1
    assert "it declares delta = 1e-07" in bad.output
    told = json.loads(run("campaign", "verify", str(weak), "--json").output)
    assert told["holds"] is False
    assert told["delta"]["certainty"] == "exact"
    weak.write_text("{}", encoding="utf-8")
    damaged = run("campaign", "verify", str(weak))
    assert damaged.exit_code == 1
    assert damaged.output.count("\n") == 1


def test_a_directory(made: Path, tmp_path: Path) -> None:
    place = tmp_path / "directory.json"
    first = json.loads(run("campaign", "directory", str(place), str(made), "--json").output)
    assert first["digest"] == Directory.from_bytes(place.read_bytes()).digest
    other = tmp_path / "other.json"
    run("campaign", "new", str(other), *NEW, "--rounds", "3")
    grown = run("campaign", "directory", str(place), str(other))
    assert first["campaigns"][0] in grown.output
    assert len(Directory.from_bytes(place.read_bytes()).ids) == 2
    place.write_text("[]", encoding="utf-8")
    assert run("campaign", "directory", str(place)).exit_code == 1


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A server that takes everything; its address, and what it got."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(202)
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()
    thread.join()


def test_answering_and_sending(
    made: Path, tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, folder, now = Campaign.from_bytes(made.read_bytes()), str(tmp_path / "mine"), 1801396800.0 - 60
    monkeypatch.setattr("time.time", lambda: now)
    for arguments, given, reason in [
        ([], "Safari\n", "is not pinned"),
        (["--pin", "xyz"], "Safari\n", "--pin needs the first 8 digits of an id, or more, not 3"),
        (["--pin", "x" * 64], "Safari\n", "64 lower-case hexadecimal"),
        (["--pin", result.id], "Lynx\n", "must be one of the 3"),
        (["--pin", result.id], "\n", "must be one of the 3"),
        (["--pin", result.id], "", "standard input is empty"),
        (["--pin", result.id, "--eps", "0.1", *EVERY_ROUND], "Safari\n", "your policy allows"),
        (["--pin", result.id], "Safari\n", "gives people away"),
    ]:
        refused = run("answer", str(made), "--folder", folder, *arguments, given=given)
        assert refused.exit_code == 1
        assert reason in refused.output
        assert "Safari" not in refused.output
        assert "Lynx" not in refused.output
    assert "no campaign has been answered" in run("send", collector[0], "--folder", folder).output
    joined = run("answer", str(made), "--folder", folder, "--pin", result.id, *EVERY_ROUND, given="Safari\n")
    assert joined.exit_code == 0, joined.output
    assert "the next report goes out 2027-0" in joined.output
    assert "Safari" not in joined.output
    assert "nothing to send" in run("send", collector[0], "--folder", folder).output
    now += 60 + 86400 - 1
    sent = json.loads(run("send", collector[0], "--folder", folder, "--json").output)
    assert sent[0]["outcome"] == "accepted"
    assert sent[0]["next_report"] > now
    ((path, body),) = collector[1]
    assert path == f"/campaigns/{result.id}/reports"
    assert body[:5] == b"\x01\x01\0\0\0"
    assert run("send", "http://collect.example", "--folder", folder).exit_code == 1
    state = tmp_path / "mine" / f"{result.id}.state"
    whole = state.read_bytes()
    state.write_bytes(whole[:-1])
    damaged = run("send", collector[0], "--folder", folder)
    assert damaged.exit_code == 1
    assert "failed: the state is damaged" in damaged.output
    state.write_bytes(whole)
    left = run("answer", str(made), "--folder", folder, "--leave", "--json")
    assert json.loads(left.output) == {"campaign": result.id, "next_report": None}
    assert run("send", collector[0], "--folder", folder).output == "nothing to send\n"


def test_a_directory_is_believed_if_it_is_pinned(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1801396800.0)
    place = tmp_path / "directory.json"
    digest = json.loads(run("campaign", "directory", str(place), str(made), "--json").output)["digest"]
    arguments = ["answer", str(made), "--directory", str(place), "--folder", str(tmp_path / "mine"), *EVERY_ROUND]
    assert run(*arguments, given="Safari\n").exit_code == 1
    assert run(*arguments, "--pin", digest, given="Safari\n").exit_code == 0


def typed(made: Path, folder: Path, *lines: bytes, pin: str) -> str:
    """What is shown to somebody who types these answers in a terminal."""
    ours, theirs = pty.openpty()
    arguments = ("answer", str(made), "--pin", pin, "--folder", str(folder), *EVERY_ROUND)
    command = [sys.executable, "-m", "untrackable", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)  # noqa: S603
    os.close(theirs)
    shown = b""
    for number, line in enumerate(lines, start=1):
        while shown.count(b"not shown):") < number:
            shown += os.read(ours, 1000)
        os.write(ours, line)
    try:
        while more := os.read(ours, 1000):
            shown += more
    except OSError:  # the terminal is gone with its process
        pass
    os.close(ours)
    process.wait(timeout=60)
    return shown.decode()


def test_a_prompt_shows_the_promise_first_and_never_the_answer(made: Path, tmp_path: Path) -> None:
    """In a terminal of its own: what is typed is neither echoed nor repeated, and may be typed again."""
    result = Campaign.from_bytes(made.read_bytes())
    text = typed(made, tmp_path / "mine", b"Saffari\n", b"2\n", pin=result.id[:8])
    spent = "all campaigns together would spend (upper)"
    shown = ("What is promised", spent, "It would be accepted", "Which browser?", "1  ", "number or answer")
    places = [text.index(words) for words in shown]
    assert places == sorted(places)
    assert "(not shown) is not" in text
    assert "Try again; nothing was stored." in text
    assert "answered; the next report goes out" in text
    assert f"Compare all of it if you can: {result.id}" in " ".join(text.split())
    assert text.count("Safari") == 1  # among the answers that are asked for
    assert "Saffari" not in text
    again = typed(made, tmp_path / "other", b"nothing\n", b"such\n", b"there\n", pin=result.id)
    assert "Error" in again
    assert "Warning" not in again
    assert not any(word in again for word in ("nothing\r", "such\r", "there\r"))


def test_several_choices_are_typed_as_numbers(tmp_path: Path) -> None:
    """The prompt says how to give several, and how to give none."""
    made = tmp_path / "choices.json"
    names = [word for name in ("search", "export", "share") for word in ("--choice", name)]
    done = run(
        *("campaign", "new", str(made), "--question", "Which did you use?", *names, "--every", "1d"),
        *("--rounds", "12", "--eps", "1"),
    )
    assert done.exit_code == 0, done.output
    pin = Campaign.from_bytes(made.read_bytes()).id
    text = typed(made, tmp_path / "mine", b"1 3\n", b"1, 4\n", b"1, export\n", pin=pin)
    assert "   3  share" in text
    assert "numbers with commas between, - for none of them" in text
    assert text.count("Try again") == 2
    assert "noted; " in text
    assert "noted; " in typed(made, tmp_path / "other", b"-\n", pin=pin)


def test_a_short_pin_must_fit_and_have_eight_digits(made: Path, tmp_path: Path) -> None:
    result = Campaign.from_bytes(made.read_bytes())
    for pin in (result.id[:7], "0" * 8, result.id[1:9]):
        refused = run("answer", str(made), "--pin", pin, "--folder", str(tmp_path / "mine"), given="Safari\n")
        assert refused.exit_code == 1
        assert not (tmp_path / "mine" / "ledger").exists()


class Time:
    """A clock that sleeping moves; somebody interrupts it in the end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: float, until: float) -> None:
        self.now, self._until = now, until
        monkeypatch.setattr("time.time", lambda: self.now)
        replace_sleep(monkeypatch, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > self._until:
            raise KeyboardInterrupt


def test_a_mechanism_in_words_and_in_json(tmp_path: Path) -> None:
    made = ["campaign", "new", str(tmp_path / "a.json"), *NEW, "--rounds", "3", *EVERY_ROUND, "--json"]
    usual = json.loads(run(*made).stdout)["campaign"]["mechanism"]
    described = tmp_path / "mechanism"
    described.write_text(json.dumps(usual))
    words = f"deck bits={usual['bits']} slots=3 eps_report={usual['eps_report']!r} width={usual['width']}"
    for number, way in enumerate(("deck", words, str(described), json.dumps(usual))):
        again = ["campaign", "new", str(tmp_path / f"{number}.json"), *made[3:]]
        told = json.loads(run(*again, "--mechanism", way).stdout)["campaign"]["mechanism"]
        assert {**told, "eps_report": 0} == {**usual, "eps_report": 0}
        assert told["eps_report"] == pytest.approx(usual["eps_report"], rel=1e-6)


@pytest.mark.parametrize(
    ("jump", "slept"),
    [(0.0, 3600.0), (50_000.0, 40.0), (-50_000.0, 3620.0)],
    ids=["awake", "suspended", "set back"],
)
def test_who_sleeps_looks_at_the_clock(jump: float, slept: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is suspended in its second slice is back at once, not after an hour of being awake."""
    now, naps = [1_800_000_000.0], []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        now[0] += seconds + (jump if len(naps) == 2 else 0.0)

    monkeypatch.setattr("time.time", lambda: now[0])
    replace_sleep(monkeypatch, sleep)
    _sleep(3600.0)
    assert sum(naps) == slept


def _two_campaigns(tmp_path: Path, folder: str) -> list[Campaign]:
    result = []
    for question in ("Which browser?", "Which other browser?"):
        place = tmp_path / f"{len(question)}.json"
        asked = ["--question", question, *NEW[2:], "--rounds", "3", "--first", "2027-01-31"]
        run("campaign", "new", str(place), *asked, *EVERY_ROUND)
        result.append(Campaign.from_bytes(place.read_bytes()))
        pinned = ["--folder", folder, "--pin", result[-1].id]
        done = run("answer", str(place), *pinned, "--eps", "5", "--delta", "1e-5", *EVERY_ROUND, given="Safari\n")
        assert done.exit_code == 0, done.output
    return result


def test_who_stays_does_not_send_in_the_second_of_switching_on(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both moments have passed: once, everything goes out at once; staying, each at a time of its own."""
    folder, begins = str(tmp_path / "mine"), 1801353600
    time = Time(monkeypatch, begins - 60.0, begins + 86400 * 0.999)
    _two_campaigns(tmp_path, folder)
    time.now = on = begins + 86400 * 0.95
    sent: list[float] = []

    def post(address: sending.Address, body: bytes, ready: sending.Ready) -> sending.Reply:
        sent.append(time.now)
        return sending.post(address, body, ready)

    monkeypatch.setattr(Member.send, "__kwdefaults__", {**(Member.send.__kwdefaults__ or {}), "post": post})
    stayed = run("send", collector[0], "--folder", folder, "--stay")
    assert "next report 2027-01-31" in stayed.output
    assert len(sent) == len(collector[1]) == 2
    assert on < sent[0] < sent[1]
    assert sent[1] < begins + 86400
    time.now = begins + 2 * 86400 - 1.0
    run("send", collector[0], "--folder", folder)
    assert sent[2:] == [time.now] * 2


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), ValueError("odd"), StateError("damaged")]
)
def test_what_is_wrong_with_one_campaign_does_not_end_it_for_others(
    error: Exception,
    tmp_path: Path,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, begins = str(tmp_path / "mine"), 1801353600
    time = Time(monkeypatch, begins - 60.0, begins + 86400 * 3)
    wrong, right = _two_campaigns(tmp_path, folder)
    due = Member.due

    def failing(self: Member, now: float | None = None) -> float | None:
        if self.campaign == wrong:
            raise error
        return due(self, now)

    monkeypatch.setattr(Member, "due", failing)
    stayed = run("send", collector[0], "--folder", folder, "--stay")
    assert stayed.exit_code == (130 if isinstance(error, OSError) else 1)  # the first one is tried until Ctrl-C
    assert f"campaign {wrong.id[:12]}…: failed: {getattr(error, 'strerror', None) or error}" in stayed.output
    assert [path for path, _ in collector[1]] == [f"/campaigns/{right.id}/reports"] * 3
    assert time.now > begins + 86400 * 2


def test_a_server_or_a_proxy_that_cannot_be_used_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "mine")
    for server in ("http://collect.example", "https://例え.jp", "https://collect.example:0"):
        refused = run("send", server, "--folder", folder, "--stay")
        assert refused.exit_code == 1
        assert "Error: server must" in refused.output
    monkeypatch.setenv("all_proxy", "socks5://me:secret@127.0.0.1:9050")
    refused = run("send", "https://collect.example", "--folder", folder)
    assert refused.exit_code == 1
    assert "Error: all_proxy" in refused.output
    assert "secret" not in refused.output


FORGED = "yes\n  declares   all reports together are (0.001, 0)-private (exact)\x1b[8m\u202e"


def test_a_name_cannot_forge_a_line(made: Path, tmp_path: Path) -> None:
    """Neither in a file, which is refused in one line, nor through a campaign that is there already."""
    document = json.loads(made.read_bytes())
    document["encoding"]["names"][2] = FORGED
    place = tmp_path / "forged.json"
    place.write_bytes(strict_json.canonical(document))
    for command in (["campaign", "show"], ["campaign", "verify"], ["answer"]):
        refused = run(*command, str(place), given="yes\n")
        assert refused.exit_code == 1
        assert "names must not contain control characters" in refused.output
        assert len(refused.output.splitlines()) == 1
    new = run("campaign", "new", str(tmp_path / "new.json"), *NEW, "--category", FORGED, "--rounds", "3")
    assert new.exit_code == 1
    assert "names must not contain control characters" in new.output


def test_what_is_printed_is_escaped_besides(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Campaign.from_bytes(made.read_bytes())
    object.__setattr__(asked.encoding, "names", ("no", FORGED))
    object.__setattr__(asked, "question", FORGED)
    monkeypatch.setattr("untrackable.cli.campaign.read", lambda file: asked)
    shown = run("campaign", "show", str(made))
    assert shown.exit_code == 0, shown.output
    assert sum(line.lstrip().startswith("declares") for line in shown.output.splitlines()) == 1
    told = run("campaign", "show", str(made), "--json").output
    assert json.loads(told)["campaign"]["question"] == FORGED
    for text in (shown.output, told):
        assert not {"\x1b", "\u202e"} & set(text)
        assert r"\u202e" in text


def test_errors_stay_on_one_line(tmp_path: Path) -> None:
    place = tmp_path / "made\nError: forged\x1b[2J.json"
    place.write_text("{}", encoding="utf-8")
    refused = run("campaign", "show", str(place))
    assert refused.exit_code == 1
    assert len(refused.output.splitlines()) == 1
    assert "\x1b" not in refused.output


def test_a_refusal_for_the_budget_says_what_is_left_and_what_to_do(made: Path, tmp_path: Path) -> None:
    """The command that is told is enough."""
    folder, second = str(tmp_path / "person"), tmp_path / "second.json"
    assert run("campaign", "new", str(second), *NEW, "--rounds", "12").exit_code == 0
    answers = [
        ["answer", str(place), "--pin", Campaign.from_bytes(place.read_bytes()).id, "--folder", folder]
        for place in (made, second)
    ]
    assert run(*answers[0], *EVERY_ROUND, given="Safari\n").exit_code == 0
    refused = run(*answers[1], given="Safari\n")
    assert refused.exit_code == 1
    assert "Before this one, eps 0 is left (lower)" in refused.output
    needed = re.search(r"`untrackable (policy set --eps \S+)`", refused.output)
    assert needed is not None
    assert run(*needed[1].split(), "--folder", folder).exit_code == 0
    assert run(*answers[1], given="Safari\n").exit_code == 0


def test_a_policy_is_stored_and_raised_on_purpose_only(made: Path, tmp_path: Path) -> None:
    folder, result = str(tmp_path / "person"), Campaign.from_bytes(made.read_bytes())
    assert "No policy is stored yet" in run("policy", "show", "--folder", folder).output
    answer = ["answer", str(made), "--pin", result.id, "--folder", folder]
    refused = run(*answer, given="Safari\n")
    assert refused.exit_code == 1
    assert "gives people away" in refused.output
    assert run("policy", "set", *EVERY_ROUND, "--folder", folder).exit_code == 0
    assert run(*answer, given="Safari\n").exit_code == 0
    raised = run(*answer, "--eps", "100", given="Safari\n")
    assert raised.exit_code == 1
    assert "eps 100.0 instead of 1.0; nothing was changed" in raised.output
    assert "`untrackable policy set --eps 100.0`" in raised.output
    limits = {**LIMITS, "every_round": True, "relays": []}
    told = json.loads(run("policy", "show", "--folder", folder, "--json").output)
    assert told["policy"] == limits
    assert 0 < told["spent_upper"]["eps"] <= limits["eps"]
    shown = run("policy", "show", "--folder", folder).output
    assert "Spent by all campaigns" in shown
    (times,) = re.findall(r"odds between any two answers by a factor of at most ([\d.]+),", shown)
    assert math.exp(told["spent_upper"]["eps"]) <= float(times) < 1.01 * math.exp(told["spent_upper"]["eps"])
    done = run("policy", "set", "--eps", "100", "--folder", folder)
    assert done.exit_code == 0, done.output
    assert "eps 100.0, delta 1e-06" in done.output
    assert run(*answer, "--eps", "100", given="Firefox\n").exit_code == 0
    assert run(*answer, given="Firefox\n").exit_code == 0  # as stored
    assert "eps 100.0" in run("policy", "show", "--folder", folder).output
    assert run(*answer, "--eps", "1", given="Firefox\n").exit_code == 0
    assert "eps 1.0" in run("policy", "show", "--folder", folder).output
    lowered = run("policy", "set", "--turns-only", "--folder", folder)
    assert "everybody answers every round are refused, because that gives people away" in lowered.output
    raised = run(*answer, *EVERY_ROUND, given="Firefox\n")
    assert "every_round True instead of False; nothing was changed" in raised.output
    wrong = run("policy", "set", "--eps", "-1", "--folder", folder)
    assert wrong.exit_code == 1
    assert "eps must be positive" in wrong.output


@pytest.mark.parametrize(("ready", "words"), [("active-days", "last 28 days"), ("retention", "1, 7 and 28 days")])
def test_ready_questions(ready: str, words: str, tmp_path: Path) -> None:
    path, folder = tmp_path / "ready.json", tmp_path / "person"
    done = run("campaign", "new", str(path), "--ready", ready, "--rounds", "3")
    assert done.exit_code == 0, done.output
    assert words in done.output
    asked = Campaign.from_bytes(path.read_bytes())
    assert asked.encoding == READY_QUESTIONS[ready].encoding
    given = ("answer", str(path), "--pin", asked.id, "--folder", str(folder))
    for _ in range(2):
        used = run(*given, "--used", "--used-before")
        assert used.exit_code == 0, used.output
        assert "noted; this device answers this campaign once at most" in used.output
    state = State.read(Folder(folder), asked.id)
    assert state is None or state.days is not None
    assert run(*given, "--leave").exit_code == 0
    assert not list(folder.glob("*.state"))
    assert "goes with --used" in run(*given, "--used-before").output
    other = run(
        "campaign", "new", str(tmp_path / "x.json"), "--ready", ready, "--rounds", "3", "--question", "How?"
    )
    assert "How?" in other.output


def test_a_question_is_ready_or_given(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    both = run(
        "campaign", "new", path, "--ready", "retention", "--category", "a", "--category", "b", "--rounds", "3"
    )
    assert "--ready retention has its own answers" in both.output
    assert "give --question, or a question that is --ready" in run("campaign", "new", path, "--rounds", "3").output


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The public keys of a gateway."""
    place = tmp_path / "gateway.json"
    place.write_text(strict_json.write(GATEWAY.to_json()), encoding="utf-8")
    return place


CROWD = ["--rounds", "10", "--people", "20,000", "--relay"]
COUNTED = fewest_likely_reports(20_000, Fraction(19, 200))


def test_a_campaign_with_a_relay(keys: Path, tmp_path: Path) -> None:
    place = tmp_path / "crowd.json"
    told = run("campaign", "new", str(place), *NEW, *CROWD, "--eps", "4", "--gateway", str(keys))
    assert told.exit_code == 0, told.output
    made = Campaign.from_bytes(place.read_bytes())
    crowd = made.guarantee.crowd
    assert crowd is not None
    assert (crowd.delta, crowd.reports, made.gateway) == (1e-6, COUNTED, GATEWAY)
    assert made.guarantee.eps == 4
    assert 0.5 < crowd.eps < 1.5
    for words in (
        "A relay adds this: the collector by itself does not know who sent which report.",
        f"(eps = {crowd.eps:g}), except with probability 1e-06 (upper; verified: at most ",
        f"Rounds with fewer than {COUNTED:,} reports are not published.",
        "For people who are active in all rounds, eps is at most ",
        "you trust that it does not work with the collector",
        "Reports are sealed for 2 keys of the collector's gateway.",
        "with 20,000 people",
    ):
        assert words in told.output
    checked = run("campaign", "verify", str(place))
    assert checked.exit_code == 0
    assert f"which does not know who sent which of {COUNTED:,} reports a round: " in checked.output
    assert "eps at delta = 1e-06 for people who are active in all rounds: " in checked.output
    result = json.loads(run("campaign", "verify", str(place), "--json").output)
    assert result["crowd"]["upper"] <= 1e-6
    assert result["crowd_throughout"]["upper"] < crowd.eps / 2
    bold = tmp_path / "bold.json"
    bold.write_bytes(place.read_bytes().replace(b'"reports":%d' % COUNTED, b'"reports":1500'))
    wrong = run("campaign", "verify", str(bold))
    assert wrong.exit_code == 1
    assert "in a crowd of 1,500 reports a round, and has up to" in wrong.output


HOLDS = "https://relay.example/gateways/study"


def test_the_lines_for_a_web_page(tmp_path: Path) -> None:
    places, server = [tmp_path / "one.json", tmp_path / "two.json"], "https://collect.example"
    for number, place in enumerate(places):
        assert (
            run("campaign", "new", str(place), *NEW, "--rounds", "4", "--first", f"209{number}-01-01").exit_code
            == 0
        )
    ids = [Campaign.from_bytes(place.read_bytes()).id for place in places]
    both = run("campaign", "embed", *map(str, places), "--server", f"{server}/", "--answer", "mine()").output
    assert f'server: "{server}",' in both
    assert f'"{ids[0]}": mine(),' in both
    assert f'"{ids[1]}": null,' in both
    assert both.count("<untrackable-consent>") == both.count("takePart({") == 1
    wrong = run("campaign", "embed", str(places[0]), "--server", "collect.example")
    assert (wrong.exit_code, "--server must be an address" in wrong.output) == (1, True)
    many = run("campaign", "embed", str(places[0]), "--server", server, *["--answer", "1"] * 2)
    assert (many.exit_code, "at most one --answer" in many.output) == (1, True)


def test_a_campaign_with_a_relay_that_holds(keys: Path, tmp_path: Path) -> None:
    place = tmp_path / "crowd.json"
    asked = [*NEW, *CROWD, "--eps", "4", "--gateway", str(keys), "--hold-at", HOLDS]
    told = run("campaign", "new", str(place), *asked, "--first", "2099-01-01", "--every", "1w")
    assert told.exit_code == 0, told.output
    made = Campaign.from_bytes(place.read_bytes())
    assert made.relay == HoldingRelay(HOLDS, 3600), "the full hour that is at least ten minutes later"
    assert f"sent to the relay {HOLDS}, which knows who sends them and cannot read them" in told.output
    held = f"{HOLDS} holds the reports of a round and releases them once, 1 hour after the end of the round"
    assert f"{held}; those of the first round on 8 January 2099, 01:00 UTC." in told.output
    checked = run("campaign", "verify", str(place))
    released = f"released: the reports of a round, which are this crowd, at once by {HOLDS}, 3,600 seconds after"
    assert released in checked.output
    other = tmp_path / "other.json"
    assert "--release-" not in told.output + checked.output
    run("campaign", "new", str(other), *asked, "--release-after", "90m")
    assert Campaign.from_bytes(other.read_bytes()).relay == HoldingRelay(HOLDS, 5400)
    odd = tmp_path / "odd.json"
    run("campaign", "new", str(odd), *asked, "--first", "2099-01-01T10:55:07")
    made = Campaign.from_bytes(odd.read_bytes())
    assert (made.leaves(1) % 3600, made.leaves(5) % 3600) == (0, 0)


@pytest.mark.parametrize(
    ("times", "every", "ahead"),
    [
        (["--every", "90m"], 1800, 40),
        (["--every", "30m"], 1800, 40),
        (["--every", "1d", "--release-after", "10m"], 600, 40),
        (["--every", "8w"], 3600, 57),
        (["--every", "41d", "--release-after", "15m"], 900, 42),
    ],
)
def test_a_campaign_says_if_it_needs_other_settings_of_its_relay(
    times: list[str], every: int, ahead: int, keys: Path, tmp_path: Path
) -> None:
    place = tmp_path / "crowd.json"
    asked = [*NEW, *CROWD, "--eps", "4", "--gateway", str(keys), "--hold-at", HOLDS, "--first", "2099-01-01"]
    told = [run("campaign", "new", str(place), *asked, *times)]
    told += [run("campaign", each, str(place)) for each in ("show", "verify")]
    changed = [f"--release-every {every}"] * (every != 3600) + [f"--release-ahead {ahead}"] * (ahead != 40)
    words = f"a relay that is started with `{' '.join(changed)}`: any other refuses reports of this campaign."
    assert [(each.exit_code, words in each.output) for each in told] == [(0, True)] * 3
    made = Campaign.from_bytes(place.read_bytes())
    assert math.gcd(*(made.leaves(round) for round in range(1, 11))) % every == 0
    assert made.leaves(1) - made.begins(1) <= ahead * 86_400


def test_it_is_known_what_relays_release_if_nobody_says_otherwise() -> None:
    usual = HoldingSettings()
    assert (usual.every, usual.ahead) == (campaign_words._RELEASE_EVERY, campaign_words._RELEASE_AHEAD)


def test_the_policy_names_the_relay_that_a_campaign_names(keys: Path, tmp_path: Path) -> None:
    place, folder = tmp_path / "crowd.json", str(tmp_path / "c")
    run("campaign", "new", str(place), *NEW, *CROWD, "--eps", "4", "--gateway", str(keys), "--hold-at", HOLDS)
    asked = Campaign.from_bytes(place.read_bytes())
    answer = ["answer", str(place), "--pin", asked.id, "--eps", "4", "--folder", folder]
    refused = run(*answer, "--relay", "https://other.example", given="Safari\n")
    assert refused.exit_code == 1
    assert f"policy set --relay https://other.example --relay {HOLDS}`" in " ".join(refused.output.split())
    assert run(*answer, "--relay", HOLDS, given="Safari\n").exit_code == 0


def test_a_relay_where_every_round_is_answered(keys: Path, tmp_path: Path) -> None:
    place = tmp_path / "all.json"
    asked = [*NEW, "--rounds", "5", "--people", "2000", "--relay", "--margin", "0", *EVERY_ROUND]
    told = run("campaign", "new", str(place), *asked, "--gateway", str(keys))
    assert told.exit_code == 0, told.output
    made = Campaign.from_bytes(place.read_bytes())
    assert made.fewest_reports == 2000
    assert made.guarantee.crowd is not None
    assert made.guarantee.crowd.eps < made.guarantee.eps == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rounds", "10", "--margin", "0.1"], "--margin is for campaigns with a relay: give --relay too"),
        (["--rounds", "10", "--crowd-delta", "1e-5"], "--crowd-delta is for campaigns with a relay"),
        (
            ["--rounds", "10", "--relay"],
            "give --people too: a relay hides a report among those of how many people?",
        ),
        (["--rounds", "10", "--people", "40", "--relay", "--gateway", "KEYS"], "--people 40 is too few"),
        (["--rounds", "10", "--people", "2000", "--relay"], "needs the public keys of the collector's gateway"),
        (["--rounds", "10", "--gateway", "KEYS"], "--gateway is for campaigns with a relay"),
        (["--rounds", "10", "--hold-at", HOLDS], "--hold-at is for campaigns with a relay: give --relay too"),
        ([*CROWD, "--gateway", "KEYS", "--hold-at", "http://relay.example"], "relay's address must be https"),
        ([*CROWD, "--gateway", "KEYS", "--release-after", "1h"], "--release-after is for a relay that holds"),
        (
            [*CROWD, "--gateway", "KEYS", "--hold-at", HOLDS, "--release-after", "soon"],
            "--release-after must be a whole number and a unit",
        ),
        (
            [*CROWD, "--gateway", "KEYS", "--every-round", "--mechanism", BITWISE],
            "its reports can be linked, so a crowd does not hide",
        ),
    ],
)
def test_what_is_no_campaign_with_a_relay(options: list[str], words: str, keys: Path, tmp_path: Path) -> None:
    given = [str(keys) if option == "KEYS" else option for option in options]
    done = run("campaign", "new", str(tmp_path / "no.json"), *NEW, *given)
    assert done.exit_code != 0
    assert words in done.output
    assert not (tmp_path / "no.json").exists()


def test_keys_that_are_none(keys: Path, tmp_path: Path) -> None:
    for content, words in (("[]", "gateway must have exactly the fields keys"), ("{", "gateway.json: ")):
        keys.write_text(content, encoding="utf-8")
        done = run("campaign", "new", str(tmp_path / "no.json"), *NEW, *CROWD, "--gateway", str(keys))
        assert done.exit_code == 1
        assert words in done.output


def test_answering_a_campaign_with_a_relay(keys: Path, tmp_path: Path) -> None:
    place, folder = tmp_path / "crowd.json", str(tmp_path / "c")
    run("campaign", "new", str(place), *NEW, *CROWD, "--eps", "4", "--gateway", str(keys))
    asked = Campaign.from_bytes(place.read_bytes())
    allowed = ["--eps", "4", "--folder", folder]
    answer = ["answer", str(place), "--pin", asked.id]
    refused = run(*answer, *allowed, given="Safari\n")
    assert refused.exit_code == 1
    assert "your policy names no relay" in refused.output
    relay = "https://relay.example/gateways/study"
    assert run(*answer, *allowed, "--relay", relay, given="Safari\n").exit_code == 0
    assert f"relays        {relay}" in run("policy", "show", "--folder", folder).output
    more = run(*answer, "--folder", folder, "--relay", "https://other.example", given="Safari\n")
    assert "raise the policy first" in more.output
    stored = json.loads(run("policy", "set", "--no-relay", "--folder", folder, "--json").output)["policy"]
    assert stored["relays"] == []
    wrong = run("policy", "set", "--no-relay", "--relay", relay, "--folder", folder)
    assert "not both" in wrong.output
    assert "relay must be https" in run("policy", "set", "--relay", "http://x.example", "--folder", folder).output


def test_a_preview_changes_nothing(once: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shown = json.loads(output("preview", once, "--folder", home, "--json", given="Safari\n"))
    assert shown["bytes"] == len(shown["example"]) // 2
    assert (shown["accepted"], shown["joined"]) == (True, False)
    assert not home.exists()
    said = output("preview", once, "--folder", home, given="Safari\n")
    assert "An example of a report about your answer" in said
    assert "of your budget is left" in said
    assert output("preview", once, "--folder", home, given="", code=1).startswith("Error: standard input is empty")


@pytest.mark.parametrize("name", ["CI", "DO_NOT_TRACK"])
def test_switched_off_nothing_is_stored_or_sent(name: str, once: Path, tmp_path: Path) -> None:
    home, pin = tmp_path / "home", Campaign.from_bytes(once.read_bytes()).id
    switched = {name: "1"}
    done = run("answer", once, "--pin", pin, "--folder", home, given="Safari\n", **switched)
    assert (done.exit_code, "switched off" in done.output) == (0, True)
    done = run("send", "http://127.0.0.1:9", "--folder", home, **switched)
    assert (done.exit_code, "switched off" in done.output) == (0, True)
    assert not home.exists()
