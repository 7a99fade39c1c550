"""How results show themselves in notebooks: a line, words with a table, a picture, and columns for data tools.

The words and tables are those of the command line. They are in `display`, which is loaded only when somebody looks.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from untrackable import checks
from untrackable.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa


class ShownPicture(Protocol):
    """A picture that shows itself in a notebook: Altair's `chart`, and `words` for those who cannot see it."""

    chart: Any
    words: str

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write it as SVG, PDF or PNG, by the path's ending. A file that exists is replaced only with `force`."""


class NotebookView:
    """A result with a short `repr`, and words, a table and a picture in notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_display('view').view_of(self).title}>"

    def _repr_html_(self) -> str:
        view = _display("view")
        html: str = view.fragment(view.view_of(self))
        return html

    def plot(self, path: str | Path | None = None, *, force: bool = False, top: int = 20) -> ShownPicture:
        """A picture, which a notebook shows. With a `path`, it is also written there as SVG, PDF or PNG.

        The ending of the path chooses the format. A file that exists is replaced only with `force`. If the picture
        has a bar for each value or string, it has the first `top` of them.
        """
        top = checks.integer("top", top, low=1)
        if path is not None:
            _display("charts").picture_path(path, force=force)
        made: ShownPicture = _display("charts").picture_of(self, top)
        if path is not None:
            made.save(path, force=force)
        return made


class NotebookTable(NotebookView):
    """The same with the table of its numbers, for data tools."""

    __slots__ = ()

    def to_arrow(self) -> "pa.Table":
        """All rows of the result."""
        with extra("files"):
            import pyarrow as pa

        view = _display("view")
        return pa.table({name: view.arrow_array(column) for name, column in view.view_of(self).data().items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of `to_arrow` for any library that takes Arrow data: DuckDB, Polars, pandas and others."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """The table of `to_arrow`, which takes the options, as a pandas data frame, if pandas is installed."""
        try:
            importlib.import_module("pandas")
        except ImportError:
            raise ImportError("pandas is not installed: `pip install pandas`, or use to_arrow()") from None
        return self.to_arrow(**options).to_pandas()


def _display(module: str) -> Any:
    return importlib.import_module(f"untrackable.display.{module}")
