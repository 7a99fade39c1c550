"""What must hold for every chart: nothing is cut off, no text hides another, all series are seen and named."""

import io

import numpy as np
from PIL import Image
from playwright.sync_api import Page

FAULTS = """() => [...document.querySelectorAll('.chart')].flatMap(chart => {
    const found = [], svg = chart.querySelector('svg.marks'), box = svg.getBoundingClientRect();
    const page = chart.getBoundingClientRect();
    const within = (a, b) =>
        a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    if (!within(box, page) || page.right > innerWidth) found.push('wider than the page');
    const texts = [...svg.querySelectorAll('text')]
        .map(text => [text.textContent, text.getBoundingClientRect(), text])
        .filter(([said, { width }, text]) => said && width && getComputedStyle(text).opacity != 0);
    for (const [said, seen] of texts) {
        if (!within(seen, box)) found.push('cut off: ' + said);
        if (said.includes('…')) found.push('shortened: ' + said);
    }
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 3) found.push(one + ' upon ' + other);
    }));
    const strokes = selector => [...svg.querySelectorAll(selector)].map(each => each.getAttribute('stroke'));
    const named = new Set(strokes('.role-legend-symbol path'));
    for (const stroke of strokes('.role-mark path, .role-mark line'))
        if (stroke && !['gray', 'none'].includes(stroke) && !named.has(stroke)) found.push('not named: ' + stroke);
    return found.map(fault => chart.id + ': ' + fault);
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
    """What is wrong with the charts of a page at its present width."""
    found: list[str] = page.evaluate(FAULTS)
    return found + [fault for chart in page.locator(".chart").all() for fault in _unseen(chart)]


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
