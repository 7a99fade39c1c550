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
from click.testing import CliRunner, Result

from tests.own_sleep import replace_sleep
from tests.protocol.test_crowd_declaration import GATEWAY
from untrackable import strict_json
from untrackable.cli import main
from untrackable.cli.answer import _sleep
from untrackable.cli.policy import DEFAULTS
from untrackable.client import http_post
from untrackable.client.membership import Member
from untrackable.client.policy import LIMITS
from untrackable.display.numbers import odds_factor
from untrackable.encodings.days_of_use import READY_QUESTIONS
from untrackable.errors import StateError
from untrackable.protocol.campaign import Campaign, Directory
from untrackable.theory.crowd_counts import fewest_likely_reports

NEW = ["--question", "Which browser?", "--category", "Firefox", "--category", "Chromium", "--category", "Safari"]
EVERY_ROUND = ["--recognition", "1"]
"""Somebody who does not mind being recognised by answering every round."""
BITWISE = '{"mechanism": "bitwise", "eps_report": 1, "eps_state": 1}'


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, list(arguments), input=given)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A campaign of 30 days."""
    place = tmp_path / "campaign.json"
    done = run(
        "campaign",
        "new",
        str(place),
        *NEW,
        "--rounds",
        "30",
        "--every",
        "1d",
        "--first",
        "2027-01-31T12:00",
        "--participation",
        "1",
    )
    assert done.exit_code == 0, done.output
    return place


def test_a_new_campaign(made: Path, tmp_path: Path) -> None:
    found = Campaign.from_bytes(made.read_bytes())
    assert found.question == "Which browser?"
    assert found.first_round == 1801396800
    assert (found.round_seconds, found.rounds) == (86400, 30)
    shown = run("campaign", "show", str(made)).output
    for words in (
        found.id,
        "Which browser?",
        "30 rounds of 1d",
        "2027-01-31 12:00 UTC",
        "(1, 1e-06)-private",
        "(0, 0)-untrackable",
    ):
        assert words in shown
    assert json.loads(run("campaign", "show", str(made), "--json").output)["campaign"] == found.to_json()
    again = run("campaign", "new", str(made), *NEW, "--rounds", "30")
    assert again.exit_code == 1
    assert "never changes" in again.output
    listed = tmp_path / "names.txt"
    listed.write_text("a\nb\nc\n", encoding="utf-8")
    place = tmp_path / "json.json"
    mechanism = '{"mechanism": "rnip", "bits": 2, "slots": 9, "eps_report": 0.01, "width": 1}'
    asked = ["--question", "Which?", "--categories", str(listed), "--rounds", "5", "--values", "fixed"]
    told = run("campaign", "new", str(place), *asked, "--mechanism", mechanism, "--tracking-delta", "1", "--json")
    assert json.loads(told.output)["id"] == Campaign.from_bytes(place.read_bytes()).id


def test_a_new_campaign_is_answered_by_chance(tmp_path: Path) -> None:
    """As often as recognition allows; a person may say how often, and what is declared follows."""
    place = tmp_path / "chance.json"
    shown = run("campaign", "new", str(place), *NEW, "--rounds", "365").output
    assert "Each person answers about one round in 19, as a secret coin decides." in shown
    assert "recognised among 1,000 people: at most 0.00195" in shown
    made = Campaign.from_bytes(place.read_bytes())
    assert str(made.participation) == "1/19"
    checked = run("campaign", "verify", str(place)).output
    assert "recognised among 1,000 people, attendance included: 0.00194" in checked
    assert strict_json.parse(run("campaign", "verify", str(place), "--json").output.encode())["recognition"]
    every = tmp_path / "every.json"
    shown = run("campaign", "new", str(every), *NEW, "--rounds", "30", "--participation", "1").output
    assert "at most 1\n" in shown
    assert "People answer every round" in shown
    week = tmp_path / "week.json"
    run("campaign", "new", str(week), *NEW, "--rounds", "365", "--persistence", "7", "--places", "0.8,0.2")
    attending = Campaign.from_bytes(week.read_bytes()).attending
    assert (attending.persistence, [str(share) for share in attending.places]) == (7, ["4/5", "1/5"])
    assert attending.participation < made.participation
    one = tmp_path / "one.json"
    run("campaign", "new", str(one), *NEW, "--rounds", "365", "--one-network")
    assert Campaign.from_bytes(one.read_bytes()).attending.one_network


def test_a_coin_that_leaves_out_all_rounds_is_said(tmp_path: Path) -> None:
    """It comes up once in a million times."""
    place, folder = tmp_path / "seldom.json", str(tmp_path / "mine")
    new = ("campaign", "new", str(place), *NEW, "--rounds", "1", "--participation", "1/1000000", "--json")
    pin = json.loads(run(*new).output)["id"]
    told = run("answer", str(place), "--pin", pin, "--folder", folder, given="Safari\n")
    assert "no report will be sent, because the secret coin leaves out all rounds that remain" in told.output
    assert run("answer", str(place), "--folder", folder, "--leave").output == "left; no report will be sent\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--participation", "0"], "nobody would answer"),
        (["--participation", "1/0"], "participation must be a fraction such as 1/20, got 1/0"),
        (["--participation", "often"], "participation must be a fraction such as 1/20"),
        (["--places", "1,1"], "places must be shares of at most 1 in all, got 2"),
        (["--places", "1/2"], "places must be 2 to 64 shares"),
        (["--recognition", "0.0005"], "recognition must be above 0.001"),
        (["--participation", "1/2", "--recognition", "0.002"], "declares that at most 0.002 of people are"),
    ],
)
def test_attendance_that_cannot_be(options: list[str], reason: str, tmp_path: Path) -> None:
    place = tmp_path / "none.json"
    done = run("campaign", "new", str(place), *NEW, "--rounds", "365", *options)
    assert done.exit_code == 1
    assert reason in done.output
    assert not place.exists()


def test_a_new_campaign_says_how_accurate_it_will_be(tmp_path: Path) -> None:
    few, many = (
        run("campaign", "new", str(tmp_path / f"{n}.json"), *NEW, "--rounds", "30", "--people", n, "--json")
        for n in ("100", "100000000")
    )
    assert (
        json.loads(few.output)["accuracy"]["error_upper"] > 0.1 > json.loads(many.output)["accuracy"]["error_upper"]
    )
    told = run("campaign", "new", str(tmp_path / "told.json"), *NEW, "--rounds", "365").output
    assert "NOT USABLE for one round: with 10,000 people in a round" in told
    assert "10,000 people are assumed; give --people" in told


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
        ([*NEW, "--rounds", "3", "--mechanism", "{}"], "--mechanism: mechanism must be one of"),
        ([*NEW, "--rounds", "3", "--mechanism", "{"], "--mechanism: a mechanism in JSON cannot be read: Expecting"),
        ([*NEW, "--rounds", "3", "--mechanism", "no.json"], "--mechanism: cannot read no.json"),
        ([*NEW, "--rounds", "3", "--mechanism", "poker"], "--mechanism: mechanism must be one of deck"),
        ([*NEW, "--rounds", "3", "--mechanism", "deck bits"], "--mechanism: a parameter must be written key=value"),
        ([*NEW], "give --rounds, or a --plan"),
        (["--question", "?", "--rounds", "3", "--encoding", "bit"], "--encoding must be JSON, or a file of it"),
        ([*NEW, "--plan", "{"], "--plan must be JSON, or a file of it"),
        ([*NEW, "--plan", '{"campaign": null}'], "no mechanism meets the goals"),
        ([*NEW, "--plan", '{"rounds": 3}'], "--plan: must be what `untrackable plan --json` prints"),
        ([*NEW, "--plan", "{}", "--eps", "1", "--tracking-delta", "0"], "already sets --eps, --tracking-delta"),
        (["--question", "?", "--encoding", '{"type": "x"}', "--rounds", "3"], "--encoding: type must be one of"),
        ([*NEW, "--rounds", "3", "--eps", "-1"], "eps must be"),
        (
            ["--question", "?", "--category", "a", "--category", "b", "--rounds", "3", "--mechanism", BITWISE],
            "would not keep what it declares",
        ),
    ],
)
def test_a_campaign_that_is_not_made(arguments: list[str], reason: str, tmp_path: Path) -> None:
    done = run("campaign", "new", str(tmp_path / "c.json"), *arguments)
    assert done.exit_code == 1
    assert reason in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_says_what_wiped_storage_means(tmp_path: Path) -> None:
    place = tmp_path / "campaign.json"
    new = ["campaign", "new", str(place), *NEW, "--rounds", "30", "--wipes"]
    assert "must be a whole number, or any" in run(*new, "often").output
    kept = [
        "--mechanism",
        '{"mechanism":"rnip","bits":2,"slots":9,"eps_report":0.01,"width":1}',
        "--values",
        "fixed",
    ]
    assert "each new state reveals more" in run(*new, "any", *kept, "--tracking-delta", "1").output
    assert not place.exists()
    assert "deleted, however often" in run(*new, "any").output
    assert Campaign.from_bytes(place.read_bytes()).guarantee.wipes == "any"
    assert run("campaign", "verify", str(place)).exit_code == 0


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
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
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
    made: Path, tmp_path: Path, collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, folder, now = Campaign.from_bytes(made.read_bytes()), str(tmp_path / "mine"), 1801396800.0 - 60
    monkeypatch.setattr("time.time", lambda: now)
    for arguments, given, reason in [
        ([], "Safari\n", "is not pinned"),
        (["--pin", "xyz"], "Safari\n", "--pin needs the first 8 digits of an id, or more, not 3"),
        (["--pin", "x" * 64], "Safari\n", "64 lower-case hexadecimal"),
        (["--pin", found.id], "Lynx\n", "must be one of the 3"),
        (["--pin", found.id], "\n", "must be one of the 3"),
        (["--pin", found.id], "", "standard input is empty"),
        (["--pin", found.id, "--eps", "0.1"], "Safari\n", "your policy allows"),
    ]:
        refused = run("answer", str(made), "--folder", folder, *arguments, given=given)
        assert refused.exit_code == 1
        assert reason in refused.output
        assert "Safari" not in refused.output
        assert "Lynx" not in refused.output
    assert "no campaign has been answered" in run("send", collector[0], "--folder", folder).output
    joined = run("answer", str(made), "--folder", folder, "--pin", found.id, *EVERY_ROUND, given="Safari\n")
    assert joined.exit_code == 0, joined.output
    assert "the next report goes out 2027-0" in joined.output
    assert "Safari" not in joined.output
    assert "nothing to send" in run("send", collector[0], "--folder", folder).output
    now += 60 + 86400 - 1
    sent = json.loads(run("send", collector[0], "--folder", folder, "--json").output)
    assert sent[0]["outcome"] == "accepted"
    assert sent[0]["next_report"] > now
    ((path, body),) = collector[1]
    assert path == f"/campaigns/{found.id}/reports"
    assert body[:5] == b"\x01\x01\0\0\0"
    assert run("send", "http://collect.example", "--folder", folder).exit_code == 1
    state = tmp_path / "mine" / f"{found.id}.state"
    whole = state.read_bytes()
    state.write_bytes(whole[:-1])
    damaged = run("send", collector[0], "--folder", folder)
    assert damaged.exit_code == 1
    assert "failed: the state is damaged" in damaged.output
    state.write_bytes(whole)
    left = run("answer", str(made), "--folder", folder, "--leave", "--json")
    assert json.loads(left.output) == {"campaign": found.id, "next_report": None}
    assert "no campaign has been answered" in run("send", collector[0], "--folder", folder).output


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
    found = Campaign.from_bytes(made.read_bytes())
    text = typed(made, tmp_path / "mine", b"Saffari\n", b"2\n", pin=found.id[:8])
    spent = "all campaigns together would spend (upper)"
    shown = ("What is promised", spent, "It would be accepted", "Which browser?", "1  ", "number or answer")
    places = [text.index(words) for words in shown]
    assert places == sorted(places)
    assert "(not shown) is not" in text
    assert "Try again; nothing was stored." in text
    assert "answered; the next report goes out" in text
    assert f"Compare all of it if you can: {found.id}" in " ".join(text.split())
    assert text.count("Safari") == 1  # among the answers that are asked for
    assert "Saffari" not in text
    again = typed(made, tmp_path / "other", b"nothing\n", b"such\n", b"there\n", pin=found.id)
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
    assert "answered; " in text
    assert "answered; " in typed(made, tmp_path / "other", b"-\n", pin=pin)


def test_a_short_pin_must_fit_and_have_eight_digits(made: Path, tmp_path: Path) -> None:
    found = Campaign.from_bytes(made.read_bytes())
    for pin in (found.id[:7], "0" * 8, found.id[1:9]):
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
    made = ["campaign", "new", str(tmp_path / "a.json"), *NEW, "--rounds", "3", "--json"]
    usual = json.loads(run(*made).stdout)["campaign"]["mechanism"]
    described = tmp_path / "mechanism"
    described.write_text(json.dumps(usual))
    words = f"deck bits={usual['bits']} slots=3 eps_report={usual['eps_report']!r} width={usual['width']}"
    for number, way in enumerate(("deck", words, str(described), json.dumps(usual))):
        again = ["campaign", "new", str(tmp_path / f"{number}.json"), *NEW, "--rounds", "3", "--json"]
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
    found = []
    for question in ("Which browser?", "Which other browser?"):
        place = tmp_path / f"{len(question)}.json"
        run(
            "campaign",
            "new",
            str(place),
            "--question",
            question,
            *NEW[2:],
            "--rounds",
            "3",
            "--first",
            "2027-01-31",
            "--participation",
            "1",
        )
        found.append(Campaign.from_bytes(place.read_bytes()))
        pinned = ["--folder", folder, "--pin", found[-1].id]
        done = run("answer", str(place), *pinned, "--eps", "5", "--crowd-eps", "5", *EVERY_ROUND, given="Safari\n")
        assert done.exit_code == 0, done.output
    return found


def test_who_stays_does_not_send_in_the_second_of_switching_on(
    tmp_path: Path, collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both moments have passed: once, everything goes out at once; staying, each at a time of its own."""
    folder, begins = str(tmp_path / "mine"), 1801353600
    time = Time(monkeypatch, begins - 60.0, begins + 86400 * 0.999)
    _two_campaigns(tmp_path, folder)
    time.now = on = begins + 86400 * 0.95
    sent: list[float] = []

    def post(address: http_post.Address, body: bytes, ready: http_post.Ready) -> http_post.Reply:
        sent.append(time.now)
        return http_post.post(address, body, ready)

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
    collector: tuple[str, list[tuple[str, bytes]]],
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
    """Both budgets are named at once: the command that is told is enough."""
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
    needed = re.search(r"`untrackable (policy set --eps \S+ --crowd-eps \S+)`", refused.output)
    assert needed is not None
    raised = run(*needed[1].split()[:4], "--folder", folder)
    assert raised.exit_code == 0, raised.output
    hidden = run(*answers[1], given="Safari\n")
    assert "does not know who sent which" in hidden.output
    assert "Before this one, eps 0 is left (lower)" in hidden.output
    assert " ".join(["policy set", *needed[1].split()[4:]]) in hidden.output
    assert run(*needed[1].split(), "--folder", folder).exit_code == 0
    assert run(*answers[1], given="Safari\n").exit_code == 0


