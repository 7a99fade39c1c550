"""What a store keeps, as records and tables, and all that the stores in SQLite and PostgreSQL have in common.

Each round has a table of its own, `reports_<key>`, which is created with the first report. When the round stops
taking reports, the table is renamed to `stopped_<key>`, so that a late writer no longer finds it. It is dropped
when the round is closed. In SQLite, a large round also has a table `blocks_<key>`, and the latest reports of a
round are rows that contain a whole group of them. No column records when or from whom something came.
"""

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.errors import CampaignError, StoreError, StoreUnavailable, SumsError
from untrackable.protocol.campaign import Campaign, identify

State = Literal["open", "closing", "closed"]
"""The state of a round: it takes reports, it takes no more, or its sums are stored."""
Rows = NDArray[np.uint8]
"""Reports as they are stored: each row has the bytes of the nonce and then those of the answer."""


class Round(NamedTuple):
    """The name of a round: its campaign's id and its number."""

    campaign: str
    number: int


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A campaign's bytes, the result of its verification (JSON), and whether everyone may read its estimates.

    The last round is set when somebody ends the campaign before its document does.
    """

    id: str
    document: bytes
    verdict: str
    published: bool
    last_round: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round that has or had reports.

    The number of reports is None until the round is closed, and again once its sums are deleted.
    """

    number: int
    state: State
    reports: int | None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key: its role, the digest of its secret, the day it was made, and whether it is revoked."""

    id: str
    role: str
    digest: bytes = field(repr=False)
    created: str
    revoked: bool


class RoundsClosed(Exception):
    """Some of the rounds take no more reports. Nothing was added."""

    def __init__(self, rounds: frozenset[Round]) -> None:
        super().__init__(f"{len(rounds)} rounds are closed")
        self.rounds = rounds


class OtherRoundCounted(Exception):
    """Another round of the campaign counted ballots meanwhile. Nothing was changed."""


class RoundBallots(NamedTuple):
    """The nonces of the ballots that a round counts, and how many rounds counted theirs when they were chosen."""

    nonces: bytes
    earlier: int


class MissingReportsTable(Exception):
    """A round's table does not exist or was renamed. Nothing was added."""


