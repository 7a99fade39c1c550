"""The client for web pages as `untrackable audit-client` takes it: a factory of clients, each in a fresh storage.

`open_page` says on which page they live. A batch of clients is made at a time.
"""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

BATCH = 32
STREAMS = """async ([id, policy, value, begins, count]) => {
    const streams = [];
    for (let i = 0; i < count; i++) {
        await new Promise((done, failed) => {
            const deleting = indexedDB.deleteDatabase("untrackable");
            deleting.onsuccess = done;
            deleting.onerror = deleting.onblocked = failed;
        });
        window.now = begins[0] - 100;
        const client = made(id, policy), bodies = [];
        await client.answer(value);
        for (const end of begins.slice(1)) {
            window.now = end - 1;
            bodies.push([...await client.report()]);
        }
        streams.push(bodies);
    }
    return streams;
}"""
_opened: list[Any] = []
_made: dict[Any, list[list[int]]] = {}


def open_page(page: Page, campaign: Campaign, policy: dict[str, float]) -> None:
    """Let clients of this campaign live on a page with the functions of `people.LOADED`."""
    _opened[:] = [page, campaign, policy]
    _made.clear()


def make_client(value: int) -> Callable[[], int]:
    """A new client that holds this value, as a function that returns one report after another."""
    if not _made.get(value):
        page, campaign, policy = _opened
        begins = [campaign.begins(round) for round in range(1, (campaign.rounds or 0) + 2)]
        streams = page.evaluate(STREAMS, [campaign.id, policy, value, begins, BATCH])
        layout = wire.of(campaign.mechanism)
        _made[value] = [
            [int.from_bytes(layout.decode(bytes(body)).payloads.tobytes(), "little") for body in bodies]
            for bodies in streams
        ]
    reports = iter(_made[value].pop())
    return lambda: next(reports)
