"""A web site with visits of three seconds, through a relay that holds, to a collector; both are killed."""

import asyncio
import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Template

import pytest
from playwright.async_api import Page, async_playwright

from tests.browser.conftest import application
from tests.browser.test_refusals import KEPT
from tests.browsers import SWITCHES, executable
from tests.relay.numbered_people import EPS, ShortRounds
from untrackable.collector import browser as browser_client

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PEOPLE, VISIT = 100, 3.0
SITE = Template("""<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>A site</title>
<script type="module">
  import { Client, takePart } from "$client";
  const number = +new URL(location).searchParams.get("visitor");
  const options = { server: "$collector", policy: { eps: $eps, relays: ["$relay"] }, consent: () => true };
  const campaign = "$campaign";
  window.joins = async () => {
    const earlier = (seconds) => new Client({ ...options, campaign, clock: () => Date.now() / 1000 - seconds });
    await earlier(2000).answer(number);
    return await earlier(1000).answer(number);
  };
  if (!location.hash) takePart({ ...options, answers: { [campaign]: number } });
</script>
""")
"""The page of the site. Visitors say who they are, so that everybody gives their own number as the answer.

A first page (#joins) is two visits of an earlier time: people who are new to a site join with a later visit.
"""


Came = dict[int, bool]
"""For each person, whether there was a whole visit in the round of their turn."""


async def visits(study: ShortRounds, site: str) -> Came:
    """Everybody has joined before the first round, and comes twice in each round, as far as the machine is fast."""
    few, length = asyncio.Semaphore(6), study.asked.round_seconds
    pages: dict[int, Page] = {}
    turns: dict[int, int] = {}
    came = dict.fromkeys(range(PEOPLE), False)

    async def join(number: int) -> None:
        async with few:
            context = await browser.new_context()
            page = pages[number] = await context.new_page()
            await page.goto(f"{site}?visitor={number}#joins")
            while await page.evaluate("typeof joins") != "function":  # The collector was away.
                await page.reload()
            assert await page.evaluate("joins()") == "kept"
            turns[number] = json.loads((await page.evaluate(f"({KEPT})()"))[study.asked.id])["turn"]
            await page.goto("about:blank")

    async def come(number: int) -> None:
        begin, end = (study.asked.begins(turns[number] + each) for each in (0, 1))
        for half in range(2 * len(study.numbers)):
            moment = study.asked.first_round + length * (half + 0.5 * secrets.randbelow(1000) / 1000) / 2
            await asyncio.sleep(max(0.0, moment - time.time()))
            await pages[number].goto(f"{site}?visitor={number}")
            whole = begin <= time.time() <= end - VISIT
            await asyncio.sleep(VISIT)
            await pages[number].goto("about:blank")
            came[number] |= whole and time.time() < end

    await asyncio.to_thread(study.await_start)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=SWITCHES)
        await asyncio.gather(*map(join, range(PEOPLE)))
        await asyncio.gather(*map(come, range(PEOPLE)))
        await browser.close()
    return came


def test_every_turn_of_people_who_came_is_counted_once(tmp_path: Path) -> None:
    study = ShortRounds.begin_in(24, tmp_path, seconds=12, rounds=3, delay=3)
    name = next(name for name in browser_client.files() if name.startswith("untrackable-"))
    page = SITE.substitute(
        client=f"{study.collector}/client/{name}",
        collector=study.collector,
        relay=study.relay,
        campaign=study.asked.id,
        eps=EPS,
    )
    with application(page) as address, ThreadPoolExecutor(1) as visiting:
        visited = visiting.submit(asyncio.run, visits(study, address))
        study.go_on_with_kills(visited.result)
    came, counted = [number for number, whole in visited.result().items() if whole], study.counted()
    assert len(set(counted)) == len(counted)
    assert len(set(counted).intersection(came)) >= 0.99 * len(came)
    assert len(came) > PEOPLE / 2
