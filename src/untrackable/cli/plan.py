"""`untrackable plan`: what a campaign in which each person answers once will tell, for one question or several."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.answer_options import encoding_of
from untrackable.cli.bucket_options import BUCKET_OPTIONS, bucket_options
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.new_file import NewFile
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import echo, one_line_errors, write_page
from untrackable.cli.typed_numbers import Amount, Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from untrackable.cli.question_file import QuestionFile
    from untrackable.planning.plans import Plan
    from untrackable.planning.question_set import QuestionSet

_TOGETHER = ("together", "campaign", "as_json", "export", "plot", "html", "everything")
"""The options that go with a file of questions."""


@click.command(cls=PlainCommand)
@click.option("--people", "--users", "people", type=Count(), help="People who take part.")
@click.option("--values", type=Count(), help="Number of possible answers.")
@click.option("--bits", type=int, help="Or the width of an encoded answer.")
@click.option("--strings", type=int, metavar="BYTES", help="Or strings to discover, up to this long.")
@click.option("--choice", "choices", multiple=True, metavar="NAME", help="Or one of several at once; give all.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON|FILE", help="Or any other kind of answer, as JSON.")
@click.option("--rounds", type=Count(), help="In how many rounds the answers come in.")
@click.option("--eps", type=Amount(), help="Privacy of all that a person ever sends.")
@click.option("--error", type=Amount(), help="Largest error of a published share.")
@click.option("--largest-eps", type=Amount(), default=4.0, show_default=True, help="Largest eps a plan chooses.")
@click.option("--pooled", type=Count(), default=1, show_default=True, help="Rounds pooled for one figure.")
@click.option("--looks", type=Count(), show_default="the best", help="Rounds that one report is about.")
@click.option("--typical", type=float, show_default="0.05; yes/no 0.5", help="Share that errors are of.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Probability of a larger error.")
@click.option("--one-value", is_flag=True, help="The error holds for each answer, not for all at once.")
@click.option(
    "--want",
    type=click.Choice(["frequencies", "quantiles", "mean"]),
    default="frequencies",
    metavar="WHAT",
    help="Publish frequencies, quantiles or mean.",
)
@click.option("--share", default="1", show_default=True, help="Share of people who have a turn.")
@click.option("--wipes", type=int, default=0, show_default=True, help="Wipes to allow for; 1 for web pages.")
@click.option("--relay", is_flag=True, help="A relay hides who sends which report.")
@click.option("--crowd-delta", type=float, default=1e-6, show_default=True, help="Chance that its eps fails.")
@click.option("--margin", default="1/20", show_default=True, help="Share of people who may be missing.")
@click.option("--all", "everything", is_flag=True, help="Also what everybody in every round would give.")
@click.option("--together", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Several questions in one campaign (TOML).")  # fmt: skip
@click.option("--campaign", type=NewFile(), metavar="FILE", help="With --together: write the campaign here.")
@result_options("export", "plot", "html")
def plan(
    one_value: bool,
    choices: tuple[str, ...],
    encoding: str | None,
    everything: bool,
    together: Path | None,
    campaign: Path | None,
    output: ResultOutput,
    **demands: Any,
) -> None:
    r"""How far off will figures be, and what can anybody learn?

    Each person answers once, in a round that their device draws in secret. Give all but one of --people, --rounds,
    --eps and --error: the one left out is computed. Numbers may be written as 1e6 or 1,000,000.

    Nobody has to be trusted: --eps is for everything that a person ever sends. A relay (--relay) hides from the
    collector who sent which report. It changes no error.

    One report may be about several consecutive rounds (--looks), which makes errors of a round smaller from about
    eps 2 on. A person then answers in all of them, and figures come when the last of them is over.

    --error is for answers that at most the share --typical of people give. Answers may be numbers in order: with
    --want quantiles, --error is that of the share of people at or below a number; with --want mean it is a share of
    the range of numbers. People may give several answers at once: each --choice is one of them, and a Record as
    --encoding has several attributes.

    With --together, a TOML file has several questions for one campaign: what is alike comes first (people, rounds,
    eps, every, first, …), then [questions.NAME] with `question` and its answers (categories, values, buckets, …).

    Example: untrackable plan --people 100,000 --values 16 --rounds 52 --eps 4
             untrackable plan --values 1024 --rounds 52 --eps 2 --error 0.01
             untrackable plan --people 1e6 --values 1024 --rounds 12 --eps 2 \
                 --want quantiles
             untrackable plan --people 1e6 --choice search --choice export \
                 --choice share --rounds 12 --eps 2
             untrackable plan --together questions.toml --campaign campaign.json
    """
    if together is not None:
        return _plan_together(together, campaign, output, everything=everything)
    if campaign is not None:
        raise click.UsageError("--campaign goes with --together; for one question, see `untrackable campaign new`")
    if choices and any(demands[name] is not None for name in ("values", "bits", "strings")):
        raise click.ClickException("--choice says what the answers are; leave out --values, --bits and --strings")
    again = _again({**demands, "encoding": encoding, "one_value": one_value}, choices)
    with one_line_errors():
        from untrackable.display import plan_json
        from untrackable.display.notebook_columns import columns_of
        from untrackable.planning.goals import Goals
        from untrackable.planning.plans import plan as solve

        meant = encoding_of((), choices, None, encoding)
        try:
            goals = Goals(simultaneous=not one_value, encoding=meant, **demands)
        except (TypeError, ValueError) as error:
            raise click.ClickException(_as_options(str(error), ("encoding", *demands))) from None
        with progress() as show:
            found = solve(goals=goals, progress=lambda what, done: show("planning", done))
    output.give(
        words=lambda: _print(found, again, everything=everything),
        data=lambda: {**plan_json.as_json(found), **_every_round(found, everything)},
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
        page=lambda: _page(found, again, None),
    )
    if not found.met:
        raise click.exceptions.Exit(1)
    return None


def _plan_together(file: Path, path: Path | None, output: ResultOutput, *, everything: bool) -> None:
    """Plan one campaign for the questions of a file, and write it."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in context.params if context.get_parameter_source(name) is not default]
    if others := [name for name in given if name not in _TOGETHER]:
        raise click.UsageError(f"{_option(others[0])} does not go with --together: the file says what is asked for")
    with one_line_errors():
        from untrackable.cli.question_file import read_questions
        from untrackable.display import plan_json
        from untrackable.display.notebook_columns import columns_of
        from untrackable.planning.question_set import plan_together

        asked = read_questions(file)
        with progress() as show:
            found = plan_together(
                asked.questions, progress=lambda what, done: show("planning", done), **asked.shared
            )
        document = b"" if path is None or not found.met else _campaign(found, asked)
    if path is not None and document:
        write_page(path, document.decode())
    output.give(
        words=lambda: _print_set(found, file, path if document else None),
        data=lambda: plan_json.set_json(found),
        columns=lambda: columns_of(found),
        draw=lambda drawn: found.plot(drawn, force=True),
        page=lambda: _page(found.plan, ["plan", "--together", str(file)], found),
    )
    if not found.met:
        raise click.exceptions.Exit(1)


