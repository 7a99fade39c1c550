"""`untrackable serve`, `relay`, `gateway`, `keys`, `manage` and `export`: a collector and what belongs to it.

A setting of a server comes from an option, an environment variable or a TOML file, in this order. click does that;
what is added here refuses keys and types that a file should not have, names the source of a wrong value, and warns
of variables that are no setting. `keys`, `manage` and `export` work straight on the store of a collector.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from untrackable import strict_json
from untrackable.cli import campaign as campaigns
from untrackable.cli.options import ABOVE_ZERO, FILE, GIVEN_FILE, POSITIVE, ResultOutput, result_options
from untrackable.cli.terminal import CommandGroup, NewFile, PlainCommand, one_line_errors, readable

if TYPE_CHECKING:
    from socket import socket

    from untrackable.collector.store import Store, StoredCampaign
    from untrackable.oblivious.gateway_keys import GatewayKeys
    from untrackable.protocol.campaign import Campaign


Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")
_PREFIX = "UNTRACKABLE_"
_NOT_IN_A_FILE = ("config", "json", "help")
"""Options that say how the command runs, and not how the collector works."""
_OTHER_VARIABLES = ("UNTRACKABLE_CONFIG", "UNTRACKABLE_FOLDER")
"""Variables that are no settings of a collector."""


class Setting(click.Option):
    """An option whose errors say where a wrong value came from."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """The name of the option, and of the variable or the file if the value is from there."""
        hint = super().get_error_hint(ctx)
        source = None if ctx is None or self.name is None else ctx.get_parameter_source(self.name)
        if source is click.core.ParameterSource.ENVIRONMENT:
            return f"{hint} (in the variable {self.envvar})"
        return f"{hint} (in the file of --config)" if source is click.core.ParameterSource.DEFAULT_MAP else hint


def setting(name: str, *names: str, **named: Any) -> Callable[[Decorated], Decorated]:
    """An option that can also be given by an environment variable: UNTRACKABLE_PORT for --port."""
    return click.option(name, *names, cls=Setting, envvar=_variable(name), **named)


def _load(ctx: click.Context, parameter: click.Parameter, file: Path | None) -> None:
    """Take the settings of a file where neither an option nor a variable gives them."""
    if file is not None:
        ctx.default_map = settings_in_file(file, ctx.command)


CONFIG = click.option(
    "--config",
    type=FILE,
    metavar="FILE",
    envvar=f"{_PREFIX}CONFIG",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="TOML file with any of these settings.",
)


def settings_in_file(file: Path, command: click.Command) -> dict[str, Any]:
    """The settings in a TOML file by parameter. Keys are the names of options, and any other key is an error."""
    settings = {}
    options = _options(command)
    for key, value in _contents(file).items():
        if key not in options:
            names = ", ".join(sorted(options))
            raise click.ClickException(f"{file}: there is no setting {key!r}; the settings are {names}")
        settings[options[key].name or key] = _checked(file, key, value, options[key])
    return settings


def _contents(file: Path) -> dict[str, Any]:
    try:
        with readable(file):
            return tomllib.loads(strict_json.small_text(file))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # Neither shows what is in the file, which may have a password.
        raise click.ClickException(f"{file} is not TOML, such as: port = 8000") from None


def _checked(file: Path, key: str, value: Any, option: click.Option) -> Any:
    """A value of the file, if it has the type that the option needs. The value itself is never shown."""
    if option.multiple:
        fits, wanted = isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of texts"
    elif isinstance(option.type, click.types.IntParamType):
        fits, wanted = type(value) is int, "a whole number"
    elif isinstance(option.type, click.types.FloatParamType):
        fits, wanted = type(value) in (int, float), "a number"
    else:
        fits, wanted = isinstance(value, str), "a text"
    if not fits:
        raise click.ClickException(f"{file}: {key} must be {wanted}")
    return value


def store_address() -> str:
    """The address of the store in the file that UNTRACKABLE_CONFIG names, or of a file in this folder."""
    named = os.environ.get(f"{_PREFIX}CONFIG")
    url = _contents(Path(named)).get("store") if named else None
    return url if isinstance(url, str) else "sqlite:///untrackable.db"


def warn_of_unknown_variables(command: click.Command) -> None:
    """Say which environment variables look like settings but are not."""
    settings = {_variable(f"--{name}") for name in _options(command)} | {*_OTHER_VARIABLES}
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in settings:
            click.echo(f"The environment variable {name} is not a setting, so it is ignored.", err=True)


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options that are settings, by their name without dashes before it."""
    options = {}
    for option in command.params:
        if isinstance(option, click.Option) and (name := option.opts[0].removeprefix("--")) not in _NOT_IN_A_FILE:
            options[name] = option
    return options


