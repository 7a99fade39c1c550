"""A picture of a result, which a notebook shows and which is written as SVG, PDF or PNG."""

import io
import warnings
from pathlib import Path
from typing import Any

from untrackable import checks
from untrackable.extras import extra
from untrackable.reports.atomic_file import whole_file

with extra("plots"):
    import matplotlib as mpl
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
"""Endings of the pictures that can be written."""
_PIXELS_PER_INCH = 200
_FILES: Any = {"svg.fonttype": "none", "svg.hashsalt": "untrackable", "pdf.fonttype": 42}
"""Letters stay letters, so that they can be searched and read aloud, and equal pictures are equal files."""


class Picture:
    """A picture and the words for those who cannot see it. `figure` is matplotlib's, for changes of one's own."""

    __slots__ = ("figure", "words")

    def __init__(self, figure: Figure, words: str) -> None:
        self.figure, self.words = figure, words

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def _repr_svg_(self) -> str:
        """The picture in a notebook."""
        text = self.content(".svg").decode()
        return text[text.index("<svg") :]

    def content(self, ending: str) -> bytes:
        """The file with this ending, one of .png, .svg and .pdf. The same numbers give the same bytes."""
        checks.choice("ending", ending, PICTURES)
        undated: dict[str, dict[str, str | None]] = {
            ".png": {"Software": None, "Description": self.words},
            ".svg": {"Date": None, "Creator": None, "Title": self.words},
            ".pdf": {"CreationDate": None, "Creator": None, "Producer": None, "Title": self.words},
        }
        file = io.BytesIO()
        with mpl.rc_context(_FILES), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # scripts that the font lacks are drawn as boxes
            self.figure.savefig(file, format=ending[1:], dpi=_PIXELS_PER_INCH, metadata=undated[ending])
        return file.getvalue()

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the picture, whole or not at all. A file that exists is replaced only with `force`."""
        path = picture_path(path, force=force)
        content = self.content(path.suffix.lower())
        with whole_file(path) as file:
            file.write(content)
        return path


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
