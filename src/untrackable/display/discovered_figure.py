"""The strings that were discovered, as a picture."""

from untrackable.discovery.discovered import Discovered
from untrackable.display.figure_style import panels
from untrackable.display.picture import Picture
from untrackable.display.share_bars import Bar, BarWords, bars_height, draw_bars


def discovered_picture(discovered: Discovered, *, top: int = 20) -> Picture:
    """The shares of the strings that people hold, and then of leads, with intervals for all strings at once."""
    shown = discovered.best(top)
    certain = len(discovered.strings)
    left_out = certain + len(discovered.leads) - len(shown)
    more = f"; {left_out:,} more are not drawn" if left_out else ""
    strings = f"{certain:,} string{'' if certain == 1 else 's'} found in {discovered.n:,} reports"
    words = strings + _leads(len(discovered.leads)) + more
    figure, (panel,) = panels(bars_height(len(shown)))
    draw_bars(
        panel,
        [Bar(each.string, each.share, each.lower, each.upper, i < certain) for i, each in enumerate(shown)],
        BarWords(
            words,
            f"held by somebody, all of them, except with probability {discovered.alpha:g} (upper)",
            "a lead: it may be noise",
            f"estimate (sampled), and an interval for all strings at once, except with probability "
            f"{discovered.alpha:g} (upper; strings that share a bucket by chance add a little)",
        ),
    )
    return Picture(figure, words)


def _leads(count: int) -> str:
    return f", and {count:,} lead{'' if count == 1 else 's'}" if count else ""