BLOCK = 1 << 15
"""The number of reports that are read at a time."""
_PIECE = 8 << 20
"""Sums are stored in rows of this number of bytes."""
_WHOLE = 0
"""The number of no round. Its lock is that of the whole campaign."""
_MOST_READERS = 8
"""The largest number of connections that read at the same time, so that many requests leave some for others."""
_READER_SECONDS = 5.0
"""The longest time that a reader waits for one of them."""
_TRIES = 5
"""How often adding reports is tried if a round's table disappears meanwhile."""
SCHEMA_VERSION = 5
"""The version of the tables and of what is in them. A store of any other version is refused."""
_SCHEMA = (
    """CREATE TABLE campaigns (
        id TEXT PRIMARY KEY,
        document {bytes} NOT NULL,
        verdict TEXT NOT NULL,
        published INTEGER NOT NULL DEFAULT 0,
        last_round BIGINT
    )""",
    """CREATE TABLE rounds (
        key {serial},
        campaign TEXT NOT NULL REFERENCES campaigns (id),
        round BIGINT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'closing', 'closed')),
        reports BIGINT,
        UNIQUE (campaign, round)
    )""",
    """CREATE TABLE sums (
        campaign TEXT NOT NULL REFERENCES campaigns (id),
        round BIGINT NOT NULL,
        piece INTEGER NOT NULL,
        data {bytes} NOT NULL,
        PRIMARY KEY (campaign, round, piece)
    )""",
    """CREATE TABLE ballots (
        campaign TEXT NOT NULL REFERENCES campaigns (id),
        round BIGINT NOT NULL,
        piece INTEGER NOT NULL,
        nonces {bytes} NOT NULL,
        PRIMARY KEY (campaign, round, piece)
    )""",
    """CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        role TEXT NOT NULL,
        digest {bytes} NOT NULL,
        created TEXT NOT NULL,
        revoked INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE TABLE versions (version INTEGER NOT NULL)",
)
_CAMPAIGNS = "SELECT id, document, verdict, published, last_round FROM campaigns"
_KEYS = "SELECT id, role, digest, created, revoked FROM keys"
WRITES_NOTHING_NEW = ("INSERT INTO versions (version) VALUES (0)", "DELETE FROM versions WHERE version = 0")
"""Statements that write to the disk and change nothing. SQLite writes no row that is updated to what it was."""


def reports_table(key: int, *, stopped: bool = False) -> str:
    """The name of the table with a round's reports."""
    return f"{'stopped' if stopped else 'reports'}_{int(key)}"


def blocks_table(key: int) -> str:
    """The name of the table with the blocks of a large round."""
    return f"blocks_{int(key)}"


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Runs statements within a transaction. They have ? for parameters, whatever the driver's placeholder."""

    connection: Any
    placeholder: str

    def __call__(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run one statement and return its cursor."""
        return self.connection.execute(sql.replace("?", self.placeholder), parameters)


class Store(ABC):
    """Campaigns, reports, sums and keys. Every method is one transaction: done and durable, or not at all.

    Safe to use from several threads, and from several processes at once. What cannot be done now is
    `StoreUnavailable`.
    """

    _types: ClassVar[Mapping[str, str]]
    """The names of column types that differ between databases."""
    _placeholder: ClassVar[str]

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self._readers = threading.BoundedSemaphore(_MOST_READERS)
        self._keys: dict[Round, int] = {}
        """The keys of rounds that were taking reports at the last check."""

    @abstractmethod
    def _connect(self) -> Any:
        """Open a new connection."""

    @abstractmethod
    def _begin(self, connection: Any, *, write: bool) -> AbstractContextManager[None]:
        """Begin a transaction that turns the driver's errors into `StoreUnavailable`."""

    @abstractmethod
    def _usable(self, connection: Any) -> bool:
        """Whether a connection may be used again after an error."""

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """Borrow an idle connection, or open a new one."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            if self._usable(connection):
                self._idle.put(connection)
            else:
                connection.close()
                self._close_idle()  # The other connections are probably broken as well.
            raise
        self._idle.put(connection)

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[StatementRunner]:
        """Begin a transaction and yield its statement runner. Everybody may cause reads, so these wait in turn."""
        if not write and not self._readers.acquire(timeout=_READER_SECONDS):
            raise StoreUnavailable("too many read from the store at once")
        try:
            with self._unlimited(write=write) as run:
                yield run
        finally:
            if not write:
                self._readers.release()

    @contextmanager
    def _unlimited(self, *, write: bool) -> Iterator[StatementRunner]:
        """Begin a transaction that does not wait in turn, because it writes or takes long."""
        with self._borrowed() as connection, self._begin(connection, write=write):
            yield StatementRunner(connection, self._placeholder)

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The rows that a statement reads."""
        with self._transaction(write=False) as run:
            rows: list[Any] = run(sql, parameters).fetchall()
        return rows

    def _changes(self, sql: str, parameters: Sequence[Any]) -> bool:
        """Whether a statement changes a row, which it returns."""
        with self._transaction(write=True) as run:
            return run(sql, parameters).fetchone() is not None

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def close(self) -> None:
        """Close all connections."""
        self._close_idle()

    @contextmanager
    def _opening(self, name: str) -> Iterator[None]:
        """Close the store if it cannot be opened within the block. `name` is what messages call it."""
        try:
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, StoreUnavailable):
                raise StoreError(f"cannot use {name}: {error}") from None
            raise

    def prepare(self, name: str, *, make: bool, check: bool) -> None:
        """Refuse a store of another version, and one without tables unless `make` creates them.

        `check` also compares campaigns and sums with their checksums. `name` is what messages call the store.
        """
        with self._transaction(write=make) as run:
            if make:
                self._lock(run)
            if not self._has_tables(run):
                if not make:
                    raise StoreError(f"{name} is not a collector's store (`untrackable serve` makes it one)")
                for statement in _SCHEMA:
                    run(statement.format(**self._types))
                run("INSERT INTO versions (version) VALUES (?)", (SCHEMA_VERSION,))
            version = run("SELECT max(version) FROM versions").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{name} has schema version {version}, but this program only knows version {SCHEMA_VERSION}: "
                "use the version of untrackable that wrote it"
            )
        if check:
            check_integrity(self, name)

    @abstractmethod
    def _has_tables(self, run: StatementRunner) -> bool:
        """Whether the schema exists, in whatever version."""

    def _lock(self, run: StatementRunner, round: Round | None = None) -> None:  # noqa: B027
        """Let no other process create, stop or close the round, or create the tables, until this transaction ends.

        A writing transaction of SQLite excludes all others anyway.
        """

    def ping(self) -> None:
        """Raise `StoreUnavailable` if the store does not answer."""
        self._rows("SELECT count(*) FROM versions")

    def try_writing(self) -> None:
        """Raise `StoreUnavailable` if nothing can be written, as on a full disk or a read-only database."""
        with self._transaction(write=True) as run:
            for statement in WRITES_NOTHING_NEW:
                run(statement)

    @abstractmethod
    def size(self) -> int:
        """The number of bytes that the store takes, with its log if that is in a file of its own."""

    # Campaigns

    def add_campaign(self, campaign: StoredCampaign) -> bool:
        """Store a campaign. False if it is there already."""
        return self._changes(
            "INSERT INTO campaigns (id, document, verdict, published) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING RETURNING id",
            (campaign.id, campaign.document, campaign.verdict, int(campaign.published)),
        )

    def campaigns(self) -> list[StoredCampaign]:
        """All campaigns, sorted by id."""
        return [_campaign(row) for row in self._rows(f"{_CAMPAIGNS} ORDER BY id")]

    def campaign(self, id: str) -> StoredCampaign | None:
        """One campaign, or None."""
        return next(map(_campaign, self._rows(f"{_CAMPAIGNS} WHERE id = ?", (id,))), None)

    def publish(self, id: str, published: bool) -> bool:
        """Set whether everyone may read the campaign's estimates. False if there is no such campaign."""
        return self._changes("UPDATE campaigns SET published = ? WHERE id = ? RETURNING id", (int(published), id))

    def end_campaign(self, id: str, round: int) -> int | None:
        """Let no round after this one take reports, and return the last one. None if there is no such campaign.

        A later round that already has reports stays the last one. A campaign that has ended stays as it is.
        """
        with self._transaction(write=True) as run:
            self._lock(run, Round(id, _WHOLE))
            row = run("SELECT last_round FROM campaigns WHERE id = ?", (id,)).fetchone()
            if row is None or row[0] is not None:
                return None if row is None else int(row[0])
            begun = run("SELECT max(round) FROM rounds WHERE campaign = ?", (id,)).fetchone()[0]
            last = max(round, begun or 0)
            run("UPDATE campaigns SET last_round = ? WHERE id = ?", (last, id))
        return last

    def delete_campaign(self, id: str) -> None:
        """Delete a campaign whose rounds are all closed, with its sums."""
        with self._transaction(write=True) as run:
            self._lock(run, Round(id, _WHOLE))
            run("DELETE FROM sums WHERE campaign = ?", (id,))
            run("DELETE FROM ballots WHERE campaign = ?", (id,))
            run("DELETE FROM rounds WHERE campaign = ?", (id,))
            run("DELETE FROM campaigns WHERE id = ?", (id,))

    # Reports

    def add(self, reports: Mapping[Round, Rows], *, always_writes: bool = False) -> None:
        """Store reports, each nonce of a round once, or raise `RoundsClosed`. `always_writes` syncs in any case."""
        for _ in range(_TRIES):
            if any(round not in self._keys for round in reports):
                self._find_keys(reports)
            try:
                self._insert({self._keys[round]: rows for round, rows in reports.items()}, always_writes)
                return
            except MissingReportsTable:
                for round in reports:
                    self._keys.pop(round, None)
        raise StoreUnavailable(f"a round's table disappeared {_TRIES} times while reports were added")

    def rearrange(self) -> None:  # noqa: B027 - a store may have no such work
        """Do some of the work that added reports left for later. They are stored and acknowledged already."""

    def _find_keys(self, rounds: Iterable[Round]) -> None:
        """Look up the keys of rounds, and create the tables that are missing."""
        with self._transaction(write=True) as run:
            keys: dict[Round, tuple[int, State]] = {}
            wanted = {*rounds}
            whole = {Round(round.campaign, _WHOLE) for round in wanted}
            for round in sorted(whole | wanted):  # All processes lock in this order, so no two wait for each other.
                self._lock(run, round)
                if round in wanted:
                    keys[round] = self._found_or_created(run, round)
            if closed := frozenset(round for round, (_, state) in keys.items() if state != "open"):
                raise RoundsClosed(closed)
        self._keys |= {round: key for round, (key, _) in keys.items()}

    def _found_or_created(self, run: StatementRunner, round: Round) -> tuple[int, State]:
        """The key and the state of a round. A new one is closed if its campaign has ended or was deleted."""
        found = self._found(run, round)
        if found is not None:
            return found
        row = run("SELECT last_round FROM campaigns WHERE id = ?", (round.campaign,)).fetchone()
        if row is None or (row[0] is not None and round.number > row[0]):
            return 0, "closed"
        return self._create(run, round), "open"

    @abstractmethod
    def _insert(self, reports: Mapping[int, Rows], always_writes: bool) -> None:
        """Add rows to rounds, by key, in one transaction. Raise `MissingReportsTable` if a table does not exist."""

    @abstractmethod
    def _read(self, connection: Any, key: int, *, stopped: bool, ordered: bool, nonces: bool) -> Iterator[bytes]:
        """The reports of a round, in blocks of bytes."""

    @abstractmethod
    def _count(self, connection: Any, key: int, *, stopped: bool) -> int:
        """The number of reports of a round, each nonce once."""

    def reports(self, round: Round, *, ordered: bool = False, nonces: bool = False) -> Iterator[bytes]:
        """The reports of a round that is not closed, in blocks of bytes; with `nonces`, each behind its nonce.

        `ordered` sorts them by nonce.
        """
        with self._unlimited(write=False) as run:
            key, state = self._found(run, round) or (0, "closed")
            if state == "closed":
                return
            self._allow_long_statements(run)
            yield from self._read(run.connection, key, stopped=state == "closing", ordered=ordered, nonces=nonces)

    def _allow_long_statements(self, run: StatementRunner) -> None:  # noqa: B027 - a store may have no limit
        """Let the statements of this transaction run long enough to read a whole round."""

    def count(self, round: Round) -> int:
        """The number of reports of a round."""
        with self._unlimited(write=False) as run:
            row = run("SELECT key, state, reports FROM rounds WHERE campaign = ? AND round = ?", round).fetchone()
            if row is None or row[1] == "closed":
                return 0 if row is None else int(row[2])
            self._allow_long_statements(run)
            return self._count(run.connection, row[0], stopped=row[1] == "closing")

    # Rounds

    def rounds(self, campaign: str) -> list[StoredRound]:
        """The rounds of a campaign that have or had reports, in order."""
        rows = self._rows("SELECT round, state, reports FROM rounds WHERE campaign = ? ORDER BY round", (campaign,))
        return [StoredRound(*row) for row in rows]

    def first_key(self, campaign: str) -> int | None:
        """The first key of a campaign's rounds. No key is used again after the campaign is deleted."""
        ((key,),) = self._rows("SELECT min(key) FROM rounds WHERE campaign = ?", (campaign,))
        return None if key is None else int(key)

    def round(self, round: Round) -> StoredRound | None:
        """One round, or None if it never had a report."""
        rows = self._rows("SELECT round, state, reports FROM rounds WHERE campaign = ? AND round = ?", round)
        return StoredRound(*rows[0]) if rows else None

    def unclosed(self) -> list[Round]:
        """The rounds of all campaigns that are not closed."""
        return [
            Round(*row)
            for row in self._rows("SELECT campaign, round FROM rounds WHERE state <> 'closed' ORDER BY key")
        ]

    def stop(self, round: Round) -> State:
        """Stop a round from taking reports, and return its state."""
        self._keys.pop(round, None)  # Otherwise the next report would fail, and a database may log the failure.
        with self._transaction(write=True) as run:
            self._lock(run, round)
            key, state = self._found(run, round) or (self._create(run, round), "open")
            if state != "open":
                return state
            self._rename_table(run, key)
            run("UPDATE rounds SET state = 'closing' WHERE key = ?", (key,))
            return "closing"

    def _rename_table(self, run: StatementRunner, key: int) -> None:
        run(f"ALTER TABLE {reports_table(key)} RENAME TO {reports_table(key, stopped=True)}")

    def finish(self, round: Round, reports: int, sums: bytes, ballots: RoundBallots | None = None) -> bool:
        """Store the sums of a stopped round and drop its reports. False if that was done before.

        `ballots` are those that it counts, or `OtherRoundCounted` if they have to be chosen again. `tidy` drops the
        reports of a large round piece by piece, so that others need not wait.
        """
        with self._transaction(write=True) as run:
            if ballots is not None:
                self._lock(run, Round(round.campaign, _WHOLE))
            self._lock(run, round)
            key, state = self._found(run, round) or (0, "open")
            if state == "open":
                raise ValueError("the round must have been stopped before it is finished")
            if state == "closed":
                return False
            if ballots is not None:
                self._count_ballots(run, round, ballots)
            for piece, start in enumerate(range(0, len(sums), _PIECE)):
                run(
                    "INSERT INTO sums (campaign, round, piece, data) VALUES (?, ?, ?, ?)",
                    (*round, piece, sums[start : start + _PIECE]),
                )
            self._drop(run, key, reports)
            run("UPDATE rounds SET state = 'closed', reports = ? WHERE key = ?", (reports, key))
        return True

    @staticmethod
    def _count_ballots(run: StatementRunner, round: Round, ballots: RoundBallots) -> None:
        counted = "SELECT count(DISTINCT round) FROM ballots WHERE campaign = ?"
        if run(counted, (round.campaign,)).fetchone()[0] != ballots.earlier:
            raise OtherRoundCounted
        for piece, start in enumerate(range(0, max(1, len(ballots.nonces)), _PIECE)):
            run(
                "INSERT INTO ballots (campaign, round, piece, nonces) VALUES (?, ?, ?, ?)",
                (*round, piece, ballots.nonces[start : start + _PIECE]),
            )

    def counted_ballots(self, campaign: str) -> dict[int, bytes]:
        """The nonces of the ballots that each closed round of a campaign counted."""
        with self._unlimited(write=False) as run:
            self._allow_long_statements(run)
            rows = run(
                "SELECT round, nonces FROM ballots WHERE campaign = ? ORDER BY round, piece", (campaign,)
            ).fetchall()
        pieces: dict[int, list[bytes]] = {}
        for round, nonces in rows:
            pieces.setdefault(round, []).append(bytes(nonces))
        return {round: b"".join(each) for round, each in pieces.items()}

    def sums(self, round: Round) -> bytes | None:
        """The sums of a closed round, or None."""
        with self._transaction(write=False) as run:
            self._allow_long_statements(run)
            rows = run("SELECT data FROM sums WHERE campaign = ? AND round = ? ORDER BY piece", round).fetchall()
        return b"".join(bytes(row[0]) for row in rows) if rows else None

    def drop_sums(self, round: Round) -> bool:
        """Delete the sums of a closed round. It stays closed. False if it has none or is not closed."""
        with self._transaction(write=True) as run:
            row = run(
                "UPDATE rounds SET reports = NULL WHERE campaign = ? AND round = ? AND state = 'closed'"
                " AND reports IS NOT NULL RETURNING key",
                round,
            ).fetchone()
            if row is not None:
                run("DELETE FROM sums WHERE campaign = ? AND round = ?", round)
        return row is not None

    @staticmethod
    def _found(run: StatementRunner, round: Round) -> tuple[int, State] | None:
        """The key and the state of a round that exists."""
        found: tuple[int, State] | None
        found = run("SELECT key, state FROM rounds WHERE campaign = ? AND round = ?", round).fetchone()
        return found

    def _create(self, run: StatementRunner, round: Round) -> int:
        """Create a round that takes reports, and its table. Returns its key."""
        sql = "INSERT INTO rounds (campaign, round, state) VALUES (?, ?, 'open') RETURNING key"
        key = int(run(sql, round).fetchone()[0])
        run(self._table_sql(reports_table(key)))
        return key

    @abstractmethod
    def _table_sql(self, table: str) -> str:
        """The statement that creates the table of a round's reports."""

    def _drop(self, run: StatementRunner, key: int, reports: int) -> None:
        """Drop the reports of a round whose sums are stored."""
        run(f"DROP TABLE {reports_table(key, stopped=True)}")

    @abstractmethod
    def tidy(self) -> None:
        """Remove the rest of closed rounds and, where possible, what reveals the order in which reports came."""

    # Keys

    def add_key(self, key: StoredKey) -> None:
        """Store a new key."""
        with self._transaction(write=True) as run:
            run(
                "INSERT INTO keys (id, role, digest, created, revoked) VALUES (?, ?, ?, ?, ?)",
                (key.id, key.role, key.digest, key.created, int(key.revoked)),
            )

    def keys(self) -> list[StoredKey]:
        """All keys, sorted by day and id."""
        return [_stored_key(row) for row in self._rows(f"{_KEYS} ORDER BY created, id")]

    def key(self, id: str) -> StoredKey | None:
        """One key, or None."""
        return next(map(_stored_key, self._rows(f"{_KEYS} WHERE id = ?", (id,))), None)

    def revoke(self, id: str) -> bool:
        """Revoke a key. False if there is no such key."""
        return self._changes("UPDATE keys SET revoked = 1 WHERE id = ? RETURNING id", (id,))


