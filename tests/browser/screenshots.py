"""Takes pictures of every page, for the documents: wide and narrow, light and dark. `make screenshots` runs it."""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from tests import browsers
from tests.browser.shown_pages import EVERYBODY, MANAGERS, shown, sign_in

FOLDER = Path(__file__).parent.parent.parent / "docs" / "figures" / "dashboard"
WIDTHS = {"desktop": 1100, "phone": 390}
OPENED = "() => document.querySelectorAll('.manage details').forEach(each => { each.open = true })"
LEFT_OUT = ("round",)
"""Pages that look like another one."""
PARTS = {"managed": "section.manage"}
"""Pages of which one part is new."""
TALLEST = 2000
"""Pages are cut off below this many pixels."""


def take(page: Page, name: str) -> None:
    """Pictures of the page as it is, in all four ways."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for kind, width in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 400})
            height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0) }")
            seen = page.locator(PARTS[name]).screenshot() if name in PARTS else page.screenshot()
            picture = Image.open(io.BytesIO(seen)).convert("RGB")
            picture.save(FOLDER / f"{name}-{kind}-{scheme}.webp", quality=35, method=6)


def answered(page: Page) -> None:
    """Answer on the demonstration's page, and wait for the report; once more if the turn is lost."""
    while not page.locator("#reports li").count():
        page.reload()
        page.check("#agree")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('Done.'), #status:has-text('sends no report')", timeout=150_000)
        if not page.locator("#reports li").count():
            page.wait_for_timeout(120_000)


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
                if name not in LEFT_OUT:
                    page.set_viewport_size({"width": WIDTHS["desktop"], "height": 700})
                    go(page, found)
                    if name == "answer":
                        answered(page)
                    if name in PARTS:
                        page.evaluate(OPENED)
                    take(page, name)


if __name__ == "__main__":
    main()
