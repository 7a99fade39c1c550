"""People answer with real browsers over several rounds, and the collector counts each of them exactly once."""

import contextlib
import os
import signal
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.people import Asking, posted
from tests.browsers import SWITCHES, executable
from tests.collector.samples import campaign
from untrackable.accounting.client_check import declaring_recognition
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.attendance import Attendance

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PEOPLE = 100
ROUNDS = 4


def every_round() -> Campaign:
    """A campaign that is answered in every round, so that reports can be counted."""
    declared = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0, recognition=1.0)
    return campaign(
        Deck.for_budget(bits=4, slots=ROUNDS, eps=8.0, delta=1e-6),
        rounds=ROUNDS,
        guarantee=declared,
        attendance=Attendance(),
    )


def sent(page: Page) -> str:
    return str(page.evaluate("client.send()"))


def joined(page: Page, answer: object) -> None:
    assert page.evaluate("answer => client.answer(answer)", answer)


def test_everybody_is_counted_once(browser: Browser, asking: Asking, tmp_path: Path) -> None:
    """A hundred people over three rounds, with all that happens to browsers."""
    asked = asking.ask(every_round())
    asking.clock.now = asked.first_round - 100
    contexts = [browser.new_context() for _ in range(PEOPLE - 1)]
    urls: list[str] = []
    for context in contexts:
        context.on("request", lambda request: urls.append(request.url))
    pages = [asking.page(context, asked) for context in contexts]
    tabs = [pages[0], *(asking.page(contexts[0], asked) for _ in range(4))]
    hanging, away, wiped, moved, closed, *others = pages[1:]
    for i, page in enumerate(pages):
        page.evaluate("answer => { window.joining = client.answer(answer) }", f"page {i % 12}")
    assert [page.evaluate("window.joining") for page in pages] == [True] * (PEOPLE - 1)
    assert all_send(pages) == ["nothing"] * (PEOPLE - 1)
    everybody = [*pages, *tabs[1:]]

    # Round 1: one person has five tabs, one page is loaded again after marking, and one browser is killed then.
    asking.late_in(asked, 1, *everybody)
    assert sorted(all_send(tabs)) == ["accepted", *["nothing"] * 4]
    body = closed.evaluate("async () => [...await client.report()]")
    asking.load(closed, asked)
    assert closed.evaluate("async () => [...await client.report()]") == body
    assert all_send(pages[1:]) == ["accepted"] * (PEOPLE - 2)
    assert all_send(everybody) == ["nothing"] * len(everybody)
    killed = sends_after_being_killed(browser, asking, asked, tmp_path, urls)
    assert asking.counted(asked, 1) == PEOPLE
    assert asking.complaints == []

    # Round 2: the answer to a report gets lost and the page is loaded again; somebody is offline; storage is wiped.
    asking.late_in(asked, 2, *everybody, killed)
    bodies: list[bytes | None] = []

    def lose(route: Any) -> None:
        route.fetch()
        bodies.append(route.request.post_data_buffer)

    hanging.route("**/reports", lose, times=1)
    hanging.evaluate("() => { client.send() }")
    while not bodies:
        hanging.wait_for_timeout(20)
    asking.load(hanging, asked)
    again = posted(hanging)
    assert sent(hanging) == "accepted"
    assert again == bodies
    contexts[2].set_offline(True)
    assert sent(away) == "offline"
    assert sent(wiped) == "accepted"
    wipe(contexts[3], wiped)
    joined(wiped, "page 5")
    assert sent(wiped) == "nothing"
    assert set(all_send([pages[0], moved, closed, killed, *others])) == {"accepted"}
    assert asking.counted(asked, 2) == PEOPLE - 1
    assert asking.complaints == []

    # Round 3: one clock is a round behind, then a round ahead; others are sent at their times by `run`.
    asking.late_in(asked, 3, *everybody, killed)
    contexts[2].set_offline(False)
    moved.evaluate("now => { window.now = now }", asked.begins(3) - 1)
    assert sent(moved) == "nothing"
    moved.evaluate("now => { window.now = now }", asked.begins(5) - 1)
    asking.clock.now = asked.begins(3) + 600
    assert sent(moved) == "refused"
    asking.late_in(asked, 3, moved)
    assert sent(moved) == "nothing"
    others[0].evaluate("() => { window.told = []; client.run(each => told.push(each)) }")
    others[0].wait_for_function("() => { window.now += 1e-3; return told.length }")
    assert others[0].evaluate("told") == ["accepted"]
    assert set(all_send([pages[0], hanging, away, wiped, closed, killed, *others[1:]])) == {"accepted"}
    assert asking.counted(asked, 3) == PEOPLE - 1

    # Chromium itself notes the one report that the collector refused. Nothing else complains.
    assert len(asking.complaints) == 1
    assert "409" in asking.complaints[0]
    assert {url.rsplit("/", 1)[0] for url in urls} <= {
        asking.application.rsplit("/", 1)[0],
        asking.application,
        f"{asking.server}/client",
        f"{asking.server}/campaigns",
        f"{asking.server}/campaigns/{asked.id}",
    }
    for context in (*contexts, killed.context):
        context.close()


