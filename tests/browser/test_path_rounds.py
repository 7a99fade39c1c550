"""People with real browsers answer in several looks of a round; each sends one report about all of them, once."""

import hashlib
import json
import random
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.people import Asking, force, posted, refusal
from tests.browser.questions import MOODS, VISIT, about, in_a_crowd, question
from tests.browser.test_refusals import KEPT
from tests.browser.test_rounds import sent
from untrackable.collector.store import Round
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign
from untrackable.strict_json import canonical

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

ROUNDS, LOOKS = 4, MOODS.looks
LOUD = Views(bits=MOODS.bits, views=(tuple(range(MOODS.bits)),), eps=40.0, width=MOODS.bits)
"""Hardly any noise, so that what is sent is the path."""
IN_A_LOOK = f'"of":{canonical(MOODS.of.to_json()).decode()}'


def sent_path(body: bytes | None) -> list[int]:
    """The answers in a report with hardly any noise."""
    assert body is not None
    report = np.array([int.from_bytes(body[21:], "little")], dtype=np.uint64)
    value = max(range(MOODS.values), key=lambda value: LOUD.log_likelihood(report, value)[0])
    found: list[int] = MOODS.decode(value)
    return found


class Person:
    """Somebody with a browser, and all that they said: the number of each look and the answer."""

    def __init__(self, asking: Asking, browser: Browser, asked: Campaign, turn: int) -> None:
        self.asking, self.asked, self.turn = asking, asked, turn
        self.context = browser.new_context()
        self.urls: list[str] = []
        self.context.on("request", lambda request: self.urls.append(request.url))
        self.page: Page = asking.page(self.context, asked)
        self.bodies = posted(self.page)
        self.said: dict[int, int] = {}

    def say(self, look: int, value: int, outcome: str = "kept") -> None:
        self.said[look] = value
        assert self.page.evaluate("value => client.answer(value)", value) == outcome

    def path(self) -> list[int]:
        """What the report must say: in each look the last answer that was given until its end."""
        looks = range((self.turn - 1) * LOOKS, self.turn * LOOKS)
        return [self.said[max(each for each in self.said if each <= look)] for look in looks]

    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = {key: json.loads(value) for key, value in self.page.evaluate(KEPT).items()}
        return found


def test_one_report_has_the_answers_of_all_looks(browser: Browser, asking: Asking) -> None:
    """With reloads, changed answers, looks without an answer, and somebody who is away at the end of their turn."""
    chance = random.Random(5)  # noqa: S311
    asked = asking.ask(question(LOUD, MOODS, rounds=ROUNDS, round_seconds=300))
    people = [Person(asking, browser, asked, turn) for turn in (1, 1, 2, 2, 3, 4)]
    pages = [person.page for person in people]
    for seconds, outcome in ((400, "not yet"), (100, "kept")):
        asking.clock.now = asked.first_round - seconds
        asking.at(*pages)
        for person in people:
            force(person.page, asked, person.turn)
            person.say(-1, 3, outcome)
    quiet, away = people[3], people[4]
    for person in people:
        person.urls.clear()
    for look in range(ROUNDS * LOOKS):
        round = 1 + look // LOOKS
        begin = asked.begins(round) + look % LOOKS * asked.look_seconds
        for part in (0.0, 0.4):
            asking.clock.now = begin + part * asked.look_seconds
            asking.at(*pages)
            for person in people:
                due = person.page.evaluate("client.due()")
                if person.turn >= round:
                    assert asked.begins(person.turn + 1) - asked.look_seconds < due < asked.begins(person.turn + 1)
                if chance.random() < 0.3:
                    asking.load(person.page, asked)
                if person is away and (round, look % LOOKS) == (3, 2):
                    continue
                if due is None:
                    assert person.page.evaluate("client.answer(1)") == "done"
                elif person is quiet:  # They change their answer in the round before their turn, and never again.
                    if (look, part) == (1, 0.0):
                        person.say(look, 1)
                elif due > asking.clock.now and chance.random() < 0.6:
                    person.say(look, chance.randrange(4))
                if due is None or due > asking.clock.now:
                    assert sent(person.page) == "nothing"
        if look % LOOKS < LOOKS - 1:
            continue
        here = [person for person in people if person.turn == round and person is not away]
        asking.late_in(asked, round, *(person.page for person in people if person is not away))
        for person in here:
            if person is not quiet:
                person.say(look, chance.randrange(4))  # The last answer before the report counts.
            asking.load(person.page, asked)
            assert sent(person.page) == "accepted"
            assert person.page.evaluate("client.answer(2)") == "done"
            assert set(person.kept()) == {"ledger"}
            assert [sent_path(body) for body in person.bodies] == [person.path()]
        assert asking.counted(asked, round) == len(here)
        sums = asked.mechanism.aggregator(round)
        sums = sums.add([int.from_bytes(body[21:], "little") for each in here for body in each.bodies if body])
        assert asking.store.sums(Round(asked.id, round)) == sums.to_bytes()
    assert quiet.path() == [1] * LOOKS
    assert any(len(set(person.path())) > 1 for person in people)
    for person in people:
        assert sent(person.page) == "nothing"
        assert person.page.evaluate("client.due()") is None
        assert set(person.kept()) == {"ledger"}
        assert len(person.bodies) == (person is not away)
        assert sum("/campaigns/" in url and "/client/" not in url for url in person.urls) == len(person.bodies)
        person.context.close()
    assert asking.complaints == []


