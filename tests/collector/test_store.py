"""Whatever the store: what was added is there, once; closing is all or nothing; keys and campaigns are kept."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.conftest import KINDS
from tests.collector.samples import campaign
from untrackable.collector.settings import open_store
from untrackable.collector.sqlite import merge_rows, rows_from_bytes, split_rows
from untrackable.collector.store import (
    _SCHEMA,
    SCHEMA_VERSION,
    Round,
    RoundsClosed,
    Rows,
    Store,
    StoredCampaign,
    StoredKey,
    StoredRound,
)
from untrackable.errors import StoreError, StoreUnavailable

ASKED = campaign()
ID = ASKED.id
ROUND = Round(ID, 1)


def known(store: Store, id: str = ID) -> None:
    store.add_campaign(StoredCampaign(id, ASKED.to_bytes(), "{}", published=False))


def rows(count: int, seed: int = 0, payload: int = 3) -> Rows:
    return np.random.default_rng(seed).integers(0, 256, (count, 16 + payload), dtype=np.uint8)


def kept(store: Store, round: Round = ROUND, payload: int = 3) -> list[bytes]:
    data = b"".join(store.reports(round))
    return sorted(data[i : i + payload] for i in range(0, len(data), payload))


def payloads(given: Rows) -> list[bytes]:
    return sorted(row[16:].tobytes() for row in given)


def test_what_was_added_is_there(store: Store) -> None:
    known(store)
    first, second = rows(1000, 1), rows(7, 2)
    store.add({ROUND: first})
    store.add({ROUND: second, Round(ID, 2): rows(5, 3)})
    assert kept(store) == payloads(np.concatenate((first, second)))
    assert store.count(ROUND) == 1007
    assert store.rounds(ID) == [StoredRound(1, "open", None), StoredRound(2, "open", None)]
    assert store.unclosed() == [ROUND, Round(ID, 2)]
    assert kept(store, Round(ID, 3)) == []
    assert store.count(Round(ID, 3)) == 0


def test_the_same_nonce_counts_once(store: Store) -> None:
    known(store)
    first = rows(50, 1)
    store.add({ROUND: first})
    store.add({ROUND: np.concatenate((first[10:20], rows(5, 2), rows(5, 2)))})
    assert store.count(ROUND) == 55
    changed = first[:1].copy()
    changed[0, 16:] ^= 1
    store.add({ROUND: changed})
    assert kept(store) == payloads(np.concatenate((first, rows(5, 2))))


def test_the_same_nonce_in_another_round_is_another_report(store: Store) -> None:
    known(store)
    store.add({ROUND: rows(5), Round(ID, 2): rows(5)})
    assert store.count(ROUND) == store.count(Round(ID, 2)) == 5


@pytest.mark.parametrize("payload", [1, 8, 17])
def test_reports_of_any_width(store: Store, payload: int) -> None:
    known(store)
    given = rows(40, 1, payload)
    store.add({ROUND: given})
    assert kept(store, payload=payload) == payloads(given)


def test_in_the_order_of_nonces_if_asked(store: Store) -> None:
    known(store)
    given = rows(200, 1)
    for part in np.split(given, 4):
        store.add({ROUND: part})
    ordered = given[np.lexsort(given[:, :16].T[::-1])]
    assert b"".join(store.reports(ROUND, ordered=True)) == b"".join(row[16:].tobytes() for row in ordered)


def test_a_stopped_round_takes_no_more_and_nothing_of_the_group_is_added(store: Store) -> None:
    known(store)
    store.add({ROUND: rows(5)})
    assert store.stop(ROUND) == "closing"
    assert store.stop(ROUND) == "closing"
    with pytest.raises(RoundsClosed) as refused:
        store.add({Round(ID, 2): rows(3), ROUND: rows(3, 1)})
    assert refused.value.rounds == {ROUND}
    assert store.count(ROUND) == 5
    assert store.round(Round(ID, 2)) is None
    assert kept(store) == payloads(rows(5))


def test_finishing_keeps_the_sums_and_drops_the_reports(store: Store) -> None:
    known(store)
    store.add({ROUND: rows(5)})
    with pytest.raises(ValueError, match="must have been stopped"):
        store.finish(ROUND, 5, b"sums")
    store.stop(ROUND)
    sums = bytes(range(256)) * 70_000  # in three pieces
    assert store.finish(ROUND, 5, sums)
    assert store.sums(ROUND) == sums
    assert not store.finish(ROUND, 6, b"others")
    assert store.sums(ROUND) == sums
    assert store.round(ROUND) == StoredRound(1, "closed", 5)
    assert kept(store) == []
    assert store.count(ROUND) == 5
    assert store.unclosed() == []
    assert store.stop(ROUND) == "closed"
    with pytest.raises(RoundsClosed):
        store.add({ROUND: rows(1)})
    assert store.sums(Round(ID, 2)) is None


def test_a_round_without_reports_can_be_closed(store: Store) -> None:
    known(store)
    assert store.stop(ROUND) == "closing"
    assert store.finish(ROUND, 0, b"none")
    assert store.round(ROUND) == StoredRound(1, "closed", 0)


def test_campaigns(store: Store) -> None:
    one = StoredCampaign(ID, b"\x00document", '{"delta": null}', published=True)
    assert store.add_campaign(one)
    assert not store.add_campaign(StoredCampaign(ID, b"other", "{}", published=False))
    assert store.campaign(ID) == one
    assert store.campaign("cd" * 32) is None
    known(store, "00" * 32)
    assert [c.id for c in store.campaigns()] == ["00" * 32, ID]
    assert store.publish(ID, False)
    assert not store.publish("cd" * 32, True)
    record = store.campaign(ID)
    assert record is not None
    assert not record.published


def test_keys(store: Store) -> None:
    key = StoredKey("abc", "admin", b"\x00\xff", "2026-11-15", revoked=False)
    store.add_key(key)
    assert store.key("abc") == key
    assert store.key("other") is None
    assert store.revoke("abc")
    assert not store.revoke("other")
    assert [k.revoked for k in store.keys()] == [True]  # noqa: SIM118 - not a dict


def test_many_threads_add_at_once_and_one_closes(store: Store) -> None:
    """Everything that was added before the stop is there, and nothing else."""
    known(store)
    added: list[Rows] = []
    refused: list[int] = []

    def work(seed: int) -> None:
        for i in range(12):
            given = rows(20, 100 * seed + i)
            try:
                store.add({ROUND: given})
            except RoundsClosed:
                refused.append(i)
                return
            added.append(given)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    while len(added) < 12:
        pass
    store.stop(ROUND)
    for thread in threads:
        thread.join()
    assert kept(store) == payloads(np.concatenate(added))
    assert store.count(ROUND) == 20 * len(added)


@pytest.mark.parametrize("kind", KINDS)
def test_opened_again_it_is_the_same(kind: str, new_url: Callable[[str], str]) -> None:
    url = new_url(kind)
    first = open_store(url)
    known(first)
    first.add({ROUND: rows(5)})
    first.close()
    again = open_store(url)
    assert kept(again) == payloads(rows(5))
    again.close()


@pytest.mark.parametrize("kind", KINDS)
def test_who_only_reads_makes_no_store(kind: str, new_url: Callable[[str], str]) -> None:
    url = new_url(kind)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"`untrackable serve` (creates|makes) it"):
            open_store(url, make=False)
    open_store(url).close()
    open_store(url, make=False).close()


@pytest.mark.parametrize("make", [False, True])
@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_of_another_version_is_refused_and_not_changed(
    kind: str, version: int, make: bool, new_url: Callable[[str], str]
) -> None:
    url = new_url(kind)
    store = open_store(url)
    known(store)
    with store._transaction(write=True) as run:
        run("UPDATE versions SET version = ?", (version,))
    refused = f"has schema version {version}, but this program only knows version {SCHEMA_VERSION}: use the version"
    with pytest.raises(StoreError, match=refused):
        open_store(url, make=make)
    with store._transaction(write=True) as run:
        assert run("SELECT version FROM versions").fetchall() == [(version,)]
        run("UPDATE versions SET version = ?", (SCHEMA_VERSION,))
    store.close()
    again = open_store(url, make=make)
    assert len(again.campaigns()) == 1
    again.close()


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_cannot_all_be_created_are_not_created(
    kind: str, new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url(kind)
    monkeypatch.setattr("untrackable.collector.store._SCHEMA", (*_SCHEMA, "ALTER TABLE nothing ADD x TEXT"))
    with pytest.raises(StoreError):
        open_store(url)
    monkeypatch.undo()
    with pytest.raises(StoreError, match=r"`untrackable serve` makes it"):
        open_store(url, make=False)
    fine = open_store(url)
    known(fine)
    fine.close()


@pytest.mark.parametrize(
    "url",
    ["", "sqlite:///", "reports.db", "mysql://x", "sqlite:///no/such/folder/x.db", "postgresql://127.0.0.1:1/x"],
)
def test_addresses_that_lead_nowhere(url: str) -> None:
    with pytest.raises(StoreError):
        open_store(url)


def test_many_readers_share_a_few_connections(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody may read. Otherwise strangers could take all connections of a database from its other users."""
    known(store)
    store.add({ROUND: rows(10)})
    monkeypatch.setattr("untrackable.collector.store._READER_SECONDS", 0.05)
    with ExitStack() as readers:
        for _ in range(8):
            readers.enter_context(store._transaction(write=False))
        with pytest.raises(StoreUnavailable, match="too many read from the store at once"):
            store.campaigns()
        assert len(kept(store)) == 10  # A closing reads a whole round meanwhile,
        assert store.count(ROUND) == 10
        store.add({ROUND: rows(1, 1)})  # and reports are added.
    assert len(store.campaigns()) == 1
    monkeypatch.undo()
    with ThreadPoolExecutor(40) as threads:
        assert all(len(result) == 1 for result in threads.map(lambda _: store.campaigns(), range(200)))
    assert store._idle.qsize() <= 10


