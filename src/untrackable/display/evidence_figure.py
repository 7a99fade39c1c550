"""An audit of recorded reports, as a picture."""

from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.display.evidence_table import taken_for_one
from untrackable.display.figure_style import panels
from untrackable.display.file_audit_words import parts
from untrackable.display.picture import Picture
from untrackable.display.share_bars import Bar, BarWords, bars_height, draw_bars


def file_audit_picture(found: FileAudit) -> Picture:
    """How often two windows were taken for those of one person. If bars are equally long, this attack failed."""
    bars = [
        Bar(f"{whose}, by {by}", share.sampled, share.lower, share.upper, whose == "one person")
        for by, whose, share in taken_for_one(found)
    ]
    title = f"How often two {parts(found)} of {found.people:,} people were taken for those of one person"
    figure, (panel,) = panels(bars_height(len(bars)))
    draw_bars(
        panel,
        bars,
        BarWords(
            title,
            f"{parts(found)} of one person: long bars mean that people can be followed",
            f"{parts(found)} of two people",
            f"share (sampled) and its {100 * found.level:.12g} % interval",
        ),
        axis="share of pairs",
    )
    return Picture(figure, title)
