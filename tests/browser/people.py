"""People with browsers: pages of an application that embeds the client, and what the collector has from them."""

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Page, Request

from tests.browser.drawn_turns import key_of
from tests.collector.servers import Clock
from untrackable.collector import browser
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.store import Store
from untrackable.protocol.campaign import Campaign

FORCED = """key => {
    const random = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = bytes => {
        if (bytes.length != 32) return random(bytes);
        bytes.set(key);
        crypto.getRandomValues = random;
        return bytes;
    };
}"""
"""Lets the next 32 random bytes of a page be these."""
LOADED = """async ([server, file, integrity]) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "modulepreload", href: file, integrity, crossOrigin: "" });
    document.head.append(link);
    const { Client, allow } = await import(file);
    const wait = window.setTimeout.bind(window);
    window.setTimeout = (work, ms) => wait(work, ms / 200); // Retries follow soon.
    const limit = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = ms => limit(window.patience ?? ms);
    Object.assign(window, { allow, made: (campaign, policy, more) => new Client({
        server, campaign, policy, consent: () => true, clock: () => window.now, ...more,
    }) });
}"""
"""Embeds the client as the snippet does, with a clock that tests set."""


@dataclass
class Asking:
    """A collector with a campaign, and an application of another origin."""

    store: Store
    clock: Clock
    server: str
    application: str
    complaints: list[str] = field(default_factory=list)

    def ask(self, campaign: Campaign) -> Campaign:
        """Add a campaign to the collector."""
        create_campaign(self.store, campaign.to_bytes(), published=True)
        return campaign

    def page(self, context: BrowserContext, campaign: Campaign, **policy: Any) -> Page:
        """A page of the application, with a client as `client`."""
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.load(page, campaign, **policy)
        return page

    def load(self, page: Page, campaign: Campaign, **policy: Any) -> None:
        """Load the application, or load it again."""
        page.goto(self.application)
        name, content = next(item for item in browser.files().items() if item[0].startswith("untrackable-"))
        address = f"{self.server}/client/{name}"
        page.evaluate(LOADED, [self.server, address, browser.integrity(content)])
        limits = {"eps": campaign.guarantee.eps, **policy}
        self.at(page)
        page.evaluate("([id, policy]) => { window.client = window.made(id, policy) }", [campaign.id, limits])

    def at(self, *pages: Page) -> None:
        """Set the clocks of pages to the collector's."""
        for page in pages:
            page.evaluate("now => { window.now = now }", self.clock.now)

    def join(self, campaign: Campaign, *pages: Page, turn: int = 0) -> None:
        """Let clients remember a time before the campaign, and join just before it; with this turn, if given."""
        for seconds, outcome in ((campaign.round_seconds + 100, "not yet"), (100, "kept")):
            self.clock.now = campaign.first_round - seconds
            self.at(*pages)
            for page in pages:
                if turn:
                    force(page, campaign, turn)
                assert page.evaluate("client.answer('page 3')") == outcome

    def late_in(self, campaign: Campaign, round: int, *pages: Page) -> None:
        """Let it be just before the end of a round, when its sending time has passed for certain."""
        self.clock.now = campaign.begins(round + 1) - 1.0
        self.at(*pages)

    def counted(self, campaign: Campaign, round: int) -> int:
        """Close a round, and say how many reports it has."""
        close_round(self.store, campaign, round)
        return next(each.reports or 0 for each in self.store.rounds(campaign.id) if each.number == round)


def force(page: Page, campaign: Campaign, turn: int | None) -> None:
    """Let the next client draw this turn, or none."""
    page.evaluate(FORCED, list(key_of(campaign, turn)))


def refusal(page: Page, script: str) -> str:
    """The words with which the client refuses something."""
    found = page.evaluate(
        f"async () => {{ try {{ await ({script}); return '' }} catch (error) {{ return error.message }} }}"
    )
    return str(found)


def posted(page: Page) -> list[bytes | None]:
    """The bodies that a page sends from now on."""
    bodies: list[bytes | None] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            bodies.append(request.post_data_buffer)

    page.on("request", note)
    return bodies