def _campaign(found: QuestionSet, asked: QuestionFile) -> bytes:
    """The campaign of all questions. A campaign with a relay needs the keys of the gateway."""
    from untrackable.cli.campaign_crowd import gateway_of
    from untrackable.cli.campaign_times import first_moment, round_length

    if found.plan.solved.relay and asked.gateway is None:
        raise ValueError(
            "a campaign with a relay needs the public keys of the collector's gateway: add a line such as "
            'gateway = "gateway.json", a file with what `untrackable gateway new KEYS --json` prints'
        )
    gateway = None if asked.gateway is None else gateway_of(asked.gateway, needed=found.plan.solved.relay)
    made = found.campaign().campaign(
        question=asked.text,
        first_round=first_moment(asked.first, "first"),
        round_seconds=round_length(asked.every, "every"),
        gateway=gateway,
    )
    return made.to_bytes()


def _page(found: Plan, again: list[str], together: QuestionSet | None) -> str:
    from untrackable.display.plan_page import plan_page

    return plan_page(found, again, together=together)


def _every_round(found: Plan, everything: bool) -> dict[str, Any]:
    """What everybody in every round would give, as JSON, if it is asked for."""
    if not everything:
        return {}
    from untrackable.display.numbers import as_dict
    from untrackable.planning.every_round import better_from, every_round

    return {
        "every_round": as_dict(every_round(found.solved)),
        "every_round_better_from_eps": better_from(found.solved.replace(looks=found.goals.looks)),
    }


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_options(message: str, names: tuple[str, ...]) -> str:
    """The message with options in place of the names of the library."""
    return re.sub(rf"\b({'|'.join(names)})\b(?! of )", lambda found: _option(found[0]), message)