def all_send(pages: Sequence[Page]) -> list[str]:
    """The outcomes if all pages send at the same time."""
    for page in pages:
        page.evaluate("() => { window.sending = client.send() }")
    return [str(page.evaluate("window.sending")) for page in pages]


def sends_after_being_killed(
    browser: Browser, asking: Asking, asked: Campaign, folder: Path, urls: list[str]
) -> Page:
    """SIGKILL to all processes of a browser after it marked round 1. The next process sends the same bytes."""
    bodies: list[list[int]] = []
    for attempt in (1, 2):
        context = browser.browser_type.launch_persistent_context(
            folder / "profile", executable_path=executable(), args=SWITCHES
        )
        context.on("request", lambda request: urls.append(request.url))
        if attempt == 1:
            asking.clock.now = asked.first_round - 100
        page = asking.page(context, asked)
        if attempt == 1:
            joined(page, "page 3")
        asking.late_in(asked, 1, page)
        bodies.append(page.evaluate("async () => [...await client.report()]"))
        if attempt == 1:
            kill(str(folder / "profile"))
    assert bodies[0] == bodies[1]
    assert sent(page) == "accepted"
    return page


def wipe(context: BrowserContext, page: Page) -> None:
    """Delete all that the origin has stored, as a person can in the settings."""
    session = context.new_cdp_session(page)
    origin = page.evaluate("origin")
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})


def test_coins_decide_and_changes_are_followed(browser: Browser, asking: Asking) -> None:
    """A campaign that is answered now and then, which the default policy allows; the answer changes on the way."""
    participation = Fraction(1, 3)
    declared = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0, recognition=1.0)
    mechanism = Deck.for_budget(bits=4, slots=8, eps=8.0, delta=1e-6, participation=participation)
    asked = asking.ask(
        declaring_recognition(
            campaign(mechanism, rounds=8, guarantee=declared, attendance=Attendance(participation))
        )
    )
    asking.clock.now = asked.first_round - 100
    context = browser.new_context()
    page = asking.page(context, asked, recognition=0.01)
    joined(page, "page 3")
    accepted = []
    for round in range(1, 9):
        asking.late_in(asked, round, page)
        due = page.evaluate("client.due()")
        outcome = sent(page)
        assert (outcome == "accepted") == (due is not None and due < asked.begins(round + 1))
        accepted.append(asking.counted(asked, round) if outcome == "accepted" else 0)
        if round == 4:
            joined(page, "page 7")
    assert set(accepted) <= {0, 1}
    assert asking.complaints == []
    context.close()


def kill(profile: str) -> None:
    """Kill every process of the browser with this profile, which this test started."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"--user-data-dir={profile}".encode() in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