def test_what_is_kept_does_not_depend_on_the_turn(browser: Browser, asking: Asking) -> None:
    """But for the keys. Of earlier rounds, only the last answer is there."""
    asked = asking.ask(question(LOUD, MOODS, rounds=ROUNDS, round_seconds=300))
    people = [Person(asking, browser, asked, turn) for turn in (3, 4)]
    for person in people:
        for seconds, outcome in ((400, "not yet"), (100, "kept")):
            asking.clock.now = asked.first_round - seconds
            asking.at(person.page)
            force(person.page, asked, person.turn)
            person.say(-1, 3, outcome)
    found: list[tuple[Any, ...]] = []
    for look, answer in ((0, 1), (1, 1), (2, 0), (4, 2), (6, 2), (8, 1), (8, 3)):
        for person in people:
            asking.clock.now = asked.first_round + look * asked.look_seconds + 5
            asking.at(person.page)
            person.say(look, answer)
            assert sent(person.page) == "nothing"
        kept = [person.kept() for person in people]
        one, other = ({**each[asked.id], "key": 0, "life": 0, "fresh": 0, "turn": 0} for each in kept)
        assert one == other
        assert kept[0].keys() == kept[1].keys() == {"ledger", asked.id}
        found.append((one["round"], MOODS.decode(int(one["value"]))))
    assert found == [
        (1, [1, 1, 1]),
        (1, [1, 1, 1]),
        (1, [1, 1, 0]),
        (2, [0, 2, 2]),
        (3, [2, 2, 2]),
        (3, [2, 2, 1]),
        (3, [2, 2, 3]),
    ]
    for person in people:
        person.context.close()


def test_in_a_crowd_a_late_report_is_not_sent(browser: Browser, asking: Asking) -> None:
    """Until half a minute after the moment in the last look, it may be; then nothing is left of it."""
    asked = in_a_crowd(question(LOUD, MOODS, rounds=ROUNDS))
    context = browser.new_context()
    page = asking.page(context, asked, relays=["https://relay.example/gateways/study"])
    offered(page, asked.to_bytes().decode())
    bodies = posted(page)
    for seconds, outcome in ((asked.round_seconds + 100, "not yet"), (100, "kept")):
        asking.clock.now = asked.first_round - seconds
        asking.at(page)
        force(page, asked, 2)
        assert page.evaluate("client.answer(2)") == outcome
    due = page.evaluate("client.due()")
    assert asked.begins(3) - asked.look_seconds < due < asked.begins(3)
    for later, outcome, kept in ((29, "kept", {"ledger", asked.id}), (31, "done", {"ledger"})):
        page.evaluate("now => { window.now = now }", due + later)
        assert page.evaluate("client.answer(1)") == outcome
        assert set(page.evaluate(KEPT)) == kept
    assert sent(page) == "nothing"
    assert bodies == []
    context.close()


def offered(page: Page, text: str) -> str:
    """Let the collector have this document, whatever it is; its id."""
    name = hashlib.sha256(text.encode()).hexdigest()
    headers = {"access-control-allow-origin": "*"}
    page.route(f"**/campaigns/{name}", lambda route: route.fulfill(body=text, headers=headers))
    return name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"looks":3', '"looks":1'),
        ('"looks":3', '"looks":1000000000'),
        ('"looks":3', '"looks":"3"'),
        ('"high":3', '"high":300'),
        ('"type":"integer-range"', '"type":"path"'),
        (IN_A_LOOK, f'"of":{canonical(MOODS.to_json()).decode()}'),
        (IN_A_LOOK, f'"of":{canonical(VISIT.to_json()).decode()}'),
    ],
)
def test_hostile_campaigns_are_refused_before_anything_is_kept(
    browser: Browser, asking: Asking, old: str, new: str
) -> None:
    """But for the refusal. A part of the client that is not loaded is not one."""
    asked = asking.ask(question(about(MOODS, 2.0), MOODS))
    text = asked.to_bytes().decode()
    assert text.count(old) == 1
    asking.clock.now = asked.first_round - 100
    context = browser.new_context()
    page = asking.page(context, asked)
    name = offered(page, text.replace(old, new))
    hostile = f"made('{name}', {{ eps: 4 }})"
    page.route("**/views-*.js", lambda route: route.abort())
    assert "cannot be loaded" in refusal(page, f"{hostile}.answer(2)")
    assert page.evaluate(KEPT) == {}
    page.unroute("**/views-*.js")
    asking.load(page, asked)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    for call in ("answer(2)", "answer([1, 2, 3])", "used()"):
        assert refusal(page, f"{hostile}.{call}") in (
            "the campaign is not valid",
            "this client does not know the encoding",
        )
    assert sum(url.endswith(name) for url in urls) == 1
    kept = {key: json.loads(value) for key, value in page.evaluate(KEPT).items()}
    assert kept.keys() == {"ledger", name}
    assert kept["ledger"] == {"accounts": {}}
    assert kept[name].keys() == {"campaign", "refused", "page"}
    assert kept[name]["campaign"] == ""
    context.close()
