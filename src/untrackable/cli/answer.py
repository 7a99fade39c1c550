"""What runs beside the person: `untrackable answer` and `send`, and `policy` for the limits of all campaigns."""

from __future__ import annotations

import math
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.brackets import at_least, at_most
from untrackable.cli import campaign as campaigns
from untrackable.cli.options import GIVEN_FILE, Decorator, ResultOutput, gathered, result_options, when
from untrackable.cli.terminal import CommandGroup, PlainCommand, echo, one_line_errors
from untrackable.client.policy import LIMITS
from untrackable.client.quiet import default_folder, switched_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from untrackable.client.client import Member, Offer, SendTimes
    from untrackable.client.ledger import Ledger, Spent
    from untrackable.client.policy import Policy
    from untrackable.encodings.encoding import Encoding
    from untrackable.protocol.campaign import Campaign

_HELP = {
    "eps": "Privacy budget, all campaigns.",
    "delta": "Probability that eps fails.",
    "gamma": "How linkable reports may be.",
    "tracking_delta": "Probability that gamma fails.",
    "every_round": "Allow answering every round?",
    "turns_a_year": "Most campaigns answered once.",
}


FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_folder,
    envvar="UNTRACKABLE_FOLDER",
    required=True,
    metavar="DIR",
    show_default="~/.local/state/untrackable",
    help="Data folder.",
)


def _limits(given: dict[str, Any]) -> dict[str, Any]:
    """The options for a policy as one mapping, `limits`; what is not given is None."""
    limits = {name: given.pop(name) for name in (*LIMITS, "relays")}
    return given | {"limits": {**limits, "relays": limits["relays"] or None}}


def _limit_option(name: str) -> Decorator:
    option, shown = f"--{name.replace('_', '-')}", f"{LIMITS[name]:g}"
    if name == "every_round":
        option, shown = f"{option}/--turns-only", "no"
    kind = type(LIMITS[name])
    return click.option(option, type=kind, default=None, show_default=f"stored, or {shown}", help=_HELP[name])


policy_options = gathered(
    _limits,
    *map(_limit_option, LIMITS),
    click.option(
        "--relay", "relays", multiple=True, metavar="URL", show_default="stored", help="Trusted relay; give all."
    ),
)


def lowered_policy(folder: Path, given: Mapping[str, Any]) -> Policy:
    """The stored policy with the limits that are given; `PolicyRaised` if these allow more than it."""
    from untrackable.client.ledger import read_ledger

    stored = read_ledger(folder).policy
    lowered = changed_policy(stored, given)
    if stored is not None:
        lowered.check_not_above(stored)
    return lowered


def changed_policy(stored: Policy | None, given: Mapping[str, Any]) -> Policy:
    """The stored policy, or else the default one, with what is given in place of its own."""
    from untrackable.client.policy import Policy

    kept = LIMITS if stored is None else {name: getattr(stored, name) for name in (*LIMITS, "relays")}
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


def _show(policy: Policy | None, ledger: Ledger, output: ResultOutput) -> None:
    if policy is None:
        output.tell({"policy": None}, "No policy is stored yet: the first answer stores one.")
        return
    every = "allowed" if policy.every_round else "refused, because that gives people away"
    output.tell(
        {
            "policy": policy.limits(),
            "spent_upper": ledger.spent._asdict(),
            "left_lower": left(policy, ledger.spent),
            **turns_json(ledger.turns),
        },
        "Limits for everything that you ever answer, all campaigns together (upper):",
        f"  private       eps {policy.eps!r}, delta {policy.delta!r}",
        f"  turns         {policy.turns_a_year} campaigns a year that you answer once",
        f"  every round   campaigns in which everybody answers every round are {every}",
        f"  untrackable   gamma {policy.gamma!r}, tracking delta {policy.tracking_delta!r}",
        f"  relays        {', '.join(policy.relays) or 'none, so campaigns that need one are refused'}",
        *spent_words(policy, ledger.spent, ledger.turns),
        *left_words(policy, ledger.spent),
    )


