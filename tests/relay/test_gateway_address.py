"""Where a relay forwards to, and where not."""

import socket

import pytest

from untrackable.relay.app import RelaySettings
from untrackable.relay.gateway import GatewayAddress, check_not_itself


@pytest.mark.parametrize(
    ("given", "netloc", "path"),
    [
        ("study=https://collect.example", "collect.example", "/.well-known/ohttp-gateway"),
        ("a-1=https://collect.example:8443/base/", "collect.example:8443", "/base/.well-known/ohttp-gateway"),
        ("here=http://127.77.3.2:8000", "127.77.3.2:8000", "/.well-known/ohttp-gateway"),
        ("here=http://[::1]:8000", "[::1]:8000", "/.well-known/ohttp-gateway"),
    ],
)
def test_a_name_and_an_address(given: str, netloc: str, path: str) -> None:
    found = GatewayAddress.parse(given)
    assert (found.name, found.server.netloc, found.path) == (given.partition("=")[0], netloc, path)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("https://collect.example", "must be a name"),
        ("Study=https://collect.example", "must be a name"),
        ("=https://collect.example", "must be a name"),
        ("a/b=https://collect.example", "must be a name"),
        ("study=http://collect.example", "gateway study must be https"),
        ("study=http://192.168.1.1", "gateway study must be https"),
        ("study=ftp://collect.example", "gateway study must be an address"),
        ("study=https://me@collect.example", "no user name"),
        ("study=https://collect.example?x=1", "without"),
        ("study=", "must be an address"),
    ],
)
def test_what_is_no_gateway(given: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        GatewayAddress.parse(given)


@pytest.mark.parametrize(
    ("host", "gateway", "itself"),
    [
        ("127.0.0.1", "http://127.0.0.1:{port}", True),
        ("127.0.0.1", "http://localhost:{port}", True),
        ("127.0.0.1", "https://localhost:{port}", True),
        ("0.0.0.0", "http://127.0.0.1:{port}", True),  # noqa: S104
        ("0.0.0.0", "http://127.9.9.9:{port}", True),  # noqa: S104
        ("0.0.0.0", "https://192.0.2.1:{port}", False),  # noqa: S104
        ("127.0.0.1", "http://127.0.0.2:{port}", False),
        ("127.0.0.1", "http://127.0.0.1:1", False),
        ("127.0.0.1", "https://nobody.invalid:{port}", False),
    ],
)
def test_a_relay_is_not_its_own_gateway(host: str, gateway: str, itself: bool) -> None:
    with socket.create_server((host, 0)) as bound:
        found = GatewayAddress.parse("study=" + gateway.format(port=bound.getsockname()[1]))
        if itself:
            with pytest.raises(ValueError, match="gateway study is this relay itself"):
                check_not_itself((found,), bound)
        else:
            check_not_itself((found,), bound)


ONE = GatewayAddress.parse("study=https://collect.example")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"gateways": ()}, "at least one gateway"),
        ({"gateways": (ONE, ONE)}, "different names"),
        (
            {"gateway_seconds": 60.0},
            "gateway_seconds must be at most 55, because clients wait for a minute; got 60",
        ),
        ({"waiting": 0}, "waiting must be at least 1, got 0"),
        ({"per_minute": True}, "per_minute must be an integer"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, object], reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        RelaySettings(**{"gateways": (ONE,), **settings})  # type: ignore[arg-type]
