"""Trying again: for a short while, from the same network, the same bytes; then the round is given up."""

import contextlib
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
    turns_campaign,
)
from untrackable.client import sending
from untrackable.client.client import Client
from untrackable.client.folder import SENDING
from untrackable.client.sending import WINDOW, Address, Ready, Reply, look


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
    assert clock.now - began <= sending.WINDOW
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

    assert (
        made.send(SERVER, timeout=WINDOW, post=server, look=lambda host, port: HOME, sleep=sleep).name == "GIVEN_UP"
    )
    assert len(server.bodies) == sending.TRIES
    for tries, wait in enumerate(waits):
        usual = sending.FIRST_WAIT * 2**tries
        assert usual / 2 <= wait <= usual * 3 / 2
    assert len(set(waits)) == len(waits)
    assert send(made, server, clock) == "NOTHING"


def test_no_attempt_after_the_window(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")

    def slow(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        clock.sleep(120)
        return Reply(None)

    began = clock.now
    assert (
        made.send(SERVER, timeout=WINDOW, post=slow, look=lambda host, port: HOME, sleep=clock.sleep).name
        == "GIVEN_UP"
    )
    assert clock.now - began <= sending.WINDOW + 120


def test_who_slept_beyond_the_window_sends_nothing_again(tmp_path: Path) -> None:
    """A machine that is suspended between two attempts, in the same network and the same round."""
    made, clock = someone(tmp_path / "c")
    server = Server(503)
    found = made.send(
        SERVER, timeout=WINDOW, post=server, look=lambda host, port: HOME, sleep=lambda seconds: clock.sleep(1800)
    )
    assert found.name == "GIVEN_UP"
    assert len(server.bodies) == 1


@pytest.mark.parametrize(("wanted", "outcome"), [(90.0, "ACCEPTED"), (sending.WINDOW + 1, "GIVEN_UP")])
def test_the_server_may_ask_for_patience_within_the_window(wanted: float, outcome: str, tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    replies, began = [Reply(503, wanted), Reply(200)], clock.now

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        return replies.pop(0)

    assert (
        made.send(SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=clock.sleep).name
        == outcome
    )
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


def test_over_another_address_than_was_used_first_nothing_is_sent_again(tmp_path: Path) -> None:
    """A host of two families: what the server sees is the address of the connection."""
    made, clock = someone(tmp_path / "c")
    ways = [("10.0.0.7", "7.7.7.7"), ("2001:db8::7", "::7"), ("10.0.0.9", "7.7.7.7"), ("10.0.0.7", "7.7.7.7")]
    sent = []

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        way = ways.pop(0)
        if ready(*way):
            sent.append(way)
        return Reply(None if ways else 200)

    found = made.send(SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=clock.sleep)
    assert found.name == "ACCEPTED"
    assert sent == [("10.0.0.7", "7.7.7.7")] * 2


@pytest.mark.parametrize("later", [1.0, 60.0, -60.0, sending.WINDOW + 1])
@pytest.mark.parametrize("place", [HOME, WORK])
def test_after_the_process_has_ended_nothing_is_sent_again(place: str, later: float, tmp_path: Path) -> None:
    """Nothing on disk says from which network it went out."""
    made, clock = someone(tmp_path / "c")

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.send(SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=clock.sleep)
    clock.now += later
    server = Server()
    assert send(made, server, clock, place) == "NOTHING"
    assert made.report() is None
    assert server.bodies == []
    clock.late_in(2)
    assert send(made, server, clock, place) == "ACCEPTED"


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


ROUTES = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
NEIGHBOURS = "IP HW Flags HWaddr Mask Device\n"
WLAN = "wlan0 00000000 0101A8C0 0003 0 0 600 00000000 0 0 0\n"
ROUTER = "192.168.1.1 0x1 0x2 aa:bb:cc:00:11:22 * wlan0\n"


@pytest.mark.parametrize(
    ("routes", "neighbours", "found"),
    [
        (WLAN, ROUTER, " wlan0 aa:bb:cc:00:11:22"),
        (WLAN, ROUTER.replace("00:11:22", "33:44:55"), " wlan0 aa:bb:cc:33:44:55"),
        (WLAN, ROUTER + ROUTER.replace("1.1 ", "1.9 "), " wlan0 aa:bb:cc:00:11:22"),
        (WLAN, ROUTER.replace("wlan0", "eth0"), ""),
        (WLAN.replace("0003", "0001"), ROUTER, ""),  # no router
        ("wlan0 0001A8C0 00000000 0001 0 0 600 00FFFFFF 0 0 0\n", ROUTER, ""),
        # Through a tunnel, the router below it says which network this is.
        ("wg0 00000000 00000000 0001 0 0 0 00000080 0 0 0\n" + WLAN, ROUTER, " wlan0 aa:bb:cc:00:11:22"),
        ("x\n", ROUTER, ""),
        (None, ROUTER, ""),
    ],
)
def test_networks_with_the_same_addresses_differ_by_their_routers(
    routes: str | None, neighbours: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_local", lambda host, *_: None if ":" in host else "192.168.1.7")
    for name, content in (("_ROUTES", routes), ("_NEIGHBOURS", neighbours)):
        monkeypatch.setattr(sending, name, tmp_path / name)
        if content is not None:
            (tmp_path / name).write_text((ROUTES if name == "_ROUTES" else NEIGHBOURS) + content)
    assert look("collect.example", 443) == f"192.168.1.7 -{found}"


def test_a_host_that_cannot_be_reached_has_no_network() -> None:
    assert look("no-such-host.invalid", 9) == ""
    assert look("127.0.0.1", 9) == look("localhost", 9) != ""


def test_what_is_reached_through_this_machine_goes_out_of_the_network_that_it_is_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy on this machine, as that of Tor, is the same everywhere. The default route is not."""
    found = []
    for outward in ("192.168.1.7", "10.0.0.7"):
        monkeypatch.setattr(sending, "_local", lambda host, *_, o=outward: "127.0.0.1" if host == "proxy" else o)
        found.append(look("proxy", 8118))
    assert found[0] != found[1]


def test_nothing_is_sent_once_somebody_has_left(tmp_path: Path) -> None:
    made, clock = someone(tmp_path / "c")
    server = Server()

    def leaving(host: str, port: int) -> str:
        made.leave()
        return HOME

    assert made.send(SERVER, timeout=WINDOW, post=server, look=leaving, sleep=clock.sleep).name == "NOTHING"
    assert server.bodies == []


def test_who_finds_another_process_sending_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, clock = someone(tmp_path / "c")
    monkeypatch.setattr("untrackable.client.client._PATIENCE", 0.05)
    server = Server()
    with made.folder.held(SENDING):
        assert send(made, server, clock) == "NOTHING"
    assert send(made, server, clock) == "ACCEPTED"
    assert len(server.bodies) == 1


def test_who_finds_another_process_sending_when_trying_again_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = someone(tmp_path / "c")
    monkeypatch.setattr("untrackable.client.client._PATIENCE", 0.05)
    server = Server(503)
    with contextlib.ExitStack() as held:

        def sleep(seconds: float) -> None:
            held.enter_context(made.folder.held(SENDING))

        found = made.send(SERVER, timeout=WINDOW, post=server, look=lambda host, port: HOME, sleep=sleep)
    assert found.name == "GIVEN_UP"
    assert len(server.bodies) == 1


def test_a_report_that_is_made_meanwhile_is_kept(tmp_path: Path) -> None:
    """The round ends while its report is sent, and another process makes the next one."""
    made, clock = someone(tmp_path / "c")
    later: list[bytes | None] = []

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        clock.late_in(2)
        later.append(made.report())
        return Reply(200)

    assert (
        made.send(SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=clock.sleep).name
        == "ACCEPTED"
    )
    server = Server()
    assert send(made, server, clock) == "ACCEPTED"
    assert server.bodies == later


def test_leaving_waits_for_a_report_that_is_being_sent(tmp_path: Path) -> None:
    made, _ = someone(tmp_path / "c")
    left, steps = threading.Thread(target=made.leave), []

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        left.start()
        left.join(timeout=0.3)
        steps.append(left.is_alive())
        return Reply(503)

    assert (
        made.send(
            SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=lambda s: left.join(30)
        ).name
        == "GIVEN_UP"
    )
    assert steps == [True]
    assert not left.is_alive()


def test_leaving_waits_also_if_the_round_ends_meanwhile(tmp_path: Path) -> None:
    """Another look at the folder finds the turn over then, and removes what was kept for it."""
    clock, asked = Clock(), turns_campaign(rounds=1)
    made = client(tmp_path / "c", asked, clock)
    made.answer(2)
    clock.late_in(1)
    left, steps = threading.Thread(target=made.leave), []

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        clock.late_in(2)
        assert made.due() is None
        left.start()
        left.join(timeout=0.3)
        steps.append(left.is_alive())
        return Reply(200)

    assert (
        made.send(SERVER, timeout=WINDOW, post=post, look=lambda host, port: HOME, sleep=clock.sleep).name
        == "ACCEPTED"
    )
    left.join(30)
    assert steps == [True]
    assert not left.is_alive()


def test_who_wakes_up_in_the_next_round_elsewhere_sends_that_one(tmp_path: Path) -> None:
    """A lid closed at home between two attempts, and opened at work: the next round has nothing to do with it."""
    made, clock = someone(tmp_path / "c")
    server, place = Server(503), [HOME]

    def sleep(seconds: float) -> None:
        clock.now, place[0] = START + 2 * DAY - 60, WORK

    found = made.send(SERVER, timeout=WINDOW, post=server, look=lambda host, port: place[0], sleep=sleep)
    assert found.name == "GIVEN_UP"
    assert send(made, server, clock, WORK) == "ACCEPTED"
    assert len(set(server.bodies)) == 2


def test_what_never_went_out_may_go_out_from_anywhere(tmp_path: Path) -> None:
    """Connections that fail show nobody the report."""
    made, clock = someone(tmp_path / "c")
    server, places = Server(), [HOME, WORK, WORK, WORK, WORK]
    connected = iter([False, False, True])

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        return server(address, body, ready) if next(connected) else Reply(None)

    def look(host: str, port: int) -> str:
        return places.pop(0)

    assert made.send(SERVER, timeout=WINDOW, post=post, look=look, sleep=clock.sleep).name == "ACCEPTED"
    assert len(server.bodies) == 1
