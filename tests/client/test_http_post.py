"""What goes over the wire, byte for byte, and to whom."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.samples import Clock, campaign, client
from untrackable.client.sending import Address, Reply, post

ID = "ab" * 32
BODY = bytes(range(24))


def anyway(local: str, peer: str) -> bool:
    """Whatever the way."""
    return True


class Recorder:
    """A server that keeps the raw bytes of every connection and says what it is told to."""

    def __init__(self, reply: bytes, context: ssl.SSLContext | None = None, connections: int = 3) -> None:
        self.seen: list[bytes] = []
        self.resumed: list[bool] = []
        self.shaken = threading.Event()
        self._reply, self._context, self._connections = reply, context, connections
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for _ in range(self._connections):
            try:
                connection, _ = self._socket.accept()
                connection.settimeout(10)
                if self._context:
                    connection = self._context.wrap_socket(connection, server_side=True)
                    self.resumed.append(bool(connection.session_reused))
                    self.shaken.set()
            except OSError:
                continue
            with connection, contextlib.suppress(OSError):
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
        """No more connections. Those that wait are accepted first."""
        for _ in range(self._connections):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                break
        self._thread.join(timeout=15)
        self._socket.close()


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
        assert [post(address, BODY, anyway) for _ in range(3)] == [Reply(202)] * 3
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
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer("202 Yes"),
            Reply(202),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Reply(None)),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000, Reply(None)),
        (b"HTTP/1.1 204 No Content\r\nHalf: a hea", Reply(204)),
        (b"HTTP/1.1 200 OK\r\n" + b"Long: " + b"x" * (1 << 17), Reply(200)),
        (b"HTTP/1.1 -20 Odd\r\n\r\n", Reply(None)),
        (b"no HTTP at all\r\n\r\n", Reply(None)),
        (b"", Reply(None)),
    ],
)
def test_replies(given: bytes, reply: Reply) -> None:
    server = Recorder(given, connections=1)
    try:
        assert post(Address.of(f"http://127.0.0.1:{server.port}", ID), BODY, anyway) == reply
    finally:
        server.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert post(Address.of(f"http://127.0.0.1:{port}", ID), BODY, anyway) == Reply(None)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address.of(f"http://127.0.0.1:{silent.getsockname()[1]}", ID)
        assert post(address, BODY, anyway, timeout=0.2) == Reply(None)


@pytest.mark.parametrize(
    ("first", "again", "status"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", None),
        (b"HTTP/1.1 2", b"0", None),
        (b"HTTP/1.1 202 Accepted\r\nA: ", b"x", 202),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 99999\r\n\r\n", b"x", 202),
    ],
    ids=["announcements", "status", "headers", "body"],
)
def test_a_server_that_drips_is_not_listened_to_for_ever(first: bytes, again: bytes, status: int | None) -> None:
    """It says something often enough for every single wait, and would go on for as long as it is let."""
    ended = threading.Event()

    def drip() -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(first)
            while not ended.wait(0.05):
                connection.sendall(again)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        found: list[Reply] = []
        address = Address.of(f"http://127.0.0.1:{listening.getsockname()[1]}", ID)
        asking = threading.Thread(
            target=lambda: found.append(post(address, BODY, anyway, timeout=0.5)), daemon=True
        )
        asking.start()
        asking.join(timeout=20)
        assert found == [Reply(status)]
        ended.set()
        thread.join(timeout=10)


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
    assert post(address, BODY, anyway) == Reply(None)  # nobody vouches for the certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    assert post(address, BODY, anyway) == Reply(200)
    assert post(address, BODY, anyway) == Reply(200)
    assert len(secure.seen) == 2
    assert secure.seen[0] == secure.seen[1]
    assert secure.resumed == [False, False]


def test_tls_for_another_name_is_refused(
    secure: Recorder, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    assert post(Address.of(f"https://127.0.0.1:{secure.port}", ID), BODY, anyway) == Reply(None)
    assert secure.seen == []


def test_http_is_for_this_machine_and_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    server, proxy = Recorder(answer("200 OK"), connections=1), Recorder(answer("200 OK"), connections=1)
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    address = Address.of(f"http://localhost:{server.port}", ID)
    try:
        assert address.reached_by() == ("localhost", server.port, b"")
        assert post(address, BODY, anyway) == Reply(200)
    finally:
        server.close()
        proxy.close()
    assert BODY in server.seen[0]
    assert proxy.seen == [b""]  # the one that closed it


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_behind_a_proxy(
    variable: str, secure: Recorder, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tunnel, and within it what everyone sends; what the proxy is told is for the proxy alone."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    proxy = Tunnel(secure.port)
    monkeypatch.setenv(variable, f"http://me:p%40ss@127.0.0.1:{proxy.port}")
    address = Address.of(f"https://localhost:{secure.port}", ID)
    assert address.reached_by()[:2] == ("127.0.0.1", proxy.port)
    assert post(address, BODY, anyway) == Reply(200)
    head = proxy.seen.decode().split("\r\n")
    assert head[0] == f"CONNECT localhost:{secure.port} HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head
    assert secure.seen[0].startswith(b"POST /campaigns/")
    assert b"Proxy" not in secure.seen[0]
    monkeypatch.setenv("no_proxy", "localhost")
    assert address.reached_by() == ("localhost", secure.port, b"")


@pytest.mark.parametrize("ready", [False, True])
def test_it_is_asked_last_whether_the_report_may_go(
    ready: bool, secure: Recorder, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    proxy = Tunnel(secure.port)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    asked = []

    def asking(local: str, peer: str) -> bool:
        assert secure.shaken.wait(10)  # after the tunnel and TLS
        asked.append((local, peer, proxy.seen[:7]))
        return ready

    reply = post(Address.of(f"https://localhost:{secure.port}", ID), BODY, asking)
    assert asked == [("127.0.0.1", "127.0.0.1", b"CONNECT")]
    assert reply == Reply(200 if ready else None)
    secure.close()
    assert (BODY in b"".join(secure.seen)) == ready


class Tunnel:
    """A proxy that makes one tunnel, whatever it is asked for."""

    def __init__(self, to: int) -> None:
        self.seen, self._to = b"", to
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._socket, self._socket.accept()[0] as client:
            while b"\r\n\r\n" not in self.seen:
                self.seen += client.recv(1 << 12)
            with socket.create_connection(("127.0.0.1", self._to)) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pipe, args=(server, client), daemon=True)
                back.start()
                _pipe(client, server)
                back.join(timeout=10)


def _pipe(source: socket.socket, to: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 12):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("variable", ["https_proxy", "all_proxy"])
@pytest.mark.parametrize(
    "given",
    [
        "https://me:secret@proxy.example",
        "socks5://me:secret@127.0.0.1:9050",
        "socks5h://127.0.0.1",
        "http://me:secret@proxy.example:port",
        "http://me:secret@proxy.example:0",
        "http://me:secret@",
        "http://me:secret@pro xy.example",
        "ftp://http://secret",
    ],
)
def test_proxies_that_are_refused(
    variable: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, given)
    with pytest.raises(ValueError, match=f"{variable} .* must be a proxy such as") as refused:
        Address.of("https://collect.example", ID).reached_by()
    assert "secret" not in f"{refused.value!r} {refused.value.__context__!r}"
    # An error before anything is made or sent, not a direct connection.
    clock = Clock()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    clock.late_in(1)
    before = {path: path.read_bytes() for path in (tmp_path / "c").iterdir()}
    with pytest.raises(ValueError, match=variable):
        someone.send("https://collect.example")
    assert {path: path.read_bytes() for path in (tmp_path / "c").iterdir()} == before


def test_behind_a_proxy_tls_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Recorder(b"HTTP/1.1 403 No\r\n\r\n", connections=1)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    try:
        assert post(Address.of("https://collect.example", ID), BODY, anyway) == Reply(None)
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
        ("https://例え.jp", "xn--"),
        ("https://bücher.example", "xn--"),
        ("https://a b.example", "host of plain characters"),
        ("https://.example", "host of plain characters"),
        ("https://-a.example", "host of plain characters"),
        (f"https://{'a' * 64}.example", "host of plain characters"),
        ("https://[fe80::1%25eth0]", "host of plain characters"),
        ("https://collect.example:0", "port between 1 and 65535"),
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
