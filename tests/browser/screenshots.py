"""Takes the pictures of pages for the documents: wide and light, narrow and dark. `make screenshots` runs it."""

import io
import tempfile
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Page

from tests import browsers
from tests.browser.shown_pages import EVERYBODY, MANAGERS, shown, sign_in

FOLDER = Path(__file__).parent.parent.parent / "docs" / "figures" / "dashboard"
WAYS: tuple[tuple[str, int, Literal["light", "dark"]], ...] = (("desktop", 1100, "light"), ("phone", 390, "dark"))
"""The name, width in pixels and colours of each picture."""
OPENED = "() => document.querySelectorAll('.manage details').forEach(each => { each.open = true })"
SHOWN = ("campaigns", "campaign", "record", "numbers", "following", "new", "managed")
"""The pages that docs/dashboard.md shows."""
PARTS = {"managed": "section.manage"}
"""Pages of which one part is new."""
TALLEST = 2000
"""Pages are cut off below this many pixels."""


def take(page: Page, name: str) -> None:
    """Pictures of the page as it is, in both ways."""
    for kind, width, scheme in WAYS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 400})
        height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0) }")
        seen = page.locator(PARTS[name]).screenshot() if name in PARTS else page.screenshot()
        picture = Image.open(io.BytesIO(seen)).convert("RGB")
        picture.save(FOLDER / f"{name}-{kind}-{scheme}.webp", quality=35, method=6)


def main() -> None:
    """Take all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.webp"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, browsers.started() as browser, shown(Path(folder)) as found:
        for pages in (EVERYBODY, MANAGERS):
            page = browser.new_context().new_page()
            if pages is MANAGERS:
                sign_in(page, found)
            for name, go in pages.items():
                if name in SHOWN:
                    page.set_viewport_size({"width": WAYS[0][1], "height": 700})
                    go(page, found)
                    if name in PARTS:
                        page.evaluate(OPENED)
                    take(page, name)


if __name__ == "__main__":
    main()
