"""Ballots at the collector: a report needs a valid one, and each counts once, in whatever round and under kills."""

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ballots.samples import Mint
from tests.client.samples import DAY, START, turns_campaign
from tests.collector.conftest import KINDS
from tests.collector.killed_processes import killed_before
from tests.collector.samples import answers
from tests.collector.servers import SETTINGS, Collector, collecting
from tests.collector.test_app import problem
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.collector import closing
from untrackable.collector.ballots import BallotVerifier, CountedBallots
from untrackable.collector.closing import close_round, delete_campaign
from untrackable.collector.settings import open_store
from untrackable.collector.sqlite import SqliteStore
from untrackable.collector.store import Round, Rows, StatementRunner, Store, StoredCampaign
from untrackable.errors import StoreUnavailable
from untrackable.protocol import wire
from untrackable.protocol.ballots import NUMBER, BallotRequest, CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign
from untrackable.randomizers.randomness import system

STORES = KINDS
MINT = Mint()
ASKED = turns_campaign(ballots=MINT.ballots)
WIRE = wire.of_campaign(ASKED)
REPORT = answers(ASKED.mechanism, [2])[0]


def body(round: int, ballot: bytes | None = None, report: int = REPORT) -> bytes:
    """A report with a ballot, new unless it is given."""
    return WIRE.encode(round=round, nonce=ballot or MINT.ballot(ASKED.id), report=report)


def taking(collector: Collector, round: int = 1) -> Collector:
    """A collector of the campaign in a round."""
    collector.create(ASKED)
    collector.clock.now = START + (round - 0.5) * DAY
    return collector


def test_a_report_with_a_ballot_counts(collector: Collector) -> None:
    taking(collector)
    first, many = body(1), b"".join(body(1) for _ in range(3))
    for sent in (first, many, first):
        assert collector.send(ASKED, sent).status_code == 204
    assert collector.store.count(Round(ASKED.id, 1)) == 4
    assert close_round(collector.store, ASKED, 1).reports == 4


def test_a_report_without_a_valid_ballot_is_refused(collector: Collector) -> None:
    taking(collector)
    good = MINT.ballot(ASKED.id)
    other_campaign, other_key = MINT.ballot("ab" * 32), Mint().ballot(ASKED.id)
    changed = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in (0, 20, NUMBER, len(good) - 1)]
    for ballot in (bytes(len(good)), other_campaign, other_key, *changed):
        assert problem(collector.send(ASKED, body(1, ballot))) == (403, "no-ballot")
        assert problem(collector.send(ASKED, body(1) + body(1, ballot))) == (403, "no-ballot")
    plain = wire.of(ASKED.mechanism).encode(round=1, nonce=good[: wire.NONCE], report=REPORT)
    assert problem(collector.send(ASKED, plain)) == (400, "malformed-reports")
    assert collector.send(ASKED, body(1, good)).status_code == 204
    assert collector.store.count(Round(ASKED.id, 1)) == 1


def test_ballots_of_one_group_do_not_spoil_each_other(collector: Collector) -> None:
    taking(collector)
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    acceptance, outcomes = service.acceptance(ASKED.id), {}
    sent = {name: body(1) for name in "abcdef"} | {"bad": body(1, bytes(288)), "cut": body(1)[:-1]}
    for name, each in sent.items():
        service.writer.try_write(acceptance, each, lambda outcome, name=name: outcomes.update({name: outcome}))
    assert collector.send(ASKED, body(1)).status_code == 204  # It is answered after these.
    assert [name for name, outcome in outcomes.items() if outcome is not None] in (["bad", "cut"], ["cut", "bad"])
    assert collector.store.count(Round(ASKED.id, 1)) == 7


def test_a_ballot_counts_in_the_round_that_is_closed_first(collector: Collector) -> None:
    """Whichever that is. Who sends it learns nothing."""
    twice, once = [MINT.ballot(ASKED.id) for _ in range(5)], [MINT.ballot(ASKED.id) for _ in range(4)]
    taking(collector)
    for ballot in (*twice, once[0]):
        assert collector.send(ASKED, body(1, ballot)).status_code == 204
    collector.clock.now += DAY
    for ballot in (*twice, once[1], once[2]):
        assert collector.send(ASKED, body(2, ballot)).status_code == 204
    collector.clock.now += DAY
    for ballot in (*twice, once[3]):
        assert collector.send(ASKED, body(3, ballot)).status_code == 204
    counted = {number: close_round(collector.store, ASKED, number).reports for number in (2, 1, 3)}
    assert counted == {2: 7, 1: 1, 3: 1}
    for number, reports in counted.items():
        sums = collector.store.sums(Round(ASKED.id, number))
        assert sums is not None
        assert ASKED.mechanism.restore_sums(sums, number).n == reports
    assert sum(len(each) for each in collector.store.counted_ballots(ASKED.id).values()) == 9 * wire.NONCE


