"""`untrackable gateway`: the private keys with which a collector opens sealed reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json

if TYPE_CHECKING:
    from untrackable.oblivious.gateway_keys import GatewayKeys

FILE = click.argument("file", metavar="KEYS", type=click.Path(dir_okay=False, path_type=Path))
LIST = click.option(
    "--list", "number", type=click.IntRange(min=1), show_default="last", help="Number of the list of keys."
)
PUBLIC_JSON = click.option("--json", "as_json", is_flag=True, help="Print the public keys as JSON.")


@click.group(cls=CommandGroup)
def gateway() -> None:
    """Make, show and revoke the keys that open sealed reports.

    Reports for a crowd are sealed for the collector's gateway and come through a relay that cannot read them. The
    private keys are in a file that only its owner can read. No command prints them.

    Example: untrackable gateway new gateway.keys --json > gateway.json
    """


@gateway.command()
@FILE
@click.option("--keys", "count", type=click.IntRange(1, 256), default=12, show_default=True, help="How many keys.")
@click.option(
    "--every", type=click.IntRange(min=1), default=30, show_default=True, help="Rounds that each key serves."
)
@PUBLIC_JSON
def new(file: Path, count: int, every: int, as_json: bool) -> None:
    r"""Make a list of keys, and print what is public of it.

    A campaign pins the public keys: each serves some rounds and then the next one does. Let campaigns share a list:
    a relay sees which key a report is sealed for. If the file exists, the list is added to it.

    Example: untrackable gateway new gateway.keys --keys 12 --every 30 --json \
                 > gateway.json
    """
    from untrackable.oblivious.gateway_keys import GatewayKeys, locked, read_keys, write_keys

    with one_line_errors(), locked(file):
        keys = (read_keys(file) if file.exists() else GatewayKeys()).with_list(count, every)
        write_keys(file, keys)
    _print_list(keys, keys.last_list, as_json)
    if not as_json:
        echo(f"To start a collector with these keys: untrackable serve --gateway-keys {file}", err=True)
        echo(
            f"For `campaign new --gateway gateway.json`: untrackable gateway show {file} --json > gateway.json",
            err=True,
        )


@gateway.command()
@FILE
@LIST
@PUBLIC_JSON
def show(file: Path, number: int | None, as_json: bool) -> None:
    """Show all keys, the rounds they serve, and which are revoked.

    The JSON has the public keys of a list that are not revoked, for `campaign new --gateway`.

    Example: untrackable gateway show gateway.keys
    """
    from untrackable.oblivious.gateway_keys import read_keys

    with one_line_errors():
        keys = read_keys(file)
        if number is not None and not 1 <= number <= keys.last_list:
            raise ValueError(f"there is no list {number}; the last one is {keys.last_list}")
        if as_json or number is not None:
            _print_list(keys, number or keys.last_list, as_json)
            return
    for each in range(1, keys.last_list + 1):
        _print_list(keys, each, as_json=False)


@gateway.command()
@FILE
@click.argument("ids", metavar="[KEY]...", type=click.IntRange(0, 255), nargs=-1)
@click.option(
    "--before", type=click.IntRange(min=1), metavar="ROUND", help="All keys of the rounds before this one."
)
@LIST
@JSON
def revoke(file: Path, ids: tuple[int, ...], before: int | None, number: int | None, as_json: bool) -> None:
    """Revoke keys by destroying their private part.

    A running collector notices within seconds. A report that is sealed for a revoked key is refused, and its client
    uses the next key of the list. Nobody can open earlier reports with a destroyed key, so revoke the keys
    of past rounds. Delete copies of the file as well.

    Example: untrackable gateway revoke gateway.keys --before 31
    """
    from untrackable.oblivious.gateway_keys import locked, read_keys, write_keys

    if not ids and before is None:
        raise click.UsageError("say which keys to revoke: their numbers, or --before ROUND")
    with one_line_errors(), locked(file):
        keys = read_keys(file)
        past = frozenset() if before is None else keys.served_before(before, number or keys.last_list)
        left = keys.without({*ids, *past})
        write_keys(file, left)
    revoked = [new.id for old, new in zip(keys.keys, left.keys, strict=True) if new.revoked and not old.revoked]
    if as_json:
        print_json({"revoked": revoked, "left": [key.id for key in left.keys if not key.revoked]})
    else:
        click.echo(f"Revoked: {', '.join(map(str, revoked)) or 'none that was not revoked before'}.")


def _print_list(keys: GatewayKeys, number: int, as_json: bool) -> None:
    if as_json:
        with one_line_errors():
            print_json(keys.public_list(number))
        return
    click.echo(f"List {number}")
    for key in keys.keys:
        if key.list == number:
            state = "  revoked" if key.revoked else ""
            click.echo(f"  key {key.id:>3}  from round {key.first_round:<6} {key.config.public_key.hex()}{state}")
