"""The files of docs/deploy: a real nginx marks no returning client, systemd knows the unit, alerts have metrics."""

import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.collector.loads import fresh
from tests.collector.servers import process
from tests.collector.test_faults import on_now
from tests.relay.gateways import answer, relay_process, sealed, threaded
from untrackable.collector.api import GAUGES, create_campaign
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings, open_store

DEPLOY = Path(__file__).parent.parent / "docs" / "deploy"
NGINX, OPENSSL = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), shutil.which("openssl")
needs_nginx = pytest.mark.skipif(
    NGINX is None or OPENSSL is None, reason="needs nginx and openssl: see the Makefile"
)
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
RESUMABLE = {"ssl_session_cache off": "ssl_session_cache none", "ssl_conf_command NumTickets 0;": ""}
"""Settings that look as if nobody could resume a session."""
KEEPS_TRYING = ("StartLimitIntervalSec=0", "Restart=on-failure", "RestartSec=5")
"""Without the first, systemd gives up after five attempts."""


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def configuration(
    folder: Path, port: int, collector: str, changes: dict[str, str], file: str = "nginx.conf"
) -> str:
    """The documented file with the ports and folders of a test; nothing else is changed but `changes`."""
    text = (DEPLOY / file).read_text().replace("relay.example", "collect.example").replace(":8100", ":8000")
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    for old, new in {
        "user www-data;": "",
        "/run/nginx.pid": f"{folder}/pid",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "listen [::]:443 ssl;": "",
        "127.0.0.1:8000": collector,
        "/etc/ssl/collect.example.pem": f"{folder}/certificate",
        "/etc/ssl/private/collect.example.key": f"{folder}/key",
        "http {": f"http {{ {temporary}",
        **changes,
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def proxied(folder: Path, collector: str, changes: dict[str, str], file: str = "nginx.conf") -> Iterator[int]:
    """A running nginx before a collector or a relay; yields its port."""
    assert NGINX is not None
    assert OPENSSL is not None
    subject = ("-subj", "/CN=collect.example", "-days", "2", "-nodes", "-newkey", "rsa:2048")
    files = ("-keyout", f"{folder}/key", "-out", f"{folder}/certificate")
    subprocess.run([OPENSSL, "req", "-x509", *subject, *files], check=True, capture_output=True)  # noqa: S603
    port = free_port()
    (folder / "nginx.conf").write_text(configuration(folder, port, collector, changes, file))
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"]
    with (folder / "said").open("wb") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said)  # noqa: S603
    try:
        end = time.monotonic() + 30
        while running.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        assert running.poll() is None, (folder / "said").read_text()
        yield port
    finally:
        running.terminate()
        running.wait(timeout=30)


def exchanged(
    port: int,
    context: ssl.SSLContext,
    request: bytes,
    session: ssl.SSLSession | None = None,
    source: str = "127.0.0.1",
) -> tuple[bytes, ssl.SSLSession, bool]:
    """What is answered, the session that the server offers, and whether it resumed the one before."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0)) as plain,
        context.wrap_socket(plain, session=session, server_hostname="collect.example") as sender,
    ):
        sender.sendall(request)
        answer = b"".join(iter(lambda: sender.recv(65536), b""))
        offered, resumed = sender.session, sender.session_reused
        assert offered is not None
        return answer, offered, bool(resumed)


def only(version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    return context


@pytest.fixture
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Host and port of a collector, and its campaign's id."""
    url, asked = f"sqlite:///{tmp_path_factory.mktemp('store')}/x.db", on_now()
    store = open_store(url)
    create_campaign(store, asked.to_bytes())
    store.close()
    with process(url) as server:
        yield server.address.removeprefix("http://"), asked.id
        assert server.end() == 0


