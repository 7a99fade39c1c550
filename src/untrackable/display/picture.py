"""A picture of a result, which a notebook shows and which is written as SVG, PDF or PNG."""

import struct
import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from untrackable import checks
from untrackable.display.charts import pictured
from untrackable.display.view import Chart, charts_of
from untrackable.extras import extra
from untrackable.reports.files import whole_file

with extra("plots"):
    import vl_convert

PICTURES = (".png", ".svg", ".pdf")
"""Endings of the pictures that can be written."""
_PIXELS = 2
"""How many pixels of a PNG are one of the drawing, in each direction."""


class Picture:
    """A picture and the words for those who cannot see it. `chart` is Altair's, for changes of one's own."""

    __slots__ = ("chart", "words")

    def __init__(self, chart: Any, words: str) -> None:
        self.chart, self.words = chart, words

    @classmethod
    def of(cls, charts: Sequence[Chart]) -> "Picture":
        """Charts below each other. Their titles are the words."""
        drawn = [chart for chart in charts if not chart.detailed]
        return cls(pictured(drawn), "; ".join(chart.title for chart in drawn))

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def _repr_svg_(self) -> str:
        """The picture in a notebook."""
        svg: str = vl_convert.vegalite_to_svg(self.chart.to_dict())
        start, inside = svg.split(">", 1)
        return f'{start} role="img"><title>{escape(self.words)}</title>{inside}'

    def content(self, ending: str) -> bytes:
        """The file with this ending, one of .png, .svg and .pdf.

        The same numbers give the same bytes, but for the order of the parts of a PDF.
        """
        checks.choice("ending", ending, PICTURES)
        svg = self._repr_svg_()
        if ending == ".svg":
            return svg.encode()
        if ending == ".pdf":
            return bytes(vl_convert.svg_to_pdf(svg))
        return _with_words(vl_convert.svg_to_png(svg, scale=_PIXELS), self.words)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the picture, whole or not at all. A file that exists is replaced only with `force`."""
        path = picture_path(path, force=force)
        content = self.content(path.suffix.lower())
        with whole_file(path) as file:
            file.write(content)
        return path


def _with_words(png: bytes, words: str) -> bytes:
    """A PNG that says what it shows in an international text chunk. Its pixels are packed well, not fast."""
    signature, at, chunks = png[:8], 8, list[tuple[bytes, bytes]]()
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    before = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    text = b"Description\0\0\0\0\0" + words.encode()
    written = [*before, (b"iTXt", text), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    return signature + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in written
    )


def picture_of(result: object, top: int) -> Picture:
    """The picture of a result. If it has a bar for each value or string, there are at most `top` of them."""
    return Picture.of(charts_of(result, top))


def picture_path(path: str | Path, *, force: bool = False) -> Path:
    """A path that a picture can be written to, or an error that says why it cannot."""
    path = Path(path)
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"the name of a picture must end in one of {', '.join(PICTURES)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or give force=True to replace it")
    return path
