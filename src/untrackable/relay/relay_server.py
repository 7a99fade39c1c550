"""Runs a relay in one process, on a socket that is bound first."""

import functools
import socket
from dataclasses import replace
from typing import ClassVar

from untrackable.relay.relay_app import create_relay
from untrackable.relay.relay_problems import RelayProblem
from untrackable.relay.relay_settings import RelaySettings
from untrackable.serving import http_server
from untrackable.serving.bounded_connections import BoundedProtocol, ConnectionProblems


class RelayProtocol(BoundedProtocol):
    """An HTTP connection of a relay."""

    problems: ClassVar[ConnectionProblems] = ConnectionProblems(
        busy=RelayProblem.BUSY,
        head_too_large=RelayProblem.HEAD_TOO_LARGE,
        malformed_request=RelayProblem.MALFORMED_REQUEST,
        too_large=RelayProblem.TOO_LARGE,
        too_slow=RelayProblem.TOO_SLOW,
    )


def serve_relay(bound: socket.socket, settings: RelaySettings) -> None:
    """Relay until the process is told to end."""
    settings = replace(settings, connections=http_server.affordable_connections(settings.connections))
    RelayProtocol.settings = settings
    http_server.run(functools.partial(create_relay, settings), bound, http=RelayProtocol)