def _variable(name: str) -> str:
    return _PREFIX + name.removeprefix("--").replace("-", "_").upper()


STORE = setting(
    "--store", default=store_address, show_default="untrackable.db", metavar="URL", help="SQLite or PostgreSQL URL."
)
_HOST = setting("--host", default="127.0.0.1", help="Address to listen on.")
_REQUEST_SECONDS = setting(
    "--request-seconds", type=ABOVE_ZERO, default=20.0, help="Seconds a request may take to arrive."
)
_ADDRESS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")


def _port(default: int) -> Callable[[Decorated], Decorated]:
    return setting("--port", type=click.IntRange(0, 65535), default=default, help="Port; 0 picks a free one.")


def _connections(help: str) -> Callable[[Decorated], Decorated]:
    return setting("--connections", type=POSITIVE, default=3000, help=help)


@click.command(cls=PlainCommand)
@STORE
@CONFIG
@_HOST
@_port(8000)
@setting("--workers", type=click.IntRange(1, 64), default=1, help="Number of processes.")
@setting("--minimum-reports", type=POSITIVE, default=100, help="Hide rounds with fewer reports.")
@setting("--grace", type=click.FloatRange(min=0), default=600.0, help="Seconds to wait before closing a round.")
@setting(
    "--release-wait", type=click.FloatRange(min=0), default=172_800.0, help="The same after a relay's release."
)
@setting("--early", type=click.FloatRange(min=0), default=60.0, help="Seconds by which a report may be early.")
@setting("--sweep", type=ABOVE_ZERO, default=30.0, help="Seconds between checks for ended rounds.")
@setting(
    "--keep-sums",
    type=ABOVE_ZERO,
    default=None,
    show_default="never",
    metavar="DAYS",
    help="Delete sums after this many days.",
)
@setting("--largest-body", type=POSITIVE, default=1 << 20, help="Largest request in bytes.")
@_connections("Most open connections per process.")
@_REQUEST_SECONDS
@setting("--origin", "origins", multiple=True, default=("*",), help="Web origin that may use it; repeatable.")
@setting("--gateway-keys", type=FILE, default=None, metavar="KEYS", help="Private keys that open sealed reports.")
@_ADDRESS_JSON
def serve(store: str, host: str, port: int, workers: int, as_json: bool, **chosen: Any) -> None:
    """Run a collector that takes reports over HTTP.

    Creates the store if there is none, and closes each round after it ends. A report that was acknowledged is on
    disk. Stop the collector with Ctrl-C or SIGTERM. For TLS, put a proxy in front of it: see docs/operations.md.

    Every option can also be an environment variable (UNTRACKABLE_PORT for --port) or a line of a TOML file (port =
    8000). An option overrides a variable, a variable overrides the file, and the file overrides the default.

    Example: untrackable serve --store sqlite:///reports.db --port 8000
    """
    from untrackable.collector.api import campaigns_without_keys
    from untrackable.collector.settings import Settings, open_store
    from untrackable.errors import StoreError

    warn_of_unknown_variables(serve)
    with one_line_errors():
        settings = Settings(**chosen)
        if settings.gateway_keys is not None:
            from untrackable.oblivious.gateway_keys import read_keys

            read_keys(settings.gateway_keys)
    from untrackable.collector import app

    bound = listening_socket(host, port)
    try:
        with contextlib.closing(open_store(store)) as opened_store:
            for id in campaigns_without_keys(opened_store, settings.gateway_keys):
                click.echo(
                    f"Warning: the reports of campaign {id[:12]}… come sealed, and this collector has no key that "
                    "opens them. Give --gateway-keys with the file whose public keys are in the campaign.",
                    err=True,
                )
    except StoreError as error:
        bound.close()
        raise click.ClickException(str(error)) from None
    announce("Collecting at", bound, as_json=as_json)
    app.serve(store, bound, settings, workers=workers)


