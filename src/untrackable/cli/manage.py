"""`untrackable manage`, `keys` and `export`: commands that work straight on the store of a collector."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli import campaign as campaigns
from untrackable.cli.help_layout import CommandGroup, PlainCommand
from untrackable.cli.options import GIVEN_FILE, JSON, POSITIVE, ResultOutput, result_options
from untrackable.cli.servers import STORE
from untrackable.cli.terminal import NewFile, print_json, print_lines, tell

if TYPE_CHECKING:
    from untrackable.collector.store import Store, StoredCampaign
    from untrackable.protocol.campaign import Campaign


@click.group(cls=CommandGroup)
def keys() -> None:
    """Make, list and revoke the keys that a collector accepts.

    An admin key creates, publishes and closes campaigns over HTTP. A reader key reads all estimates.

    Example: untrackable keys new --role admin
    """


@keys.command()
@click.option(
    "--role", type=click.Choice(["admin", "reader"]), required=True, help="Run campaigns, or read all estimates."
)
@STORE
@JSON
def new(role: str, store: str, as_json: bool) -> None:
    """Make a key and print it.

    The key is shown only this once. The store keeps a digest of it.

    Example: untrackable keys new --role reader --store sqlite:///reports.db
    """
    from untrackable.collector.api import new_key

    with opened(store, make=True) as opened_store:
        id, token = new_key(opened_store, role)
    if as_json:
        print_json({"id": id, "role": role, "key": token})
    else:
        click.echo(token)
        whose = "an admin" if role == "admin" else "a reader"
        same = f" --store {shlex.quote(store)}" if store.startswith("sqlite:") else ""  # others may have a password
        revoking = f"untrackable keys revoke {id}{same}"
        click.echo(f"A key for {whose}, shown this once. To revoke it: {revoking}", err=True)


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
        tables=[],
        data=lambda: {
            name: [getattr(key, name) for key in stored] for name in ("id", "role", "created", "revoked")
        },
    )
    output.give(view, words=lambda: print_lines(view, "There are no keys."))


@keys.command()
@click.argument("id")
@STORE
@JSON
def revoke(id: str, store: str, as_json: bool) -> None:
    """Revoke a key, so that the collector refuses it from now on.

    Example: untrackable keys revoke 1f2e3d4c5b6a
    """
    with opened(store) as opened_store:
        if not opened_store.revoke(id):
            raise click.ClickException(f"there is no key {id!r}; `untrackable keys list` shows all")
    tell(as_json, {"id": id, "revoked": True}, f"{id} is revoked.")


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
@JSON
def add(file: Path, published: bool, store: str, as_json: bool) -> None:
    r"""Add a campaign. The collector then takes its reports.

    The collector first recomputes what the campaign declares, and refuses it if that does not hold. A campaign that
    was added before stays as it is; --published then publishes it.

    Example: untrackable manage add campaign.json --published \
                 --store sqlite:///reports.db
    """
    from untrackable.collector.api import create_campaign
    from untrackable.collector.problems import Refused

    asked = campaigns.read(file)
    with opened(store, make=True) as opened_store:
        try:
            id, new = create_campaign(opened_store, asked.to_bytes(), published=published)
        except Refused as refused:
            raise click.ClickException(f"{file}: {refused.detail}") from None
        if published and not new:
            opened_store.publish(id, True)
    if as_json:
        print_json({"id": id, "new": new})
    else:
        already = "was there already and is published" if published else "was there already"
        click.echo(f"{id} {'is added' if new else already}.")
        if asked.gateway is not None:
            click.echo("Its reports come sealed: the collector opens them with `untrackable serve --gateway-keys`.")


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
        tables=[],
        data=lambda: {name: [row[name] for row in rows] for name in names},
    )
    output.give(view, words=lambda: print_lines(view, "There are no campaigns."))


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
@JSON
def publish(id: str, hide: bool, store: str, as_json: bool) -> None:
    """Let everyone read a campaign's estimates.

    ID is the campaign's id; its first 8 digits are enough.

    Example: untrackable manage publish 5d41402a
    """
    from untrackable.collector.closing import publishing_words

    with opened_campaign(store, id) as (opened_store, stored, _):
        opened_store.publish(stored.id, not hide)
    tell(as_json, {"id": stored.id, "published": not hide}, f"{stored.id} {publishing_words(not hide)}.")


@manage.command()
@click.argument("id")
@click.argument("round", type=POSITIVE)
@STORE
@JSON
def close(id: str, round: int, store: str, as_json: bool) -> None:
    """Close a round before the collector does.

    The sums of the reports are kept and the reports are deleted. Later reports of that round are refused. ID is the
    campaign's id; its first 8 digits are enough. The collector closes rounds itself after they end.

    Example: untrackable manage close 5d41402a 7
    """
    from untrackable.collector.api import close as close_round
    from untrackable.collector.closing import closed_words
    from untrackable.collector.estimates import reports_missing
    from untrackable.collector.problems import Refused

    with opened_campaign(store, id) as (opened_store, _, campaign):
        now = time.time()
        try:
            closed = close_round(opened_store, campaign, round, now)
        except Refused as refused:
            raise click.ClickException(refused.detail) from None
    missing = reports_missing(campaign, closed, now)
    state = {"round": closed.number, "state": closed.state, "reports": closed.reports, "missing": missing}
    tell(as_json, state, closed_words(campaign, closed))


@manage.command()
@click.argument("id")
@STORE
@JSON
def end(id: str, store: str, as_json: bool) -> None:
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
    tell(as_json, {"id": stored.id, "last_round": last}, f"{stored.id} {ending_words(last)}.")


@manage.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@STORE
@JSON
def delete(id: str, yes: bool, store: str, as_json: bool) -> None:
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
    tell(as_json, {"id": stored.id, "deleted": True}, f"{stored.id} is deleted.")


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
@JSON
def export(id: str, round: int, file: Path, store: str, as_json: bool) -> None:
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
    tell(as_json, about, f"{file}: {written}, {exported.bytes:,} bytes")
