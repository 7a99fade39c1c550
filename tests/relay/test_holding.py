"""A relay that holds: the same answer for all, one release after the round, and nothing acknowledged is lost."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest

from tests.relay.gateways import SEALED, FakeGateway, answer, gateway, relayed, sealed
from untrackable.relay import holding
from untrackable.relay.gateway import RelayProblem
from untrackable.relay.held_reports import HeldReports, HoldingFailed, Release
from untrackable.relay.holding import DAY, HoldingSettings
from untrackable.serving.problems import Refused

NOW = 1_000_000 * 3600
ROUND = HoldingSettings()
AT = NOW + 7200


class Clock:
    now = float(NOW)

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(holding, "_LONGEST_WAIT", 0.02)
    monkeypatch.setattr(holding, "_EXPIRY_SECONDS", 0.01)


@contextlib.asynccontextmanager
async def holding_relay(
    file: Path, port: int, clock: Callable[[], float], **settings: Any
) -> AsyncIterator[Callable[[str], httpx.AsyncClient]]:
    bounds = HoldingSettings(**settings)
    async with relayed(port, held=HeldReports(file), clock=clock, holding=bounds, per_minute=10_000) as sender:
        yield sender


async def held(http: httpx.AsyncClient, number: int, *, time: int = AT, gateway: str = "study") -> httpx.Response:
    return await http.post(f"/gateways/{gateway}/releases/{time}", content=sealed(number), headers=SEALED)


async def until(come: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not come():
            await asyncio.sleep(0.01)


def arrived(there: FakeGateway) -> list[int]:
    """The numbers of the reports that a gateway got, in their order."""
    return [int.from_bytes(request.partition(b"\r\n\r\n")[2][:4], "big") for request in there.seen]


def test_reports_are_acknowledged_at_once_and_released_once_and_shuffled_after_the_round(tmp_path: Path) -> None:
    async def talk() -> tuple[list[httpx.Response], FakeGateway]:
        clock = Clock()
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            holding_relay(tmp_path / "held.db", there.port, clock) as sender,
        ):
            found = []
            for number in range(40):
                async with sender(f"192.0.2.{number}") as http:
                    found.append(await held(http, number))
            clock.now = AT - 0.1
            await asyncio.sleep(0.1)
            assert there.seen == []
            async with sender("192.0.2.1") as http:
                count = await http.get(f"/gateways/study/releases/{AT}")
                assert count.status_code == 404, "it would show when people send"
                clock.now = AT
                await until(lambda: len(there.seen) == 40)
                await asyncio.sleep(0.1)
                count = await http.get(f"/gateways/study/releases/{AT}")
                assert (count.status_code, count.json()) == (200, {"reports": 40, "left": 0})
                late = await held(http, 99)
                clock.now = AT - 100  # A clock that is put back does not open the release again.
                assert [(await held(http, 99)).status_code, late.status_code] == [410, 410]
            return found, there

    found, there = asyncio.run(talk())
    assert len({tuple(each.headers.items()) for each in found}) == 1
    assert {(each.status_code, each.content, each.headers["cache-control"]) for each in found} == {
        (202, b"", "no-store")
    }
    assert sorted(arrived(there)) == list(range(40))
    assert arrived(there) != list(range(40)), "once in 40! runs this is a coincidence"
    assert not any(b"192.0.2" in request for request in there.seen)
    assert len({request.partition(b"\r\n\r\n")[0] for request in there.seen}) == 1, "all have the same head"


@pytest.mark.parametrize(
    ("time", "name", "status"),
    [
        (AT + 1, "study", 400),
        (NOW, "study", 410),
        (NOW - 3600, "study", 410),
        (0, "study", 410),
        (NOW + 41 * DAY, "study", 400),
        (3600 * 10**8, "study", 400),
        (AT, "other", 404),
    ],
)
def test_unknown_gateways_and_past_or_absurd_times_are_refused(
    tmp_path: Path, time: int, name: str, status: int
) -> None:
    async def talk() -> httpx.Response:
        async with holding_relay(tmp_path / "held.db", 9, Clock()) as sender, sender("192.0.2.1") as http:
            return await held(http, 1, time=time, gateway=name)

    found = asyncio.run(talk())
    assert (found.status_code, found.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize("time", ["x", "-3600", "1" * 13, "1" * 5000])
def test_a_time_is_a_number_of_few_digits(tmp_path: Path, time: str, caplog: pytest.LogCaptureFixture) -> None:
    async def talk() -> list[int]:
        async with holding_relay(tmp_path / "held.db", 9, Clock()) as sender, sender("192.0.2.1") as http:
            address = f"/gateways/study/releases/{time}"
            posted = await http.post(address, content=sealed(1), headers=SEALED)
            return [posted.status_code, (await http.get(address)).status_code]

    assert asyncio.run(talk()) == [404, 404]
    assert caplog.records == []


def test_a_relay_without_a_file_holds_nothing() -> None:
    async def talk() -> list[int]:
        async with relayed(9) as sender, sender("192.0.2.1") as http:
            return [(await held(http, 1)).status_code, (await http.get("/gateways/study/releases/0")).status_code]

    assert asyncio.run(talk()) == [404, 404]


def test_what_is_held_is_bounded_for_one_release_and_in_all(tmp_path: Path) -> None:
    async def talk() -> list[int]:
        clock = Clock()
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            holding_relay(tmp_path / "held.db", there.port, clock, most=5, most_of_one=3) as sender,
            sender("192.0.2.1") as http,
        ):
            found = [(await held(http, number)).status_code for number in range(4)]
            found += [(await held(http, number, time=AT + 3600)).status_code for number in range(3)]
            clock.now = AT
            await until(lambda: len(there.seen) == 3)
            await asyncio.sleep(0.1)
            return [*found, (await held(http, 9, time=AT + 3600)).status_code]

    assert asyncio.run(talk()) == [202, 202, 202, 507, 202, 202, 507, 202]


def test_while_the_clock_is_doubted_no_release_begins(tmp_path: Path) -> None:
    """Nothing undoes a release, and one that begins too early is of a smaller crowd."""

    async def talk() -> list[int]:
        clock, passed = Clock(), list[int]()
        trusted: list[float | None] = [None]

        async def pass_on(release: Release, body: bytes) -> bool:
            passed.append(release.time)
            return True

        file = HeldReports(tmp_path / "held.db")
        desk = holding.Holding(ROUND, file, ["study"], pass_on, clock, lambda: trusted[0])
        async with desk.running():
            await desk.hold(Release("study", AT), sealed(1))
            clock.now = AT + 10
            await asyncio.sleep(0.1)
            assert passed == []
            trusted[0] = AT - 1.0
            await asyncio.sleep(0.1)
            assert passed == []
            trusted[0] = AT
            await until(lambda: len(passed) == 1)
            return passed

    assert asyncio.run(talk()) == [AT]


def test_times_are_few_by_the_settings() -> None:
    with pytest.raises(ValueError, match="ahead must be at most 1 days with a release every 1 seconds, got 40"):
        HoldingSettings(every=1)
    assert HoldingSettings(every=1, ahead=1).ahead * DAY <= 100_000
    with pytest.raises(ValueError, match="keep must be at least 1, got 0"):
        HoldingSettings(keep=0)


def test_while_a_collector_is_away_for_a_day_all_is_kept_and_then_delivered_once(tmp_path: Path) -> None:
    """The answers are: none, faults of a proxy, a busy gateway, a store that fails; after a day all is well."""
    moods: list[bytes | None] = [
        None,
        answer(b"<p>", status="404 Not Found", kind="text/html"),
        answer(b"<p>", status="502 Bad Gateway", kind="text/html"),
        answer(b"{}", status="503 Service Unavailable", kind="application/problem+json"),
        answer(b"{}", status="500 Internal Server Error", kind="application/problem+json"),
        answer(b"{}", status="429 Too Many Requests", kind="application/problem+json"),
        answer(b"sealed", status="200 OK", kind="text/html"),
    ]

    async def talk() -> list[int]:
        clock = Clock()
        mood: list[bytes | None] = [None]
        async with gateway(lambda request: mood[0]) as there:
            async with holding_relay(tmp_path / "held.db", there.port, clock) as sender:
                async with sender("192.0.2.1") as http:
                    for number in range(10):
                        assert (await held(http, number)).status_code == 202
                clock.now = AT
                for each in moods:
                    mood[0] = each
                    there.seen.clear()
                    await until(lambda: len(there.seen) > 20)
                    clock.now += DAY / len(moods)
                assert clock.now >= AT + DAY - 1
                async with sender("192.0.2.1") as http:
                    left = await http.get(f"/gateways/study/releases/{AT}")
                    assert left.json() == {"reports": 10, "left": 10}
            async with holding_relay(tmp_path / "held.db", there.port, clock) as sender:  # It starts again.
                there.seen.clear()
                mood[0] = answer(b"sealed")
                await until(lambda: len(there.seen) >= 10)
                await asyncio.sleep(0.1)
            return arrived(there)

    assert sorted(asyncio.run(talk())) == list(range(10))


def test_what_the_gateway_can_never_open_is_not_sent_again(tmp_path: Path) -> None:
    async def talk() -> list[int]:
        clock = Clock()
        malformed = answer(b"{}", status="400 Bad Request", kind="application/problem+json")
        async with (
            gateway(lambda request: malformed) as there,
            holding_relay(tmp_path / "held.db", there.port, clock) as sender,
            sender("192.0.2.1") as http,
        ):
            await held(http, 1)
            clock.now = AT
            await until(lambda: len(there.seen) == 1)
            await asyncio.sleep(0.1)
            return arrived(there)

    assert asyncio.run(talk()) == [1]


def test_reports_that_are_not_taken_do_not_keep_others_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "_TOGETHER", 2)

    def reply(request: bytes) -> bytes | None:
        number = int.from_bytes(request.partition(b"\r\n\r\n")[2][:4], "big")
        return answer(b"sealed") if number % 4 == 0 else None

    async def talk() -> set[int]:
        clock = Clock()
        async with (
            gateway(reply) as there,
            holding_relay(tmp_path / "held.db", there.port, clock) as sender,
            sender("192.0.2.1") as http,
        ):
            for number in range(24):
                await held(http, number)
            clock.now = AT
            count: dict[str, int] = {}
            async with asyncio.timeout(30):
                while count.get("left") != 18:
                    await asyncio.sleep(0.05)
                    count = (await http.get(f"/gateways/study/releases/{AT}")).json()
            return {number for number in arrived(there) if number % 4 == 0}

    assert asyncio.run(talk()) == {0, 4, 8, 12, 16, 20}


def test_after_days_what_nobody_takes_is_deleted_and_the_log_says_how_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk() -> None:
        clock = Clock()
        async with (
            holding_relay(tmp_path / "held.db", 9, clock, keep=3) as sender,
            sender("192.0.2.1") as http,
        ):
            for number in range(3):
                await held(http, number)
            clock.now = AT + 3 * DAY + 2
            await until(lambda: "deleted" in caplog.text)

    asyncio.run(talk())
    assert "3 reports were deleted, because no gateway has taken them for days" in caplog.text
    left = HeldReports(tmp_path / "held.db")
    assert left.counts() == left.begun() == {}
    left.close()


def test_reports_that_are_passed_on_while_they_are_deleted_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They were being deleted as passed on when it was time to delete them as too old."""
    release, delete, clock = Release("study", AT), HeldReports.delete, Clock()

    async def pass_on(release: Release, body: bytes) -> bool:
        return True

    async def talk() -> None:
        desk = holding.Holding(ROUND, HeldReports(tmp_path / "held.db"), ["study"], pass_on, clock, clock)

        def waiting(self: HeldReports, release: Release, names: Any) -> None:
            clock.now = AT + ROUND.keep * DAY + 2
            for _ in range(3000):
                if desk._jobs._work_queue.qsize():
                    break
                sleep(0.01)
            delete(self, release, names)

        monkeypatch.setattr(HeldReports, "delete", waiting)
        async with desk.running():
            for number in range(3):
                await desk.hold(release, sealed(number))
            await desk.hold(Release("study", AT + 30 * DAY), sealed(3))
            clock.now = AT
            await until(lambda: desk._total <= 1 and release not in desk._begun)
            assert (desk._total, dict(desk._counts)) == (1, {Release("study", AT + 30 * DAY): 1})

    asyncio.run(talk())
    assert "deleted" not in caplog.text


