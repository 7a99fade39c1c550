"""All pages that people see, with answers on them: a collector with campaigns, and how to come to each page."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import uvicorn
from numpy.typing import NDArray
from playwright.sync_api import Page

from tests.collector.dashboard.visitors import in_a_thread
from tests.collector.samples import answers, sealed
from untrackable import Bit, Categories
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.app import create_app
from untrackable.collector.closing import close_round
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Store
from untrackable.demo.demo import answer_page, request
from untrackable.encodings import Encoding, Record
from untrackable.encodings.numbers import buckets_from_text
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

DAY = 86_400
NAMES = ["Chrome", "Safari", "Edge", "Firefox", "Samsung Internet", "Opera", "another"]
SHARES = np.array([0.55, 0.17, 0.1, 0.06, 0.05, 0.03, 0.04])
SYSTEMS = ["Android", "iOS", "Windows", "macOS", "Linux"]
ROUNDS = 5


@dataclass
class Shown:
    """A collector with campaigns, and a page of another origin on which people answer."""

    server: str
    application: str
    key: str
    campaign: str
    record: str
    numbers: str


def daily(question: str, encoding: Encoding, base: Local, rounds: int) -> Campaign:
    """A question that everybody answers once, on a day that their device draws; storage may be wiped once."""
    return Campaign(
        question=question,
        encoding=encoding,
        randomizer=Fresh(base),
        first_round=(int(time.time()) // DAY - ROUNDS) * DAY,
        round_seconds=DAY,
        rounds=rounds,
        turns=Turns(rounds=rounds, wipes=1),
        guarantee=Guarantee(eps=4.0),
    )


def browsers_question(rounds: int, *, question: str = "Which browser do you use?") -> Campaign:
    """A question with a few answers."""
    return daily(question, Categories(names=NAMES), NoisyInnerProduct(bits=3, eps=2.0), rounds)


def people_question() -> Campaign:
    """A question for two attributes and a number, with tables of them."""
    person = Record(
        attributes={
            "system": Categories(names=SYSTEMS),
            "dark mode": Bit(),
            "start": buckets_from_text("50ms:20s:4:log", below="clamp", above="clamp"),
        },
        tables=[("system", "dark mode"), ("start",)],
    )
    base = Views(bits=person.bits, views=person.asked.views, eps=2.0)
    return daily("How do you use the app?", person, base, 7)


def start_question() -> Campaign:
    """A question for a number, of which quantiles are wanted."""
    times = buckets_from_text("50ms:20s:16:log", below="clamp", above="clamp")
    return daily("How long did the app take to start?", times, Views.prefixes(bits=4, eps=2.0), 7)


def encoded_people(person: Record, people: int) -> NDArray[np.uint64]:
    """Records of people, of whom those with a quick start more often have dark mode."""
    rng = np.random.default_rng(2)
    systems = rng.choice(SYSTEMS, size=people, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    starts = np.minimum(19_000.0, rng.lognormal(6.5, 1.0, size=people) + 50)
    dark = rng.random(people) < np.where(starts < 700, 0.7, 0.4)
    records = zip(systems.tolist(), dark.astype(int).tolist(), starts.tolist(), strict=True)
    return person.encode_many([{"system": a, "dark mode": b, "start": c} for a, b, c in records])


def collect(store: Store, asked: Campaign, server: str, people: int) -> None:
    """Some rounds with reports, in which one answer becomes more frequent, and close them."""
    rng = np.random.default_rng(1)
    held = encoded_people(asked.encoding, people) if isinstance(asked.encoding, Record) else None
    for round in range(1, ROUNDS + 1):
        weights = SHARES + np.eye(len(NAMES))[3] * 0.05 * round
        values = rng.choice(len(NAMES), size=people, p=weights / weights.sum()) if held is None else held
        if asked.encoding.ordered:
            values += 4
        reports = sealed(asked, answers(asked.mechanism, values, round=round, seed=round), round=round)
        for i in range(0, people, 5000):
            body = b"".join(reports[i : i + 5000])
            request(server, "POST", f"/campaigns/{asked.id}/reports", body, "application/octet-stream")


@contextmanager
def shown(folder: Path, *, people: int = 25_000, rounds: int = 30) -> Iterator[Shown]:
    """The running collector."""
    store = open_store(f"sqlite:///{folder}/store.db")
    with ExitStack() as running:
        running.enter_context(patch("untrackable.collector.app.HeavyWork", in_a_thread))
        running.enter_context(patch("untrackable.collector.dashboard.new_campaign._WAIT_SECONDS", 300.0))
        settings = Settings(minimum_reports=10, sweep=3600.0, grace=float((ROUNDS + 1) * DAY))
        app = create_app(store, clock=time.time, settings=settings)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        serving = threading.Thread(target=server.run)
        serving.start()
        running.callback(serving.join)
        running.callback(setattr, server, "should_exit", True)
        while not server.started:
            assert serving.is_alive()
            time.sleep(0.01)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        asked, record, numbers, planned = (
            browsers_question(rounds),
            people_question(),
            start_question(),
            browsers_question(7, question="Which browser did you use before?"),
        )
        create_campaign(store, planned.to_bytes(), published=False)
        for each in (asked, record, numbers):
            create_campaign(store, each.to_bytes(), published=True)
            collect(store, each, address, people)
            for round in range(1, ROUNDS + 1):
                close_round(store, each, round)

        def publish(own: Campaign) -> None:
            create_campaign(store, own.to_bytes(), published=False)

        application = running.enter_context(answer_page(address, publish))
        yield Shown(address, application, new_key(store, "admin")[1], asked.id, record.id, numbers.id)


def sign_in(page: Page, found: Shown) -> None:
    """Sign in with the key."""
    page.goto(f"{found.server}/sign-in")
    page.fill("#key", found.key)
    page.click("main button")
    page.wait_for_url(f"{found.server}/")


def _following(page: Page, found: Shown) -> None:
    page.goto(f"{found.server}/view/{found.campaign}/following")
    page.wait_for_selector("text=The rest of this campaign's audit", timeout=120_000)


def _new(page: Page, found: Shown) -> None:
    page.goto(f"{found.server}/new")
    page.fill("#question", "Which browser do you use?")
    page.fill("#names", "\n".join(NAMES))
    page.wait_for_selector("#plans:not([aria-busy]) #results strong", timeout=120_000)


def _new_record(page: Page, found: Shown) -> None:
    page.goto(f"{found.server}/new")
    page.fill("#question", "How do you use the app?")
    page.check("[value=record]")
    page.fill("#attributes", "system: Android, iOS, other\ndark mode: yes/no\nstart: 50ms:20s:4:log")
    page.fill("#people", "10,000,000")
    page.click("details.more summary")
    page.fill("#wipes", "1")
    page.wait_for_selector("#plans:not([aria-busy]) #results strong", timeout=120_000)


def _preview(page: Page, found: Shown) -> None:
    _new(page, found)
    page.click("button[formaction='/new/preview']")
    page.wait_for_selector("pre.document", timeout=120_000)


def _at(path: str) -> Callable[[Page, Shown], None]:
    def go(page: Page, found: Shown) -> None:
        ids = {"CAMPAIGN": found.campaign, "RECORD": found.record, "NUMBERS": found.numbers}
        page.goto(found.server + re.sub("[A-Z]{3,}", lambda name: ids[name[0]], path))

    return go


def _answer(page: Page, found: Shown) -> None:
    page.goto(found.application)


EVERYBODY: dict[str, Callable[[Page, Shown], None]] = {
    "campaigns": _at("/"),
    "campaign": _at("/view/CAMPAIGN"),
    "round": _at("/view/CAMPAIGN?round=2&search=o"),
    "record": _at("/view/RECORD?table=system"),
    "numbers": _at("/view/NUMBERS"),
    "following": _following,
    "sign-in": _at("/sign-in"),
    "not-found": _at("/view/nothing"),
    "answer": _answer,
}
"""The pages that everybody sees, by name."""
MANAGERS: dict[str, Callable[[Page, Shown], None]] = {
    "managed": _at("/view/CAMPAIGN"),
    "new": _new,
    "new-record": _new_record,
    "preview": _preview,
    "keys": _at("/keys"),
}
"""The pages for those who signed in."""
