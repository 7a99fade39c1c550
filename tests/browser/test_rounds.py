"""People with real browsers answer once each, in a round that their browser draws. The collector counts them."""

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request
from scipy.stats import binom

from tests.browser.people import Asking, force, posted
from tests.browser.questions import question
from tests.browsers import SWITCHES, executable
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

ROUNDS = 4


def sent(page: Page) -> str:
    return str(page.evaluate("client.send()"))


def all_send(pages: Sequence[Page]) -> list[str]:
    """The outcomes if all pages send at the same time."""
    for page in pages:
        page.evaluate("() => { window.sending = client.send() }")
    return [str(page.evaluate("window.sending")) for page in pages]


def test_nobody_answers_twice(browser: Browser, asking: Asking, tmp_path: Path) -> None:
    """A dozen people over four rounds, with all that happens to browsers. Other rounds cause no request."""
    asked = asking.ask(question(rounds=ROUNDS))
    contexts = [browser.new_context() for _ in range(11)]
    urls: dict[int, list[str]] = {}
    pages = [asking.page(context, asked) for context in contexts]
    for i, context in enumerate(contexts):
        context.on("request", partial(note, urls, i))
    tabs = [pages[0], *(asking.page(contexts[0], asked) for _ in range(4))]
    closed, hanging, away, wiped, ahead, behind, left, late, changed, timed = pages[1:]
    asking.join(asked, tabs[0], closed, away, ahead, turn=1)
    asking.join(asked, hanging, wiped, behind, left, changed, turn=2)
    asking.join(asked, timed, turn=3)
    assert asked.begins(2) < left.evaluate("client.due()") < asked.begins(3)
    left.evaluate("client.leave()")
    for page in pages:
        assert sent(page) == "nothing"
    killed = sends_after_being_killed(browser, asking, asked, tmp_path)
    urls.clear()

    # Round 1: one person has five tabs, one page is loaded again with its report made, and somebody is offline.
    asking.late_in(asked, 1, *pages, *tabs)
    assert sorted(all_send(tabs)) == ["accepted", *["nothing"] * 4]
    body = closed.evaluate("async () => [...await client.report()]")
    asking.load(closed, asked)
    assert closed.evaluate("async () => [...await client.report()]") == body
    assert sent(closed) == "accepted"
    contexts[3].set_offline(True)
    assert sent(away) == "offline"
    ahead.evaluate("now => { window.now = now }", asked.begins(2))  # Its clock is wrong, so its turn is lost.
    assert sent(ahead) == "nothing"
    asking.at(ahead)
    assert late.evaluate("client.answer('page 4')") == "not yet"
    assert all_send(pages) == [*["nothing"] * 3, "offline", *["nothing"] * 7]
    assert asking.counted(asked, 1) == 3
    assert reporting(urls) == {0, 1}
    assert urls.keys() == {0, 1, 8}  # The last one fetched the campaign.
    urls.clear()

    # Round 2: a reply gets lost and the page is loaded again, a value changes, storage is wiped, one joins late.
    contexts[3].set_offline(False)
    asking.late_in(asked, 2, *pages, killed)
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
    assert sent(wiped) == "accepted"
    wipe(contexts[4], wiped)
    assert wiped.evaluate("client.answer('page 5')") == "not yet"
    behind.evaluate(
        "now => { window.now = now }", asked.begins(2) - 1
    )  # Its clock is wrong, and is then set right.
    assert sent(behind) == "nothing"
    asking.at(behind)
    assert sent(behind) == "accepted"
    assert left.evaluate("client.answer('page 5')") == "done"
    assert changed.evaluate("client.answer('page 7')") == "kept"
    assert sent(changed) == "accepted"
    force(late, asked, 2)
    assert late.evaluate("client.answer('page 4')") == "done"  # Its turn would have been this round.
    others = [pages[0], closed, away, wiped, ahead, left, late, timed, killed]
    assert all_send(others) == ["nothing"] * len(others)
    assert asking.counted(asked, 2) == 4
    assert reporting(urls) == urls.keys() == {2, 4, 6, 9}

    # Round 3: a report leaves at its own time.
    asking.clock.now = asked.begins(3) + 60
    asking.at(*pages, killed)
    timed.evaluate("""async () => {
        window.told = [];
        window.now = (window.due = await client.due()) - 100;
        window.running = client.run(each => told.push(each));
    }""")
    timed.wait_for_function("() => { if (!told.length) window.now += 2; return told.length }")
    assert timed.evaluate("now - due") >= 0
    assert timed.evaluate("async () => { await running; return told }") == ["accepted"]
    assert timed.evaluate("client.due()") is None
    asking.late_in(asked, 3, *pages, killed)
    everybody = [*pages[:4], *pages[5:], killed]  # Somebody whose storage was wiped may answer again.
    assert all_send(everybody) == ["nothing"] * len(everybody)
    for page in everybody:
        assert page.evaluate("client.answer('page 1')") == "done"
    assert asking.counted(asked, 3) == 1
    asking.late_in(asked, 4, *pages, killed)
    assert all_send(everybody) == ["nothing"] * len(everybody)
    assert asking.complaints == []
    for context in (*contexts, killed.context):
        context.close()


def note(urls: dict[int, list[str]], person: int, request: Request) -> None:
    urls.setdefault(person, []).append(request.url)