@click.command(cls=PlainCommand)
@setting(
    "--gateway",
    "gateways",
    multiple=True,
    required=True,
    metavar="NAME=URL",
    help="Collector to forward to; repeatable.",
)
@CONFIG
@_HOST
@_port(8100)
@setting(
    "--hold-in",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    show_default="none",
    metavar="FILE",
    help="File of reports held for releases.",
)
@setting("--release-every", "every", type=POSITIVE, default=3600, help="Seconds between two releases.")
@setting("--release-ahead", "ahead", type=POSITIVE, default=40, help="Days a release may be ahead.")
@setting("--keep-days", "keep", type=POSITIVE, default=7, help="Days to try before reports are deleted.")
@setting("--most-held", "most", type=POSITIVE, default=1_000_000, help="Most held reports.")
@setting(
    "--most-in-release", "most_of_one", type=POSITIVE, default=500_000, help="Most held reports of one release."
)
@setting("--per-minute", type=POSITIVE, default=60, help="Most requests a minute of an address.")
@setting("--sender-header", default=None, metavar="NAME", help="Header with the address, set by your proxy.")
@setting("--waiting", type=POSITIVE, default=2000, help="Most requests that wait at once.")
@setting("--gateway-seconds", type=ABOVE_ZERO, default=30.0, help="Seconds a gateway may take.")
@_connections("Most open connections.")
@_REQUEST_SECONDS
@_ADDRESS_JSON
def relay(
    gateways: tuple[str, ...],
    host: str,
    port: int,
    as_json: bool,
    hold_in: Path | None,
    **chosen: Any,
) -> None:
    r"""Run a relay that passes sealed reports on to collectors.

    It sees who sends, and cannot read what. The collector reads it, and cannot see who sent it. So run a relay only
    for collectors of somebody else. It forwards to the named gateways and to nothing else, and logs nothing about
    anybody. With --hold-in, it keeps sealed reports on disk until the end of their round and then releases all of
    them in random order. Stop it with Ctrl-C or SIGTERM. For TLS, put a proxy in front of it: see docs/relay.md.

    Clients send to /gateways/NAME. Every option can also be an environment variable (UNTRACKABLE_PORT for --port)
    or a line of a TOML file (port = 8100). An option overrides a variable, and a variable overrides the file.

    Example: untrackable relay --hold-in held.db \
                 --gateway study=https://collect.example
    """
    from untrackable.relay.app import RelaySettings, serve_relay
    from untrackable.relay.gateway import GatewayAddress, check_not_itself
    from untrackable.relay.held_reports import HeldReports
    from untrackable.relay.holding import HoldingSettings

    warn_of_unknown_variables(relay)
    with one_line_errors():
        holding = HoldingSettings(**{name: chosen.pop(name) for name in HoldingSettings.__slots__})
        settings = RelaySettings(gateways=tuple(map(GatewayAddress.parse, gateways)), holding=holding, **chosen)
        held = None if hold_in is None else HeldReports(hold_in)
    bound = listening_socket(host, port)
    try:
        check_not_itself(settings.gateways, bound)
    except ValueError as error:
        bound.close()
        raise click.ClickException(str(error)) from None
    announce("Relaying at", bound, as_json=as_json)
    serve_relay(bound, settings, held)


