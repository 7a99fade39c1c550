"""The strings that were decoded, as a picture."""

from untrackable.display.figure_style import panels
from untrackable.display.picture import Picture
from untrackable.display.share_bars import Bar, BarWords, bars_height, draw_bars
from untrackable.rappor_decode.decode_result import Decoded


def decoded_picture(decoded: Decoded, *, top: int = 20) -> Picture:
    """The shares of the strings that were chosen, with their intervals."""
    shown = decoded.candidates[:top]
    left_out = len(decoded.candidates) - len(shown)
    more = f"; the {len(shown)} largest estimates of {len(decoded.candidates):,} are drawn" if left_out else ""
    words = f"{len(decoded.found):,} of {decoded.listed:,} candidates found in {decoded.reports:,} reports{more}"
    figure, (panel,) = panels(bars_height(len(shown)))
    draw_bars(
        panel,
        [Bar(one.name, one.share, one.lower, one.upper, one.found) for one in shown],
        BarWords(
            words,
            "found: it passed the test (approximate)",
            "not found: it may be noise",
            f"estimate (sampled), and a {100 * decoded.level:g} % interval of each alone (approximate)",
        ),
    )
    return Picture(figure, words)