def test_a_policy_is_stored_and_raised_on_purpose_only(made: Path, tmp_path: Path) -> None:
    folder, found = str(tmp_path / "person"), Campaign.from_bytes(made.read_bytes())
    assert "No policy is stored yet" in run("policy", "show", "--folder", folder).output
    answer = ["answer", str(made), "--pin", found.id, "--folder", folder]
    refused = run(*answer, given="Safari\n")
    assert refused.exit_code == 1
    assert "too easy to recognise by your attendance" in refused.output
    assert run("policy", "set", *EVERY_ROUND, "--folder", folder).exit_code == 0
    assert run(*answer, given="Safari\n").exit_code == 0
    raised = run(*answer, "--eps", "100", given="Safari\n")
    assert raised.exit_code == 1
    assert "eps 100.0 instead of 1.0; nothing was changed" in raised.output
    assert "`untrackable policy set --eps 100.0`" in raised.output
    limits = {**LIMITS, "recognition": 1.0, "relays": []}
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
    lowered = run("policy", "set", "--recognition", "0.05", "--folder", folder)
    assert "recognised    with probability 0.05 among 1,000 people, attendance included" in lowered.output
    raised = run(*answer, "--recognition", "0.5", given="Firefox\n")
    assert "recognition 0.5 instead of 0.05; nothing was changed" in raised.output
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
        assert "answered; the next report" in used.output or "no report" in used.output
    assert (folder / f"{asked.id}.days").exists()
    assert run(*given, "--leave").exit_code == 0
    assert not (folder / f"{asked.id}.days").exists()
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


