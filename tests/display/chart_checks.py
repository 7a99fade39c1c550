"""What must hold for every chart: nothing is cut off, no text hides another, all series are seen and named."""

import io

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.page_checks import drawing_faults

DRAWN = "[...document.querySelectorAll('.chart')].every(chart => chart.querySelector('svg[role=img]'))"
UNNAMED = """() => [...document.querySelectorAll('.chart')].flatMap(chart => {
    const strokes = selector => [...chart.querySelectorAll(selector)].map(each => each.getAttribute('stroke'));
    const named = new Set(strokes('.role-legend-symbol path'));
    const drawn = strokes('.role-mark path, .role-mark line').filter(stroke => stroke && stroke.startsWith('#'));
    const shortened = [...chart.querySelectorAll('text')].filter(({ textContent }) => textContent.includes('…'));
    return [
        ...drawn.filter(stroke => !named.has(stroke)).map(stroke => `${chart.id}: ${stroke} is not in the legend`),
        ...shortened.map(({ textContent }) => `${chart.id}: shortened: ${textContent}`),
    ];
})"""
SERIES = """chart => {
    const box = chart.querySelector('svg.marks').getBoundingClientRect();
    const { left, top, right, bottom } = chart.querySelector('.role-frame .background').getBoundingClientRect();
    const named = [...chart.querySelectorAll('.role-legend-symbol path')]
        .flatMap(each => [each.getAttribute('stroke'), each.getAttribute('fill')]);
    const seen = [left - box.left - 9, top - box.top - 9, right - box.left + 9, bottom - box.top + 9];
    return [seen, [...new Set(named)].filter(each => each?.startsWith("#"))];
}"""


def chart_faults(page: Page) -> list[str]:
    """What is wrong with the charts of a page at its present width, once they have taken it."""
    page.wait_for_function(DRAWN)
    for _ in range(20):
        if not (result := _faults(page)):
            break
        page.wait_for_timeout(100)
    return result


def _faults(page: Page) -> list[str]:
    unnamed: list[str] = page.evaluate(UNNAMED)
    hidden = [fault for chart in page.locator(".chart").all() for fault in _unseen(chart)]
    return drawing_faults(page) + unnamed + hidden


def _unseen(chart: object) -> list[str]:
    """Colours of the legend of which the drawing has hardly a pixel."""
    drawn = chart.locator("svg.marks")  # type: ignore[attr-defined]
    box, colours = chart.evaluate(SERIES)  # type: ignore[attr-defined]
    pixels = np.asarray(Image.open(io.BytesIO(drawn.screenshot())).convert("RGB").crop(box), dtype=int)
    faults = []
    for colour in colours:
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        seen = int((np.abs(pixels - wanted).max(axis=2) < 60).sum())
        if seen < 8:
            faults.append(f"{chart.get_attribute('id')}: {colour} is hidden")  # type: ignore[attr-defined]
    return faults


def opened(browser: Browser, width: int, scheme: str) -> tuple[Page, list[str]]:
    """A new page without a network, and all that it complains about."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        offline=True,
    )
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page, complaints