def test_rounds_that_are_closed_at_once_count_a_ballot_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them finds at its end that the other one has counted, and chooses again."""
    known(store)
    ballot = MINT.ballot(ASKED.id)
    add(store, 1, [ballot, MINT.ballot(ASKED.id)])
    add(store, 2, [ballot])
    other: list[int | None] = []
    choose = closing._sum_ballots

    def interrupted(*given: object) -> object:
        result = choose(*given)  # type: ignore[arg-type]
        if not other:
            other.append(None)
            other.append(close_round(store, ASKED, 2).reports)
        return result

    monkeypatch.setattr(closing, "_sum_ballots", interrupted)
    assert close_round(store, ASKED, 1).reports == 1
    assert other == [None, 1]


def known(store: Store) -> None:
    store.add_campaign(StoredCampaign(ASKED.id, ASKED.to_bytes(), "{}", published=False))


def add(store: Store, round: int, ballots: list[bytes]) -> None:
    """Store reports with these ballots, as the writer does."""
    rows = [ballot[: wire.NONCE] + bytes([REPORT]) for ballot in ballots]
    store.add({Round(ASKED.id, round): np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)})


def test_kills_at_every_statement_of_closing_count_each_ballot_once(tmp_path: Path) -> None:
    """Three ballots are in both rounds. What was killed is closed again afterwards, in either order."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    store = SqliteStore.open(prepared / "store.db")
    known(store)
    both = [MINT.ballot(ASKED.id) for _ in range(3)]
    add(store, 1, [*both, *(MINT.ballot(ASKED.id) for _ in range(2))])
    add(store, 2, [*both, *(MINT.ballot(ASKED.id) for _ in range(4))])
    store.close()

    def work(opened: SqliteStore, acknowledge: object) -> None:
        for number in (1, 2):
            close_round(opened, ASKED, number)

    number, killed = 0, True
    while killed:
        number += 1
        folder = shutil.copytree(prepared, tmp_path / str(number))
        killed, _ = killed_before(number, folder / "store.db", work)
        again = SqliteStore.open(folder / "store.db")
        reports = [close_round(again, ASKED, each).reports for each in ((1, 2), (2, 1))[number % 2]]
        assert sum(each or 0 for each in reports) == 9
        assert sum(map(len, again.counted_ballots(ASKED.id).values())) == 9 * wire.NONCE
        again.close()
        shutil.rmtree(folder)
    assert number > 20


