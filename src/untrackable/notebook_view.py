"""How results show themselves in notebooks: a short line, words with a table, and the table for data tools.

The words and tables are those of the command line. They are in `display`, which is loaded only when somebody looks.
"""

import importlib
from typing import TYPE_CHECKING, Any

from untrackable.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa


class NotebookView:
    """A result with a short `repr`, and words and a table in notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_views().title(self)}>"

    def _repr_html_(self) -> str:
        html: str = _views().fragment(self)
        return html


class NotebookTable(NotebookView):
    """The same with the table of its numbers, for data tools."""

    __slots__ = ()

    def to_arrow(self) -> "pa.Table":
        """All rows of the result."""
        with extra("files"):
            import pyarrow as pa

        return pa.table(_views().columns_of(self))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of `to_arrow` for any library that takes Arrow data: DuckDB, Polars, pandas and others."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The table of `to_arrow` as a pandas data frame, if pandas is installed."""
        return self.to_arrow().to_pandas()


def _views() -> Any:
    return importlib.import_module("untrackable.display.notebook_views")
