"""`untrackable serve`: run a collector."""

from __future__ import annotations

import sys
from typing import Any

import click

from untrackable import strict_json
from untrackable.cli.terminal import failing

STORE = click.option(
    "--store",
    default="sqlite:///untrackable.db",
    show_default=True,
    envvar="UNTRACKABLE_STORE",
    metavar="URL",
    help="Where it is kept: sqlite:///PATH or postgresql://…",
)


@click.command()
@STORE
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 for a free one."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option(
    "--minimum-reports",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Withhold estimates of rounds that have fewer.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Seconds after its end until a round is closed.",
)
@click.option(
    "--early",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds before its round that a report is taken, for clocks that are fast.",
)
@click.option(
    "--sweep",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds between looks for rounds to close.",
)
@click.option(
    "--largest-body",
    type=click.IntRange(min=1),
    default=1 << 20,
    show_default=True,
    help="Bytes of a request, at most.",
)
@click.option(
    "--request-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds within which a request must have arrived.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    default=("*",),
    show_default=True,
    help="Web origin whose pages may use it; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve(store: str, host: str, port: int, workers: int, as_json: bool, **chosen: Any) -> None:
    """Run a collector: it takes reports over HTTP, and keeps what it has acknowledged.

    The store is made if there is none. Rounds are closed by themselves. Stop it with Ctrl-C or SIGTERM: what it has
    accepted is stored first. Put a proxy in front of it for TLS (docs/operations.md).

    Example: untrackable serve --store sqlite:///reports.db --port 8000
    """
    from untrackable.collector.settings import Settings
    from untrackable.collector.stores.store_address import open_store
    from untrackable.errors import StoreError

    with failing():
        settings = Settings(**chosen)
    from untrackable.collector.http import server

    try:
        bound = server.bind(host, port)
    except OSError as error:
        raise click.ClickException(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
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