def _campaign(row: Any) -> StoredCampaign:
    return StoredCampaign(row[0], bytes(row[1]), row[2], bool(row[3]), row[4])


def _stored_key(row: Any) -> StoredKey:
    return StoredKey(row[0], row[1], bytes(row[2]), row[3], bool(row[4]))


def check_integrity(store: Store, name: str) -> None:
    """Refuse a store if a campaign does not match its id, or if sums do not match their checksum."""
    for stored in store.campaigns():
        try:
            _check_campaign(store, stored)
        except StoreUnavailable:
            raise
        except (CampaignError, StoreError, SumsError, ValueError) as error:
            raise StoreError(f"{name} is damaged: campaign {stored.id[:8]}…: {error}. Restore a backup.") from None


def _check_campaign(store: Store, stored: StoredCampaign) -> None:
    if identify(stored.document) != stored.id:
        raise StoreError("the document does not match the campaign's id")
    mechanism = Campaign.from_bytes(stored.document).mechanism
    try:
        readable = isinstance(strict_json.parse(stored.verdict), dict)
    except ValueError:
        readable = False
    if not readable:
        raise StoreError("the result of its verification cannot be read")
    for round in store.rounds(stored.id):
        if round.state != "closed":
            continue
        sums = store.sums(Round(stored.id, round.number))
        if sums is None and round.reports is None:  # They were deleted.
            continue
        if sums is None:
            raise StoreError(f"round {round.number} has no sums")
        if mechanism.restore_sums(sums, round.number).n != round.reports:
            raise StoreError(f"the sums of round {round.number} do not have as many reports as the round had")