def test_a_disk_that_fails_is_told_and_the_next_report_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = iter([HoldingFailed("disk I/O error"), HoldingFailed("disk is full", full=True), RuntimeError("x")])
    add = HeldReports.add

    def failing(self: HeldReports, reports: Any) -> None:
        for error in errors:
            raise error
        add(self, reports)

    monkeypatch.setattr(HeldReports, "add", failing)

    async def talk() -> list[httpx.Response]:
        async with holding_relay(tmp_path / "held.db", 9, Clock()) as sender, sender("192.0.2.1") as http:
            return [await held(http, number) for number in range(4)]

    found = asyncio.run(talk())
    assert [each.status_code for each in found] == [503, 507, 500, 202]
    assert found[0].headers["retry-after"] == "5"
    left = HeldReports(tmp_path / "held.db")
    assert left.counts() == {Release("study", AT): 1}
    left.close()


def test_reports_soon_become_rows_which_show_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time, or when there are many. A disk that fails meanwhile loses none."""
    monkeypatch.setattr(holding, "_NEW_SECONDS", 0.05)

    async def talk() -> None:
        async def pass_on(release: Release, body: bytes) -> bool:
            return True

        clock, held = Clock(), HeldReports(tmp_path / "held.db")
        desk, release = holding.Holding(ROUND, held, ["study"], pass_on, clock, clock), Release("study", AT)
        async with desk.running():
            await desk.hold(release, sealed(1))
            await until(lambda: held.new == 0)
            held._database.execute("PRAGMA query_only = ON")
            await desk.hold(release, sealed(2))
            await until(lambda: held._failed is not None)
            await desk.hold(release, sealed(3))
            held._database.execute("PRAGMA query_only = OFF")
            await until(lambda: held.new == 0 and held._failed is None)
            monkeypatch.setattr(holding, "_NEW_SECONDS", 1000.0)
            await asyncio.sleep(0.1)
            monkeypatch.setattr(holding, "_NEW", 2)
            await desk.hold(release, sealed(4))
            await asyncio.sleep(0.1)
            assert held.new == 1
            await desk.hold(release, sealed(5))
            await until(lambda: held.new == 0)

    asyncio.run(talk())
    left = HeldReports(tmp_path / "held.db")
    assert left.counts() == {Release("study", AT): 5}
    left.close()


def test_a_relay_that_stores_nothing_any_more_is_not_healthy(tmp_path: Path) -> None:
    async def talk() -> list[int]:
        async with holding_relay(tmp_path / "held.db", 9, Clock()) as sender, sender("192.0.2.1") as http:
            found = [(await http.get("/healthz")).status_code]
            for thread in threading.enumerate():
                if thread.name == "writer":
                    thread.is_alive = lambda: False  # type: ignore[method-assign]
            return [*found, (await http.get("/healthz")).status_code]

    assert asyncio.run(talk()) == [200, 500]


def test_a_report_that_waits_while_its_release_begins_is_refused_and_not_lost(tmp_path: Path) -> None:
    """The release comes between the arrival of a report and the transaction that would store it."""

    async def talk() -> list[object]:
        clock, passed = Clock(), []

        async def pass_on(release: Release, body: bytes) -> bool:
            passed.append(body)
            return True

        desk = holding.Holding(ROUND, HeldReports(tmp_path / "held.db"), ["study"], pass_on, clock, clock)
        release = Release("study", AT)
        async with desk.running():
            await desk.hold(release, sealed(1))
            with desk._held.adding:  # The next report arrives, and nothing stores it yet.
                late = asyncio.create_task(desk.hold(release, sealed(2)))
                await asyncio.sleep(0.01)
                desk._begun[release] = 0
            with pytest.raises(Refused) as refused:
                await late
            clock.now = AT
            await until(lambda: len(passed) == 1)
            await asyncio.sleep(0.05)
            return [refused.value.problem, passed]

    assert asyncio.run(talk()) == [RelayProblem.RELEASED, [sealed(1)]]


@pytest.mark.parametrize("holds", [True, False])
def test_a_collector_that_sees_who_visits_cannot_match_reports_by_order(tmp_path: Path, holds: bool) -> None:
    """It knows the order of 60 visits to its site, and pairs the k-th visit with the k-th report.

    Without holding, every pair is right. With it, the number of right pairs is that of the fixed points of a random
    permutation: about Poisson with mean 1, so ten or more have a probability of 1e-7. An order that is reversed, or
    sorted by the bytes of the reports, would be tried as well.
    """
    people = 60

    async def talk() -> list[int]:
        clock = Clock()
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            holding_relay(tmp_path / "held.db", there.port, clock) as sender,
        ):
            for visitor in range(people):
                async with sender(f"192.0.2.{visitor}") as http:
                    if holds:
                        assert (await held(http, visitor)).status_code == 202
                    else:
                        posted = await http.post("/gateways/study", content=sealed(visitor), headers=SEALED)
                        assert posted.status_code == 200
            clock.now = AT
            await until(lambda: len(there.seen) == people)
            return arrived(there)

    order = asyncio.run(talk())
    guesses = (order, order[::-1], sorted(range(people), key=lambda place: order[place]))
    right = [sum(place == visitor for place, visitor in enumerate(guess)) for guess in guesses]
    assert sorted(order) == list(range(people))
    assert max(right) < 10 if holds else right[0] == people