CROWD = ["--rounds", "10", "--participation", "1", "--crowd-people", "2000"]
COUNTED = fewest_likely_reports(2000, Fraction(19, 20))


def test_a_campaign_that_relies_on_a_crowd(keys: Path, tmp_path: Path) -> None:
    place = tmp_path / "crowd.json"
    told = run("campaign", "new", str(place), *NEW, *CROWD, "--gateway", str(keys))
    assert told.exit_code == 0, told.output
    made = Campaign.from_bytes(place.read_bytes())
    crowd = made.guarantee.crowd
    assert crowd is not None
    assert (crowd.eps, crowd.delta, crowd.people, made.gateway) == (1.0, 1e-6, COUNTED, GATEWAY)
    assert made.guarantee.eps == 4
    for words in (
        "The collector by itself sees the reports of everybody, and does not know who sent which.",
        "a factor of at most 2.719 (eps = 1), except with probability 1e-06 (upper)",
        f"If the relay and the collector work together, the factor is at most {odds_factor(made.guarantee.eps)} ",
        "you trust that it does not work with the collector",
        f"a round is published from {COUNTED:,} reports on, and the crowd's privacy is that of so many",
        "reports are sealed for 2 keys",
        "for an answer that nobody gives, and",
        "for one that 10 % give (exact, with 2,000 reports)",
        "with 2,000 people in a round",
    ):
        assert words in told.output
    checked = run("campaign", "verify", str(place))
    assert checked.exit_code == 0
    crowded = f"delta at eps = 1 in a crowd of {COUNTED:,} (a round is published from {COUNTED:,} reports on): "
    assert crowded in checked.output
    assert json.loads(run("campaign", "verify", str(place), "--json").output)["crowd"]["upper"] <= 1e-6
    loud, bold = tmp_path / "loud.json", tmp_path / "bold.json"
    run("campaign", "new", str(loud), *NEW, *CROWD, "--gateway", str(keys), "--eps", "64")
    bold.write_bytes(loud.read_bytes().replace(b'"people":%d' % COUNTED, b'"people":1500'))
    wrong = run("campaign", "verify", str(bold))
    assert wrong.exit_code == 1
    assert "wrong: it declares delta = 1e-06 at eps = 1 in a crowd of 1,500 people, and has up to" in wrong.output