def listening_socket(host: str, port: int) -> socket:
    """Bind a socket, or say in one line why that is not possible."""
    from untrackable.serving import server

    try:
        return server.bind(host, port)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --host or --port"
        ) from None


def announce(words: str, bound: socket, *, as_json: bool) -> None:
    """Print the address at which the server listens. From here on, signals end the process cleanly."""
    from untrackable.serving import server

    server.end_on_signals()
    where = server.address(bound)
    click.echo(strict_json.write({"address": where}) if as_json else f"{words} {where}")
    sys.stdout.flush()


KEYS = click.argument("file", metavar="KEYS", type=FILE)
LIST = click.option("--list", "number", type=POSITIVE, show_default="last", help="Number of the list of keys.")


@click.group(cls=CommandGroup)
def gateway() -> None:
    """Make, show and revoke the keys that open sealed reports.

    Reports for a crowd are sealed for the collector's gateway and come through a relay that cannot read them. The
    private keys are in a file that only its owner can read. No command prints them.

    Example: untrackable gateway new gateway.keys --json > gateway.json
    """


@gateway.command("new")
@KEYS
@click.option("--keys", "count", type=click.IntRange(1, 256), default=12, help="How many keys.")
@click.option("--every", type=POSITIVE, default=30, help="Rounds that each key serves.")
@result_options()
def new_gateway_keys(file: Path, count: int, every: int, output: ResultOutput) -> None:
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
    notes = [
        f"To start a collector with these keys: untrackable serve --gateway-keys {file}",
        f"For `campaign new --gateway gateway.json`: untrackable gateway show {file} --json > gateway.json",
    ]
    output.tell(keys.public_list(keys.last_list), *_list_words(keys, keys.last_list), notes=notes)


@gateway.command("show")
@KEYS
@LIST
@result_options()
def show_gateway_keys(file: Path, number: int | None, output: ResultOutput) -> None:
    """Show all keys, the rounds they serve, and which are revoked.

    The JSON has the public keys of a list that are not revoked, for `campaign new --gateway`.

    Example: untrackable gateway show gateway.keys
    """
    from untrackable.oblivious.gateway_keys import read_keys

    with one_line_errors():
        keys = read_keys(file)
        if number is not None and not 1 <= number <= keys.last_list:
            raise ValueError(f"there is no list {number}; the last one is {keys.last_list}")
        public = keys.public_list(number or keys.last_list) if output.as_json else {}
    lists = range(1, keys.last_list + 1) if number is None else [number]
    output.tell(public, *(line for each in lists for line in _list_words(keys, each)))


@gateway.command("revoke")
@KEYS
@click.argument("ids", metavar="[KEY]...", type=click.IntRange(0, 255), nargs=-1)
@click.option("--before", type=POSITIVE, metavar="ROUND", help="All keys of the rounds before this one.")
@LIST
@result_options()
def revoke_gateway_keys(
    file: Path, ids: tuple[int, ...], before: int | None, number: int | None, output: ResultOutput
) -> None:
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
    data = {"revoked": revoked, "left": [key.id for key in left.keys if not key.revoked]}
    output.tell(data, f"Revoked: {', '.join(map(str, revoked)) or 'none that was not revoked before'}.")


def _list_words(keys: GatewayKeys, number: int) -> list[str]:
    return [
        f"List {number}",
        *(
            f"  key {key.id:>3}  from round {key.first_round:<6} {key.config.public_key.hex()}"
            f"{'  revoked' * key.revoked}"
            for key in keys.keys
            if key.list == number
        ),
    ]


@click.group(cls=CommandGroup)
def keys() -> None:
    """Make, list and revoke the keys that a collector accepts.

    An admin key creates, publishes and closes campaigns over HTTP. A reader key reads all estimates.

    Example: untrackable keys new --role admin
    """