def test_postgres_loses_its_client_at_every_statement_of_closing(
    new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server sees what it sees when a collector is killed there. Three ballots are in both rounds."""
    store, left, run = open_store(new_url("postgresql")), [-1], StatementRunner.__call__

    def watched(self: StatementRunner, sql: str, parameters: Sequence[Any] = ()) -> Any:
        left[0] -= 1
        if left[0] == 0:
            self.connection.pgconn.finish()
        return run(self, sql, parameters)

    monkeypatch.setattr(StatementRunner, "__call__", watched)
    lost, number = True, 0
    while lost:
        number += 1
        asked = replace(ASKED, question=f"Number {number}?")
        store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=False))
        both = [secrets.token_bytes(wire.NONCE) for _ in range(3)]
        for round, others in ((1, 2), (2, 4)):
            nonces = [*both, *(secrets.token_bytes(wire.NONCE) for _ in range(others))]
            rows = np.frombuffer(b"".join(nonce + bytes([REPORT]) for nonce in nonces), dtype=np.uint8)
            store.add({Round(asked.id, round): rows.reshape(len(nonces), -1)})
        left[0] = number
        try:
            for round in (1, 2):
                close_round(store, asked, round)
            lost = False
        except StoreUnavailable:
            pass
        left[0] = -1
        reports = [close_round(store, asked, each).reports for each in ((1, 2), (2, 1))[number % 2]]
        assert sum(each or 0 for each in reports) == 9
        counted = b"".join(store.counted_ballots(asked.id).values())
        assert len({counted[at : at + wire.NONCE] for at in range(0, len(counted), wire.NONCE)}) == 9
        assert len(counted) == 9 * wire.NONCE
    assert number > 20
    store.close()


def test_a_deleted_campaign_has_no_ballots(store: Store) -> None:
    known(store)
    add(store, 1, [MINT.ballot(ASKED.id)])
    close_round(store, ASKED, 1)
    assert store.counted_ballots(ASKED.id)
    add(store, 2, [MINT.ballot(ASKED.id)])
    delete_campaign(store, ASKED)
    assert store.counted_ballots(ASKED.id) == {}
    assert store.campaigns() == []


def test_neither_signatures_nor_answers_are_kept(tmp_path: Path) -> None:
    """Of a counted ballot, half of its number stays."""
    store = SqliteStore.open(tmp_path / "store.db")
    known(store)
    ballots = [MINT.ballot(ASKED.id) for _ in range(50)]
    add(store, 1, ballots)
    close_round(store, ASKED, 1)
    store.close()
    found = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert all(ballot[: wire.NONCE] in found for ballot in ballots)
    assert not any(ballot[wire.NONCE : NUMBER] in found or ballot[NUMBER:] in found for ballot in ballots)
    assert store_has_no_reports(tmp_path / "store.db")


def store_has_no_reports(path: Path) -> bool:
    again = SqliteStore.open(path)
    left = list(again.reports(Round(ASKED.id, 1)))
    again.close()
    return left == []


@given(st.lists(st.integers(0, 7), max_size=12), st.lists(st.integers(0, 7), max_size=12, unique=True))
def test_new_ballots_are_those_that_were_not_counted(counted: list[int], shown: list[int]) -> None:
    """Also if the first halves of nonces are equal: here there are only two of them."""

    def nonce(number: int) -> bytes:
        return bytes([number // 4] * 8 + [number % 4] * 8)

    nonces = np.frombuffer(b"".join(map(nonce, sorted(counted))), dtype=np.uint8).reshape(-1, wire.NONCE)
    leading = nonces[:, 0].astype(np.uint64) * np.uint64(0x0101010101010101)
    earlier = CountedBallots(1, nonces, leading)
    rows: Rows = np.frombuffer(b"".join(nonce(each) + b"\x05" for each in shown), dtype=np.uint8).reshape(-1, 17)
    found = [row[: wire.NONCE].tobytes() for row in earlier.new(rows)]
    assert found == [nonce(each) for each in shown if each not in counted]


def test_the_verifier_agrees_with_everybody() -> None:
    verifier, ballot = BallotVerifier(ASKED), MINT.ballot(ASKED.id)
    for at in range(0, len(ballot), 7):
        changed = ballot[:at] + bytes([ballot[at] ^ 0x80]) + ballot[at + 1 :]
        assert not verifier.accepts([ballot, changed])
        assert not is_valid(MINT.signing.public, ASKED.id, changed)
    assert verifier.accepts([ballot, MINT.ballot(ASKED.id)])
    assert verifier.accepts([])
    with pytest.raises(ValueError, match="no ballots"):
        BallotVerifier(turns_campaign())


def test_campaigns_with_ballots_are_documents() -> None:
    again = Campaign.from_bytes(ASKED.to_bytes())
    assert again == ASKED
    assert again.ballots == MINT.ballots
    assert wire.of_campaign(again).size == wire.of(again.mechanism).size + 272


def test_a_collector_may_also_be_the_issuer(tmp_path: Path) -> None:
    """It issues at the same addresses, also for pages, and counts what it issued."""
    register = Register.make(tmp_path / "a.ballots", Entitled.CODES, int(time.time()) + 3600)
    (code,) = register.new_codes(1)
    settings = replace(SETTINGS, registers=(tmp_path / "a.ballots",))
    ballots = CampaignBallots("https://collect.example", register.key, register.expires)
    asked = turns_campaign(ballots=ballots)
    with collecting(SqliteStore.open(tmp_path / "store.db"), settings) as both:
        both.create(asked)
        request = BallotRequest.draw(register.key, asked.id, system)
        url, page = f"/ballots/{register.key.id}", {"origin": "https://page.example"}
        given = {"blinded": request.to_issuer().hex(), "enrolment": code}
        answer = both.http.post(url, json=given, headers=page)
        assert answer.headers["access-control-allow-origin"] == "*"
        ballot = request.ballot(bytes.fromhex(answer.json()["signature"]))
        again = BallotRequest.draw(register.key, asked.id, system).to_issuer().hex()
        for changed, status, slug in (
            ({"blinded": again}, 409, "already-issued"),
            ({"enrolment": "no code"}, 403, "not-entitled"),
        ):
            refused = both.http.post(url, json={**given, **changed})
            told = (refused.status_code, refused.json()["type"])
            assert told == (status, f"urn:untrackable:problem:{slug}")
        assert both.http.get(url).json()["entitled"] == "codes"
        assert both.http.get(f"/ballots/{'0' * 64}").status_code == 404
        both.clock.now = START + 0.5 * DAY
        sent = wire.of_campaign(asked).encode(round=1, nonce=ballot, report=REPORT)
        assert both.send(asked, sent).status_code == 204
        assert close_round(both.store, asked, 1).reports == 1


def test_a_collector_without_registers_issues_nothing(collector: Collector) -> None:
    assert problem(collector.http.post(f"/ballots/{'0' * 64}", json={})) == (404, "not-found")
