"""`untrackable answer` and `untrackable send`: what runs beside the person."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli import campaign as campaigns
from untrackable.cli.campaign_shown import when
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.policy import FOLDER, lowered_policy, policy_options
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, print_json

if TYPE_CHECKING:
    from untrackable.client.client import Client, Member, SendTimes
    from untrackable.encodings.encoding import Encoding
    from untrackable.protocol.campaign import Campaign

_LONGEST_PAUSE, _RETRY_PAUSE = 3600.0, 600.0
"""Seconds until `--stay` looks again: at all campaigns, and at one that failed."""
_TRIES, _LONGEST_MENU = 3, 50
"""How often an answer may be typed, and the longest list that is shown to choose from."""
_LONGEST_ANSWER = 1 << 20
"""The most characters of an answer that are read. No encoding takes more."""
_SHORTEST_PIN, _SAFE_PIN, _WHOLE_PIN = 8, 32, 64
"""Digits of an id that are enough to name it, from which on nobody can make another that begins so, and all."""
_CLOCK_CHECK = 20.0
"""Seconds after which a sleeping `--stay` looks at the clock."""


@click.command(cls=PlainCommand)
@click.argument("file", metavar="CAMPAIGN", type=campaigns.FILE)
@click.option("--pin", "pins", multiple=True, metavar="SHA256", help="Trust this campaign id or directory digest.")
@click.option(
    "--directory", type=campaigns.FILE, metavar="FILE", help="Directory with the campaign; pin its digest."
)
@policy_options
@click.option("--used", is_flag=True, help="Note a use today, for a question about days of use.")
@click.option("--used-before", is_flag=True, help="With the first --used: it was used before.")
@click.option("--leave", is_flag=True, help="Stop answering this campaign.")
@FOLDER
@JSON
def answer(
    file: Path,
    pins: tuple[str, ...],
    directory: Path | None,
    limits: dict[str, Any],
    used: bool,
    used_before: bool,
    leave: bool,
    folder: Path,
    as_json: bool,
) -> None:
    r"""Answer a campaign's question on this person's device.

    The campaign is accepted only if it is pinned, keeps what it declares and fits the privacy budget. The command
    shows what is promised, asks for the answer without showing it, and lets people try again; or it reads the
    answer from standard input. The answer is never part of the command line. The first 8 digits of an id are enough
    for --pin; with fewer than 32, compare the whole id that is then shown.

    A question with several answers takes them with commas between: the names that are true, as search, export; or
    for a set of questions each as name=answer, as smokes=yes, age=old.

    This device then answers once, in a round that it draws in secret. It says nothing about which one, or whether
    that is over. `untrackable send` sends the report. Until then, another answer replaces the one before. Leaving
    and joining again does not lead to a second report.

    The first answer stores the privacy budget in the folder. Later answers use it. They may lower it, but only
    `untrackable policy set` raises it.

    Campaigns in which everybody answers every round are refused unless the policy allows them (`untrackable policy
    set --every-round`), and those with a relay unless it names one. They are never sent directly.

    With --used, nothing is asked. The days of use are kept in the folder, 28 at most, and the report is made from
    what they say on its day. Give it whenever there is a use.

    Example: untrackable answer campaign.json --pin 4f1d… < my-answer.txt
             untrackable answer active-days.json --pin 4f1d… --used
             untrackable answer campaign.json --pin 4f1d… \
                 --relay https://relay.example/gateways/collect < my-answer.txt
    """
    from untrackable.client.client import Client, Member
    from untrackable.errors import UntrackableError

    if used_before and not used:
        raise click.UsageError("--used-before goes with --used")
    asked = campaigns.read(file)
    try:
        if leave:
            member = Member(asked, folder, clock=time.time)
            member.leave()
        else:
            listed = None if directory is None else campaigns.read_directory(directory)
            known = [asked.id, *([] if listed is None else [listed.digest])]
            policy = replace(lowered_policy(folder, limits), pins=_whole_pins(known, pins))
            member = client = Client(asked, listed, policy, folder=folder, clock=time.time)
            if used:
                client.used(newcomer=not used_before)
            else:
                client.answer(_value(asked, client))
        # Nobody is told when a turn is, or whether it is over.
        due = member.due() if asked.turns is None else None
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot use the folder {folder}: {error.strerror}") from None
    if as_json:
        print_json({"campaign": asked.id, "next_report": due})
    else:
        click.echo("left; no report will be sent" if leave else _answered(asked, due))


@click.command(cls=PlainCommand)
@click.argument("server")
@FOLDER
@click.option("--stay", is_flag=True, help="Keep running and send each report at its own random time.")
@JSON
def send(server: str, folder: Path, stay: bool, as_json: bool) -> None:
    """Send the reports that are due to a collector.

    SERVER is the collector's address. Each campaign that was answered has one report in all, in a round that this
    device has drawn in secret, sent at a random time of that round. In all other rounds nothing happens: no
    connection, no look-up. Run this often, or once with --stay. A missed round is not made up for. A late report
    goes out at once, or with --stay at a random time within the hour. If everybody answers every round, there is
    one report in each.

    Campaigns with a relay are sent through a relay of the stored policy, at their moments and never late, so use
    --stay for them.

    Example: untrackable send https://collect.example --stay
    """
    from untrackable.client.client import SendTimes, members
    from untrackable.client.ledger import read_ledger
    from untrackable.client.sending import Address, Outcome
    from untrackable.errors import UntrackableError

    wrong, first, times = False, True, SendTimes(time.time) if stay else None
    while True:
        try:
            Address.of(server, "0" * 64).reached_by()  # a bad address is bad for every campaign
            living = members(folder, clock=time.time)
            results = [_send_one(member, server, times) for member in living]
            secret = {member.campaign.id for member in living if member.campaign.turns is not None}
            answered = bool(read_ledger(folder).accounts)
        except (UntrackableError, ValueError) as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            raise click.ClickException(f"cannot use the folder {folder}: {error.strerror}") from None
        wrong = wrong or any(result["outcome"].startswith(("refused", "failed")) for result in results)
        told = [result for result in results if first or result["outcome"] != Outcome.NOTHING]
        if first or told:
            _print_results(
                [{**result, "next_report": _shown(result, secret)} for result in told], as_json, answered
            )
        first = False
        coming = [result["next_report"] for result in results if result["next_report"] is not None]
        if not stay or not coming:
            break
        _sleep(min(_LONGEST_PAUSE, max(1.0, min(coming) - time.time())))
    if wrong:
        raise click.exceptions.Exit(1)


def _sleep(seconds: float) -> None:
    """Sleep by the clock: `time.sleep` does not count the time in which the machine is suspended."""
    until, slices = time.time() + seconds, int(seconds / _CLOCK_CHECK) + 1
    while slices and (left := until - time.time()) > 0:
        time.sleep(min(_CLOCK_CHECK, left))
        slices -= 1


def _send_one(member: Member, server: str, times: SendTimes | None) -> dict[str, Any]:
    """Send what is due of one campaign and say how it went; an error does not keep others from being sent."""
    from untrackable.errors import ClockBehind, FolderBusy, UntrackableError

    later = None
    try:
        if times is None:
            outcome, due = member.send(server), member.due()
        else:
            outcome, due = times.tend(member, lambda: member.send(server))
        return {"campaign": member.campaign.id, "outcome": str(outcome), "next_report": due}
    except OSError as error:
        problem, later = error.strerror or type(error).__name__, time.time() + _RETRY_PAUSE
    except (ClockBehind, FolderBusy) as error:
        problem, later = str(error), time.time() + _RETRY_PAUSE
    except (UntrackableError, ValueError) as error:
        problem = str(error)
    return {"campaign": member.campaign.id, "outcome": f"failed: {problem}", "next_report": later}


def _shown(result: dict[str, Any], secret: set[str]) -> float | None:
    """When the next report is sent, unless that is a turn: nobody is told when that is."""
    due: float | None = None if result["campaign"] in secret else result["next_report"]
    return due


def _print_results(results: list[dict[str, Any]], as_json: bool, answered: bool) -> None:
    if as_json:
        print_json(results)
        return
    for result in results:
        due = result["next_report"]
        after = "" if due is None else f"; next report {when(int(due))}"
        echo(f"campaign {result['campaign'][:12]}…: {result['outcome']}{after}")
    if not results:
        click.echo(
            "nothing to send" if answered else "no campaign has been answered; use `untrackable answer` first"
        )


def _answered(asked: Campaign, due: float | None) -> str:
    if asked.turns is not None:
        sent = "it sends this answer then"
        if asked.looks > 1:
            sent = (
                f"it sends your answers in all its {asked.looks} looks at its end; answer again when yours changes"
            )
        return (
            f"noted; this device answers this campaign once at most, in one of its {asked.turns.rounds:,} rounds, "
            f"which it draws in secret and tells nobody. If that is still to come, {sent}"
        )
    if due is None:
        return "answered; no report will be sent, because no round is left, or it was left"
    return f"answered; the next report goes out {when(int(due))}"


def _whole_pins(known: list[str], pins: tuple[str, ...]) -> tuple[str, ...]:
    """The pins; those that are the beginning of the campaign's id, or of the directory's digest, made whole."""
    found = []
    for pin in pins:
        if len(pin) < _SHORTEST_PIN:
            raise ValueError(f"--pin needs the first {_SHORTEST_PIN} digits of an id, or more, not {len(pin)}")
        whole = next((name for name in known if name.startswith(pin)), None)
        if whole is None and len(pin) < _WHOLE_PIN:
            raise ValueError(f"--pin {pin} is not the beginning of this campaign's id, which is {known[0]}")
        if whole is not None and len(pin) < _SAFE_PIN:
            echo(
                f"Warning: whoever wrote this campaign could have made its id begin with {pin}. Compare all of it "
                f"if you can: {whole}",
                err=True,
            )
        found.append(whole or pin)
    return tuple(found)


def _value(asked: Campaign, client: Client) -> Any:
    """The answer, from a prompt that does not show it or from the first line of standard input."""
    from untrackable.encodings.text_values import from_text

    if not sys.stdin.isatty():
        if not (line := sys.stdin.readline(_LONGEST_ANSWER + 1)):
            raise ValueError("standard input is empty, so there is no answer")
        if len(line) > _LONGEST_ANSWER:
            raise ValueError(f"an answer must have at most {_LONGEST_ANSWER:,} characters; the given one has more")
        return from_text(asked.answers, line.rstrip("\r\n"))
    _show_promise(asked)
    _show_cost(client)
    echo(asked.question, err=True)
    menu = _menu(asked.answers)
    if not menu:
        echo(asked.answers.describe(), err=True)
    for number, name in enumerate(menu, start=1):
        echo(f"  {number:>2}  {name}", err=True)
    for left in reversed(range(_TRIES)):
        text = click.prompt(_prompt(asked.answers, menu), hide_input=True, err=True)
        try:
            value = _typed(asked.answers, menu, text)
            asked.answers.encode(value)
        except (ValueError, TypeError) as error:
            if not left:
                raise
            echo(f"{error}. Try again; nothing was stored.", err=True)
        else:
            return value
    raise AssertionError("the last try returns or raises")


def _show_promise(asked: Campaign) -> None:
    """What is asked and what is promised, before anything is typed."""
    from untrackable import strict_json
    from untrackable.display.campaign_words import guarantee_words

    echo("What is promised (this device recomputes eps, and refuses what does not hold):", err=True)
    for sentence in guarantee_words(asked, strict_json.write({})):
        echo(f"  - {sentence}", err=True)


def _show_cost(client: Client) -> None:
    """What it would take of the budget, before anything is typed."""
    from untrackable.cli.budget_words import offer_words

    for line in offer_words(client.policy, client.offer()):
        echo(line, err=True)
    echo("", err=True)


def _menu(encoding: Encoding) -> list[str]:
    """The answers of a short list; none if they are not listed, or if a number could mean two of them."""
    from untrackable.encodings.bit import Bit
    from untrackable.encodings.categories import Categories
    from untrackable.encodings.choices import Choices

    if isinstance(encoding, Choices):
        names = list(encoding.names)
    elif isinstance(encoding, (Bit, Categories)) and encoding.values <= _LONGEST_MENU:
        names = [encoding.label(value) for value in range(encoding.values)]
    else:
        return []
    return [] if any(name.isdecimal() for name in names) else names


def _prompt(encoding: Encoding, menu: list[str]) -> str:
    """How to write an answer."""
    from untrackable.encodings.choices import Choices
    from untrackable.encodings.record import Record

    if isinstance(encoding, Choices):
        return f"{'numbers' if menu else 'names'} with commas between, - for none of them (not shown)"
    if isinstance(encoding, Record):
        return f"{', '.join(f'{name}=…' for name in dict(encoding.attributes))} (not shown)"
    return "number or answer (not shown)" if menu else "answer (not shown)"


def _typed(encoding: Encoding, menu: list[str], text: str) -> Any:
    """The answer that was typed, in which numbers stand for lines of the menu."""
    from untrackable.encodings.choices import Choices
    from untrackable.encodings.text_values import from_text

    def name(part: str) -> str:
        listed = part not in menu and part.isdecimal() and 1 <= int(part) <= len(menu)
        return menu[int(part) - 1] if listed else part

    if isinstance(encoding, Choices):
        return [] if text.strip() == "-" else [name(part) for part in from_text(encoding, text)]
    return from_text(encoding, name(text))
