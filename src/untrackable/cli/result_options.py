"""What a command does with its result: words or `--json`, and the files of `--export`, `--plot` and `--html`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from untrackable.cli.new_file import PICTURES, TABLES, NewFile
from untrackable.cli.terminal import echo, print_json, write_page

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FILES = {
    "plot": (NewFile(*PICTURES, extra="plots"), "Write a picture: .svg, .pdf or .png."),
    "export": (NewFile(*TABLES), "Write a table: .csv, .parquet, .arrow or .json."),
    "html": (NewFile(extra="plots"), "Write a page with charts."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOutput:
    """Where a result goes, as the options say."""

    as_json: bool
    export: Path | None = None
    plot: Path | None = None
    html: Path | None = None

    def give(
        self,
        *,
        words: Callable[[], object],
        data: Callable[[], Any],
        columns: Callable[[], Mapping[str, Any]] | None = None,
        draw: Callable[[Path], object] | None = None,
        page: Callable[[], str] | None = None,
        export: Callable[[Path], object] | None = None,
    ) -> None:
        """Write the files that were asked for, and print `data` as JSON or else say the `words`.

        `columns` is the table and `draw` writes the picture. `export` writes the table in place of `columns`. A
        file that cannot be written is an error after the result was shown, so that no work is lost.
        """
        from untrackable.display.table_file import write_table
        from untrackable.errors import ReportFileError

        ways: dict[str, Callable[[Path], object]] = {}
        if columns is not None:
            ways["export"] = lambda path: write_table(path, columns())
        if export is not None:
            ways["export"] = export
        if draw is not None:
            ways["plot"] = draw
        if page is not None:
            ways["html"] = lambda path: write_page(path, page())
        written, problems = [], []
        for name, write in ways.items():
            path: Path | None = getattr(self, name)
            if path is None:
                continue
            try:
                write(path)
            except OSError as error:
                problems.append(f"cannot write {path}: {error.strerror or error}")
            except (ReportFileError, click.ClickException) as error:
                problems.append(str(error))
            else:
                written.append(path)
        if self.as_json:
            print_json(data())
        else:
            words()
            for path in written:
                echo(f"wrote {path}")
        if problems:
            raise click.ClickException("; ".join(problems))


def result_options(
    *files: Literal["export", "plot", "html"],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --json and the options for these files. The command gets them as its argument `output`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, as_json: bool, **options: Any) -> Any:
            paths = {name: options.pop(name) for name in files}
            return command(*args, output=ResultOutput(as_json=as_json, **paths), **options)

        made: Callable[..., Any] = JSON(run)
        for name, (kind, help) in _FILES.items():
            if name in files:
                made = click.option(f"--{name}", type=kind, metavar="FILE", help=help)(made)
        return made

    return add
