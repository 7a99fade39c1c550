"""Opens a store by its address."""

from pathlib import Path

from untrackable.collector.stores.store import Store
from untrackable.errors import StoreError

DEFAULT = "sqlite:///untrackable.db"
"""The address of the store unless the operator gives another."""


def open_store(url: str, *, check: bool = True, make: bool = True) -> Store:
    """Open the store at sqlite:///PATH or postgresql://…. With `check`, damaged data is a `StoreError`.

    With `make`, a missing file or missing tables are created and old tables are brought up to date. Without it,
    they are a `StoreError`, and nothing is changed.
    """
    if url.startswith("sqlite:///") and url != "sqlite:///":
        from untrackable.collector.stores.sqlite import SqliteStore

        return SqliteStore.open(Path(url.removeprefix("sqlite:///")), check=check, make=make)
    if url.startswith(("postgresql://", "postgres://")):
        from untrackable.collector.stores.postgres import PostgresStore

        return PostgresStore.open(url, check=check, make=make)
    raise StoreError("the address of a store must be sqlite:///PATH or postgresql://…")
