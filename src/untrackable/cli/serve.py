"""`untrackable serve`: run a collector."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from untrackable.cli.collector_settings import CONFIG, setting, store_address, unknown_variables
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.server_start import announce, listening_socket
from untrackable.cli.terminal import one_line_errors

STORE = setting(
    "--store",
    default=store_address,
    show_default="untrackable.db",
    metavar="URL",
    help="SQLite or PostgreSQL URL.",
)


@click.command(cls=PlainCommand)
@STORE
@CONFIG
@setting("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@setting("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 picks a free one.")
@setting("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes.")
@setting(
    "--minimum-reports",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Hide rounds with fewer reports.",
)
@setting(
    "--grace",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Seconds to wait before closing a round.",
)
@setting(
    "--early",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds by which a report may be early.",
)
@setting(
    "--sweep",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds between checks for ended rounds.",
)
@setting(
    "--keep-sums",
    type=click.FloatRange(min=0, min_open=True),
    default=None,
    show_default="never",
    metavar="DAYS",
    help="Delete sums after this many days.",
)
@setting(
    "--largest-body",
    type=click.IntRange(min=1),
    default=1 << 20,
    show_default=True,
    help="Largest request in bytes.",
)
@setting(
    "--connections",
    type=click.IntRange(min=1),
    default=3000,
    show_default=True,
    help="Most open connections per process.",
)
@setting(
    "--request-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds a request may take to arrive.",
)
@setting(
    "--origin",
    "origins",
    multiple=True,
    default=("*",),
    show_default=True,
    help="Web origin that may use it; repeatable.",
)
@setting(
    "--gateway-keys",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="KEYS",
    help="Private keys that open sealed reports.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve(store: str, host: str, port: int, workers: int, as_json: bool, **chosen: Any) -> None:
    """Run a collector that takes reports over HTTP.

    Creates the store if there is none, and closes each round after it ends. A report that was acknowledged is on
    disk. Stop the collector with Ctrl-C or SIGTERM. For TLS, put a proxy in front of it: see docs/operations.md.

    Every option can also be an environment variable (UNTRACKABLE_PORT for --port) or a line of a TOML file (port =
    8000). An option overrides a variable, a variable overrides the file, and the file overrides the default.

    Example: untrackable serve --store sqlite:///reports.db --port 8000
    """
    from untrackable.collector.http.management import campaigns_without_keys
    from untrackable.collector.settings import Settings
    from untrackable.collector.stores.store_address import open_store
    from untrackable.errors import StoreError

    for name in unknown_variables(serve):
        click.echo(f"The environment variable {name} is not a setting, so it is ignored.", err=True)
    with one_line_errors():
        settings = Settings(**chosen)
        if settings.gateway_keys is not None:
            from untrackable.oblivious.gateway_keys import read_keys

            read_keys(settings.gateway_keys)
    from untrackable.collector.http import server

    bound = listening_socket(host, port)
    try:
        with contextlib.closing(open_store(store)) as found:
            for id in campaigns_without_keys(found, settings.gateway_keys):
                click.echo(
                    f"Warning: the reports of campaign {id[:12]}… come sealed, and this collector has no key that "
                    "opens them. Give --gateway-keys with the file whose public keys are in the campaign.",
                    err=True,
                )
    except StoreError as error:
        bound.close()
        raise click.ClickException(str(error)) from None
    announce("Collecting at", bound, as_json=as_json)
    server.serve(store, bound, settings, workers=workers)
