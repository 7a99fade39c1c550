"""The beginning of a command that runs a server: it binds a socket, and says where it listens."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from untrackable import strict_json

if TYPE_CHECKING:
    from socket import socket


def listening_socket(host: str, port: int) -> socket:
    """Bind a socket, or say in one line why that is not possible."""
    from untrackable.serving import http_server

    try:
        return http_server.bind(host, port)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --host or --port"
        ) from None


def announce(words: str, bound: socket, *, as_json: bool) -> None:
    """Print the address at which the server listens. From here on, signals end the process cleanly."""
    from untrackable.serving import http_server

    http_server.end_on_signals()
    where = http_server.address(bound)
    click.echo(strict_json.write({"address": where}) if as_json else f"{words} {where}")
    sys.stdout.flush()
