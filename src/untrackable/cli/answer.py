"""`untrackable answer` and `untrackable send`: what runs beside the person."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli import campaign as campaigns
from untrackable.cli.terminal import print_json

if TYPE_CHECKING:
    from untrackable.client.member import Member
    from untrackable.client.send_times import Moments
    from untrackable.encodings.encoding import Encoding

_LONGEST_NAP, _NAP = 3600.0, 600.0
"""Seconds until somebody who stays looks again: at everything, and at what could not be done."""
_SLICE = 20.0
"""Seconds after which somebody who sleeps looks at the clock."""


def _home() -> str:
    return str(Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "untrackable")


_FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=_home,
    envvar="UNTRACKABLE_FOLDER",
    metavar="DIR",
    help="Where ledger and states are kept. [default: untrackable, where applications keep data]",
)


@click.command()
@click.argument("file", metavar="CAMPAIGN", type=campaigns.FILE)
@click.option(
    "--pin", "pins", multiple=True, metavar="SHA256", help="A campaign's id or a directory's digest to be trusted."
)
@click.option("--directory", type=campaigns.FILE, metavar="FILE", help="A directory whose digest is pinned.")
@click.option("--eps", type=float, default=1.0, show_default=True, help="Privacy of all answers to all campaigns.")
@click.option(
    "--delta", type=float, default=1e-6, show_default=True, help="Privacy of all answers to all campaigns."
)
@click.option("--gamma", type=float, default=0.0, show_default=True, help="Untrackability of all of them.")
@click.option("--tracking-delta", type=float, default=0.0, show_default=True, help="Untrackability of all of them.")
@click.option("--leave", is_flag=True, help="Answer this campaign no more.")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def answer(
    file: Path,
    pins: tuple[str, ...],
    directory: Path | None,
    eps: float,
    delta: float,
    gamma: float,
    tracking_delta: float,
    leave: bool,
    folder: Path,
    as_json: bool,
) -> None:
    """Answer the CAMPAIGN in a file, from its next round on, if the policy allows it.

    The answer is asked for, or read from standard input: it is on no command line, and not shown.

    Example: untrackable answer campaign.json --pin 4f1d… < my-answer.txt
    """
    from untrackable.client.client import Client
    from untrackable.client.member import Member
    from untrackable.client.policy import Policy
    from untrackable.errors import UntrackableError

    asked = campaigns.read(file)
    try:
        if leave:
            member = Member(asked, folder, clock=time.time)
            member.leave()
        else:
            policy = Policy(eps=eps, delta=delta, gamma=gamma, tracking_delta=tracking_delta, pins=pins)
            listed = None if directory is None else campaigns.read_directory(directory)
            member = client = Client(asked, listed, policy, folder=folder, clock=time.time)
            client.answer(_value(asked.encoding, asked.question))
        due = member.due()
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{folder}: {error.strerror}") from None
    if as_json:
        print_json({"campaign": asked.id, "next_report": due})
    else:
        click.echo(_answered(due))


@click.command()
@click.argument("server")
@_FOLDER
@click.option("--stay", is_flag=True, help="Stay, and send every report at its own moment.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def send(server: str, folder: Path, stay: bool, as_json: bool) -> None:
    """Send to SERVER whatever reports are due, of all campaigns that were answered.

    Run it often, or let it --stay: each report has a moment of its own in each round, and rounds that were missed
    are not caught up. A report that is late goes out at once; with --stay, at a random moment within the hour.

    Example: untrackable send https://collect.example --stay
    """
    from untrackable.client.client import members
    from untrackable.client.http_post import Address
    from untrackable.client.send_times import Moments
    from untrackable.errors import UntrackableError

    wrong, moments = False, Moments(time.time) if stay else None
    while True:
        try:
            Address.of(server, "0" * 64).reached_by()  # what is wrong with it is wrong for every campaign
            results = [_sent(member, server, moments) for member in members(folder, clock=time.time)]
        except (UntrackableError, ValueError) as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            raise click.ClickException(f"{folder}: {error.strerror}") from None
        wrong = wrong or any(result["outcome"].startswith(("refused", "failed")) for result in results)
        _say(results, as_json)
        coming = [result["next_report"] for result in results if result["next_report"] is not None]
        if not stay or not coming:
            break
        _sleep(min(_LONGEST_NAP, max(1.0, min(coming) - time.time())))
    if wrong:
        raise click.exceptions.Exit(1)


def _sleep(seconds: float) -> None:
    """By the clock, as time in which the machine is suspended is none to `time.sleep`."""
    until, slices = time.time() + seconds, int(seconds / _SLICE) + 1
    while slices and (left := until - time.time()) > 0:
        time.sleep(min(_SLICE, left))
        slices -= 1


def _sent(member: Member, server: str, moments: Moments | None) -> dict[str, Any]:
    """How it went with one campaign; what is wrong with one is no reason to leave out the others."""
    from untrackable.errors import ClockBehind, FolderBusy, UntrackableError

    later = None
    try:
        if moments is None:
            outcome, due = member.send(server), member.due()
        else:
            outcome, due = moments.tend(member, lambda: member.send(server))
        return {"campaign": member.campaign.id, "outcome": str(outcome), "next_report": due}
    except OSError as error:
        problem, later = error.strerror or type(error).__name__, time.time() + _NAP
    except (ClockBehind, FolderBusy) as error:
        problem, later = str(error), time.time() + _NAP
    except (UntrackableError, ValueError) as error:
        problem = str(error)
    return {"campaign": member.campaign.id, "outcome": f"failed: {problem}", "next_report": later}


def _say(results: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(results)
        return
    for result in results:
        due = result["next_report"]
        after = "no further report" if due is None else f"next report {campaigns.when(int(due))}"
        click.echo(f"campaign {result['campaign'][:12]}…: {result['outcome']}; {after}")
    if not results:
        click.echo("no campaign has been answered")


def _answered(due: float | None) -> str:
    return (
        "no report will be sent"
        if due is None
        else f"answered; the next report goes out {campaigns.when(int(due))}"
    )


def _value(encoding: Encoding, question: str) -> Any:
    """From a prompt that does not show it, or the first line of standard input."""
    from untrackable.encodings.text_values import from_text

    if sys.stdin.isatty():
        click.echo(f"{question}\n{encoding.describe()}", err=True)
        text = click.prompt("answer (not shown)", hide_input=True, err=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    return from_text(encoding, text)