@keys.command("new")
@click.option(
    "--role", type=click.Choice(["admin", "reader"]), required=True, help="Run campaigns, or read all estimates."
)
@STORE
@result_options()
def new_key(role: str, store: str, output: ResultOutput) -> None:
    """Make a key and print it.

    The key is shown only this once. The store keeps a digest of it.

    Example: untrackable keys new --role reader --store sqlite:///reports.db
    """
    from untrackable.collector import api

    with opened(store, make=True) as opened_store:
        id, token = api.new_key(opened_store, role)
    whose = "an admin" if role == "admin" else "a reader"
    same = f" --store {shlex.quote(store)}" if store.startswith("sqlite:") else ""  # others may have a password
    note = f"A key for {whose}, shown this once. To revoke it: untrackable keys revoke {id}{same}"
    output.tell({"id": id, "role": role, "key": token}, token, notes=[note])


@keys.command("list")
@STORE
@result_options("export")
def list_keys(store: str, output: ResultOutput) -> None:
    """List all keys with role, date, and whether they are revoked.

    Example: untrackable keys list
    """
    from untrackable.display.view import View

    with opened(store) as opened_store:
        stored = opened_store.keys()
    view = View(
        title=f"{len(stored):,} keys",
        sentences=[f"{key.id}  {key.role:<6}  {key.created}{'  revoked' if key.revoked else ''}" for key in stored],
        notes=[] if stored else ["There are no keys."],
        listing=True,
        data=lambda: {
            name: [getattr(key, name) for key in stored] for name in ("id", "role", "created", "revoked")
        },
    )
    output.give(stored, view=view)


@keys.command("revoke")
@click.argument("id")
@STORE
@result_options()
def revoke_key(id: str, store: str, output: ResultOutput) -> None:
    """Revoke a key, so that the collector refuses it from now on.

    Example: untrackable keys revoke 1f2e3d4c5b6a
    """
    with opened(store) as opened_store:
        if not opened_store.revoke(id):
            raise click.ClickException(f"there is no key {id!r}; `untrackable keys list` shows all")
    output.tell({"id": id, "revoked": True}, f"{id} is revoked.")


@contextmanager
def opened(store: str, *, make: bool = False) -> Iterator[Store]:
    """An open store, closed afterwards; `make` creates a missing one, and errors are one line."""
    from untrackable.collector.settings import open_store
    from untrackable.errors import StoreError

    try:
        opened_store = open_store(store, check=False, make=make)
        try:
            yield opened_store
        finally:
            opened_store.close()
    except StoreError as error:
        raise click.ClickException(str(error)) from None


_FEWEST_DIGITS = 8


@click.group(cls=CommandGroup)
def manage() -> None:
    """Add, publish, end and delete the campaigns of a collector.

    These commands work on the collector's store. All but delete can also be done over HTTP with an admin key.

    Example: untrackable manage add campaign.json --published
    """


@manage.command()
@click.argument("file", type=GIVEN_FILE)
@click.option("--published", is_flag=True, help="Let everyone read its estimates.")
@STORE
@result_options()
def add(file: Path, published: bool, store: str, output: ResultOutput) -> None:
    r"""Add a campaign. The collector then takes its reports.

    The collector first recomputes what the campaign declares, and refuses it if that does not hold. A campaign that
    was added before stays as it is; --published then publishes it.

    Example: untrackable manage add campaign.json --published \
                 --store sqlite:///reports.db
    """
    from untrackable.collector.api import create_campaign
    from untrackable.serving.problems import Refused

    asked = campaigns.read(file)
    with opened(store, make=True) as opened_store:
        try:
            id, new = create_campaign(opened_store, asked.to_bytes(), published=published)
        except Refused as refused:
            raise click.ClickException(f"{file}: {refused.detail}") from None
        if published and not new:
            opened_store.publish(id, True)
    already = "was there already and is published" if published else "was there already"
    sealed = "Its reports come sealed: the collector opens them with `untrackable serve --gateway-keys`."
    told = [f"{id} {'is added' if new else already}.", *[sealed] * (asked.gateway is not None)]
    output.tell({"id": id, "new": new}, *told)


