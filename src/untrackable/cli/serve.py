"""`untrackable serve`: run a collector."""

from __future__ import annotations

import sys
from typing import Any

import click

from untrackable import strict_json
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.terminal import one_line_errors

STORE = click.option(
    "--store",
    default="sqlite:///untrackable.db",
    show_default="untrackable.db",
    envvar="UNTRACKABLE_STORE",
    metavar="URL",
    help="SQLite or PostgreSQL URL.",
)


@click.command(cls=PlainCommand)
@STORE
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 picks a free one."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes.")
@click.option(
    "--minimum-reports",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Hide rounds with fewer reports.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Seconds to wait before closing a round.",
)
@click.option(
    "--early",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds that a report may be too early.",
)
@click.option(
    "--sweep",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds between checks for ended rounds.",
)
@click.option(
    "--largest-body",
    type=click.IntRange(min=1),
    default=1 << 20,
    show_default=True,
    help="Largest request in bytes.",
)
@click.option(
    "--request-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds a request may take to arrive.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    default=("*",),
    show_default=True,
    help="Web origin that may use it; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve(store: str, host: str, port: int, workers: int, as_json: bool, **chosen: Any) -> None:
    """Run a collector that takes reports over HTTP.

    Creates the store if there is none, and closes each round after it ends. A report that was acknowledged is on
    disk. Stop it with Ctrl-C or SIGTERM. For TLS, put a proxy in front of it: see docs/operations.md.

    Example: untrackable serve --store sqlite:///reports.db --port 8000
    """
    from untrackable.collector.settings import Settings
    from untrackable.collector.stores.store_address import open_store
    from untrackable.errors import StoreError

    with one_line_errors():
        settings = Settings(**chosen)
    from untrackable.collector.http import server

    try:
        bound = server.bind(host, port)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --host or --port"
        ) from None
    try:
        open_store(store).close()
    except StoreError as error:
        bound.close()
        raise click.ClickException(str(error)) from None
    server.end_on_signals()
    where = server.address(bound)
    if as_json:
        click.echo(strict_json.write({"address": where}))
    else:
        click.echo(f"Collecting at {where}")
    sys.stdout.flush()
    server.serve(store, bound, settings, workers=workers)
