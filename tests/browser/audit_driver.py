"""The client for web pages as `untrackable audit-client` takes it: a factory of clients, each in a fresh storage.

A person's storage is wiped after each report, so that there is another one. `open_page` says on which page clients
live. A batch of them is made at a time.
"""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

BATCH = 32
STREAMS = """async ([id, policy, value, begins, seconds, count]) => {
    const streams = [];
    for (let i = 0; i < count; i++) {
        await new Promise((done, failed) => {
            const deleting = indexedDB.deleteDatabase("untrackable");
            deleting.onsuccess = done;
            deleting.onerror = deleting.onblocked = failed;
        });
        const client = made(id, policy);
        for (const early of [seconds, 0]) {
            window.now = begins - early - 1;
            await client.answer(value);
        }
        window.now = begins + seconds - 1;
        streams.push([...await client.report()]);
    }
    return streams;
}"""
_opened: list[Any] = []
_made: dict[Any, list[list[int]]] = {}


def open_page(page: Page, campaign: Campaign, policy: dict[str, float]) -> None:
    """Let clients of this campaign, which has one round, live on a page with the functions of `people.LOADED`."""
    _opened[:] = [page, campaign, policy]
    _made.clear()


def make_client(value: int) -> Callable[[], int]:
    """Somebody who holds this value, as a function that returns one report after another."""
    return lambda: _next(value)


def _next(value: int) -> int:
    page, campaign, policy = _opened
    if not _made.get(value):
        given = [campaign.id, policy, value, campaign.first_round, campaign.round_seconds, BATCH]
        _made[value] = page.evaluate(STREAMS, given)
    layout = wire.of(campaign.mechanism)
    return int.from_bytes(layout.decode(bytes(_made[value].pop())).payloads.tobytes(), "little")
