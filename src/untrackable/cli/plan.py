"""`untrackable plan`: find the mechanism that meets the goals, or say why none does."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.answer_options import encoding_of
from untrackable.cli.attendance_options import DEFAULT_RECOGNITION, chosen_attendance, margin_option, shares_of
from untrackable.cli.bucket_options import BUCKET_OPTIONS, bucket_options
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.plan_together import together_options
from untrackable.cli.progress_display import ShowProgress, progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors

if TYPE_CHECKING:
    from rich.table import Table

    from untrackable.planning.plans import Plan
    from untrackable.planning.ways_to_ask import Compared


_PAGE = "computing the page"
_STEPS = {"planning": 1.0, _PAGE: 7.0}
"""The steps of a plan with a page, and their relative sizes."""
_GRIDS = 0.8
"""The share of a page's work that goes to the plans of its sliders."""


class Rounds(click.ParamType):  # type: ignore[type-arg]
    """A number, or `forever`."""

    name = "NUMBER|forever"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Check it."""
        if value == "forever":
            return "forever"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor forever", param, ctx)


@click.command(cls=PlainCommand)
@click.option("--people", "--users", "people", type=int, help="People who take part.")
@click.option("--values", type=int, help="Number of possible answers.")
@click.option("--bits", type=int, help="Or the width of an encoded answer.")
@click.option("--strings", type=int, metavar="BYTES", help="Or strings to discover, up to this long.")
@click.option("--choice", "choices", multiple=True, metavar="NAME", help="Or one of several at once; give all.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON|FILE", help="Or any other kind of answer, as JSON.")
@click.option("--rounds", type=Rounds(), metavar="N", help="How often to ask: a number or `forever`.")
@click.option("--eps", type=float, help="Privacy of all reports ever sent, together.")
@click.option("--largest-eps", type=float, default=4.0, show_default=True, help="Largest eps a plan chooses.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Probability that eps does not hold.")
@click.option(
    "--observer",
    type=click.Choice(["alone", "crowd"]),
    default="alone",
    show_default=True,
    help="Who must not learn answers.",
)
@click.option("--crowd-eps", type=float, show_default="1", help="Privacy in the crowd.")
@click.option("--crowd-delta", type=float, default=1e-6, show_default=True, help="Chance that it fails.")
@margin_option
@click.option("--advantage", type=float, show_default="0.01", help="Observer's edge over a guess.")
@click.option("--matched", type=float, help="Or the chance of being picked out of a crowd.")
@click.option("--crowd", type=int, default=1000, show_default=True, help="Size of the crowd to hide in.")
@click.option("--untrackable", type=(float, float), metavar="G D", help="Or gamma and delta of linking reports.")
@click.option("--matched-by-answer", type=float, show_default="0.05", help="Picked out by another answer.")
@click.option("--reports", type=int, show_default="all", help="Reports that the observer holds.")
@click.option("--error", type=float, help="Largest error of a published share.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Probability of a larger error.")
@click.option("--one-value", is_flag=True, help="The error holds for each value, not for all at once.")
@click.option("--changes", is_flag=True, help="A person's answer may change.")
@click.option(
    "--want",
    type=click.Choice(["frequencies", "quantiles", "mean"]),
    default="frequencies",
    metavar="WHAT",
    help="Publish frequencies, quantiles or mean.",
)
@click.option("--pooled", type=int, default=1, show_default=True, help="Rounds pooled for one figure.")
@chosen_attendance
@result_options("export", "plot", "html")
@together_options
def plan(
    one_value: bool,
    choices: tuple[str, ...],
    encoding: str | None,
    places: str,
    recognition: float | None,
    output: ResultOutput,
    **demands: Any,
) -> None:
    r"""Choose a mechanism and its parameters for your goals.

    Give all but one of --people, --rounds, --eps and --error: the one left out is computed. Lists the mechanisms
    that meet the goals, with what is proved about them, and says why the others do not. An eps above 4 is computed
    only if --largest-eps allows it.

    By default nobody has to be trusted. With --observer crowd, or --crowd-eps, a relay hides who sends which
    report, and must not work with the collector: reports may then be far louder. --eps is a limit in case they do
    work together, 4 unless it is given. Up to the share --margin of the people may be missing from a round: then at
    most one round in a hundred has too few reports to be published, and the privacy is that of so many reports.

    Answers may be numbers in order. With --want quantiles, --error is that of the share of people at or below a
    number; with --want mean it is a share of the range of numbers.

    People may give several answers at once: each --choice is one of them, and a Record as --encoding has several
    attributes. --error is then that of every share that is asked for, of all of them at once.

    The rounds that somebody answers, and from where, can give a person away. So clients answer only some rounds, as
    often as --recognition allows. With --recognition 1, attendance is left out and every round is answered.

    With --together, a TOML file has several questions with one budget for all of them: the budget and what is alike
    come first, then [questions.NAME] with `question`, its answers (categories, values, buckets, …), and options
    of this command by their names. --campaigns writes a campaign for each question and a directory of them.

    Example: untrackable plan --people 10000000 --values 2 --rounds 365 --eps 1
             untrackable plan --values 1024 --rounds 52 --eps 2 --error 0.01
             untrackable plan --people 1000000 --values 1024 --rounds 12 \
                 --eps 2 --want quantiles
             untrackable plan --people 1000000 --choice search --choice export \
                 --choice share --rounds 12 --eps 2
             untrackable plan --people 1000000 --values 2 --rounds 365 \
                 --crowd-eps 1 --eps 4
             untrackable plan --together questions.toml --campaigns campaigns
    """
    is_default = click.get_current_context().get_parameter_source("observer") is click.core.ParameterSource.DEFAULT
    if demands["observer"] == "alone" and not is_default and demands["crowd_eps"] is not None:
        raise click.ClickException("--crowd-eps is for --observer crowd; --eps is the limit for --observer alone")
    if choices and any(demands[name] is not None for name in ("values", "bits", "strings")):
        raise click.ClickException("--choice says what the answers are; leave out --values, --bits and --strings")
    again = _again(
        {**demands, "recognition": recognition, "places": places, "encoding": encoding, "one_value": one_value},
        choices,
    )
    with one_line_errors():
        from untrackable.display import plan_json
        from untrackable.display.notebook_columns import columns_of
        from untrackable.planning.goals import Goals
        from untrackable.planning.plans import plan as solve

        meant = encoding_of((), choices, None, encoding)
        try:
            goals = Goals(
                simultaneous=not one_value,
                encoding=meant,
                places=shares_of(places),
                recognition=DEFAULT_RECOGNITION if recognition is None else recognition,
                **demands,
            )
        except (TypeError, ValueError) as error:
            names = ("encoding", "places", "recognition", *demands)
            raise click.ClickException(_as_options(str(error), names)) from None
        with progress(_STEPS if output.html is not None else {}) as show:
            found = solve(goals=goals, progress=lambda what, done: show("planning", done))
            page = _page(found, again, show) if output.html is not None else ""
    output.give(
        words=lambda: _print(found, again),
        data=lambda: plan_json.as_json(found),
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
        page=lambda: page,
    )
    if not found.options and not found.separately:
        raise click.exceptions.Exit(1)


def _page(found: Plan, again: list[str], show: ShowProgress) -> str:
    from untrackable.display.plan_page import plan_page

    return plan_page(
        found,
        again,
        progress=lambda what, done: show(_PAGE, None if done is None else _GRIDS * done),
    )


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
            words += [str(v).removesuffix(".0") for v in (value if isinstance(value, tuple) else (value,))]
    return words


def _next(again: list[str], width: int, found: Plan) -> list[str]:
    """The commands that make a campaign of the plan, broken to the width of the terminal."""
    planned = ["untrackable", *map(shlex.quote, again), "--json", ">", "plan.json"]
    made = ["untrackable", "campaign", "new", "campaign.json", "--plan", "plan.json", "--question", '"…"']
    crowd = found.goals.crowd_eps is not None
    gateway = ["--gateway", "gateway.json"] if crowd else []
    commands = [planned, [*made, *gateway]]
    if found.separately:
        commands = [planned]
        parts = list(found.campaigns())
        commands += [[*made, "--part", shlex.quote(name), *gateway] for name in parts[:1]]
        commands += [["…", "and", "so", "on,", "each", "with", "its", "own", "file:", f"{len(parts)} parts"]]
    if crowd:
        keys = ["untrackable", "gateway", "new", "gateway.keys", "--json", ">", "gateway.json"]
        commands.insert(1, keys)
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


def _print(found: Plan, again: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display import plan_words

    console = Console(highlight=False)
    first, *others = plan_words.verdict(found)
    console.print(f"\n[bold]{first}[/bold]")
    for sentence in others:
        console.print(sentence)
    if found.options:
        console.print()
        wide = console.width >= 130
        keep = [0, *_answer_column(found), 3, 4, 5, 7, 8, 9] if not wide else range(len(plan_words.COLUMNS))
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 2 if wide else 1, 0, 0),
            show_edge=False,
            caption=plan_words.table_caption(found.goals),
            caption_justify="left",
        )
        for i in keep:
            table.add_column(plan_words.COLUMNS[i], justify="left" if i in (0, 13) else "right", overflow="fold")
        for option in found.options:
            cells = plan_words.cells(option)
            table.add_row(*(cells[i] for i in keep))
        console.print(table)
        if not wide:
            console.print("\nParameters:")
            for option in found.options:
                console.print(f"  {option.name}: {plan_words.cells(option)[-1]}", markup=False)
        if not found.separately:
            console.print("\nThe recommended mechanism as the beginning of a campaign:")
            console.print_json(strict_json.write(found.campaign().to_json()))
    if found.options or found.separately:
        console.print(f"\nTo make {'whole campaigns' if found.separately else 'a whole campaign'} of it:")
        for line in _next(again, console.width, found):
            console.print(line, markup=False, soft_wrap=True)
    if found.compared is not None:
        console.print("\nWays to ask for the same:")
        console.print(_ways_table(found.compared))
    console.print()
    for names, why in plan_words.refusals(found):
        console.print(f"[dim]{names}: {why}[/dim]")


def _ways_table(compared: Compared) -> Table:
    from rich import box
    from rich.table import Table

    from untrackable.display import way_words

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 2, 0, 0),
        show_edge=False,
        caption=way_words.caption(compared),
        caption_justify="left",
    )
    for name in way_words.COLUMNS:
        table.add_column(name, justify="right" if name in way_words.COLUMNS[1:3] else "left", overflow="fold")
    for row in way_words.ways(compared):
        table.add_row(*row)
    return table


def _answer_column(found: Plan) -> list[int]:
    return {"people": [1], "rounds": [2]}.get(found.unknown or "", [])
