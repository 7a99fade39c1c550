"""What goes over the wire, byte for byte, and to whom."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from untrackable.client.posting import Address, Reply, post

ID = "ab" * 32
BODY = bytes(range(24))


class Recorder:
    """A server that keeps the raw bytes of every connection and says what it is told to."""

    def __init__(self, reply: bytes, context: ssl.SSLContext | None = None, connections: int = 3) -> None:
        self.seen: list[bytes] = []
        self.resumed: list[bool] = []
        self._reply, self._context, self._connections = reply, context, connections
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for _ in range(self._connections):
            try:
                connection, _ = self._socket.accept()
                connection.settimeout(10)
                if self._context:
                    connection = self._context.wrap_socket(connection, server_side=True)
                    self.resumed.append(bool(connection.session_reused))
            except OSError:
                continue
            with connection:
                data = b""
                while b"\r\n\r\n" not in data or (
                    data.startswith(b"POST") and len(data.split(b"\r\n\r\n", 1)[1]) < len(BODY)
                ):
                    more = connection.recv(1 << 16)
                    if not more:
                        break
                    data += more
                self.seen.append(data)
                connection.sendall(self._reply)

    def close(self) -> None:
        """No more connections."""
        for _ in range(self._connections):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                break
        self._socket.close()
        self._thread.join(timeout=15)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_the_request_is_the_same_every_time_and_says_nothing_else() -> None:
    server = Recorder(answer("202 Accepted", "Set-Cookie: follow=me", 'ETag: "you"', "Last-Modified: yesterday"))
    address = Address.of(f"http://127.0.0.1:{server.port}/base/", ID)
    try:
        assert [post(address, BODY) for _ in range(3)] == [Reply(202)] * 3
    finally:
        server.close()
    expected = (
        f"POST /base/campaigns/{ID}/reports HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{server.port}\r\n"
        "User-Agent: untrackable\r\n"
        "Content-Type: application/octet-stream\r\n"
        "Content-Length: 24\r\n"
        "Connection: close\r\n\r\n"
    ).encode() + BODY
    assert server.seen == [expected] * 3  # three connections, no cookie, no condition


@pytest.mark.parametrize(
    ("given", "reply"),
    [
        (answer("200 OK"), Reply(200)),
        (answer("503 Busy", "Retry-After: 17"), Reply(503, 17.0)),
        (answer("429 Slow", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"), Reply(429)),
        (answer("302 Found", "Location: http://127.0.0.1:9/you"), Reply(302)),
        (answer("422 No", body=b"{}"), Reply(422)),
        (b"no HTTP at all\r\n\r\n", Reply(None)),
        (b"", Reply(None)),
    ],
)
def test_replies(given: bytes, reply: Reply) -> None:
    server = Recorder(given, connections=1)
    try:
        assert post(Address.of(f"http://127.0.0.1:{server.port}", ID), BODY) == reply
    finally:
        server.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert post(Address.of(f"http://127.0.0.1:{port}", ID), BODY) == Reply(None)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address.of(f"http://127.0.0.1:{silent.getsockname()[1]}", ID)
        assert post(address, BODY, timeout=0.2) == Reply(None)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return key, made


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[Recorder]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    server = Recorder(answer("200 OK"), context)
    yield server
    server.close()


def test_tls_is_verified_and_no_session_is_resumed(
    secure: Recorder, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = Address.of(f"https://localhost:{secure.port}", ID)
    assert post(address, BODY) == Reply(None)  # nobody vouches for the certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    assert post(address, BODY) == Reply(200)
    assert post(address, BODY) == Reply(200)
    assert len(secure.seen) == 2
    assert secure.seen[0] == secure.seen[1]
    assert secure.resumed == [False, False]


def test_tls_for_another_name_is_refused(
    secure: Recorder, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    assert post(Address.of(f"https://127.0.0.1:{secure.port}", ID), BODY) == Reply(None)
    assert secure.seen == []


def test_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Recorder(answer("200 OK"), connections=1)
    monkeypatch.setenv("http_proxy", f"http://me:p%40ss@127.0.0.1:{proxy.port}")
    address = Address.of("http://localhost:4321", ID)
    assert address.reached_by() == ("127.0.0.1", proxy.port)
    try:
        assert post(address, BODY) == Reply(200)
    finally:
        proxy.close()
    head = proxy.seen[0].split(b"\r\n\r\n")[0].decode().split("\r\n")
    assert head[0] == f"POST http://localhost:4321/campaigns/{ID}/reports HTTP/1.1"
    assert head[1] == "Host: localhost:4321"
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head
    monkeypatch.setenv("no_proxy", "localhost")
    assert address.proxy() is None


def test_behind_a_proxy_tls_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Recorder(b"HTTP/1.1 403 No\r\n\r\n", connections=1)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    try:
        assert post(Address.of("https://collect.example", ID), BODY) == Reply(None)
    finally:
        proxy.close()
    assert proxy.seen[0].startswith(b"CONNECT collect.example:443 HTTP/1.")
    assert BODY not in proxy.seen[0]


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("http://collect.example", "must be https"),
        ("ftp://localhost", "must be an address"),
        ("localhost:80", "must be an address"),
        ("https://", "must be an address"),
        ("https://me:secret@collect.example", "no user name"),
        ("https://collect.example/?who=me", "without"),
        ("https://collect.example:port", "must be an address"),
        ("https://collect.example/a b", "plain characters"),
    ],
)
def test_addresses_that_are_refused(server: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Address.of(server, ID)


def test_addresses() -> None:
    assert Address.of("https://collect.example", ID) == Address(
        "https", "collect.example", 443, f"/campaigns/{ID}/reports"
    )
    assert Address.of("https://[2001:db8::1]:8443/x/", ID).netloc == "[2001:db8::1]:8443"