NONCES = st.lists(
    st.tuples(
        st.sampled_from([b"\0" * 8, b"\x01" * 8, b"\xff" * 8]), st.sampled_from([b"\0" * 8, b"a" * 8, b"\xff" * 8])
    )
    | st.tuples(st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8)),
    max_size=30,
)
"""Many of which begin alike, and some of which are the same."""


def row_block(nonces: list[tuple[bytes, bytes]], report: bytes) -> Rows:
    return rows_from_bytes(
        b"".join(sorted({first + second + report for first, second in nonces})), 16 + len(report)
    )


@given(NONCES, NONCES.filter(bool))
def test_merged_rows_are_those_of_both_and_stored_ones_come_first(
    stored: list[tuple[bytes, bytes]], added: list[tuple[bytes, bytes]]
) -> None:
    expected = {a + b: b"new" for a, b in added} | {a + b: b"old" for a, b in stored}
    merged = merge_rows(row_block(stored, b"old"), row_block(added, b"new"))
    assert merged.tobytes() == b"".join(nonce + report for nonce, report in sorted(expected.items()))


@pytest.mark.parametrize(("count", "parts"), [(1, 1), (8, 1), (9, 3), (16, 3), (17, 4), (80, 11)])
def test_parts_are_short_and_have_room(count: int, parts: int) -> None:
    given = np.arange(count * 17, dtype=np.uint8).reshape(count, 17)
    result = split_rows(given, 8)
    assert len(result) == parts
    assert max(len(part) for part in result) <= 8
    assert (np.concatenate(result) == given).all()