@manage.command("list")
@STORE
@result_options("export")
def list_(store: str, output: ResultOutput) -> None:
    """List all campaigns and rounds, and what is published.

    Example: untrackable manage list --store sqlite:///reports.db
             untrackable manage list --export campaigns.csv
    """
    from untrackable.display.view import View
    from untrackable.protocol.campaign import Campaign

    rows: list[dict[str, Any]] = []
    with opened(store) as opened_store:
        for stored in opened_store.campaigns():
            campaign = Campaign.from_bytes(stored.document)
            stored_rounds = opened_store.rounds(stored.id)
            closed = sum(each.state == "closed" for each in stored_rounds)
            few = sum(each.reports is not None and each.reports < campaign.fewest_reports for each in stored_rounds)
            rows.append(
                {
                    "id": stored.id,
                    "question": campaign.question,
                    "published": stored.published,
                    "rounds": campaign.rounds,
                    "last_round": stored.last_round,
                    "closed": closed,
                    "small": few,
                    "open": len(stored_rounds) - closed,
                }
            )
    names = ("id", "question", "published", "rounds", "last_round", "closed", "small", "open")
    view = View(
        title=f"{len(rows):,} campaigns",
        sentences=[line for row in rows for line in _campaign_lines(row)],
        notes=[] if rows else ["There are no campaigns."],
        listing=True,
        data=lambda: {name: [row[name] for row in rows] for name in names},
    )
    output.give(rows, view=view)


def _campaign_lines(row: dict[str, Any]) -> tuple[str, str]:
    published = "published" if row["published"] else "not published"
    of = "" if row["rounds"] is None else f" of {row['rounds']:,}"
    ended = "" if row["last_round"] is None else f", ended after round {row['last_round']:,}"
    small = f" ({row['small']:,} too small for its crowd)" if row["small"] else ""
    rounds = f"{row['closed']:,} closed{small}, {row['open']:,} open{of}{ended}"
    return f"{row['id']}  {published:<13}  rounds: {rounds}", f"    {row['question']}"


@manage.command()
@click.argument("id")
@click.option("--not", "hide", is_flag=True, help="Unpublish: reading the estimates then needs a key.")
@STORE
@result_options()
def publish(id: str, hide: bool, store: str, output: ResultOutput) -> None:
    """Let everyone read a campaign's estimates.

    ID is the campaign's id; its first 8 digits are enough.

    Example: untrackable manage publish 5d41402a
    """
    from untrackable.collector.closing import publishing_words

    with opened_campaign(store, id) as (opened_store, stored, _):
        opened_store.publish(stored.id, not hide)
    output.tell({"id": stored.id, "published": not hide}, f"{stored.id} {publishing_words(not hide)}.")


@manage.command()
@click.argument("id")
@click.argument("round", type=POSITIVE)
@STORE
@result_options()
def close(id: str, round: int, store: str, output: ResultOutput) -> None:
    """Close a round before the collector does.

    The sums of the reports are kept and the reports are deleted. Later reports of that round are refused. ID is the
    campaign's id; its first 8 digits are enough. The collector closes rounds itself after they end.

    Example: untrackable manage close 5d41402a 7
    """
    from untrackable.collector.api import close as close_round
    from untrackable.collector.closing import closed_words
    from untrackable.collector.estimates import reports_missing
    from untrackable.serving.problems import Refused

    with opened_campaign(store, id) as (opened_store, _, campaign):
        now = time.time()
        try:
            closed = close_round(opened_store, campaign, round, now)
        except Refused as refused:
            raise click.ClickException(refused.detail) from None
    missing = reports_missing(campaign, closed, now)
    state = {"round": closed.number, "state": closed.state, "reports": closed.reports, "missing": missing}
    output.tell(state, closed_words(campaign, closed))


