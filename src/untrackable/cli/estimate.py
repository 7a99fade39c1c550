"""`untrackable estimate`: from files of reports to frequencies with error bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.terminal import encoding_of, failing, print_json, print_sentences, progress
from untrackable.extras import require

if TYPE_CHECKING:
    from untrackable.answers.answer import Answer

_FORMATS, _EXPORTS = (".png", ".svg", ".pdf"), (".csv", ".parquet", ".arrow", ".json")
_FILE = click.Path(path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("files", type=_FILE, nargs=-1, required=True)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many values to show.")
@click.option("--candidates", type=_FILE, metavar="FILE", help="What people may hold, one a line.")
@click.option(
    "--consistent", is_flag=True, help="Also the nearest frequencies that are possible, which are biased."
)
@click.option("--beta", type=_SHARE, default=0.05, show_default=True, help="Probability that intervals miss.")
@click.option("--fdr", type=_SHARE, default=0.05, show_default=True, help="Share of false ones among those found.")
@click.option("--rounds", metavar="1-7,9", help="Only these rounds.")
@click.option("--round", "one", type=click.IntRange(min=1), help="The round of a file that does not say.")
@click.option("--mechanism", metavar="NAME", help="Which mechanism made the reports, if the file does not say.")
@click.option("--parameter", "-p", "parameters", multiple=True, metavar="KEY=VALUE", help="Of the mechanism.")
@click.option("--preset", metavar="NAME", help="Published parameters of the mechanism.")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@click.option("--plot", type=_OUT, metavar="FILE", help="Write a picture (.png, .svg, .pdf).")
@click.option(
    "--export", "out", type=_OUT, metavar="FILE", help="Write all values (.csv, .parquet, .arrow, .json)."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def estimate(
    files: tuple[Path, ...],
    top: int,
    candidates: Path | None,
    consistent: bool,
    beta: float,
    fdr: float,
    rounds: str | None,
    one: int | None,
    mechanism: str | None,
    parameters: tuple[str, ...],
    preset: str | None,
    encoding: str | None,
    plot: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Estimate how many people hold which value, from FILES of reports.

    FILES are Parquet, Arrow, CSV or NumPy, told apart by content; of several, reports are counted together. A file
    that `untrackable simulate` or the library wrote says how its reports were made, and so do the sums of a closed
    round that `untrackable export` wrote. A damaged or truncated file is an error, and nothing is estimated from
    what is left of it.

    Example: untrackable estimate reports.parquet --plot answer.png
    """
    _check("--plot", plot, _FORMATS)
    if plot is not None:
        require("plots")
    _check("--export", out, _EXPORTS)
    if mechanism is None and (parameters or preset):
        raise click.UsageError("--parameter and --preset need --mechanism")
    with failing():
        from untrackable.answers.answer import estimate_files

        made = None if mechanism is None else _resolve(mechanism, parameters, preset)
        meant = encoding_of(encoding)
        with progress() as told:
            found = estimate_files(
                files,
                mechanism=made,
                encoding=meant,
                round=one,
                rounds=None if rounds is None else _rounds(rounds),
                candidates=None if candidates is None else _candidates(candidates, files, made, meant),
                beta=beta,
                progress=told,
            )
        _write(found, plot, out, top, fdr, consistent)
    if as_json:
        from untrackable.display.estimate_table import as_dict

        print_json(as_dict(found, top=top, fdr=fdr, consistent=consistent))
        return
    _print(found, top, fdr, consistent)
    for path in (plot, out):
        if path is not None:
            click.echo(f"wrote {path}")


def _check(option: str, path: Path | None, endings: tuple[str, ...]) -> None:
    if path is not None and (path.suffix not in endings or not path.parent.is_dir()):
        raise click.BadParameter(
            f"{path} must end in one of {', '.join(endings)} and be in a folder that exists", param_hint=option
        )


def _resolve(name: str, parameters: tuple[str, ...], preset: str | None) -> Any:
    from untrackable.cli.mechanism_argument import resolve

    return resolve(name, parameters, preset)


def _rounds(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"rounds must be written 1-7,9, got {text!r}")
        start, stop = int(first), int(last) if dash else int(first)
        if stop - start >= 1 << 20:
            raise ValueError(f"rounds must be fewer than a million, got {text!r}")
        found += range(start, stop + 1)
    return found


def _candidates(path: Path, files: tuple[Path, ...], mechanism: Any, encoding: Any) -> list[Any]:
    """What people may hold, as the encoding of the files takes it."""
    from untrackable.encodings.text_values import from_text
    from untrackable.mechanisms.kept.rappor import Rappor
    from untrackable.rappor_decode.rappor_files import read_candidates
    from untrackable.reports.summing import opened

    about = opened(files[0], mechanism=mechanism, encoding=encoding)
    listed = read_candidates(path)
    if about.encoding is None and isinstance(about.mechanism, Rappor):
        return list(listed)
    return [from_text(about.encoding, line) for line in listed]


def _write(found: Answer, plot: Path | None, out: Path | None, top: int, fdr: float, consistent: bool) -> None:
    if out is not None:
        from untrackable.display.estimate_table import export

        export(out, found, consistent=consistent)
    if plot is not None:
        from untrackable.display.estimate_figure import write

        try:
            write(plot, found, top=top, fdr=fdr)
        except OSError as error:
            raise click.ClickException(f"cannot write {plot}: {error.strerror}") from None


def _print(found: Answer, top: int, fdr: float, consistent: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from untrackable.display import estimate_table

    console = Console(highlight=False)
    print_sentences(console, estimate_table.summary(found))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    columns = estimate_table.table(found, top=top, fdr=fdr, consistent=consistent, width=console.width)
    for title in columns:
        left = title in ("value", "", "over rounds")
        table.add_column(title, justify="left" if left else "right", no_wrap=title != "value", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text("".join(mark if mark.isprintable() else "�" for mark in cell)) for cell in cells))
    console.print(table)
    print_sentences(console, estimate_table.notes(found, fdr=fdr), indent="  ")
    console.print()
