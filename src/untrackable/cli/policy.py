"""`untrackable policy`: show and change a person's limits for all campaigns together."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.budget_words import left_words, offer_words, spent_words
from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from untrackable.accounting.spent_budget import Left, Spent
    from untrackable.client.policy import Policy

DEFAULTS = {
    "eps": 1.0,
    "delta": 1e-6,
    "gamma": 0.0,
    "tracking_delta": 0.0,
    "recognition": 0.01,
    "crowd_eps": 1.0,
    "crowd_delta": 1e-6,
}
"""The limits of a folder in which nothing was answered yet."""
_HELP = {
    "eps": "Privacy budget, all campaigns.",
    "delta": "Probability that eps fails.",
    "gamma": "How linkable reports may be.",
    "tracking_delta": "Probability that gamma fails.",
    "recognition": "Chance of being recognised.",
    "crowd_eps": "Budget in a crowd.",
    "crowd_delta": "Chance that crowd-eps fails.",
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
        shown = f"stored, or {DEFAULTS[name]:g}"
        found = click.option(option, type=float, show_default=shown, help=_HELP[name])(found)
    return found


def lowered_policy(folder: Path, given: Mapping[str, Any]) -> Policy:
    """The stored policy with the limits that are given; `PolicyRaised` if these allow more than it."""
    from untrackable.client.stored_policy import stored_policy

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


def _print(found: Policy | None, spent: Spent | None, left: Left | None, as_json: bool) -> None:
    if as_json:
        told = {} if spent is None or left is None else _as_json(spent, left)
        print_json({"policy": None if found is None else found.limits(), **told})
        return
    if found is None:
        click.echo("No policy is stored yet: the first answer stores one.")
        return
    click.echo("Limits for all reports to all campaigns together (upper):")
    click.echo(
        f"  private       eps {found.eps!r}, delta {found.delta!r}, if somebody knows which reports are yours"
    )
    click.echo(f"  untrackable   gamma {found.gamma!r}, tracking delta {found.tracking_delta!r}")
    click.echo(
        f"  in a crowd    eps {found.crowd_eps!r}, delta {found.crowd_delta!r}, if nobody knows who sent which"
    )
    click.echo(f"  recognised    with probability {found.recognition!r} among 1,000 people, attendance included")
    click.echo(
        f"  relays        {', '.join(found.relays) or 'none, so campaigns that rely on a crowd are refused'}"
    )
    if spent is not None and left is not None:
        for line in (*spent_words(found, spent), *left_words(found, left)):
            click.echo(line)


def _as_json(spent: Spent, left: Left) -> dict[str, Any]:
    return {"spent_upper": spent._asdict(), "left_lower": left._asdict()}


def _offered(folder: Path, file: Path, as_json: bool) -> None:
    """What a campaign would take of the stored policy, or else of the default one."""
    from untrackable.cli.campaign import read
    from untrackable.client.offered_campaign import offer
    from untrackable.client.stored_policy import stored_policy

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
                "spent_upper": found.spent._asdict(),
                "spent_with_it_upper": found.spent_with_it._asdict(),
                "left_with_it_lower": found.left._asdict(),
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

    It also says what is left for a further campaign. With --campaign, it says what that campaign would take, and
    whether it would be accepted. Nothing is joined.

    Example: untrackable policy show
             untrackable policy show --campaign campaign.json
    """
    from untrackable.client.stored_policy import left_budget, spent_budget, stored_policy

    if file is not None:
        _offered(folder, file, as_json)
        return
    with _one_line_errors(folder):
        found, spent, left = stored_policy(folder), spent_budget(folder), left_budget(folder)
    _print(found, spent, left, as_json)


@policy.command("set")
@policy_options
@click.option("--no-relay", is_flag=True, help="Trust no relay any more.")
@FOLDER
@JSON
def set_(limits: dict[str, Any], no_relay: bool, folder: Path, as_json: bool) -> None:
    """Change the policy of a folder. Only this can raise it.

    The new limits apply to campaigns that are answered from now on. What was spent stays spent, and campaigns that
    were joined continue. Limits that are not given stay as they are. Campaigns that rely on a crowd are answered
    through a relay only: --relay names those that you trust not to work with the collector, in place of the ones
    before.

    Example: untrackable policy set --eps 2
    """
    from untrackable.client.stored_policy import left_budget, spent_budget, store_policy, stored_policy

    if no_relay and limits["relays"]:
        raise click.UsageError("give --relay or --no-relay, not both")
    with _one_line_errors(folder):
        found = changed_policy(stored_policy(folder), {**limits, **({"relays": ()} if no_relay else {})})
        store_policy(folder, found)
        spent, left = spent_budget(folder), left_budget(folder)
    _print(found, spent, left, as_json)
