"""The socket of a server: what its connections inherit."""

import socket

import pytest

from untrackable.serving import http_server


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux only")
def test_the_system_does_not_keep_for_long_what_nobody_reads() -> None:
    """Otherwise closed connections whose answers nobody reads would take its memory for many minutes."""
    with http_server.bind("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
