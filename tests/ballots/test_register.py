"""Registers: exactly one ballot for each enrolment, also under kills, and nothing that says which."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.ballots.samples import CAMPAIGN, EXPIRES, START, register, request
from untrackable.ballots.enrolment import Entitled, NotEntitled, account_token
from untrackable.ballots.register import AlreadyIssued, NoMoreBallots, Register, open_registers
from untrackable.errors import BallotError, StoreUnavailable
from untrackable.protocol.ballots import KEY, is_valid


def test_a_code_gets_one_ballot(tmp_path: Path) -> None:
    """The same request is signed again, so that a lost answer costs nothing."""
    issuer = register(tmp_path)
    code, other = issuer.new_codes(2)
    mine = request(issuer)
    signed = issuer.issue(code, mine.to_issuer(), START)
    assert is_valid(issuer.key, CAMPAIGN, mine.ballot(signed))
    assert issuer.issue(code.lower(), mine.to_issuer(), START + 86400) == signed
    with pytest.raises(AlreadyIssued):
        issuer.issue(code, request(issuer).to_issuer(), START)
    assert issuer.issue(code, mine.to_issuer(), START) == signed
    issuer.issue(other, request(issuer).to_issuer(), START)
    with pytest.raises(NotEntitled):
        issuer.issue("0000-0000-0000-0000", request(issuer).to_issuer(), START)
    assert (issuer.state().issued, issuer.state().unused_codes) == (2, 0)


def test_an_account_gets_one_ballot(tmp_path: Path) -> None:
    issuer = register(tmp_path, Entitled.ACCOUNTS)
    secret, key = issuer.account_secret(), issuer.key.id
    mine = request(issuer)
    first = issuer.issue(account_token(secret, key, "17", START + 60), mine.to_issuer(), START)
    later = account_token(secret, key, "17", START + 7200)
    assert issuer.issue(later, mine.to_issuer(), START + 7000) == first
    with pytest.raises(AlreadyIssued):
        issuer.issue(later, request(issuer).to_issuer(), START + 7000)
    issuer.issue(account_token(secret, key, "18", START + 60), request(issuer).to_issuer(), START)
    with pytest.raises(NotEntitled):
        issuer.issue("17", request(issuer).to_issuer(), START)
    with pytest.raises(BallotError, match="no codes"):
        issuer.new_codes(1)
    assert issuer.state().issued == 2


def test_anybody_gets_as_many_as_they_ask_for(tmp_path: Path) -> None:
    issuer = register(tmp_path, Entitled.ANYBODY)
    mine = request(issuer)
    assert issuer.issue("", mine.to_issuer(), START) == issuer.issue("x", mine.to_issuer(), START)
    size = len(files(tmp_path))
    for _ in range(40):
        issuer.issue("", request(issuer).to_issuer(), START)
    assert issuer.state().issued == 42
    issuer.close_file()
    assert len(files(tmp_path)) <= size  # Strangers do not make it grow.
    issuer = Register(tmp_path / "a.ballots")
    with pytest.raises(BallotError, match="no secret"):
        issuer.account_secret()


def test_a_request_that_is_no_number_uses_no_code(tmp_path: Path) -> None:
    issuer = register(tmp_path)
    (code,) = issuer.new_codes(1)
    with pytest.raises(BallotError):
        issuer.issue(code, b"\xff" * KEY, START)
    assert issuer.state().issued == 0


def test_after_its_time_and_when_closed_it_issues_nothing(tmp_path: Path) -> None:
    issuer = register(tmp_path)
    codes = issuer.new_codes(3)
    mine = request(issuer)
    issuer.issue(codes[0], mine.to_issuer(), EXPIRES - 1)
    with pytest.raises(NoMoreBallots):
        issuer.issue(codes[1], request(issuer).to_issuer(), EXPIRES)
    issuer.close()
    for code in codes[:2]:
        with pytest.raises(NoMoreBallots):
            issuer.issue(code, mine.to_issuer(), START)
    with pytest.raises(NoMoreBallots):
        issuer.new_codes(1)
    issuer.close()
    state = issuer.state()
    assert (state.closed, state.issued, state.unused_codes) == (True, 1, 0)


def test_what_another_process_keeps_on_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads an old version of the file, so that version is still there. Closing again destroys it."""
    monkeypatch.setattr("untrackable.ballots.register._PATIENCE_SECONDS", 0.01)
    issuer, other = register(tmp_path), Register(tmp_path / "a.ballots")
    secret = issuer._one("SELECT hashing FROM issuer")[0]
    other._database.execute("BEGIN")
    other._one("SELECT issued FROM issuer")
    with pytest.raises(StoreUnavailable, match="close the register again"):
        issuer.close()
    assert issuer.state().closed
    other._database.execute("ROLLBACK")
    issuer.close()
    assert secret not in files(tmp_path)