def test_nobody_may_be_missing_without_a_margin(keys: Path, tmp_path: Path) -> None:
    place = tmp_path / "all.json"
    told = run("campaign", "new", str(place), *NEW, *CROWD, "--gateway", str(keys), "--margin", "0")
    assert told.exit_code == 0, told.output
    assert Campaign.from_bytes(place.read_bytes()).fewest_reports == 2000


def test_both_observers_at_once(keys: Path, tmp_path: Path) -> None:
    """What relay and collector may learn together is kept as well, at the price of accuracy."""
    place = tmp_path / "both.json"
    asked = ["campaign", "new", str(place), *NEW, *CROWD, "--gateway", str(keys), "--eps", "2", "--json"]
    told = json.loads(run(*asked).output)
    assert told["campaign"]["guarantee"]["eps"] == 2
    assert told["campaign"]["guarantee"]["crowd"]["eps"] == 1
    assert told["accuracy"]["standard_error"] > 0.02


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rounds", "10", "--margin", "0.1"], "give --crowd-people too"),
        (["--rounds", "10", "--participation", "1/20", "--crowd-people", "41"], "--crowd-people 41 is too few"),
        (["--rounds", "10", "--crowd-people", "2000"], "needs the public keys of the collector's gateway"),
        (["--rounds", "10", "--crowd-eps", "2"], "give --crowd-people too"),
        (["--rounds", "10", "--gateway", "KEYS"], "--gateway is for campaigns that rely on a crowd"),
        (["--rounds", "10", "--crowd-people", "1"], "1 is not in the range x>=2"),
        (
            [*CROWD, "--gateway", "KEYS", "--mechanism", BITWISE],
            "its reports can be linked, so a crowd does not hide",
        ),
    ],
)
def test_what_is_no_campaign_of_a_crowd(options: list[str], words: str, keys: Path, tmp_path: Path) -> None:
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


