"""`untrackable plan --together`: divide one budget among several questions, and write their campaigns."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.campaign_crowd import gateway_of
from untrackable.cli.campaign_shown import when
from untrackable.cli.campaign_times import first_moment, round_length
from untrackable.cli.new_file import is_forced
from untrackable.cli.policy import DEFAULTS
from untrackable.cli.progress_display import progress
from untrackable.cli.question_file import read_questions
from untrackable.cli.result_options import ResultOutput
from untrackable.cli.terminal import echo, one_line_errors, write_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from untrackable.cli.question_file import QuestionFile
    from untrackable.planning.question_set import QuestionSet
    from untrackable.protocol.campaign import Campaign
    from untrackable.protocol.crowd_declaration import Gateway

_DIRECTORY = "directory"
_OPTIONS = ("together", "campaigns", "as_json", "export", "plot", "html")
"""The options that go together."""


def together_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which is not run if they are given."""

    @functools.wraps(command)
    def run(*args: Any, together: Path | None, campaigns: Path | None, output: ResultOutput, **options: Any) -> Any:
        if together is None:
            if campaigns is not None:
                raise click.UsageError("--campaigns goes with --together")
            return command(*args, output=output, **options)
        context = click.get_current_context()
        default = click.core.ParameterSource.DEFAULT
        given = [name for name in context.params if context.get_parameter_source(name) is not default]
        if others := [name for name in given if name not in _OPTIONS]:
            said = f"--{others[0].replace('_', '-')}"
            raise click.UsageError(f"{said} does not go with --together: the file says what is asked for")
        return _plan(together, campaigns, output, forced=is_forced(context))

    made: Callable[..., Any] = run
    for option in (
        click.option(
            "--campaigns",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="With --together: write campaigns here.",
        ),
        click.option(
            "--together",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Several questions, one budget (TOML).",
        ),
    ):
        made = option(made)
    return made


def _plan(file: Path, folder: Path | None, output: ResultOutput, *, forced: bool) -> None:
    with one_line_errors():
        from untrackable.display import question_set_words
        from untrackable.display.notebook_columns import columns_of
        from untrackable.planning.question_set import plan_together

        asked = read_questions(file)
        first, every = first_moment(asked.first, "first"), round_length(asked.every, "every")
        if (end := first + every) <= time.time():
            raise ValueError(f"the first round would have ended at {when(end)}; give a later first")
        paths = {} if folder is None else _paths(folder, asked, forced=forced)
        crowd = asked.shared.get("crowd_eps") is not None
        gateway = _gateway(asked, crowd=crowd, needed=folder is not None)
        with progress() as told:
            found = plan_together(
                asked.questions, progress=lambda what, done: told("planning", done), **asked.shared
            )
        made: dict[str, Campaign] = {}
        if gateway is not None or not crowd:
            for part in found.parts:
                made[part.name] = part.campaign().campaign(
                    question=asked.texts[part.name], first_round=first, round_seconds=every, gateway=gateway
                )
        if len({campaign.id for campaign in made.values()}) < len(made):
            raise ValueError("two questions are the same, with the same text; leave out one")
        for campaign in made.values():
            _check_holds(campaign)
    written = _write(made, paths)
    ids = {name: campaign.id for name, campaign in made.items()}
    output.give(
        words=lambda: _print(found, made, file, written),
        data=lambda: {**question_set_words.as_json(found), "ids": ids, **written},
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
        page=lambda: _page(found, file),
    )


def _page(found: QuestionSet, file: Path) -> str:
    from untrackable.display.question_set_page import question_set_page

    return question_set_page(found, ["plan", "--together", str(file)])


def _paths(folder: Path, asked: QuestionFile, *, forced: bool) -> dict[str, Path]:
    """The files to write; an error if one of them exists already, before the work is done."""
    if _DIRECTORY in asked.questions:
        raise ValueError(f"a question cannot have the name {_DIRECTORY}: the directory's file has it")
    found = {name: folder / f"{name}.json" for name in (*asked.questions, _DIRECTORY)}
    if not forced and (there := [path for path in found.values() if path.exists()]):
        raise ValueError(f"{there[0]} exists already; choose another folder, or give --force to replace it")
    return found


def _gateway(asked: QuestionFile, *, crowd: bool, needed: bool) -> Gateway | None:
    """The public keys for campaigns that rely on a crowd. A plan alone does not need them."""
    if not crowd and asked.gateway is not None:
        raise ValueError("gateway is for questions that rely on a crowd: give crowd_eps, too")
    if crowd and needed and asked.gateway is None:
        raise ValueError(
            "campaigns that rely on a crowd need the public keys of the collector's gateway: add a line such as "
            'gateway = "gateway.json", a file with what `untrackable gateway new KEYS --json` prints'
        )
    return None if asked.gateway is None else gateway_of(asked.gateway, needed=True)


def _check_holds(campaign: Campaign) -> None:
    """The same check as for a campaign that is made alone."""
    from untrackable.accounting.verification import verify

    verdict = verify(campaign)
    if not verdict.holds:
        raise ValueError(f"a campaign would not keep what it declares: {'; '.join(verdict.problems)}")


def _write(made: dict[str, Campaign], paths: dict[str, Path]) -> dict[str, Any]:
    """Write the campaigns and their directory, if a folder was given, and say what was written."""
    if not paths:
        return {}
    from untrackable.protocol.campaign import Directory

    directory = Directory(()).with_ids(campaign.id for campaign in made.values())
    try:
        paths[_DIRECTORY].parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {paths[_DIRECTORY].parent}: {error.strerror}") from None
    for name, campaign in made.items():
        write_page(paths[name], campaign.to_bytes().decode())
    write_page(paths[_DIRECTORY], directory.to_bytes().decode())
    return {"files": {name: str(path) for name, path in paths.items()}, "directory": directory.digest}


def _policy_words(found: QuestionSet) -> str:
    """Whether clients accept all campaigns by default, and what they would have to allow otherwise."""
    higher = {name: limit for name, limit in found.policy().items() if limit > DEFAULTS[name]}
    options = [f"--{name.replace('_', '-')} {limit:g}" for name, limit in higher.items()]
    if found.budget.crowd_eps is not None:
        options.append("--relay https://…")
    if not options:
        return "Every client accepts all of them with its default policy, unless it answers other campaigns too."
    return (
        "By default, clients do not allow that much. People have to allow it: "
        f"`untrackable policy set {' '.join(options)}`"
    )


def _print(found: QuestionSet, made: dict[str, Campaign], file: Path, written: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display import question_set_words as words

    console = Console(highlight=False)
    first, *others = words.sentences(found)
    console.print(f"\n[bold]{first}[/bold]")
    for sentence in (*others, _policy_words(found)):
        console.print(sentence, markup=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for i, column in enumerate(words.COLUMNS):
        table.add_column(column, justify="left" if i < 2 else "right", overflow="fold")
    for part in found.parts:
        table.add_row(*words.cells(part))
    console.print()
    console.print(table)
    console.print(f"\n{words.caption(found)}", markup=False)
    console.print("\nThe errors are of:")
    for name, promised in words.promised(found):
        console.print(f"  {name}: {promised}", markup=False)
    console.print()
    if not written:
        console.print(f"To write the campaigns: untrackable plan --together {file} --campaigns DIR", markup=False)
        return
    for name, campaign in made.items():
        echo(f"wrote {written['files'][name]}: campaign {campaign.id}")
    echo(f"wrote {written['files'][_DIRECTORY]}: directory {written['directory']}")
