"""`untrackable ballots`: the issuer of ballots, which lets each person answer a campaign once."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.collect import announce, listening_socket
from untrackable.cli.options import ABOVE_ZERO, FILE, POSITIVE, ResultOutput, result_options
from untrackable.cli.terminal import CommandGroup, PlainCommand, one_line_errors, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from untrackable.ballots.register import Register, RegisterState

_REGISTER = click.argument("file", metavar="REGISTER", type=FILE)


@click.group(cls=CommandGroup)
def ballots() -> None:
    """Issue ballots, so that each person is heard once in a campaign.

    Anybody can send invented reports. With ballots, a report counts only with a ballot, and each entitled person
    gets one. The issuer signs it blindly: nobody can tell whose it was when it is shown. The register is a file
    with the private key and with hashes of those who had a ballot. No command prints the key.

    Example: untrackable ballots new members.ballots --for codes --days 30
    """


@ballots.command("new")
@_REGISTER
@click.option(
    "--for",
    "entitled",
    type=click.Choice(["codes", "accounts", "anybody"]),
    required=True,
    help="Who gets a ballot: people with invitation codes, accounts of your own system, or anybody.",
)
@click.option("--days", type=ABOVE_ZERO, required=True, help="Days from now in which ballots are issued.")
@result_options()
def new_register(file: Path, entitled: str, days: float, output: ResultOutput) -> None:
    """Make a register of ballots with a key of its own, for one campaign.

    With --for accounts, it prints a secret, this once. Your own system signs a token with it for a person who is
    signed in: see docs/ballots.md. Ballots for anybody only slow scripts down: they do not count people.

    Example: untrackable ballots new members.ballots --for codes --days 30
    """
    from untrackable.ballots.enrolment import Entitled, text_of
    from untrackable.ballots.register import Register

    with one_line_errors():
        made = Register.make(file, Entitled(entitled), int(time.time() + 86400 * days))
    with _closing(made) as register:
        secret = text_of(register.account_secret()) if register.entitled is Entitled.ACCOUNTS else None
        state = register.state()
    made_words = f"{file} has a new key, and issues ballots until {_date(state.expires)}."
    if secret is not None:
        shown = "The secret for your own system is below. It is shown this once."
        output.tell({**state.to_json(), "secret": secret}, made_words, shown, secret)
        return
    codes = state.entitled is Entitled.CODES
    note = [f"For invitation codes: untrackable ballots codes {file} 100 > codes.txt"] * codes
    output.tell(state.to_json(), made_words, notes=note)


@ballots.command()
@_REGISTER
@click.argument("count", type=click.IntRange(1, 10_000_000))
@result_options()
def codes(file: Path, count: int, output: ResultOutput) -> None:
    """Make invitation codes and print them, one in a line.

    Each code gets one ballot. The codes are shown only this once: the register keeps hashes of them.

    Example: untrackable ballots codes members.ballots 250 > codes.txt
    """
    with _opened(file) as register:
        made = register.new_codes(count)
    if output.as_json:
        print_json({"codes": made})
    else:
        sys.stdout.write("".join(f"{code}\n" for code in made))


@ballots.command()
@_REGISTER
@result_options()
def show(file: Path, output: ResultOutput) -> None:
    """Show who is entitled, until when, and how many ballots were issued.

    The JSON has the public key.

    Example: untrackable ballots show members.ballots
    """
    with _opened(file) as register:
        state = register.state()
    output.tell(state.to_json(), *_words(state))


@ballots.command()
@_REGISTER
@click.argument("issuer", metavar="URL")
@result_options()
def public(file: Path, issuer: str, output: ResultOutput) -> None:
    r"""Show what a campaign says of these ballots.

    URL is where clients reach the issuer. The JSON is for `campaign new --ballots`.

    Example: untrackable ballots public members.ballots https://ballots.example \
                 --json > ballots.json
    """
    from untrackable.protocol.ballots import CampaignBallots

    with _opened(file) as register:
        told = CampaignBallots(issuer, register.key, register.expires)
    output.tell(told.to_json(), f"{issuer} issues ballots until {_date(told.expires)}.", f"Key {told.key.id}")


def _words(state: RegisterState) -> list[str]:
    from untrackable.ballots.enrolment import Entitled

    who = {
        Entitled.CODES: "people with invitation codes",
        Entitled.ACCOUNTS: "accounts of your own system",
        Entitled.ANYBODY: "anybody, which does not count people",
    }[state.entitled]
    codes = [f"{state.unused_codes:,} codes are not used."] if state.entitled is Entitled.CODES else []
    ending = "It is closed." if state.closed else f"They are issued until {_date(state.expires)}."
    # A lost answer that is asked for again is one more for anybody.
    issued = f"{state.issued:,} ballots were issued{' (upper)' * (state.entitled is Entitled.ANYBODY)}."
    return [f"Ballots for {who}. {ending}", issued, *codes, f"Key {state.key.id}"]


@ballots.command("close")
@_REGISTER
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@result_options()
def close_register(file: Path, yes: bool, output: ResultOutput) -> None:
    """Issue no more ballots, and destroy the private key and all that is known of people.

    Ballots that were issued stay valid. This cannot be undone.

    Example: untrackable ballots close members.ballots --yes
    """
    with _opened(file) as register:
        if not yes:
            click.confirm(f"Close {file} for good?", abort=True, err=True)
        register.close()
        state = register.state()
    output.tell(state.to_json(), f"{file} is closed: the key and all enrolments are destroyed.")


@ballots.command(cls=PlainCommand)
@click.argument("files", metavar="REGISTER...", type=FILE, nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8200, help="Port; 0 picks a free one.")
@click.option("--per-hour", type=POSITIVE, default=5, help="Most ballots an hour of an address, if for anybody.")
@click.option("--sender-header", default=None, metavar="NAME", help="Header with the address, set by your proxy.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve(
    files: tuple[Path, ...], host: str, port: int, per_hour: int, sender_header: str | None, as_json: bool
) -> None:
    """Run an issuer that signs ballots over HTTP.

    It logs nothing about anybody. Stop it with Ctrl-C or SIGTERM. For TLS, put a proxy in front of it.

    Example: untrackable ballots serve members.ballots --port 8200
    """
    from untrackable.ballots.app import IssuerSettings, serve_issuer
    from untrackable.ballots.register import Register

    with one_line_errors():
        settings = IssuerSettings(per_hour=per_hour, sender_header=sender_header)
        for file in files:
            Register(file).close_file()
    bound = listening_socket(host, port)
    announce("Issuing ballots at", bound, as_json=as_json)
    serve_issuer(bound, files, settings)


@contextmanager
def _opened(file: Path) -> Iterator[Register]:
    """An open register; errors are one line."""
    from untrackable.ballots.register import Register

    with one_line_errors(), _closing(Register(file)) as register:
        yield register


@contextmanager
def _closing(register: Register) -> Iterator[Register]:
    try:
        yield register
    finally:
        register.close_file()


def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
