"""A store by its address."""

from pathlib import Path

from untrackable.collector.stores.store import Store
from untrackable.errors import StoreError

DEFAULT = "sqlite:///untrackable.db"


def open_store(url: str, *, check: bool = True, make: bool = True) -> Store:
    """sqlite:///PATH or postgresql://…. With `check`, all of it is examined, and a damaged one is a `StoreError`.

    A SQLite file or tables that are not there are made, and old ones brought up to date; without `make`, they are a
    `StoreError`, and nothing is changed.
    """
    if url.startswith("sqlite:///") and url != "sqlite:///":
        from untrackable.collector.stores.sqlite import SqliteStore

        return SqliteStore.open(Path(url.removeprefix("sqlite:///")), check=check, make=make)
    if url.startswith(("postgresql://", "postgres://")):
        from untrackable.collector.stores.postgres import PostgresStore

        return PostgresStore.open(url, check=check, make=make)
    raise StoreError("a store must be sqlite:///PATH or postgresql://…")