def _show_offered(folder: Path, file: Path, output: ResultOutput) -> None:
    """What a campaign would take of the stored policy, or else of the default one."""
    from untrackable.client.client import offer
    from untrackable.client.ledger import read_ledger

    asked = campaigns.read(file)
    with _one_line_errors(folder):
        stored = read_ledger(folder).policy
        limits = changed_policy(stored, {})
        offered = offer(folder, asked, limits)
    output.tell(
        {
            "policy": None if stored is None else stored.limits(),
            "campaign": asked.id,
            "joined": offered.joined,
            "accepted": offered.refusal is None,
            "refusal": offered.refusal,
            "spent_upper": offered.before.spent._asdict(),
            "spent_with_it_upper": offered.after.spent._asdict(),
            "left_with_it_lower": left(limits, offered.after.spent),
            **turns_json(offered.after.turns),
        },
        *["No policy is stored yet, so this is about the default one."] * (stored is None),
        *offer_words(limits, offered),
    )


@policy.command()
@FOLDER
@click.option("--campaign", "file", type=GIVEN_FILE, metavar="FILE", help="Say what this campaign would take.")
@result_options()
def show(folder: Path, file: Path | None, output: ResultOutput) -> None:
    """Show the policy that is stored in a folder, and what is spent.

    It also says what is left for a further campaign, and how well several answers together give you away. With
    --campaign, it says what that campaign would take, and whether it would be accepted. Nothing is joined.

    Example: untrackable policy show
             untrackable policy show --campaign campaign.json
    """
    from untrackable.client.ledger import read_ledger

    if file is not None:
        _show_offered(folder, file, output)
        return
    with _one_line_errors(folder):
        ledger = read_ledger(folder)
    _show(ledger.policy, ledger, output)


@policy.command("set")
@policy_options
@click.option("--no-relay", is_flag=True, help="Trust no relay any more.")
@FOLDER
@result_options()
def set_(limits: dict[str, Any], no_relay: bool, folder: Path, output: ResultOutput) -> None:
    """Change the policy of a folder. Only this can raise it.

    The new limits apply to campaigns that are answered from now on. What was spent stays spent, and campaigns that
    were joined continue. Limits that are not given stay as they are.

    Some campaigns are answered through a relay only: --relay names those that you trust not to work with the
    collector, in place of the ones before. Campaigns in which everybody answers every round are refused unless you
    give --every-round: an observer of two places recognises people by the rounds that they answer.

    Example: untrackable policy set --eps 2
    """
    from untrackable.client.ledger import read_ledger, store_policy

    if no_relay and limits["relays"]:
        raise click.UsageError("give --relay or --no-relay, not both")
    with _one_line_errors(folder):
        changed = changed_policy(read_ledger(folder).policy, {**limits, **({"relays": ()} if no_relay else {})})
        store_policy(folder, changed)
        ledger = read_ledger(folder)
    _show(changed, ledger, output)


_LONGEST_PAUSE, _RETRY_PAUSE = 3600.0, 600.0
"""Seconds until `--stay` looks again: at all campaigns, and at one that failed."""
_TRIES, _LONGEST_MENU = 3, 50
"""How often an answer may be typed, and the longest list that is shown to choose from."""
_LONGEST_ANSWER = 1 << 20
"""The most characters of an answer that are read. No encoding takes more."""
_SHORTEST_PIN, _SAFE_PIN, _WHOLE_PIN = 8, 32, 64
"""Digits of an id that are enough to name it, from which on nobody can make another that begins so, and all."""
_NOTHING_ANSWERED = "no campaign has been answered; use `untrackable answer` first"
_OFF = "switched off by DO_NOT_TRACK or CI in the environment: nothing is stored, looked up or sent"
_CLOCK_CHECK = 20.0
"""Seconds after which a sleeping `--stay` looks at the clock."""


