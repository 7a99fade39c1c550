"""A person in a real browser answers campaigns that rely on a crowd, through a relay that is its own process."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route

from tests.browser.conftest import application
from tests.browser.people import LOADED, force, refusal
from tests.browser.questions import in_a_crowd, question
from tests.browser.test_refusals import KEPT
from tests.collector.servers import process
from tests.collector.test_faults import stored
from tests.relay.gateways import relay_process
from tests.test_deployment import needs_nginx, proxied
from untrackable.client.client import GRACE
from untrackable.collector import browser as browser_client
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.sealing import SEALED_LENGTH
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.relay.held_reports import HeldReports

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

DAY = 86_400
DELAY = 60


@dataclass
class Study:
    """A collector and a relay, as processes, and a page of an application."""

    page: Page
    collector: str
    relay: str
    url: str
    keys: list[dict[str, Any]]
    posts: list[tuple[str, bytes | None]]
    asked: list[str]

    def load(self, address: str) -> None:
        """Load the application, or load it again."""
        name, content = next(item for item in browser_client.files().items() if item[0].startswith("untrackable-"))
        file = f"{self.collector}/client/{name}"
        self.page.goto(address)
        self.page.evaluate(LOADED, [self.collector, file, browser_client.integrity(content)])

    def campaign(self, keys: list[dict[str, Any]] | None = None, *, held: bool = False) -> Campaign:
        """A campaign whose first round is on. It lists these keys, by default those of the gateway."""
        relay = {"relay": {"address": self.relay, "delay": DELAY}} if held else {}
        gateway = Gateway.from_json({"keys": keys or self.keys, **relay})
        found = in_a_crowd(question(first_round=int(time.time()) - 40_000, round_seconds=DAY), gateway)
        store = open_store(self.url)
        create_campaign(store, found.to_bytes(), published=True)
        store.close()
        return found

    def use(self, asked: Campaign, **policy: object) -> None:
        """Let `client` be one for this campaign, a while before it begins."""
        self.page.evaluate(
            "([id, policy, now]) => { window.now = now; window.client = window.made(id, policy) }",
            [asked.id, {"eps": 2, "relays": [self.relay], **policy}, asked.first_round - DAY - 100],
        )

    def join(self, asked: Campaign) -> None:
        """Join it with a turn in its first round."""
        self.use(asked)
        assert self.page.evaluate("client.answer('page 3')") == "not yet"
        self.page.evaluate("now => { window.now = now }", asked.first_round - 100)
        force(self.page, asked, 1)
        assert self.page.evaluate("client.answer('page 3')") == "kept"

    def at_its_moment(self, later: float = 0.0) -> None:
        """Let it be the moment at which the client sends, or later."""
        self.page.evaluate("async later => { window.now = await client.due() + later }", later)

    def sent(self) -> str:
        return str(self.page.evaluate("client.send()"))

    def reports(self) -> int:
        """The number of reports that the collector has."""
        store = open_store(self.url)
        found = stored(store)
        store.close()
        return len(found)


@pytest.fixture
def study(browser: Browser, tmp_path: Path) -> Iterator[Study]:
    keys = GatewayKeys().with_list(2, 30)
    write_keys(tmp_path / "gateway.keys", keys)
    listed = keys.public_list(1)["keys"]
    url = f"sqlite:///{tmp_path}/x.db"
    open_store(url).close()
    with (
        process(url, "--gateway-keys", str(tmp_path / "gateway.keys"), log=tmp_path / "log") as collector,
        relay_process(
            *("--gateway", f"study={collector.address}", "--hold-in", str(tmp_path / "held.db")),
            *("--release-every", "1", "--release-ahead", "1"),
            log=tmp_path / "relay-log",
        ) as relay,
        application() as page_at,
        opened(browser) as page,
    ):
        posts: list[tuple[str, bytes | None]] = []
        asked: list[str] = []

        def note(request: Request) -> None:
            asked.append(request.url)
            if request.method == "POST":
                posts.append((request.url, request.post_data_buffer))

        page.on("request", note)
        found = Study(page, collector.address, f"{relay.address}/gateways/study", url, listed, posts, asked)
        found.load(page_at)
        yield found
        assert relay.end() == 0
        assert collector.end() == 0
    assert (tmp_path / "relay-log").read_bytes() == b""


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(ignore_https_errors=True)  # Certificates of tests are nobody's.
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
        expected = ("Failed to load resource", "Failed to find a valid digest")
        assert [each for each in complaints if not each.startswith(expected)] == []
    finally:
        context.close()


@needs_nginx
def test_a_report_goes_through_the_documented_proxy_of_a_relay(study: Study, tmp_path: Path) -> None:
    """Browsers ask first whether a page may send it, and the relay answers that by headers of the question."""
    folder, asked = tmp_path / "nginx", study.campaign()
    folder.mkdir()
    behind = urlsplit(study.relay).netloc
    with proxied(folder, behind, {}, "relay-nginx.conf") as port:
        study.relay = f"https://localhost:{port}/gateways/study"
        study.join(asked)
        study.at_its_moment()
        assert study.sent() == "accepted"
        (posted,) = study.posts
        assert posted[0] == f"https://localhost:{port}/gateways/study"
    assert study.reports() == 1
    assert (folder / "said").read_bytes() == b""


def test_a_report_goes_through_the_relay_and_never_directly(study: Study) -> None:
    asked, page = study.campaign(), study.page
    # Without a relay, or with the collector as one, nothing is joined.
    for relays, words in (([], "the policy names none"), ([f"{study.collector}/x"], "must not be the collector")):
        study.use(asked, relays=relays)
        assert words in refusal(page, "client.answer('page 3')")
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id}  # Why it was refused, and no account.
    assert study.posts == []

    study.join(asked)
    study.asked.clear()
    study.use(asked, relays=[study.relay, "https://other.example"])
    kept = page.evaluate(KEPT)
    assert page.evaluate("client.answer('page 3')") == "kept"
    assert page.evaluate(KEPT) == kept  # The person did not allow the other relay.
    study.use(asked)
    assert study.sent() == "nothing"
    assert study.asked == []  # Before its turn, not even the part for crowds is loaded.
    study.at_its_moment()
    assert "through a relay only" in refusal(page, "client.report()")
    assert study.posts == []
    study.at_its_moment(GRACE - 1)
    assert study.sent() == "accepted"
    assert study.sent() == "nothing"
    assert study.reports() == 1
    assert [(url, len(body or b"")) for url, body in study.posts] == [(study.relay, SEALED_LENGTH)]
    known = (f"{study.collector}/client/crowd-", study.relay)
    assert all(each.startswith(known) for each in study.asked)


def test_a_moment_that_passed_is_not_made_up_for(study: Study) -> None:
    """A report that leaves with a visit could be told from its time, by a collector that knows who visited."""
    study.join(study.campaign())
    study.at_its_moment(GRACE + 1)
    assert study.sent() == "nothing"
    assert study.page.evaluate("client.due()") is None
    assert study.posts == []


def test_without_a_network_at_its_moment_a_report_is_given_up(study: Study) -> None:
    study.join(study.campaign())
    study.at_its_moment()
    study.page.context.set_offline(True)
    assert study.sent() == "offline"
    study.page.context.set_offline(False)
    assert study.sent() == "nothing"
    assert study.posts == []


def test_a_key_that_the_gateway_does_not_have(study: Study) -> None:
    """The next listed key is used for the same report."""
    asked = study.campaign([_lost(study), study.keys[1]])
    study.join(asked)
    study.at_its_moment()
    assert study.sent() == "accepted"
    assert [body[0] for _, body in study.posts if body] == [0x63, 1]
    assert study.reports() == 1


def test_a_report_that_nobody_can_open_is_given_up(study: Study) -> None:
    study.join(study.campaign([_lost(study)]))
    study.at_its_moment()
    assert study.sent() == "given up"
    assert [url for url, _ in study.posts] == [study.relay] * 6
    assert len({body for _, body in study.posts}) == 6


@pytest.mark.parametrize("hours", [0, 7, 23.9])
def test_a_relay_that_holds_takes_a_report_with_any_visit_of_the_round(
    study: Study, tmp_path: Path, hours: float
) -> None:
    asked = study.campaign(held=True)
    study.join(asked)
    assert study.page.evaluate("client.due()") == asked.first_round
    study.at_its_moment(3600 * hours)
    told = study.page.evaluate(
        "(async () => { const told = []; await client.run(each => told.push(each)); return told })()"
    )
    assert told == ["accepted"]
    assert study.sent() == "nothing"
    at = asked.begins(2) + DELAY
    assert [(url, len(body or b"")) for url, body in study.posts] == [
        (f"{study.relay}/releases/{at}", SEALED_LENGTH)
    ]
    assert held_in(tmp_path) == 1


def test_what_the_relay_did_not_take_is_sent_with_a_later_visit(study: Study, tmp_path: Path) -> None:
    asked, page = study.campaign(held=True), study.page
    study.join(asked)
    study.at_its_moment(100)
    page.context.set_offline(True)
    assert study.sent() == "offline"
    page.context.set_offline(False)
    page.route("**/releases/*", lambda route: route.abort())
    assert study.sent() == "later"
    page.unroute("**/releases/*")
    tried = len(study.posts)
    assert tried > 1
    study.load(page.url)
    study.use(asked)
    page.evaluate("now => { window.now = now }", asked.first_round + 50_000)
    assert study.sent() == "accepted"
    assert (len(study.posts), held_in(tmp_path)) == (tried + 1, 1)
    study.load(page.url)
    study.use(asked)
    page.evaluate("now => { window.now = now }", asked.first_round + 60_000)
    assert (study.sent(), page.evaluate("client.due()")) == ("nothing", None)


def test_without_consent_a_run_ends_until_the_person_agrees(study: Study, tmp_path: Path) -> None:
    """It does not ask again and again."""
    asked = study.campaign(held=True)
    study.join(asked)
    study.at_its_moment(100)
    told = study.page.evaluate(
        """async ([id, relay]) => {
            const told = [];
            const note = outcome => {
                if (told.push(outcome) > 5) throw new Error("it spins");
            };
            let agreed = false;
            const client = made(id, { eps: 2, relays: [relay] }, { consent: () => agreed });
            await client.run(note);
            agreed = true;
            await client.run(note);
            return told;
        }""",
        [asked.id, study.relay],
    )
    assert told == ["no consent", "accepted"]
    assert held_in(tmp_path) == 1


def test_after_the_round_nothing_is_sent_to_a_relay_that_holds(study: Study, tmp_path: Path) -> None:
    asked, page = study.campaign(held=True), study.page
    study.join(asked)
    study.at_its_moment(100)
    page.route("**/releases/*", lambda route: route.abort())
    assert study.sent() == "later"
    page.unroute("**/releases/*")
    page.evaluate("now => { window.now = now }", asked.begins(2))
    assert study.sent() == "nothing"
    assert held_in(tmp_path) == 0


def test_the_policy_names_the_relay_of_the_campaign(study: Study) -> None:
    asked = study.campaign(held=True)
    study.use(asked, relays=["https://other.example"])
    assert "and the policy does not name it" in refusal(study.page, "client.answer('page 3')")
    assert study.posts == []


def held_in(folder: Path) -> int:
    """The number of reports in the file of the running relay, read from a copy."""
    for path in folder.glob("held.db*"):
        shutil.copy(path, folder / path.name.replace("held", "copy"))
    with contextlib.closing(HeldReports(folder / "copy.db")) as held:
        return sum(held.counts().values())


def _lost(study: Study) -> dict[str, Any]:
    """A key that the gateway does not have."""
    return {"config": f"63{study.keys[0]['config'][2:]}", "first_round": 1}


def test_a_page_that_is_loaded_again_sends_the_same_report(study: Study) -> None:
    """Within minutes, sealed anew, and the collector counts it once."""
    asked, page = study.campaign(), study.page
    study.join(asked)
    study.at_its_moment()
    moment = page.evaluate("window.now")
    page.evaluate("() => { window.fetch = () => new Promise(() => {}); window.sending = client.send(); }")
    page.wait_for_function("async () => (await navigator.locks.query()).held.length == 1")
    page.wait_for_function(f"async () => /\"tries\":1/.test((await ({KEPT})())['{asked.id}'])")
    study.load(page.url)
    study.use(asked)
    page.evaluate("now => { window.now = now }", moment + 200)
    assert study.sent() == "accepted"
    assert study.reports() == 1
    assert len(study.posts) == 1


def test_a_browser_without_the_curve_or_the_part_for_crowds(study: Study) -> None:
    asked, page = study.campaign(), study.page
    study.use(asked)
    page.evaluate(
        """() => {
            const generate = SubtleCrypto.prototype.generateKey;
            SubtleCrypto.prototype.generateKey = function (kind, ...rest) {
                if (kind.name == "X25519") throw new DOMException("unknown", "NotSupportedError");
                return generate.call(this, kind, ...rest);
            };
        }"""
    )
    assert "this browser has no X25519" in refusal(page, "client.answer('page 3')")
    kept = page.evaluate(KEPT)
    assert kept.keys() == {"ledger", asked.id}
    study.load(page.url)

    def changed(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, body=found.body() + b"\n")

    page.route("**/crowd-*.js", changed)
    study.use(asked, eps=3)
    assert "a part of the client cannot be loaded, or was changed" in refusal(page, "client.answer('page 3')")
    assert page.evaluate(KEPT) == kept
    assert study.posts == []