def _again(given: dict[str, Any], choices: tuple[str, ...]) -> list[str]:
    """The command that makes this plan again, as it was typed."""
    words = ["plan", *(word for name in choices for word in ("--choice", name))]
    context = click.get_current_context()
    source = context.get_parameter_source
    for name, value in {**{name: context.params[name] for name in BUCKET_OPTIONS}, **given}.items():
        if source(name) is click.core.ParameterSource.DEFAULT:
            continue
        words.append(_option(name))
        if value is not True:
            words.append(str(value).removesuffix(".0"))
    return words


def _next(again: list[str], width: int, found: Plan) -> list[str]:
    """The commands that make a campaign of the plan, broken to the width of the terminal."""
    gateway = ["--gateway", "gateway.json"] if found.solved.relay else []
    keys = ["untrackable", "gateway", "new", "gateway.keys", "--json", ">", "gateway.json"]
    commands = [
        ["untrackable", *map(shlex.quote, again), "--json", ">", "plan.json"],
        *([keys] if gateway else []),
        ["untrackable", "campaign", "new", "campaign.json", "--plan", "plan.json", "--question", '"…"', *gateway],
    ]
    return [line for words in commands for line in _broken(words, width)]


def _broken(words: list[str], width: int) -> list[str]:
    lines = [f"  {words[0]}"]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def _print(found: Plan, again: list[str], *, everything: bool) -> None:
    from untrackable.display import plan_words
    from untrackable.planning.every_round import better_from, every_round

    console = _console()
    _say(console, plan_words.verdict(found))
    if told := plan_words.better_words(better_from(found.solved.replace(looks=found.goals.looks)), found.solved):
        console.print(told, markup=False)
    _table(console, plan_words.COLUMNS, plan_words.rows(found), plan_words.caption(found))
    if found.ways:
        _table(
            console,
            plan_words.WAY_COLUMNS,
            plan_words.way_rows(found.ways),
            "in points, of the worst answer (upper)",
        )
    if everything:
        console.print("\nEverybody in every round instead:")
        with progress() as show:
            rows = every_round(found.solved, progress=lambda what, done: show(what, done))
        for row in rows:
            console.print(f"  {plan_words.every_round_line(row)}", markup=False, soft_wrap=True)
    if not found.met:
        return
    console.print("\nThe beginning of a campaign:")
    console.print_json(strict_json.write(found.campaign().to_json()))
    console.print("\nTo make a whole campaign of it:")
    for line in _next(again, console.width, found):
        console.print(line, markup=False, soft_wrap=True)


def _print_set(found: QuestionSet, file: Path, written: Path | None) -> None:
    from untrackable.display import plan_words, question_set_words

    console = _console()
    _say(console, question_set_words.sentences(found))
    rows = [question_set_words.cells(part) for part in found.parts]
    _table(console, question_set_words.COLUMNS, rows, question_set_words.caption(found))
    _table(
        console,
        plan_words.WAY_COLUMNS,
        plan_words.way_rows(found.plan.ways),
        "in points, of the worst answer (upper)",
    )
    if written is not None:
        echo(f"wrote {written}")
    elif found.met:
        told = f"To write the campaign: untrackable plan --together {file} --campaign campaign.json"
        console.print(f"\n{told}", markup=False, soft_wrap=True)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _say(console: Any, sentences: list[str]) -> None:
    console.print()
    console.print(sentences[0], markup=False, style="bold")
    for sentence in sentences[1:]:
        console.print(sentence, markup=False)


def _table(console: Any, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, caption=caption, caption_justify="left"
    )
    for i, name in enumerate(columns):
        left = i == 0 or name == columns[-1] == "what a person sends"
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(table)