@click.command(cls=PlainCommand)
@click.argument("file", metavar="CAMPAIGN", type=GIVEN_FILE)
@click.option("--pin", "pins", multiple=True, metavar="SHA256", help="Trust this campaign id or directory digest.")
@click.option("--directory", type=GIVEN_FILE, metavar="FILE", help="Directory with the campaign; pin its digest.")
@policy_options
@click.option("--used", is_flag=True, help="Note a use today, for a question about days of use.")
@click.option("--used-before", is_flag=True, help="With the first --used: it was used before.")
@click.option("--leave", is_flag=True, help="Stop answering this campaign.")
@FOLDER
@result_options()
def answer(
    file: Path,
    pins: tuple[str, ...],
    directory: Path | None,
    limits: dict[str, Any],
    used: bool,
    used_before: bool,
    leave: bool,
    folder: Path,
    output: ResultOutput,
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
    from untrackable.client.client import Client, Member, offer

    if used_before and not used:
        raise click.UsageError("--used-before goes with --used")
    asked = campaigns.read(file)
    if switched_off() and not leave:
        output.tell({"campaign": asked.id, "next_report": None}, _OFF)
        return
    with _one_line_errors(folder):
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
                client.answer(_value(asked, policy, lambda: offer(folder, asked, policy, clock=time.time)))
        # Nobody is told when a turn is, or whether it is over.
        due = member.due() if asked.turns is None else None
    told = "left; no report will be sent" if leave else _answered(asked, due)
    output.tell({"campaign": asked.id, "next_report": due}, told)


@click.command(cls=PlainCommand)
@click.argument("file", metavar="CAMPAIGN", type=GIVEN_FILE)
@FOLDER
@result_options()
def preview(file: Path, folder: Path, output: ResultOutput) -> None:
    """Show what would be sent, and change nothing.

    The answer is asked for without showing it, or read from standard input. The bytes are an example, made with
    fresh randomness; words say what a report can tell, and what is left of the budget.

    Example: untrackable preview campaign.json < my-answer.txt
    """
    from untrackable.client.client import offer, preview
    from untrackable.client.ledger import read_ledger

    asked = campaigns.read(file)
    with _one_line_errors(folder):
        policy = changed_policy(read_ledger(folder).policy, {})
        value = _value(asked, policy, lambda: offer(folder, asked, policy, clock=time.time))
        shown = preview(folder, asked, value, policy, clock=time.time)
    output.tell(
        {
            "campaign": asked.id,
            "example": shown.example.hex(),
            "bytes": len(shown.example),
            "sealed": asked.gateway is not None,
            "eps_upper": asked.guarantee.eps,
            "odds_upper": shown.odds_upper,
            "left_lower": shown.left_lower,
            "joined": shown.joined,
            "accepted": shown.refusal is None,
            "refusal": shown.refusal,
        },
        *shown.words,
    )


@click.command(cls=PlainCommand)
@click.argument("server")
@FOLDER
@click.option("--stay", is_flag=True, help="Keep running and send each report at its own random time.")
@result_options()
def send(server: str, folder: Path, stay: bool, output: ResultOutput) -> None:
    """Send the reports that are due to a collector.

    SERVER is the collector's address. Each campaign that was answered has one report in all, in a round that this
    device has drawn in secret, sent at a random time of that round. In all other rounds nothing happens: no
    connection, no look-up. Run this often, or once with --stay. A missed round is not made up for. A late report
    goes out at once, or with --stay at a random time within the hour. If everybody answers every round, there is
    one report in each.

    Campaigns with a relay are sent through a relay of the stored policy. If it holds reports, they are sent by the
    first run in their round, and again until the relay has them. Otherwise they are sent at their moments and never
    late, so use --stay.

    Example: untrackable send https://collect.example --stay
    """
    from untrackable.client.client import SendTimes, members
    from untrackable.client.ledger import read_ledger
    from untrackable.client.sending import Address, Outcome

    if switched_off():
        output.tell([], _OFF)
        return
    wrong, first, times = False, True, SendTimes(time.time) if stay else None
    while True:
        with _one_line_errors(folder):
            Address.of(server, "0" * 64).reached_by()  # a bad address is bad for every campaign
            living = members(folder, clock=time.time)
            results = [_send_one(member, server, times) for member in living]
            secret = {member.campaign.id for member in living if member.campaign.turns is not None}
            nothing = "nothing to send" if read_ledger(folder).accounts else _NOTHING_ANSWERED
        wrong = wrong or any(result["outcome"].startswith(("refused", "failed")) for result in results)
        told = [result for result in results if first or result["outcome"] != Outcome.NOTHING]
        if first or told:
            shown = [{**result, "next_report": _shown(result, secret)} for result in told]
            output.tell(shown, *(map(_result_words, shown) if shown else [nothing]))
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
    from untrackable.client.sending import WINDOW
    from untrackable.errors import ClockBehind, FolderBusy, UntrackableError

    later = None
    try:
        if times is None:
            outcome, due = member.send(server, timeout=WINDOW), member.due()
        else:
            outcome, due = times.tend(member, lambda: member.send(server, timeout=WINDOW))
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


def _result_words(result: dict[str, Any]) -> str:
    due = result["next_report"]
    after = "" if due is None else f"; next report {when(int(due))}"
    return f"campaign {result['campaign'][:12]}…: {result['outcome']}{after}"


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
    whole_pins = []
    for pin in pins:
        if len(pin) < _SHORTEST_PIN:
            raise ValueError(f"--pin needs the first {_SHORTEST_PIN} digits of an id, or more, not {len(pin)}")
        whole = next((name for name in known if name.startswith(pin)), None)
        if whole is None and len(pin) < _WHOLE_PIN:
            raise ValueError(f"--pin {pin} is not the beginning of this campaign's id, which is {known[0]}")
        if whole is not None and len(pin) < _SAFE_PIN:
            echo(
                f"Warning: the author of this campaign could have made its id begin with {pin}. Compare all of it "
                f"if you can: {whole}",
                err=True,
            )
        whole_pins.append(whole or pin)
    return tuple(whole_pins)


def _value(asked: Campaign, policy: Policy, offered: Callable[[], Offer]) -> Any:
    """The answer, from a prompt that does not show it or from the first line of standard input."""
    from untrackable.encodings.encoding import from_text

    if not sys.stdin.isatty():
        if not (line := sys.stdin.readline(_LONGEST_ANSWER + 1)):
            raise ValueError("standard input is empty, so there is no answer")
        if len(line) > _LONGEST_ANSWER:
            raise ValueError(f"an answer must have at most {_LONGEST_ANSWER:,} characters; the given one has more")
        return from_text(asked.answers, line.rstrip("\r\n"))
    _show_promise(asked)
    for line in (*offer_words(policy, offered()), "", asked.question):
        echo(line, err=True)
    menu = _menu(asked.answers)
    if not menu:
        echo(asked.answers.describe(), err=True)
    for number, name in enumerate(menu, start=1):
        echo(f"  {number:>2}  {name}", err=True)
    for more in reversed(range(_TRIES)):
        text = click.prompt(_prompt(asked.answers, menu), hide_input=True, err=True)
        try:
            value = _typed(asked.answers, menu, text)
            asked.answers.encode(value)
        except (ValueError, TypeError) as error:
            if not more:
                raise
            echo(f"{error}. Try again; nothing was stored.", err=True)
        else:
            return value
    raise AssertionError("the last try returns or raises")


def _show_promise(asked: Campaign) -> None:
    """What is asked and what is promised, before anything is typed."""
    from untrackable.display.campaign import guarantee_words

    echo("What is promised (this device recomputes eps, and refuses what does not hold):", err=True)
    for sentence in guarantee_words(asked, strict_json.write({})):
        echo(f"  - {sentence}", err=True)


def _menu(encoding: Encoding) -> list[str]:
    """The answers of a short list; none if they are not listed, or if a number could mean two of them."""
    from untrackable.encodings.encoding import Bit, Categories, Choices

    if isinstance(encoding, Choices):
        names = list(encoding.names)
    elif isinstance(encoding, (Bit, Categories)) and encoding.values <= _LONGEST_MENU:
        names = [encoding.label(value) for value in range(encoding.values)]
    else:
        return []
    return [] if any(name.isdecimal() for name in names) else names


def _prompt(encoding: Encoding, menu: list[str]) -> str:
    """How to write an answer."""
    from untrackable.encodings.encoding import Choices
    from untrackable.encodings.record import Record

    if isinstance(encoding, Choices):
        return f"{'numbers' if menu else 'names'} with commas between, - for none of them (not shown)"
    if isinstance(encoding, Record):
        return f"{', '.join(f'{name}=…' for name in dict(encoding.attributes))} (not shown)"
    return "number or answer (not shown)" if menu else "answer (not shown)"


def _typed(encoding: Encoding, menu: list[str], text: str) -> Any:
    """The answer that was typed, in which numbers stand for lines of the menu."""
    from untrackable.encodings.encoding import Choices, from_text

    def name(part: str) -> str:
        listed = part not in menu and part.isdecimal() and 1 <= int(part) <= len(menu)
        return menu[int(part) - 1] if listed else part

    if isinstance(encoding, Choices):
        return [] if text.strip() == "-" else [name(part) for part in from_text(encoding, text)]
    return from_text(encoding, name(text))


def spent_words(policy: Policy, spent: Spent, turns: int) -> list[str]:
    """What all campaigns spend, beside the limits."""
    return [
        "Spent by all campaigns that were answered here (upper; nothing is ever given back):",
        f"  private       {_of(spent, policy)}",
        *_meaning(spent),
        f"  turns         {turns_words(turns)}",
    ]


def _of(spent: Spent, policy: Policy) -> str:
    return f"eps {at_most(spent.eps, 3)} of {policy.eps:g}, delta {at_most(spent.delta, 3)} of {policy.delta:g}"


def _meaning(spent: Spent) -> list[str]:
    """What an observer learns from all reports of this person, if anything is spent."""
    if not 0 < spent.eps < 700:
        return []
    factor = at_most(math.nextafter(math.exp(spent.eps), math.inf), 3)
    never = f", except with probability {at_most(spent.delta, 3)}" if spent.delta else ""
    return [
        "  in words      all that you send, together, changes the odds between any two answers by a factor of at "
        f"most {factor}{never}"
    ]


def turns_words(turns: int) -> str:
    """How many campaigns were answered once, and how well these together give a person away."""
    if turns == 0:
        return "none taken"
    if turns == 1:
        return (
            "1 taken. Somebody who sees two places, such as a home and an office, finds you among N people with "
            "probability at most 2 in N (upper)"
        )
    from untrackable.theory.turns import several_turns_lower

    times = several_turns_lower(turns, overlapping=False)
    return (
        f"{turns} taken, one after the other. Somebody who sees two places, such as a home and an office, finds "
        f"you among N people with probability {times} in N by the strongest "
        "attack that is known (lower; no upper bound is known for several turns)"
    )


def turns_json(turns: int) -> dict[str, Any]:
    """The turns taken, and N times the probability of being found among N people."""
    from untrackable.theory.turns import several_turns_lower

    return {
        "turns": turns,
        "found_in_n_lower": several_turns_lower(turns, overlapping=False),
        "found_in_n_upper": 1 << turns if turns < 2 else None,
    }


def left(policy: Policy, spent: Spent) -> dict[str, float]:
    """What a further campaign may have (lower)."""
    return {name: max(0.0, getattr(policy, name) - getattr(spent, name)) for name in ("eps", "delta")}


def left_words(policy: Policy, spent: Spent) -> list[str]:
    """What a further campaign may have."""
    rest = left(policy, spent)
    if rest["eps"] == 0:
        return ["No eps is left for a further campaign."]
    return [
        f"Left for a further campaign: eps {at_least(rest['eps'], 3)} and delta {at_least(rest['delta'], 3)} "
        "(lower). The other limits hold as well."
    ]


def offer_words(policy: Policy, offer: Offer) -> list[str]:
    """What an offered campaign would take, and whether it would be accepted."""
    if offer.joined:
        return ["You answered this campaign already, so it is counted in what is spent. It takes nothing more."]
    before, after = offer.before.spent, offer.after.spent
    told = [
        "With this campaign, all campaigns together would spend (upper):",
        f"  private       {_of(after, policy)}; without it eps {at_most(before.eps, 3)}",
        *_meaning(after),
    ]
    if offer.after.turns > offer.before.turns:
        told.append(f"  turns         {turns_words(offer.after.turns)}")
    if offer.refusal is not None:
        return [*told, f"It would be refused: {offer.refusal}"]
    return [*told, "It would be accepted.", *left_words(policy, after)]
