"""`untrackable keys`: the keys of people who run campaigns or read unpublished estimates."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.result_options import JSON, ResultOutput, result_options
from untrackable.cli.serve import STORE
from untrackable.cli.terminal import print_json

if TYPE_CHECKING:
    from untrackable.collector.stores.store import Store


@click.group(cls=CommandGroup)
def keys() -> None:
    """Make, list and revoke the keys that a collector accepts.

    An admin key creates, publishes and closes campaigns over HTTP. A reader key reads all estimates.

    Example: untrackable keys new --role admin
    """


@keys.command()
@click.option(
    "--role",
    type=click.Choice(["admin", "reader"]),
    required=True,
    help="Run campaigns, or read all estimates.",
)
@STORE
@JSON
def new(role: str, store: str, as_json: bool) -> None:
    """Make a key and print it.

    The key is shown only this once. The store keeps a digest of it.

    Example: untrackable keys new --role reader --store sqlite:///reports.db
    """
    from untrackable.collector.http.api_keys import new_key

    with opened(store, make=True) as found:
        id, token = new_key(found, role)
    if as_json:
        print_json({"id": id, "role": role, "key": token})
    else:
        click.echo(token)
        whose = "an admin" if role == "admin" else "a reader"
        same = f" --store {shlex.quote(store)}" if store.startswith("sqlite:") else ""  # others may have a password
        revoking = f"untrackable keys revoke {id}{same}"
        click.echo(f"A key for {whose}, shown this once. To revoke it: {revoking}", err=True)


@keys.command("list")
@STORE
@result_options("export")
def list_(store: str, output: ResultOutput) -> None:
    """List all keys with role, date, and whether they are revoked.

    Example: untrackable keys list
    """
    with opened(store) as found:
        known = found.keys()
    names = ("id", "role", "created", "revoked")

    def words() -> None:
        for key in known:
            click.echo(f"{key.id}  {key.role:<6}  {key.created}{'  revoked' if key.revoked else ''}")
        if not known:
            click.echo("There are no keys.", err=True)

    output.give(
        words=words,
        data=lambda: [{name: getattr(key, name) for name in names} for key in known],
        columns=lambda: {name: [getattr(key, name) for key in known] for name in names},
    )


@keys.command()
@click.argument("id")
@STORE
@JSON
def revoke(id: str, store: str, as_json: bool) -> None:
    """Revoke a key, so that the collector refuses it from now on.

    Example: untrackable keys revoke 1f2e3d4c5b6a
    """
    with opened(store) as found:
        if not found.revoke(id):
            raise click.ClickException(f"there is no key {id!r}; `untrackable keys list` shows all")
    if as_json:
        print_json({"id": id, "revoked": True})
    else:
        click.echo(f"{id} is revoked.")


@contextmanager
def opened(store: str, *, make: bool = False) -> Iterator[Store]:
    """An open store, closed afterwards; `make` creates a missing one, and errors are one line."""
    from untrackable.collector.stores.store_address import open_store
    from untrackable.errors import StoreError

    try:
        found = open_store(store, check=False, make=make)
        try:
            yield found
        finally:
            found.close()
    except StoreError as error:
        raise click.ClickException(str(error)) from None
