"""Trying again: for a short while, from the same network, the same bytes; then the round is given up."""

import threading
from pathlib import Path

import pytest

from tests.client.samples import (
    DAY,
    HOME,
    NOWHERE,
    SERVER,
    START,
    WORK,
    Clock,
    Server,
    campaign,
    client,
    send,
)
from untrackable.client import delivery, network
from untrackable.client.client import Client
from untrackable.client.http_post import Address, Ready, Reply
from untrackable.client.network import Attachment, Look, attached, look

VAGUE = Attachment("10.0.0.7 None", certain=False)


def someone(folder: Path) -> tuple[Client, Clock]:
    """Somebody whose first report is due, in the middle of the round."""
    clock = Clock()
    made = client(folder, campaign(), clock)
    made.answer(2)
    clock.now = made.due() or 0.0
    return made, clock


def test_the_same_bytes_until_they_are_accepted(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server, began = Server(None, 503, 500, 429), clock.now
    assert send(made, server, clock) == "ACCEPTED"
    assert len(server.bodies) == 5
    assert len(set(server.bodies)) == 1
    assert clock.now - began <= delivery.WINDOW
    assert send(made, server, clock) == "NOTHING"


@pytest.mark.parametrize("status", [400, 404, 409, 301, 302, 304])
def test_a_refusal_is_final(status: int, tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server = Server(status)
    assert send(made, server, clock) == "REFUSED"
    assert send(made, server, clock) == "NOTHING"
    assert len(server.bodies) == 1


def test_attempts_are_bounded_and_the_waits_grow(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server, waits = Server(*[None] * 50), []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.sleep(seconds)

    assert made.send(SERVER, post=server, look=lambda host, port: HOME, sleep=sleep).name == "GIVEN_UP"
    assert len(server.bodies) == delivery.TRIES
    for tries, wait in enumerate(waits):
        usual = delivery.FIRST_WAIT * 2**tries
        assert usual / 2 <= wait <= usual * 3 / 2
    assert len(set(waits)) == len(waits)
    assert send(made, server, clock) == "NOTHING"


def test_no_attempt_after_the_window(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")

    def slow(address: Address, body: bytes, ready: Ready) -> Reply:
        clock.sleep(120)
        return Reply(None)

    began = clock.now
    assert made.send(SERVER, post=slow, look=lambda host, port: HOME, sleep=clock.sleep).name == "GIVEN_UP"
    assert clock.now - began <= delivery.WINDOW + 120


@pytest.mark.parametrize(("wanted", "outcome"), [(90.0, "ACCEPTED"), (delivery.WINDOW + 1, "GIVEN_UP")])
def test_the_server_may_ask_for_patience_within_the_window(wanted: float, outcome: str, tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    replies, began = [Reply(503, wanted), Reply(200)], clock.now

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        return replies.pop(0)

    assert made.send(SERVER, post=post, look=lambda host, port: HOME, sleep=clock.sleep).name == outcome
    assert (clock.now - began >= wanted) == (outcome == "ACCEPTED")


def test_another_network_lets_the_round_go(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server = Server(None, None)
    assert send(made, server, clock, HOME, HOME, WORK) == "GIVEN_UP"
    assert len(server.bodies) == 1
    assert send(made, server, clock, HOME) == "NOTHING"


def test_somebody_who_moves_while_it_is_connecting_sends_nothing_again(tmp_path: Path) -> None:
    """Between the look before an attempt and the first byte there are a name server and a handshake."""
    made, clock = someone(tmp_path / "c")
    server = Server(None, None)
    assert send(made, server, clock, HOME, HOME, HOME, WORK) == "GIVEN_UP"
    assert len(server.bodies) == 1
    assert send(made, server, clock, HOME) == "NOTHING"


@pytest.mark.parametrize(("then", "outcome"), [(HOME, "GIVEN_UP"), (WORK, "ACCEPTED")])
def test_what_is_noted_is_the_way_that_it_really_went(then: Attachment, outcome: str, tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server, places = Server(), [HOME, WORK]

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.send(SERVER, post=post, look=lambda host, port: places.pop(0), sleep=clock.sleep)
    clock.now += 60
    assert send(made, server, clock, then) == outcome
    assert len(server.bodies) == (outcome == "ACCEPTED")


def test_left_while_it_is_connecting(tmp_path: Path) -> None:
    """Only a note that finds the report is a way out: here the state was moved away meanwhile."""
    made, clock = someone(tmp_path / "c")
    server, places = Server(), [HOME, WORK]

    def seen(host: str, port: int) -> Attachment:
        if len(places) == 1:
            (tmp_path / "c" / f"{made.campaign.id}.state").unlink(missing_ok=True)
        return places.pop(0)

    assert made.send(SERVER, post=server, look=seen, sleep=clock.sleep).name == "GIVEN_UP"
    assert server.bodies == []


def test_over_another_address_than_was_tried_first_nothing_is_sent_again(tmp_path: Path) -> None:
    """A host of two families: what the server sees is the address of the connection, not the one looked at."""
    made, clock = someone(tmp_path / "c")
    hosts = {"::7": Attachment("2001:db8::7 None", certain=False, local="2001:db8::7")}
    hosts["7.7.7.7"] = Attachment("10.0.0.7 None", certain=False, local="10.0.0.7")
    ways, sent = (
        [("10.0.0.7", "7.7.7.7"), ("2001:db8::7", "::7"), ("10.0.0.9", "7.7.7.7"), ("10.0.0.7", "7.7.7.7")],
        [],
    )

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        way = ways.pop(0)
        if ready(*way):
            sent.append(way)
        return Reply(None if ways else 200)

    found = made.send(SERVER, post=post, look=lambda host, port: hosts.get(host, hosts["::7"]), sleep=clock.sleep)
    assert found.name == "ACCEPTED"
    assert sent == [("10.0.0.7", "7.7.7.7")] * 2


def _killed(tmp_path: Path, place: Attachment) -> tuple[Client, Clock, Server]:
    """A process that ended after its first attempt."""
    made, clock = someone(tmp_path / "c")
    server = Server()

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        server.bodies.append(body)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.send(SERVER, post=post, look=lambda host, port: place, sleep=clock.sleep)
    return made, clock, server


@pytest.mark.parametrize(
    ("first", "then", "later", "outcome"),
    [
        (HOME, HOME, 60.0, "ACCEPTED"),
        (HOME, WORK, 60.0, "GIVEN_UP"),
        (HOME, HOME, delivery.WINDOW + 1, "GIVEN_UP"),
        (HOME, HOME, -60.0, "GIVEN_UP"),  # the clock went back: how long ago it was is not known
        (VAGUE, VAGUE, 60.0, "GIVEN_UP"),  # which network it was is not known
        (HOME, NOWHERE, 60.0, "GIVEN_UP"),
    ],
)
def test_after_a_restart(first: Attachment, then: Attachment, later: float, outcome: str, tmp_path: Path) -> None:
    made, clock, server = _killed(tmp_path, first)
    clock.now += later
    assert send(made, server, clock, then) == outcome
    assert len(server.bodies) == (2 if outcome == "ACCEPTED" else 1)
    assert len(set(server.bodies)) == 1
    assert send(made, server, clock, first) == "NOTHING"


def test_within_one_process_a_vague_network_is_enough(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    assert send(made, Server(None), clock, VAGUE) == "ACCEPTED"


def test_without_a_network_nothing_is_sent_and_the_round_is_kept(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server = Server()
    assert send(made, server, clock, NOWHERE) == "OFFLINE"
    assert server.bodies == []
    clock.now += 3600
    assert send(made, server, clock, HOME) == ("ACCEPTED" if clock.now < START + DAY else "NOTHING")


def test_a_round_that_ends_meanwhile_is_let_go(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    clock.late_in(1)
    server = Server(None, None)
    assert send(made, server, clock) == "GIVEN_UP"
    assert len(server.bodies) == 1


def test_where_this_machine_is() -> None:
    assert look("127.0.0.1", 9) == Attachment("this machine", certain=True)
    assert not look("no-such-host.invalid", 9).certain
    key, digest = HOME.digest() or (b"", b"")
    assert HOME.matches((key, digest))
    assert not WORK.matches((key, digest))
    assert not HOME.matches(None)
    assert VAGUE.digest() is None
    assert (HOME.digest() or (b"",))[0] != key
    assert "home" not in repr(HOME)


ROUTES = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
NEIGHBOURS = "IP HW Flags HWaddr Mask Device\n"
WLAN = "wlan0 00000000 0101A8C0 0003 0 0 600 00000000 0 0 0\n"
ROUTER = "192.168.1.1 0x1 0x2 aa:bb:cc:00:11:22 * wlan0\n"
MINE = {"wlan0": "192.168.1.7", "eth0": "10.0.0.7", "wg0": "10.9.0.2"}


@pytest.mark.parametrize(
    ("local", "routes", "neighbours", "found"),
    [
        ("192.168.1.7", WLAN, ROUTER, "wlan0 aa:bb:cc:00:11:22"),
        ("192.168.1.7", WLAN, ROUTER.replace("0x2", "0x0"), None),  # the router has not answered
        ("192.168.1.7", WLAN, ROUTER.replace("wlan0", "eth0"), None),
        ("192.168.1.7", WLAN.replace("0003", "0001"), ROUTER, None),  # no router
        ("192.168.1.7", WLAN.replace(" 600 00000000", " 600 00000080"), ROUTER, None),  # half of the addresses
        ("192.168.1.7", "wlan0 0001A8C0 0101A8C0 0003 0 0 600 00FFFFFF 0 0 0\n", ROUTER, None),
        # Through a tunnel, or another interface whose router is not known: the other default route says nothing.
        ("10.9.0.2", "wg0 00000000 00000000 0001 0 0 0 00000080 0 0 0\n" + WLAN, ROUTER, None),
        ("10.0.0.7", "eth0 00000000 0100000A 0003 0 0 100 00000000 0 0 0\n" + WLAN, ROUTER, None),
        ("192.168.1.7", "eth0 00000000 0100000A 0003 0 0 9 00000000\n" + WLAN, ROUTER, "wlan0 aa:bb:cc:00:11:22"),
        ("192.168.1.7", WLAN + WLAN.replace("0101A8C0", "FE01A8C0").replace(" 600 ", " 50 "), ROUTER, None),
        ("192.168.1.7", "", ROUTER, None),
        ("192.168.1.7", "too short\n", ROUTER, None),
    ],
)  # fmt: skip
def test_the_router_tells_networks_apart(
    local: str, routes: str, neighbours: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "_ROUTES", tmp_path / "route")
    monkeypatch.setattr(network, "_NEIGHBOURS", tmp_path / "arp")
    monkeypatch.setattr(network, "_address_of", MINE.get)
    monkeypatch.setattr(network, "_local", lambda host, port: local)
    assert not look("collect.example", 443).certain
    (tmp_path / "route").write_text(ROUTES + routes)
    (tmp_path / "arp").write_text(NEIGHBOURS + neighbours)
    assert look("collect.example", 443) == Attachment(f"{local} {found}", certain=found is not None)


def test_an_interface_has_an_address() -> None:
    assert network._address_of("lo") in ("127.0.0.1", None)
    assert network._address_of("no-such-thing") is None


def test_a_proxy_on_this_machine_is_not_where_it_is_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tor and the like: the same everywhere, so it says nothing; the way to anywhere is looked at instead."""

    def at(place: Attachment) -> Look:
        return lambda host, port: look(host, port) if host == "127.0.0.1" else place

    direct = attached(at(HOME), "127.0.0.1", 8118, proxied=False)
    assert direct == Attachment("this machine", certain=True)
    found = attached(at(HOME), "127.0.0.1", 8118, proxied=True)
    assert found == Attachment("home", certain=False)
    assert attached(at(WORK), "127.0.0.1", 8118, proxied=True) != found
    assert not attached(at(NOWHERE), "127.0.0.1", 8118, proxied=True).description
    assert attached(at(HOME), "proxy.example", 3128, proxied=True) == HOME
    # A name that leads to this machine is something that passes reports on.
    assert attached(at(HOME), "x.example", 443, proxied=False, peer="127.0.0.1") == found
    assert attached(at(HOME), "x.example", 443, proxied=False, peer="127.0.0.1").local == "127.0.0.1"
    assert attached(at(HOME), "localhost", 443, proxied=False, peer="127.0.0.1") == direct
    monkeypatch.setattr(network, "_local", lambda host, port: "127.0.0.1" if host == "x.example" else None)
    assert not look("x.example", 443).certain
    monkeypatch.setattr(network, "_local", lambda host, port: "127.0.0.1")
    assert look("x.example", 443) == Attachment("", certain=False)


def test_behind_a_proxy_on_this_machine_another_network_lets_the_round_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:8118")
    monkeypatch.delenv("no_proxy", raising=False)
    made, clock = someone(tmp_path / "c")
    server, place = Server(None, None), [HOME, HOME, WORK]

    def seen(host: str, port: int) -> Attachment:
        return look(host, port) if host == "127.0.0.1" else place.pop(0)

    assert made.send("https://collect.example", post=server, look=seen, sleep=clock.sleep).name == "GIVEN_UP"
    assert len(server.bodies) == 1


def test_nothing_is_sent_once_somebody_has_left(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server = Server()

    def leaving(host: str, port: int) -> Attachment:
        made.leave()
        return HOME

    assert made.send(SERVER, post=server, look=leaving, sleep=clock.sleep).name == "NOTHING"
    assert server.bodies == []


def test_leaving_waits_for_a_report_that_is_being_sent(tmp_path: Path) -> None:
    made, _ = someone(tmp_path / "c")
    left, steps = threading.Thread(target=made.leave), []

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        left.start()
        left.join(timeout=0.3)
        steps.append(left.is_alive())
        return Reply(503)

    assert (
        made.send(SERVER, post=post, look=lambda host, port: HOME, sleep=lambda s: left.join(30)).name == "GIVEN_UP"
    )
    assert steps == [True]
    assert not left.is_alive()


def test_who_wakes_up_in_the_next_round_elsewhere_sends_that_one(tmp_path: Path) -> None:
    """A lid closed at home between two attempts, and opened at work: the next round has nothing to do with it."""
    made, clock = someone(tmp_path / "c")
    server, place = Server(503), [HOME]

    def sleep(seconds: float) -> None:
        clock.now, place[0] = START + 2 * DAY - 60, WORK

    found = made.send(SERVER, post=server, look=lambda host, port: place[0], sleep=sleep)
    assert found.name == "ACCEPTED"
    assert len(set(server.bodies)) == 2


def test_what_never_went_out_may_go_out_from_anywhere(tmp_path: Path) -> None:
    """Connections that fail show nobody anything: the router is known only after the first, or it is another."""
    made, clock = someone(tmp_path / "c")
    server, places = Server(), [VAGUE, HOME, WORK, WORK, WORK]
    connected = iter([False, False, True])

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        return server(address, body, ready) if next(connected) else Reply(None)

    def look(host: str, port: int) -> Attachment:
        return places.pop(0)

    assert made.send(SERVER, post=post, look=look, sleep=clock.sleep).name == "ACCEPTED"
    assert len(server.bodies) == 1
