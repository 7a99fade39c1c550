"""What a store is, and what its two kinds have in common: all but connections and how reports are added."""

import queue
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from untrackable.collector.stores.records import (
    Round,
    RoundsClosed,
    Rows,
    State,
    StoredCampaign,
    StoredKey,
    StoredRound,
)
from untrackable.collector.stores.schema import MIGRATIONS, reports_table
from untrackable.errors import StoreError, StoreUnavailable

BLOCK = 1 << 15
"""Reports that are read at a time."""
_PIECE = 8 << 20
"""Bytes of sums in one row."""
_TRIES = 5


class NoSuchTable(Exception):
    """A round's table is not there, or not any more; nothing was added."""


@dataclass(frozen=True, slots=True)
class Run:
    """Runs statements, with ? for parameters, within a transaction on a driver's connection."""

    connection: Any
    placeholder: str

    def __call__(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The cursor of one statement."""
        return self.connection.execute(sql.replace("?", self.placeholder), parameters)


class Store(ABC):
    """Campaigns, reports, sums and keys. Every method is one transaction: done and durable, or not at all.

    Safe to use from several threads, and from several processes at once. What cannot be done now is
    `StoreUnavailable`.
    """

    _types: ClassVar[Mapping[str, str]]
    """The names of types that differ."""
    _placeholder: ClassVar[str]

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self._tables: dict[Round, str] = {}
        """Of rounds that took reports when last looked at."""

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection."""

    @abstractmethod
    def _begin(self, connection: Any, *, write: bool) -> AbstractContextManager[None]:
        """A transaction; the driver's errors become `StoreUnavailable`."""

    @abstractmethod
    def _usable(self, connection: Any) -> bool:
        """Whether a connection may be used again after an error."""

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """An idle connection, or a new one."""
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
                self._hang_up()  # the others will not be any better
            raise
        self._idle.put(connection)

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Run]:
        """A transaction; yields what runs a statement with ? for parameters."""
        with self._borrowed() as connection, self._begin(connection, write=write):
            yield Run(connection, self._placeholder)

    def _hang_up(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def close(self) -> None:
        """Close all connections."""
        self._hang_up()

    # Schema

    def migrate(self) -> None:
        """Bring the schema up to date; a store of a later version is refused."""
        with self._transaction(write=True) as run:
            self._lock_schema(run)
            run("CREATE TABLE IF NOT EXISTS versions (version INTEGER NOT NULL)")
            version = _version(run)
            for number, statements in enumerate(MIGRATIONS[version:], version + 1):
                for statement in statements:
                    run(statement.format(**self._types))
                run("INSERT INTO versions (version) VALUES (?)", (number,))

    def check_version(self, name: str) -> None:
        """Refuse what has no tables, or those of another version; for those who only read, nothing is changed."""
        with self._transaction(write=False) as run:
            if not self._has_tables(run):
                raise StoreError(f"{name} is not a collector's (`untrackable serve` makes it one)")
            version = _version(run)
        if version < len(MIGRATIONS):
            raise StoreError(
                f"{name} has schema version {version} and this program needs {len(MIGRATIONS)}: "
                "`untrackable serve` brings it up to date"
            )

    @abstractmethod
    def _has_tables(self, run: Run) -> bool:
        """Whether the schema is there, in some version."""

    @abstractmethod
    def _lock_schema(self, run: Run) -> None:
        """Keep other processes from migrating at the same time."""

    def ping(self) -> None:
        """Raise `StoreUnavailable` if the store is."""
        with self._transaction(write=False) as run:
            run("SELECT count(*) FROM versions").fetchone()

    # Campaigns

    def add_campaign(self, campaign: StoredCampaign) -> bool:
        """Keep a campaign; False if it is there already."""
        with self._transaction(write=True) as run:
            found = run(
                "INSERT INTO campaigns (id, document, verdict, published) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO NOTHING RETURNING id",
                (campaign.id, campaign.document, campaign.verdict, int(campaign.published)),
            ).fetchone()
        return found is not None

    def campaigns(self) -> list[StoredCampaign]:
        """All campaigns, by id."""
        with self._transaction(write=False) as run:
            rows = run("SELECT id, document, verdict, published FROM campaigns ORDER BY id").fetchall()
        return [_campaign(row) for row in rows]

    def campaign(self, id: str) -> StoredCampaign | None:
        """One campaign, if it is there."""
        with self._transaction(write=False) as run:
            row = run("SELECT id, document, verdict, published FROM campaigns WHERE id = ?", (id,)).fetchone()
        return None if row is None else _campaign(row)

    def publish(self, id: str, published: bool) -> bool:
        """Whether the campaign's estimates are for everyone from now on; False if there is no such campaign."""
        with self._transaction(write=True) as run:
            found = run(
                "UPDATE campaigns SET published = ? WHERE id = ? RETURNING id", (int(published), id)
            ).fetchone()
        return found is not None

    # Reports

    def add(self, reports: Mapping[Round, Rows]) -> None:
        """Keep reports, each nonce of a round once; if one takes no more, `RoundsClosed`, and nothing is added."""
        for _ in range(_TRIES):
            if any(round not in self._tables for round in reports):
                self._find_tables(reports)
            try:
                self._insert({self._tables[round]: rows for round, rows in reports.items()})
                return
            except NoSuchTable:
                for round in reports:
                    self._tables.pop(round, None)
        raise StoreUnavailable("tables of reports come and go")

    def _find_tables(self, rounds: Iterable[Round]) -> None:
        """The tables of rounds, which are made if need be."""
        with self._transaction(write=True) as run:
            found = {}
            for round in sorted(rounds):  # in one order everywhere, or two could wait for each other
                self._exclude(run, round)
                key, state = self._key(run, round)
                found[round] = (self._create(run, round) if key is None else key, state or "open")
            if closed := frozenset(round for round, (_, state) in found.items() if state != "open"):
                raise RoundsClosed(closed)
        self._tables |= {round: reports_table(key) for round, (key, _) in found.items()}

    @abstractmethod
    def _insert(self, tables: Mapping[str, Rows]) -> None:
        """Add rows in one transaction, but for those whose nonces are there; `NoSuchTable` if a table is not."""

    @abstractmethod
    def _blocks(self, connection: Any, table: str, ordered: bool) -> Iterator[Sequence[tuple[bytes]]]:
        """The reports of a table, many at a time."""

    def reports(self, round: Round, *, ordered: bool = False) -> Iterator[bytes]:
        """The reports of a round that is not closed, in blocks of bytes; `ordered` by nonce, or in any order."""
        with self._transaction(write=False) as run:
            key, state = self._key(run, round)
            if key is None or state == "closed":
                return
            self._unhurried(run)
            table = reports_table(key, stopped=state == "closing")
            for rows in self._blocks(run.connection, table, ordered):
                yield b"".join([row[0] for row in rows])

    @abstractmethod
    def _unhurried(self, run: Run) -> None:
        """Let the statements of this transaction take long."""

    def count(self, round: Round) -> int:
        """How many reports a round has."""
        with self._transaction(write=False) as run:
            row = run("SELECT key, state, reports FROM rounds WHERE campaign = ? AND round = ?", round).fetchone()
            if row is None or row[1] == "closed":
                return 0 if row is None else int(row[2])
            self._unhurried(run)
            table = reports_table(row[0], stopped=row[1] == "closing")
            return int(run(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    # Rounds

    def rounds(self, campaign: str) -> list[StoredRound]:
        """The rounds of a campaign of which something is known, in order."""
        with self._transaction(write=False) as run:
            rows = run(
                "SELECT round, state, reports FROM rounds WHERE campaign = ? ORDER BY round", (campaign,)
            ).fetchall()
        return [StoredRound(*row) for row in rows]

    def round(self, round: Round) -> StoredRound | None:
        """What is known of one."""
        with self._transaction(write=False) as run:
            row = run("SELECT round, state, reports FROM rounds WHERE campaign = ? AND round = ?", round).fetchone()
        return None if row is None else StoredRound(*row)

    def unclosed(self) -> list[Round]:
        """The rounds of all campaigns that have reports and are not closed."""
        with self._transaction(write=False) as run:
            rows = run("SELECT campaign, round FROM rounds WHERE state <> 'closed' ORDER BY key").fetchall()
        return [Round(*row) for row in rows]

    def stop(self, round: Round) -> State:
        """Let a round take no more reports, and say in which state it is."""
        self._tables.pop(round, None)  # or the next report would fail, which a database may write into its log
        with self._transaction(write=True) as run:
            self._exclude(run, round)
            key, state = self._key(run, round)
            if key is not None and state is not None and state != "open":
                return state
            if key is None:
                key = self._create(run, round)
            self._set_aside(run, key)
            run("UPDATE rounds SET state = 'closing' WHERE key = ?", (key,))
            return "closing"

    def _set_aside(self, run: Run, key: int) -> None:
        run(f"ALTER TABLE {reports_table(key)} RENAME TO {reports_table(key, stopped=True)}")

    def finish(self, round: Round, reports: int, sums: bytes) -> bool:
        """Keep the sums of a round that was stopped and drop its reports; False if that has been done before."""
        with self._transaction(write=True) as run:
            self._exclude(run, round)
            key, state = self._key(run, round)
            if key is None or state == "open":
                raise ValueError("the round must have been stopped before it is finished")
            if state == "closed":
                return False
            for piece, start in enumerate(range(0, len(sums), _PIECE)):
                run(
                    "INSERT INTO sums (campaign, round, piece, data) VALUES (?, ?, ?, ?)",
                    (*round, piece, sums[start : start + _PIECE]),
                )
            run(f"DROP TABLE {reports_table(key, stopped=True)}")
            run("UPDATE rounds SET state = 'closed', reports = ? WHERE key = ?", (reports, key))
        return True

    def sums(self, round: Round) -> bytes | None:
        """The sums of a closed round."""
        with self._transaction(write=False) as run:
            self._unhurried(run)
            rows = run("SELECT data FROM sums WHERE campaign = ? AND round = ? ORDER BY piece", round).fetchall()
        return b"".join(bytes(row[0]) for row in rows) if rows else None

    @staticmethod
    def _key(run: Run, round: Round) -> tuple[int | None, State | None]:
        row = run("SELECT key, state FROM rounds WHERE campaign = ? AND round = ?", round).fetchone()
        return (None, None) if row is None else (row[0], row[1])

    def _create(self, run: Run, round: Round) -> int:
        """A round that takes reports, and its table."""
        sql = "INSERT INTO rounds (campaign, round, state) VALUES (?, ?, 'open') RETURNING key"
        key = int(run(sql, round).fetchone()[0])
        run(self._table_sql(reports_table(key)))
        return key

    @abstractmethod
    def _table_sql(self, table: str) -> str:
        """Makes the table of a round's reports."""

    @abstractmethod
    def _exclude(self, run: Run, round: Round) -> None:
        """Let nobody else make, stop or close the round until this transaction ends."""

    @abstractmethod
    def tidy(self) -> None:
        """Let go of what the store's own files say about the order in which reports came, where it can."""

    # Keys

    def add_key(self, key: StoredKey) -> None:
        """Keep a new key."""
        with self._transaction(write=True) as run:
            run(
                "INSERT INTO keys (id, role, digest, created, revoked) VALUES (?, ?, ?, ?, ?)",
                (key.id, key.role, key.digest, key.created, int(key.revoked)),
            )

    def keys(self) -> list[StoredKey]:
        """All keys, by day and id."""
        with self._transaction(write=False) as run:
            rows = run("SELECT id, role, digest, created, revoked FROM keys ORDER BY created, id").fetchall()
        return [_stored_key(row) for row in rows]

    def key(self, id: str) -> StoredKey | None:
        """One key."""
        with self._transaction(write=False) as run:
            row = run("SELECT id, role, digest, created, revoked FROM keys WHERE id = ?", (id,)).fetchone()
        return None if row is None else _stored_key(row)

    def revoke(self, id: str) -> bool:
        """Let a key open nothing any more; False if there is no such key."""
        with self._transaction(write=True) as run:
            found = run("UPDATE keys SET revoked = 1 WHERE id = ? RETURNING id", (id,)).fetchone()
        return found is not None


def _version(run: Run) -> int:
    version = run("SELECT max(version) FROM versions").fetchone()[0] or 0
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the store has schema version {version} and this program knows {len(MIGRATIONS)}: "
            "it was written by a later version"
        )
    return int(version)


def _campaign(row: Any) -> StoredCampaign:
    return StoredCampaign(row[0], bytes(row[1]), row[2], bool(row[3]))


def _stored_key(row: Any) -> StoredKey:
    return StoredKey(row[0], row[1], bytes(row[2]), row[3], bool(row[4]))