def files(folder: Path) -> bytes:
    """All bytes of all files of a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_closing_destroys_keys_and_enrolments(tmp_path: Path) -> None:
    issuer = register(tmp_path, Entitled.ACCOUNTS)
    secret = issuer.account_secret()
    token = account_token(secret, issuer.key.id, "17", START + 60)
    issuer.issue(token, request(issuer).to_issuer(), START)
    database = sqlite3.connect(tmp_path / "a.ballots")
    signing, hashing = database.execute("SELECT signing, hashing FROM issuer").fetchone()
    (enrolment,) = database.execute("SELECT enrolment FROM enrolments").fetchone()
    database.close()
    destroyed = (secret, signing[: KEY // 2], signing[KEY // 2 :], hashing, enrolment)
    assert all(each in files(tmp_path) for each in destroyed)
    issuer.close()
    assert not any(each in files(tmp_path) for each in destroyed)
    assert issuer.key.to_bytes() in files(tmp_path)


def test_the_file_knows_no_code_no_account_no_time_and_no_ballot(tmp_path: Path) -> None:
    issuer = register(tmp_path, Entitled.ACCOUNTS)
    mine = request(issuer)
    token = account_token(issuer.account_secret(), issuer.key.id, "member-17", START + 60)
    ballot = mine.ballot(issuer.issue(token, mine.to_issuer(), START))
    codes = register(tmp_path, name="b.ballots").new_codes(3)
    found = files(tmp_path)
    assert b"member-17" not in found
    assert not any(code.encode() in found or code.replace("-", "").encode() in found for code in codes)
    assert not any(part in found for part in (ballot[:32], ballot[32:], mine.to_issuer(), token.encode()))
    columns = sqlite3.connect(tmp_path / "a.ballots").execute("SELECT * FROM enrolments").fetchall()
    assert [[len(each) for each in row] for row in columns] == [[32, 32]]


def test_rows_are_in_the_order_of_hashes(tmp_path: Path) -> None:
    """So the file does not say who came first, and neither do rowids: there are none."""
    issuer = register(tmp_path)
    for code in issuer.new_codes(20):
        issuer.issue(code, request(issuer).to_issuer(), START)
    database = sqlite3.connect(tmp_path / "a.ballots")
    rows = [row[0] for row in database.execute("SELECT enrolment FROM enrolments")]
    assert rows == sorted(rows)
    with pytest.raises(sqlite3.OperationalError, match="rowid"):
        database.execute("SELECT rowid FROM enrolments")


def test_a_register_is_for_its_owner_and_is_never_replaced(tmp_path: Path) -> None:
    issuer = register(tmp_path)
    issuer.new_codes(1)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.iterdir())
    with pytest.raises(BallotError, match="File exists"):
        register(tmp_path)
    again = Register(tmp_path / "a.ballots")
    assert (again.key, again.expires, again.entitled) == (issuer.key, EXPIRES, Entitled.CODES)


def test_other_files_are_no_registers(tmp_path: Path) -> None:
    with pytest.raises(BallotError, match="there is no register"):
        Register(tmp_path / "none")
    (tmp_path / "text").write_text("no database", encoding="utf-8")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    for name in ("text", "other.db"):
        with pytest.raises(BallotError, match="not a register"):
            Register(tmp_path / name)


def test_a_busy_file_is_a_passing_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.ballots.register._PATIENCE_SECONDS", 0.05)
    issuer = register(tmp_path)
    (code,) = issuer.new_codes(1)
    other = sqlite3.connect(tmp_path / "a.ballots", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    mine = request(issuer)
    with pytest.raises(StoreUnavailable):
        issuer.issue(code, mine.to_issuer(), START)
    other.execute("ROLLBACK")
    issuer.issue(code, mine.to_issuer(), START)


def test_threads_that_race_for_a_code_get_one_ballot(tmp_path: Path) -> None:
    issuer = register(tmp_path)
    for code in issuer.new_codes(4):
        requests = [request(issuer) for _ in range(4)]
        signed: list[int] = []

        def race(number: int, code: str = code) -> None:
            try:
                issuer.issue(code, requests[number].to_issuer(), START)  # noqa: B023
            except AlreadyIssued:
                return
            signed.append(number)  # noqa: B023

        threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(signed) == 1


KILLED = """
import sys
from pathlib import Path
from tests.ballots.samples import START, request
from untrackable.ballots.register import AlreadyIssued, Register

