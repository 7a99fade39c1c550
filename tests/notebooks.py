"""The example notebooks: runs them, and compares what they show with what is stored in them.

    python -m tests.notebooks

stores what they show now. A cell shows what it prints, and the value of its last line as Jupyter shows it. There is
no kernel, so that running a notebook takes no longer than its code.
"""

import ast
import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
_SHOWN_AS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def read(path: Path) -> NotebookNode:
    """A notebook. It must be well-formed."""
    found: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(found)
    return found


def executed(notebook: NotebookNode) -> NotebookNode:
    """The same notebook with what its cells show when they are run one after the other, in an empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(notebook.cells, start=1):
            name = {"id": f"cell-{number}"}
            if cell.cell_type == "markdown":
                cells.append(v4.new_markdown_cell(cell.source, **name))  # type: ignore[no-untyped-call]
                continue
            count += 1
            outputs = list(_shown(cell.source, names, count))
            cells.append(
                v4.new_code_cell(cell.source, execution_count=count, outputs=outputs, **name)  # type: ignore[no-untyped-call]
            )
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made: NotebookNode = v4.new_notebook(cells=cells, metadata=about)  # type: ignore[no-untyped-call]
    return made


def _shown(source: str, names: dict[str, Any], count: int) -> Iterator[NotebookNode]:
    """What a cell prints, and the value of its last line."""
    body = ast.parse(source)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(body, "<cell>", "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    if text := printed.getvalue():
        yield v4.new_output("stream", name="stdout", text=text)  # type: ignore[no-untyped-call]
    if value is not None:
        data = {kind: getattr(value, method)() for kind, method in _SHOWN_AS.items() if hasattr(value, method)}
        data["text/plain"] = repr(value)
        yield v4.new_output("execute_result", data=data, execution_count=count)  # type: ignore[no-untyped-call]


def words(notebook: NotebookNode) -> list[list[tuple[str, Any]]]:
    """What each cell shows, in words. Of pictures these are the letters, with every number that is written."""
    return [[part for output in cell.get("outputs", ()) for part in _words(output)] for cell in notebook.cells]


def _words(output: NotebookNode) -> Iterator[tuple[str, Any]]:
    if output.output_type == "stream":
        yield "printed", output.text
        return
    for kind, content in sorted(output.data.items()):
        yield kind, re.findall(r">([^<]+)</(?:text|title)>", content) if kind == "image/svg+xml" else content


def main() -> None:
    """Run all notebooks and store what they show."""
    for path in NOTEBOOKS:
        nbformat.write(executed(read(path)), path)  # type: ignore[no-untyped-call]
        sys.stderr.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