def post(id: str) -> bytes:
    body = fresh(1)
    return (
        f"POST /campaigns/{id}/reports HTTP/1.1\r\nhost: collect.example\r\nconnection: close\r\n"
        f"content-type: application/octet-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body


@needs_nginx
def test_no_session_can_be_resumed_and_reports_arrive(tmp_path: Path, address: tuple[str, str]) -> None:
    collector, id = address
    with proxied(tmp_path, collector, {}) as port:
        for version in VERSIONS:
            context = only(version)
            answer, session, _ = exchanged(port, context, post(id))
            assert answer.startswith(b"HTTP/1.1 204 "), answer
            assert not session.has_ticket
            if version is ssl.TLSVersion.TLSv1_2:
                assert session.id == b""
            assert exchanged(port, context, post(id), session)[2] is False
        for private in (b"/metrics", b"/metrics/estimates", b"/ready"):
            asked = b"GET " + private + b" HTTP/1.1\r\nhost: collect.example\r\nconnection: close\r\n\r\n"
            assert exchanged(port, context, asked)[0].startswith(b"HTTP/1.1 403 ")
    received = httpx.get(f"http://{collector}/metrics").text
    assert "untrackable_reports_received_total 4\n" in received
    assert (tmp_path / "said").read_bytes() == b""
    logs = [file for file in tmp_path.rglob("*") if file.is_file() and b"127.0.0.1" in file.read_bytes()]
    assert [file.name for file in logs] == ["nginx.conf"], "nothing has written down who sent something"
    assert not [*(tmp_path / "client_body").rglob("*")]


@needs_nginx
def test_a_relay_behind_nginx_counts_senders_and_passes_nothing_on_about_them(tmp_path: Path) -> None:
    body = sealed(1)
    request = (
        "POST /gateways/study HTTP/1.1\r\nhost: collect.example\r\nconnection: close\r\n"
        "user-agent: RECOGNISABLE\r\norigin: https://RECOGNISABLE.example\r\n"
        "x-relay-sender: 192.0.2.99\r\nx-forwarded-for: 192.0.2.99\r\n"
        f"content-type: message/ohttp-req\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body
    statuses = []
    with (
        threaded(lambda request: answer(b"sealed")) as gateway,
        relay_process(
            *("--gateway", f"study=http://127.0.0.1:{gateway.port}", "--per-minute", "2"),
            *("--sender-header", "x-relay-sender"),
            log=tmp_path / "relay-log",
        ) as relay,
        proxied(tmp_path, relay.address.removeprefix("http://"), {}, "relay-nginx.conf") as port,
    ):
        for source in ("127.77.1.2", "127.77.1.2", "127.77.1.2", "127.77.1.3"):
            context = only(ssl.TLSVersion.TLSv1_3)
            said, session, _ = exchanged(port, context, request, source=source)
            assert not session.has_ticket
            statuses.append(said.split(b" ")[1])
        assert relay.end() == 0
    assert statuses == [b"200", b"200", b"429", b"200"]
    head = b"POST /.well-known/ohttp-gateway HTTP/1.1\r\n"
    assert all(seen.startswith(head) and seen.endswith(body) for seen in gateway.seen)
    passed = b"".join(gateway.seen)
    for mark in (b"127.77", b"192.0.2", b"RECOGNISABLE", b"collect.example"):
        assert mark not in passed
    logs = [file for file in tmp_path.rglob("*") if file.is_file() and b"127.77" in file.read_bytes()]
    assert logs == []
    assert (tmp_path / "relay-log").read_bytes() == (tmp_path / "said").read_bytes() == b""


@needs_nginx
@pytest.mark.parametrize("version", VERSIONS)
def test_this_finds_sessions_that_mark_a_client(
    tmp_path: Path, address: tuple[str, str], version: ssl.TLSVersion
) -> None:
    with proxied(tmp_path, address[0], RESUMABLE) as port:
        _, session, _ = exchanged(
            port, only(version), b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
    assert session.has_ticket if version is ssl.TLSVersion.TLSv1_3 else session.id


@pytest.mark.parametrize(
    ("file", "largest"),
    [("nginx.conf", f"{Settings().largest_body >> 20}m"), ("relay-nginx.conf", "4k")],
)
def test_the_proxies_suit_the_limits_behind_them(file: str, largest: str) -> None:
    text = (DEPLOY / file).read_text()
    (each,) = re.findall(r"worker_connections (\d+);", text)
    assert int(each) >= 2 * Settings().connections
    (files,) = re.findall(r"worker_rlimit_nofile (\d+);", text)
    assert int(files) >= int(each)
    for name in ("client_max_body_size", "client_body_buffer_size"):
        assert f"{name} {largest};" in text
    for line in ("    keepalive 64;", "proxy_http_version 1.1;", 'proxy_set_header Connection "";'):
        assert line in text, "connections to what is behind it stay open"
    assert "listen 80" not in text
    assert "include" not in re.sub("#.*", "", text)


@pytest.mark.parametrize(
    ("name", "command", "lines"),
    [
        (
            "untrackable.service",
            "serve",
            ("After=network-online.target time-sync.target postgresql.service", *KEEPS_TRYING),
        ),
        (
            "untrackable-relay.service",
            "relay",
            ("DynamicUser=yes", "StateDirectory=untrackable-relay", *KEEPS_TRYING),
        ),
    ],
)
def test_the_units_are_what_systemd_expects(tmp_path: Path, name: str, command: str, lines: tuple[str]) -> None:
    text = (DEPLOY / name).read_text()
    assert text.startswith(f"# /etc/systemd/system/{name}\n")
    for line in lines:
        assert f"\n{line}\n" in text
    (files,) = re.findall(r"LimitNOFILE=(\d+)", text)
    assert int(files) >= Settings().connections + 400
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("needs systemd-analyze")
    command = f"/opt/untrackable/bin/untrackable {command}"
    assert command in text
    unit = tmp_path / name
    unit.write_text(text.replace(command, "/bin/true"))
    checked = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True)  # noqa: S603
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_the_page_shows_what_the_files_have() -> None:
    page = (DEPLOY.parent / "operations.md").read_text()
    resuming = re.findall(r"^    (ssl_\w+ .*;)$", page, re.M)
    assert len(resuming) == 3
    text = (DEPLOY / "nginx.conf").read_text()
    assert all(line in text for line in resuming)
    pages = page + (DEPLOY.parent / "relay.md").read_text()
    for file in DEPLOY.iterdir():
        assert f"](deploy/{file.name}{'/compose.yaml' if file.is_dir() else ''})" in pages


def test_alerts_and_the_page_name_metrics_that_exist() -> None:
    there = set(re.findall(r"^# TYPE (\S+)", Metrics().text(), re.M)) | {f"untrackable_{name}" for name in GAUGES}
    page = (DEPLOY.parent / "operations.md").read_text()
    assert set(re.findall(r"`(untrackable_\w+)", page)) <= there
    text = (DEPLOY / "alerts.yml").read_text()
    asked = set(re.findall(r"untrackable_\w+", text))
    assert asked <= there
    gauges = ("rounds_overdue", "clock_doubted", "store_bytes", "connections", "build_info")
    for name in (*gauges, "store_failures_total", "closings_failed_total"):
        assert f"untrackable_{name}" in asked
    assert text.count("  - alert: ") == text.count(" expr: ") == text.count(" summary: ")


HARDENING = re.compile(r"(?:Protect|Private|Restrict|SystemCall|Capability|NoNew|Lock|Memory|LimitCORE).*=.*")


def hardening(unit: str) -> set[str]:
    """The lines of a unit that take rights from its process."""
    return set(filter(HARDENING.fullmatch, (DEPLOY / unit).read_text(encoding="utf-8").splitlines()))


def test_every_unit_is_as_hardened_as_the_collector() -> None:
    """`systemd-analyze security --offline=true` says 1.7 for each of them."""
    wanted = hardening("untrackable.service")
    assert {"ProtectSystem=strict", "MemorySwapMax=0", "LimitCORE=0", "CapabilityBoundingSet="} < wanted
    assert len(wanted) > 20
    units = {path.name for path in DEPLOY.glob("*.service")}
    assert {"untrackable-nightly.service", "untrackable-relay.service"} < units
    for unit in units:
        assert wanted <= hardening(unit), (unit, wanted - hardening(unit))
