"""`untrackable policy`: show and change a person's limits for all campaigns together."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.budget_words import left, left_words, offer_words, spent_words, turns_json
from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from untrackable.client.ledger import Ledger
    from untrackable.client.policy import Policy

DEFAULTS: dict[str, Any] = {
    "eps": 1.0,
    "delta": 1e-6,
    "gamma": 0.0,
    "tracking_delta": 0.0,
    "every_round": False,
    "turns_a_year": 4,
}
"""The limits of a folder in which nothing was answered yet."""
_HELP = {
    "eps": "Privacy budget, all campaigns.",
    "delta": "Probability that eps fails.",
    "gamma": "How linkable reports may be.",
    "tracking_delta": "Probability that gamma fails.",
    "every_round": "Allow answering every round?",
    "turns_a_year": "Most campaigns answered once.",
}


def _home() -> str:
    return str(Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "untrackable")


FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=_home,
    envvar="UNTRACKABLE_FOLDER",
    metavar="DIR",
    show_default="~/.local/share/untrackable",
    help="Data folder.",
)


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options for a policy. The command gets them as one mapping, `limits`; what is not given is None."""

    @functools.wraps(command)
    def collected(*args: Any, **given: Any) -> Any:
        limits = {name: given.pop(name) for name in (*DEFAULTS, "relays")}
        return command(*args, limits={**limits, "relays": limits["relays"] or None}, **given)

    found = click.option(
        "--relay",
        "relays",
        multiple=True,
        metavar="URL",
        show_default="stored",
        help="Trusted relay; give all.",
    )(collected)
    for name in reversed(DEFAULTS):
        option = f"--{name.replace('_', '-')}"
        if name == "every_round":
            option, shown, kind = f"{option}/--turns-only", "stored, or no", bool
        else:
            shown, kind = f"stored, or {DEFAULTS[name]:g}", type(DEFAULTS[name])
        found = click.option(option, type=kind, default=None, show_default=shown, help=_HELP[name])(found)
    return found


def lowered_policy(folder: Path, given: Mapping[str, Any]) -> Policy:
    """The stored policy with the limits that are given; `PolicyRaised` if these allow more than it."""
    from untrackable.client.ledger import stored_policy

    stored = stored_policy(folder)
    found = changed_policy(stored, given)
    if stored is not None:
        found.check_not_above(stored)
    return found


def changed_policy(stored: Policy | None, given: Mapping[str, Any]) -> Policy:
    """The stored policy, or else the default one, with what is given in place of its own."""
    from untrackable.client.policy import Policy

    kept = DEFAULTS if stored is None else {name: getattr(stored, name) for name in (*DEFAULTS, "relays")}
    changes = {name: limit for name, limit in given.items() if limit is not None}
    return Policy(**{**kept, **changes})


@click.group(cls=CommandGroup)
def policy() -> None:
    """Show or change a person's limits for all campaigns together.

    The first answer stores the policy in the person's folder. A campaign that would exceed it is refused.

    Example: untrackable policy show
    """


@contextmanager
def _one_line_errors(folder: Path) -> Iterator[None]:
    try:
        with one_line_errors():
            yield
    except OSError as error:
        raise click.ClickException(f"cannot use the folder {folder}: {error.strerror}") from None


def _print(found: Policy | None, ledger: Ledger, as_json: bool) -> None:
    if as_json:
        told = {} if found is None else _as_json(found, ledger)
        print_json({"policy": None if found is None else found.limits(), **told})
        return
    if found is None:
        click.echo("No policy is stored yet: the first answer stores one.")
        return
    every = "allowed" if found.every_round else "refused, because that gives people away"
    click.echo("Limits for everything that you ever answer, all campaigns together (upper):")
    click.echo(f"  private       eps {found.eps!r}, delta {found.delta!r}")
    click.echo(f"  turns         {found.turns_a_year} campaigns a year that you answer once")
    click.echo(f"  every round   campaigns in which everybody answers every round are {every}")
    click.echo(f"  untrackable   gamma {found.gamma!r}, tracking delta {found.tracking_delta!r}")
    click.echo(f"  relays        {', '.join(found.relays) or 'none, so campaigns that need one are refused'}")
    for line in (*spent_words(found, ledger.spent, ledger.turns), *left_words(found, ledger.spent)):
        click.echo(line)


def _as_json(found: Policy, ledger: Ledger) -> dict[str, Any]:
    return {
        "spent_upper": ledger.spent._asdict(),
        "left_lower": left(found, ledger.spent),
        **turns_json(ledger.turns),
    }


def _offered(folder: Path, file: Path, as_json: bool) -> None:
    """What a campaign would take of the stored policy, or else of the default one."""
    from untrackable.cli.campaign import read
    from untrackable.client.client import offer
    from untrackable.client.ledger import stored_policy

    asked = read(file)
    with _one_line_errors(folder):
        stored = stored_policy(folder)
        limits = changed_policy(stored, {})
        found = offer(folder, asked, limits)
    if as_json:
        print_json(
            {
                "policy": None if stored is None else stored.limits(),
                "campaign": asked.id,
                "joined": found.joined,
                "accepted": found.refusal is None,
                "refusal": found.refusal,
                "spent_upper": found.before.spent._asdict(),
                "spent_with_it_upper": found.after.spent._asdict(),
                "left_with_it_lower": left(limits, found.after.spent),
                **turns_json(found.after.turns),
            }
        )
        return
    if stored is None:
        echo("No policy is stored yet, so this is about the default one.")
    for line in offer_words(limits, found):
        echo(line)


@policy.command()
@FOLDER
@click.option(
    "--campaign",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Say what this campaign would take.",
)
@JSON
def show(folder: Path, file: Path | None, as_json: bool) -> None:
    """Show the policy that is stored in a folder, and what is spent.

    It also says what is left for a further campaign, and how well several answers together give you away. With
    --campaign, it says what that campaign would take, and whether it would be accepted. Nothing is joined.

    Example: untrackable policy show
             untrackable policy show --campaign campaign.json
    """
    from untrackable.client.ledger import read_ledger

    if file is not None:
        _offered(folder, file, as_json)
        return
    with _one_line_errors(folder):
        ledger = read_ledger(folder)
    _print(ledger.policy, ledger, as_json)


@policy.command("set")
@policy_options
@click.option("--no-relay", is_flag=True, help="Trust no relay any more.")
@FOLDER
@JSON
def set_(limits: dict[str, Any], no_relay: bool, folder: Path, as_json: bool) -> None:
    """Change the policy of a folder. Only this can raise it.

    The new limits apply to campaigns that are answered from now on. What was spent stays spent, and campaigns that
    were joined continue. Limits that are not given stay as they are.

    Some campaigns are answered through a relay only: --relay names those that you trust not to work with the
    collector, in place of the ones before. Campaigns in which everybody answers every round are refused unless you
    give --every-round: somebody who sees two places notices who is never at both.

    Example: untrackable policy set --eps 2
    """
    from untrackable.client.ledger import read_ledger, store_policy, stored_policy

    if no_relay and limits["relays"]:
        raise click.UsageError("give --relay or --no-relay, not both")
    with _one_line_errors(folder):
        found = changed_policy(stored_policy(folder), {**limits, **({"relays": ()} if no_relay else {})})
        store_policy(folder, found)
        ledger = read_ledger(folder)
    _print(found, ledger, as_json)
