"""`untrackable plan`: goals in, mechanism out, or the reason why not."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.terminal import check_page, encoding_of, failing, print_json, progress, write_page

if TYPE_CHECKING:
    from untrackable.planning.plans import Plan


_OPTIONS = {"people": "--users"}
"""Options that have another name in the library."""


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


@click.command()
@click.option("--users", "people", type=int, help="People who answer a round; left out: solved for.")
@click.option("--values", type=int, help="How many different answers there are.")
@click.option("--bits", type=int, help="Or how wide an encoded answer is.")
@click.option("--strings", type=int, metavar="BYTES", help="Or strings to be discovered, of at most so many bytes.")
@click.option("--encoding", metavar="JSON|FILE", help="Or an encoding, as its `to_json` writes it.")
@click.option("--rounds", type=Rounds(), help="How often it is asked, or forever; left out: solved for.")
@click.option("--eps", type=float, help="Everlasting privacy of all answers together; left out: solved for.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Probability set aside in eps.")
@click.option(
    "--advantage", type=float, help="Tolerable tracking: an observer's edge over guessing. [default: 0.01]"
)
@click.option("--matched", type=float, help="Or the probability of being picked out of a crowd.")
@click.option("--crowd", type=int, default=1000, show_default=True, help="How many people that crowd is.")
@click.option("--untrackable", type=(float, float), metavar="GAMMA DELTA", help="Or (gamma, delta).")
@click.option("--reports", type=int, help="Reports of a person that an observer may hold. [default: all]")
@click.option("--error", type=float, help="Largest error of a frequency; left out: as small as possible.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Probability that the error is larger.")
@click.option("--one-value", is_flag=True, help="The error is about any one value, not about all at once.")
@click.option("--changes", is_flag=True, help="A person's answer may change: privacy for any sequence of answers.")
@click.option("--pooled", type=int, default=1, show_default=True, help="Rounds pooled for one published figure.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a self-contained page."
)
def plan(one_value: bool, encoding: str | None, as_json: bool, html: Path | None, **demands: Any) -> None:
    """Say which mechanism meets the goals, with parameters and proven promises, or why none does.

    One of --users, --rounds, --eps and --error may be left out: it is solved for.

    \b
    Example: untrackable plan --users 1000000 --values 2 --rounds 365 --eps 1
             untrackable plan --values 1024 --rounds 52 --eps 2 --error 0.01 --html plan.html
    """  # noqa: D301
    check_page(html)
    again = _again({**demands, "encoding": encoding, "one_value": one_value})
    with failing():
        from untrackable.display import plan_words
        from untrackable.planning.goals import Goals
        from untrackable.planning.plans import plan as solve

        meant = encoding_of(encoding)
        try:
            goals = Goals(simultaneous=not one_value, encoding=meant, **demands)
        except (TypeError, ValueError) as error:
            raise click.ClickException(_as_options(str(error), ("encoding", *demands))) from None
        with progress() as told:
            found = solve(goals=goals, progress=lambda what, done: told("planning", done))
            if html is not None:
                from untrackable.display.plan_page import plan_page

                page = plan_page(found, again, progress=lambda what, done: told(what, done))
                write_page(html, page)
    if as_json:
        print_json(plan_words.as_json(found))
    else:
        _print(found, again)
        if html is not None:
            click.echo(f"wrote {html}")
    if not found.options:
        raise click.exceptions.Exit(1)


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def _as_options(message: str, names: tuple[str, ...]) -> str:
    """With the options in place of the goals' names in the library."""
    return re.sub(rf"\b({'|'.join(names)})\b(?! of )", lambda found: _option(found[0]), message)


def _again(given: dict[str, Any]) -> list[str]:
    """The command that plans this again: what was typed."""
    words = ["plan"]
    source = click.get_current_context().get_parameter_source
    for name, value in given.items():
        if source(name) is click.core.ParameterSource.DEFAULT:
            continue
        words.append(_option(name))
        if value is not True:
            words += [str(v).removesuffix(".0") for v in (value if isinstance(value, tuple) else (value,))]
    return words


def _next(again: list[str], width: int) -> list[str]:
    """The commands that make a campaign of the plan, each broken where the terminal ends."""
    made = ["untrackable", "campaign", "new", "campaign.json", "--plan", "plan.json", "--question", '"…"']
    return [
        line
        for words in (["untrackable", *map(shlex.quote, again), "--json", ">", "plan.json"], made)
        for line in _broken(words, width)
    ]


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
        keep = [0, *_answer_column(found), 4, 6, 8] if not wide else range(len(plan_words.COLUMNS))
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 2, 0, 0),
            show_edge=False,
            caption=f"best first; exact unless marked ≤ (upper); followed: {found.goals.measure}; "
            f"errors: {plan_words.promise(found.goals)}",
            caption_justify="left",
        )
        for i in keep:
            table.add_column(plan_words.COLUMNS[i], justify="left" if i in (0, 9) else "right", overflow="fold")
        for option in found.options:
            cells = plan_words.cells(option)
            table.add_row(*(cells[i] for i in keep))
        console.print(table)
        if not wide:
            console.print("\nTheir parameters:")
            for option in found.options:
                console.print(f"  {option.name}: {plan_words.cells(option)[-1]}", markup=False)
        console.print("\nThe recommended one as the beginning of a campaign:")
        console.print_json(strict_json.write(found.campaign()))
        console.print("\nTo make it a whole one:")
        for line in _next(again, console.width):
            console.print(line, markup=False, soft_wrap=True)
    console.print()
    for names, why in plan_words.refusals(found):
        console.print(f"[dim]{names}: {why}[/dim]")


def _answer_column(found: Plan) -> list[int]:
    return {"people": [1], "rounds": [2], "eps": [3]}.get(found.unknown or "", [])