def reporting(urls: dict[int, list[str]]) -> set[int]:
    """Who sent a report."""
    return {person for person, each in urls.items() if any(url.endswith("/reports") for url in each)}


def sends_after_being_killed(browser: Browser, asking: Asking, asked: Campaign, folder: Path) -> Page:
    """SIGKILL to all processes of a browser after it made its report. The next process sends the same bytes."""
    made: list[list[int]] = []
    for attempt in (1, 2):
        context = browser.browser_type.launch_persistent_context(
            folder / "profile", executable_path=executable(), args=SWITCHES
        )
        page = asking.page(context, asked)
        if attempt == 1:
            asking.join(asked, page, turn=1)
        asking.late_in(asked, 1, page)
        made.append(page.evaluate("async () => [...await client.report()]"))
        if attempt == 1:
            kill(str(folder / "profile"))
    assert made[0] == made[1]
    assert sent(page) == "accepted"
    return page


def wipe(context: BrowserContext, page: Page) -> None:
    """Delete all that the origin has stored, as a person can in the settings."""
    session = context.new_cdp_session(page)
    origin = page.evaluate("origin")
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})


def kill(profile: str) -> None:
    """Kill every process of the browser with this profile, which this test started."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"--user-data-dir={profile}".encode() in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)


CONTEXTS, EACH = 12, 25
LIVES = """async ([id, policy, first, count, seen, joined]) => {
    const open = () => new Promise((done, failed) => {
        const opening = indexedDB.open("untrackable", 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
        opening.onsuccess = () => done(opening.result);
        opening.onerror = failed;
    });
    const store = async work => {
        const database = await open(), transaction = database.transaction("kept", "readwrite");
        const found = work(transaction.objectStore("kept"));
        await new Promise(done => { transaction.oncomplete = done });
        database.close();
        return found;
    };
    const swapped = async records => {
        const found = await store(kept => [kept.getAllKeys(), kept.getAll()]);
        await store(kept => { kept.clear(); records.forEach(([key, value]) => kept.put(value, key)) });
        return found[0].result.map((key, i) => [key, found[1].result[i]]);
    };
    window.lives ??= Array.from({ length: count }, () => []);
    const client = made(id, policy), outcomes = [];
    for (let i = first; i < count; i++) {
        await swapped(lives[i]);
        if (seen) {
            window.now = seen;
            await client.answer("page 3");
            window.now = joined;
            outcomes.push(await client.answer("page 4"));
        } else outcomes.push(await client.send());
        lives[i] = await swapped([]);
    }
    return outcomes;
}"""
"""Many people on one page, each of whom has the origin's storage for a moment: they join, or they send."""


def test_each_round_hears_a_random_part_of_the_people(browser: Browser, asking: Asking) -> None:
    """Half of the people join before the campaign, and half in its third round, when two turns are lost.

    Each count is what a binomial law allows, with a false alarm in a million for each; and the law by which
    latecomers would draw among the rounds that are left is rejected.
    """
    asked = asking.ask(question(rounds=ROUNDS))
    contexts = [browser.new_context() for _ in range(CONTEXTS)]
    pages = [asking.page(context, asked) for context in contexts]
    policy = {"eps": asked.guarantee.eps}
    early, people = CONTEXTS // 2 * EACH, CONTEXTS * EACH

    def act(given: Sequence[Page], *times: float | None) -> list[str]:
        for page in given:
            page.evaluate(f"given => {{ window.acting = ({LIVES})(given) }}", [asked.id, policy, 0, EACH, *times])
        return [outcome for page in given for outcome in page.evaluate("window.acting")]

    assert set(act(pages[: CONTEXTS // 2], asked.begins(1) - 7200, asked.begins(1) - 100)) == {"kept"}
    answers, counts = Counter[int](), []
    for round in range(1, ROUNDS + 1):
        here = pages[: CONTEXTS // 2] if round < ROUNDS else pages
        if round == ROUNDS:
            joined = act(pages[CONTEXTS // 2 :], asked.begins(2) + 60, asked.begins(3) + 60)
            assert set(joined) == {"kept", "done"}
            assert likely(joined.count("kept"), people - early, 1 / ROUNDS)
        asking.late_in(asked, round, *here)
        outcomes = act(here, None, None)
        assert set(outcomes) == {"accepted", "nothing"}
        answers.update(i for i, outcome in enumerate(outcomes) if outcome == "accepted")
        counts.append(asking.counted(asked, round))
        assert counts[-1] == outcomes.count("accepted")
    assert set(answers.values()) == {1}
    assert len(answers.keys() & set(range(early))) == early
    assert all(likely(count, early, 1 / ROUNDS) for count in counts[:-1])
    assert likely(counts[-1], people, 1 / ROUNDS)
    assert not likely(counts[-1], people, (early / ROUNDS + people - early) / people)
    assert not all(likely(count, early, 0.5) for count in counts[:-1])
    assert asking.complaints == []
    for context in contexts:
        context.close()


def likely(count: int, people: int, chance: float) -> bool:
    """Whether a count is within what the binomial law has but with probability 10^-6."""
    return bool(binom.ppf(5e-7, people, chance) <= count <= binom.isf(5e-7, people, chance))
