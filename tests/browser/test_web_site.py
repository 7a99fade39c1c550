"""The guide for web sites, run as it is written: what visitors read, and one sealed report that the relay holds."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.page_checks import serious_violations, too_wide
from tests.browser.test_refusals import KEPT
from tests.relay.sealed_senders import free_port, wait_until
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.gateway_keys import read_keys
from untrackable.oblivious.sealing import open_request
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.relay.held_reports import FIRST, HeldReports, Release

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "web-site.md"
WEEK = 7 * 86_400


@dataclass
class Site:
    """The folder in which the commands of the guide ran, its servers, and its campaign."""

    folder: Path
    servers: "subprocess.Popen[bytes]"
    page: str
    campaign: Campaign

    def end(self) -> None:
        """End all servers."""
        if self.servers.poll() is None:
            os.killpg(self.servers.pid, signal.SIGTERM)
            self.servers.wait(60)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Everything that the guide says, but for the ports: those of this machine may be taken."""
    script = "".join(re.findall("^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    ports = {port: str(free_port()) for port in ("8000", "8100", "8080")}
    for port, free in ports.items():
        assert port in script or port == "8000"
        script = re.sub(rf"\b{port}\b", free, script)
    script = script.replace("untrackable serve", f"untrackable serve --port {ports['8000']}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    known = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    with (tmp_path / "log").open("wb") as log:
        servers = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-e", "-c", f"{script}\nwait"],
            cwd=tmp_path,
            env=known,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    addresses = [f"http://localhost:{port}" for port in ports.values()]
    wait_until(lambda: servers.poll() is not None or all(map(answers, addresses)), 120)
    assert servers.poll() is None, (tmp_path / "log").read_text()
    made = Campaign.from_bytes((tmp_path / "campaign.json").read_bytes())
    found = Site(tmp_path, servers, addresses[2], made)
    try:
        yield found
    finally:
        found.end()


def answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code < 500
    except httpx.HTTPError:
        return False


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    yield found
    found.close()


def visit(site: Site, context: BrowserContext, moment: float, posts: list[str]) -> Page:
    """A visit to the page at some time."""
    page = context.new_page()
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.add_init_script(
        f"const now = Date.now.bind(Date); Date.now = () => now() + {1000 * (moment - time.time())}"
    )
    page.goto(site.page)
    return page


def test_the_guide_as_it_is_written(site: Site, context: BrowserContext, browser: Browser) -> None:
    asked, posts = site.campaign, list[str]()
    page = visit(site, context, asked.first_round - 8 * 86_400, posts)
    region = page.get_by_role("region", name="May we ask you once?")
    for words in (asked.question, "in one of 4 weeks, drawn in secret", "relay"):
        expect(region).to_contain_text(words)
    page.get_by_role("button", name="What is sent?").click()
    expect(page.get_by_role("group", name="What is sent")).to_be_visible()
    assert serious_violations(page) == []
    assert not too_wide(page)
    assert page.evaluate(KEPT) == {}
    page.get_by_role("button", name="Take part", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("Thank you. You take part.")
    page.close()

    visit(site, context, asked.first_round - 3600, posts).wait_for_timeout(1000)
    assert posts == []
    for round in range(1, 5):
        for _ in range(2):  # A second visit in the same round sends nothing more.
            page = visit(site, context, asked.begins(round) + 3600, posts)
            page.wait_for_timeout(1500)
            expect(page.get_by_role("region")).to_have_count(0)
            page.close()
    assert len(posts) == 1
    sent = posts[0]
    assert asked.relay is not None
    assert sent.startswith(f"{asked.relay.address}/releases/")

    others = browser.new_context()
    refusing = list[str]()
    page = visit(site, others, asked.first_round - 8 * 86_400, refusing)
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Nothing is sent, and you are not asked again.")
    for later in (-3600, 3600, WEEK + 3600):
        visit(site, others, asked.first_round + later, refusing).wait_for_timeout(300)
    assert refusing == []
    others.close()

    site.end()
    [release] = [
        Release("site", asked.leaves(round)) for round in range(1, 5) if sent.endswith(f"/{asked.leaves(round)}")
    ]
    held = HeldReports(site.folder / "held.db")
    assert held.counts() == {release: 1}
    [(_, sealed)] = held.some(release, FIRST, 2)
    held.close()
    opening = read_keys(site.folder / "gateway.keys").opening_keys()
    request = BinaryRequest.from_bytes(open_request(opening, sealed).content)
    assert request.path == f"/campaigns/{asked.id}/reports".encode()
    [number] = wire.of(asked.mechanism).decode(request.content).rounds.tolist()
    assert asked.leaves(number) == release.time
    assert time.time() < asked.begins(2), "the clock of the servers is the machine's"