issuer = Register(Path(sys.argv[1]))
print("ready", flush=True)
for code in sys.argv[2:]:
    mine = request(issuer).to_issuer()
    try:
        issuer.issue(code, mine, START)
    except AlreadyIssued:
        continue
    print(code, mine.hex(), flush=True)
"""


def test_killed_processes_issue_one_ballot_for_each_code(tmp_path: Path) -> None:
    """Each one works on all codes with requests of its own, until it is killed at some moment."""
    codes = register(tmp_path).new_codes(60)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "a.ballots"), *codes]
    signed: dict[str, set[str]] = {code: set() for code in codes}
    killed = 0
    for wait in (0.0, 0.02, 0.05, 0.09, 0.15, 600.0):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if wait < 600:
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
        for line in process.communicate()[0].splitlines():
            if len(words := line.split()) == 2 and len(words[1]) == 2 * KEY:
                signed[words[0]].add(words[1])
        killed += process.returncode == -signal.SIGKILL
    assert killed == 5
    issuer = Register(tmp_path / "a.ballots")
    assert issuer.state().issued == 60
    assert sum(map(len, signed.values())) >= 55  # Those that were killed between storing and printing lack one.
    for code, requests in signed.items():
        assert len(requests) <= 1
        for each in requests:
            issuer.issue(code, bytes.fromhex(each), START)


def test_the_state_says_numbers_only(tmp_path: Path) -> None:
    issuer = register(tmp_path)
    codes = issuer.new_codes(3)
    issuer.issue(codes[0], request(issuer).to_issuer(), START)
    told = issuer.state().to_json()
    assert told == {
        "closed": False,
        "entitled": "codes",
        "expires": EXPIRES,
        "issued": 1,
        "key": issuer.key.to_bytes().hex(),
        "unused_codes": 2,
    }
    assert json.loads(json.dumps(told)) == told


def test_a_collector_issues_no_ballots_for_anybody(tmp_path: Path) -> None:
    """It would have to count addresses."""
    register(tmp_path).close_file()
    register(tmp_path, Entitled.ANYBODY, "b.ballots").close_file()
    (opened,) = open_registers([tmp_path / "a.ballots"])
    assert opened.entitled is Entitled.CODES
    with pytest.raises(BallotError, match="never looks at"):
        open_registers([tmp_path / "a.ballots", tmp_path / "b.ballots"])
