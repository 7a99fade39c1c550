"""The browser of the tests: Debian's Chromium, which `make test` installs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one is the same browser without windows. It takes a tenth of the time."""


def executable() -> str:
    """The path of Chromium."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "there is no Chromium; make test installs it"
    return found


@contextmanager
def started() -> Iterator[Browser]:
    """A running Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=SWITCHES)
        try:
            yield browser
        finally:
            browser.close()