@manage.command()
@click.argument("id")
@STORE
@result_options()
def end(id: str, store: str, output: ResultOutput) -> None:
    """End a campaign: no further round takes reports.

    The round that takes reports now is the last one, and is closed as usual. The collector notices at once. A
    campaign that has ended cannot be resumed. Its sums and estimates stay. ID is the campaign's id; its first 8
    digits are enough.

    Example: untrackable manage end 5d41402a
    """
    from untrackable.collector.closing import end_campaign, ending_words
    from untrackable.collector.settings import Settings

    with opened_campaign(store, id) as (opened_store, stored, campaign):
        last = end_campaign(opened_store, campaign, time.time(), Settings())
    output.tell({"id": stored.id, "last_round": last}, f"{stored.id} {ending_words(last)}.")


@manage.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@STORE
@result_options()
def delete(id: str, yes: bool, store: str, output: ResultOutput) -> None:
    """Delete a campaign with all its reports and sums.

    Afterwards nothing of it can be read, except in backups. ID is the campaign's id; its first 8 digits are enough.

    Example: untrackable manage delete 5d41402a --yes
    """
    from untrackable.collector.closing import delete_campaign

    with opened_campaign(store, id) as (opened_store, stored, campaign):
        rounds = len(opened_store.rounds(stored.id))
        if not yes:
            what = f"{stored.id} ({campaign.question!r}), with reports and sums of {rounds:,} rounds"
            click.confirm(f"Delete {what}?", abort=True, err=True)
        delete_campaign(opened_store, campaign)
    output.tell({"id": stored.id, "deleted": True}, f"{stored.id} is deleted.")


@contextmanager
def opened_campaign(store: str, id: str) -> Iterator[tuple[Store, StoredCampaign, Campaign]]:
    """An open store, and its campaign whose id begins with these digits: as it is stored, and as it is asked."""
    from untrackable.protocol.campaign import Campaign

    with opened(store) as opened_store:
        stored = chosen(opened_store, id)
        yield opened_store, stored, Campaign.from_bytes(stored.document)


def chosen(store: Store, id: str) -> StoredCampaign:
    """The campaign with this id, or the only one whose id begins with these digits."""
    if re.fullmatch(f"[0-9a-f]{{{_FEWEST_DIGITS},64}}", id) is None:
        raise click.ClickException(
            f"an id must be 64 digits from 0 to f, or the first {_FEWEST_DIGITS} or more of them, got {id!r}"
        )
    campaigns = [each for each in store.campaigns() if each.id.startswith(id)]
    if not campaigns:
        missing = f"no campaign {id}" if len(id) == 64 else f"no campaign whose id begins with {id}"
        raise click.ClickException(f"there is {missing}; `untrackable manage list` shows all")
    if len(campaigns) > 1:
        raise click.ClickException(f"{len(campaigns)} campaigns have ids that begin with {id}: give more digits")
    return campaigns[0]


@click.command(cls=PlainCommand)
@click.argument("id")
@click.argument("round", type=POSITIVE)
@click.argument("file", type=NewFile())
@STORE
@result_options()
def export(id: str, round: int, file: Path, store: str, output: ResultOutput) -> None:
    """Write one round of a collector to a Parquet file.

    An open round gives its reports, without nonces. A closed round gives its sums. `untrackable estimate` reads
    both. ID is the campaign's id; its first 8 digits are enough.

    Example: untrackable export 5d41402a 7 round7.parquet
    """
    from untrackable.collector.closing import counted, export_round
    from untrackable.errors import ReportFileError

    with opened_campaign(store, id) as (opened_store, stored, _):
        try:
            exported = export_round(opened_store, stored.id, round, file)
        except ReportFileError as error:
            raise click.ClickException(str(error)) from None
    many = counted(exported.reports)
    about = {"file": str(file), "what": exported.what, "reports": exported.reports, "bytes": exported.bytes}
    written = many if exported.what == "reports" else f"the sums of {many}"
    output.tell(about, f"{file}: {written}, {exported.bytes:,} bytes")
