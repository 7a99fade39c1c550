"""`ballots`, as an operator types it."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ballots.samples import CAMPAIGN, request
from tests.cli.commands import output, run
from untrackable.ballots.enrolment import account_token
from untrackable.ballots.register import Register
from untrackable.protocol.ballots import CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "members.ballots"
    output("ballots", "new", path, "--for", "codes", "--days", 30)
    return path


def test_codes_are_printed_once_and_used_once(file: Path) -> None:
    printed = output("ballots", "codes", file, 3).split()
    assert len(set(printed)) == 3
    more = json.loads(output("ballots", "codes", file, 2, "--json"))["codes"]
    issuer = Register(file)
    issuer.issue(more[0], request(issuer).to_issuer())
    told = json.loads(output("ballots", "show", file, "--json"))
    assert (told["issued"], told["unused_codes"], told["key"]) == (1, 4, issuer.key.to_bytes().hex())
    assert abs(told["expires"] - time.time() - 30 * 86400) < 600
    words = output("ballots", "show", file)
    assert "1 ballots were issued." in words
    assert "4 codes are not used." in words
    assert not any(code in words for code in (*printed, *more))


def test_the_secret_for_accounts_is_shown_once(tmp_path: Path) -> None:
    path = tmp_path / "a.ballots"
    made = json.loads(output("ballots", "new", path, "--for", "accounts", "--days", 1, "--json"))
    assert made["secret"] not in output("ballots", "show", path, "--json")
    assert run("ballots", "codes", path, 3).exit_code == 1
    words = output("ballots", "new", tmp_path / "b.ballots", "--for", "accounts", "--days", 1)
    assert len(words.splitlines()[-1]) == len(made["secret"])


def test_a_closed_register_stays_closed(file: Path) -> None:
    assert run("ballots", "close", file).exit_code == 1  # It asks, and there is no answer.
    assert "destroyed" in output("ballots", "close", file, "--yes")
    assert "It is closed." in output("ballots", "show", file)
    assert "is over" in output("ballots", "codes", file, 1, code=1)


@pytest.mark.parametrize("words", [("codes", "none", 3), ("show", "none"), ("close", "none"), ("serve", "none")])
def test_a_missing_register_is_an_error_in_one_line(words: tuple[object, ...], tmp_path: Path) -> None:
    told = run("ballots", words[0], tmp_path / str(words[1]), *words[2:])
    assert told.exit_code == 1
    assert told.stderr.startswith("Error: there is no register")
    assert told.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_it_replaces_no_file(file: Path) -> None:
    before = file.read_bytes()
    assert "File exists" in output("ballots", "new", file, "--for", "anybody", "--days", 1, code=1)
    assert file.read_bytes() == before


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The address of an issuer as a process, which ends cleanly and without a word."""
    command = [sys.executable, "-m", "untrackable", "ballots", "serve", str(path), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["address"]
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.communicate()


def test_a_campaign_with_ballots_from_codes_to_answers(file: Path, tmp_path: Path) -> None:
    """As operator and people type it. A code works on one device."""
    codes = output("ballots", "codes", file, 3).split()
    with serving(file) as issuer:
        (tmp_path / "ballots.json").write_text(
            output("ballots", "public", file, issuer, "--json"), encoding="utf-8"
        )
        made = tmp_path / "campaign.json"
        about = ["--question", "Which?", "--category", "a", "--category", "b", "--rounds", 9]
        output("campaign", "new", made, *about, "--ballots", tmp_path / "ballots.json")
        asked = Campaign.from_bytes(made.read_bytes())
        assert asked.ballots == CampaignBallots(issuer, Register(file).key, Register(file).expires)
        join = ["answer", made, "--pin", asked.id, "--eps", 2]
        for number, code in enumerate(codes[:2]):
            output(*join, "--ballot", code, "--folder", tmp_path / str(number), given="a\n")
        assert Register(file).state().issued == 2
        refused = [*join, "--folder", tmp_path / "other", "--ballot"]
        assert "issued for this before" in output(*refused, codes[0], given="a\n", code=1)
        assert "does not entitle" in output(*refused, "0000-0000-0000-0000", given="a\n", code=1)
    assert "try again later" in output(*refused, codes[2], given="a\n", code=1)
    assert Register(file).state().issued == 2


def test_a_file_that_says_nothing_of_ballots_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{}", encoding="utf-8")
    made = [tmp_path / "c.json", "--question", "Which?", "--category", "a", "--category", "b", "--rounds", 9]
    told = output("campaign", "new", *made, "--ballots", tmp_path / "b.json", code=1)
    assert (
        "must have exactly the fields expires, issuer, key. Give what `untrackable ballots public … --json` prints"
        in told
    )


def test_it_serves_accounts(tmp_path: Path) -> None:
    path = tmp_path / "a.ballots"
    output("ballots", "new", path, "--for", "accounts", "--days", 1)
    issuer = Register(path)
    mine = request(issuer)
    token = account_token(issuer.account_secret(), issuer.key.id, "17", int(time.time()) + 60)
    body = json.dumps({"blinded": mine.to_issuer().hex(), "enrolment": token}).encode()
    with serving(path) as address:
        asked = urllib.request.Request(  # noqa: S310
            f"{address}/ballots/{issuer.key.id}", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
            signed = bytes.fromhex(json.load(answer)["signature"])
    assert is_valid(issuer.key, CAMPAIGN, mine.ballot(signed))