def test_answering_a_campaign_of_a_crowd(keys: Path, tmp_path: Path) -> None:
    place, folder = tmp_path / "crowd.json", str(tmp_path / "c")
    run("campaign", "new", str(place), *NEW, *CROWD, "--gateway", str(keys))
    asked = Campaign.from_bytes(place.read_bytes())
    allowed = ["--eps", "50", "--recognition", "1", "--folder", folder]
    answer = ["answer", str(place), "--pin", asked.id]
    refused = run(*answer, *allowed, given="Safari\n")
    assert refused.exit_code == 1
    assert "your policy names no relay" in refused.output
    relay = "https://relay.example/gateways/study"
    assert run(*answer, *allowed, "--relay", relay, given="Safari\n").exit_code == 0
    shown = run("policy", "show", "--folder", folder).output
    assert "in a crowd    eps 1.0, delta 1e-06, if nobody knows who sent which" in shown
    assert f"relays        {relay}" in shown
    more = run(*answer, "--folder", folder, "--relay", "https://other.example", given="Safari\n")
    assert "raise the policy first" in more.output
    stored = json.loads(run("policy", "set", "--no-relay", "--folder", folder, "--json").output)["policy"]
    assert (stored["relays"], stored["crowd_eps"]) == ([], 1.0)
    wrong = run("policy", "set", "--no-relay", "--relay", relay, "--folder", folder)
    assert "not both" in wrong.output
    assert "relay must be https" in run("policy", "set", "--relay", "http://x.example", "--folder", folder).output


def test_the_default_limits_are_those_of_the_library() -> None:
    assert DEFAULTS == LIMITS
