"""`untrackable manage` and `untrackable export`: a collector's campaigns and rounds, straight from its store."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.file_kinds import wrong_kind
from untrackable.cli.help_layout import CommandGroup, PlainCommand
from untrackable.cli.keys import opened
from untrackable.cli.new_file import NewFile
from untrackable.cli.result_options import JSON, ResultOutput, result_options
from untrackable.cli.serve import STORE
from untrackable.cli.terminal import echo, print_json

if TYPE_CHECKING:
    from untrackable.collector.stores.records import StoredCampaign
    from untrackable.collector.stores.store import Store

_FEWEST_DIGITS = 8


@click.group(cls=CommandGroup)
def manage() -> None:
    """Add, publish, end and delete the campaigns of a collector.

    These commands work on the collector's store. All but delete can also be done over HTTP with an admin key.

    Example: untrackable manage add campaign.json --published
    """


@manage.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
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
    from untrackable.collector.http.management import create_campaign
    from untrackable.collector.http.problems import Refused
    from untrackable.protocol.campaign import Campaign

    document = _contents(file)
    with opened(store, make=True) as found:
        try:
            id, new = create_campaign(found, document, published=published)
        except Refused as refused:
            raise click.ClickException(f"{file}: {refused.detail}") from None
        if published and not new:
            found.publish(id, True)
    if as_json:
        print_json({"id": id, "new": new})
    else:
        already = "was there already and is published" if published else "was there already"
        click.echo(f"{id} {'is added' if new else already}.")
        if Campaign.from_bytes(document).gateway is not None:
            click.echo("Its reports come sealed: the collector opens them with `untrackable serve --gateway-keys`.")


def _contents(file: Path) -> bytes:
    """The bytes of a campaign file; any other file is refused before a store is created."""
    from untrackable.errors import CampaignError
    from untrackable.protocol.campaign import Campaign

    try:
        document = strict_json.small_file(file)
        Campaign.from_bytes(document)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except CampaignError as error:
        raise click.ClickException(wrong_kind(file, "campaign") or f"{file}: {error}") from None
    return document


@manage.command("list")
@STORE
@result_options("export")
def list_(store: str, output: ResultOutput) -> None:
    """List all campaigns and rounds, and what is published.

    Example: untrackable manage list --store sqlite:///reports.db
             untrackable manage list --export campaigns.csv
    """
    from untrackable.protocol.campaign import Campaign

    rows: list[dict[str, Any]] = []
    with opened(store) as found:
        for stored in found.campaigns():
            asked = Campaign.from_bytes(stored.document)
            known = found.rounds(stored.id)
            closed = sum(each.state == "closed" for each in known)
            few = sum(each.reports is not None and each.reports < asked.fewest_reports for each in known)
            rows.append(
                {
                    "id": stored.id,
                    "question": asked.question,
                    "published": stored.published,
                    "rounds": asked.rounds,
                    "last_round": stored.last_round,
                    "closed": closed,
                    "small": few,
                    "open": len(known) - closed,
                }
            )
    names = ("id", "question", "published", "rounds", "last_round", "closed", "small", "open")
    output.give(
        words=lambda: _print_campaigns(rows),
        data=lambda: rows,
        columns=lambda: {name: [row[name] for row in rows] for name in names},
    )


def _print_campaigns(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        published = "published" if row["published"] else "not published"
        of = "" if row["rounds"] is None else f" of {row['rounds']:,}"
        ended = "" if row["last_round"] is None else f", ended after round {row['last_round']:,}"
        small = f" ({row['small']:,} too small for its crowd)" if row["small"] else ""
        rounds = f"{row['closed']:,} closed{small}, {row['open']:,} open{of}{ended}"
        click.echo(f"{row['id']}  {published:<13}  rounds: {rounds}")
        echo(f"    {row['question']}")
    if not rows:
        click.echo("There are no campaigns.", err=True)


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
    from untrackable.collector.rounds.change_words import publishing_words

    with opened(store) as found:
        id = chosen(found, id).id
        found.publish(id, not hide)
    if as_json:
        print_json({"id": id, "published": not hide})
    else:
        click.echo(f"{id} {publishing_words(not hide)}.")


@manage.command()
@click.argument("id")
@click.argument("round", type=click.IntRange(min=1))
@STORE
@JSON
def close(id: str, round: int, store: str, as_json: bool) -> None:
    """Close a round before the collector does.

    The sums of the reports are kept and the reports are deleted. Later reports of that round are refused. ID is the
    campaign's id; its first 8 digits are enough. The collector closes rounds itself after they end.

    Example: untrackable manage close 5d41402a 7
    """
    from untrackable.collector.http.management import close as close_round
    from untrackable.collector.http.problems import Refused
    from untrackable.collector.rounds.change_words import closed_words
    from untrackable.collector.rounds.small_rounds import reports_missing
    from untrackable.protocol.campaign import Campaign

    with opened(store) as found:
        asked, now = Campaign.from_bytes(chosen(found, id).document), time.time()
        try:
            closed = close_round(found, asked, round, now)
        except Refused as refused:
            raise click.ClickException(refused.detail) from None
    if as_json:
        state = {"round": closed.number, "state": closed.state, "reports": closed.reports}
        print_json({**state, "missing": reports_missing(asked, closed, now)})
    else:
        click.echo(closed_words(asked, closed))


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
    from untrackable.collector.rounds.campaign_end import end_campaign
    from untrackable.collector.rounds.change_words import ending_words
    from untrackable.collector.settings import Settings
    from untrackable.protocol.campaign import Campaign

    with opened(store) as found:
        stored = chosen(found, id)
        last = end_campaign(found, Campaign.from_bytes(stored.document), time.time(), Settings())
    if as_json:
        print_json({"id": stored.id, "last_round": last})
    else:
        click.echo(f"{stored.id} {ending_words(last)}.")


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
    from untrackable.collector.rounds.campaign_end import delete_campaign
    from untrackable.protocol.campaign import Campaign

    with opened(store) as found:
        stored = chosen(found, id)
        campaign = Campaign.from_bytes(stored.document)
        rounds = len(found.rounds(stored.id))
        if not yes:
            what = f"{stored.id} ({campaign.question!r}), with reports and sums of {rounds:,} rounds"
            click.confirm(f"Delete {what}?", abort=True, err=True)
        delete_campaign(found, campaign)
    if as_json:
        print_json({"id": stored.id, "deleted": True})
    else:
        click.echo(f"{stored.id} is deleted.")


def chosen(store: Store, id: str) -> StoredCampaign:
    """The campaign with this id, or the only one whose id begins with these digits."""
    if re.fullmatch(f"[0-9a-f]{{{_FEWEST_DIGITS},64}}", id) is None:
        raise click.ClickException(
            f"an id must be 64 digits from 0 to f, or the first {_FEWEST_DIGITS} or more of them, got {id!r}"
        )
    found = [each for each in store.campaigns() if each.id.startswith(id)]
    if not found:
        known = f"no campaign {id}" if len(id) == 64 else f"no campaign whose id begins with {id}"
        raise click.ClickException(f"there is {known}; `untrackable manage list` shows all")
    if len(found) > 1:
        raise click.ClickException(f"{len(found)} campaigns have ids that begin with {id}: give more digits")
    return found[0]


@click.command(cls=PlainCommand)
@click.argument("id")
@click.argument("round", type=click.IntRange(min=1))
@click.argument("file", type=NewFile())
@STORE
@JSON
def export(id: str, round: int, file: Path, store: str, as_json: bool) -> None:
    """Write one round of a collector to a Parquet file.

    An open round gives its reports, without nonces. A closed round gives its sums. `untrackable estimate` reads
    both. ID is the campaign's id; its first 8 digits are enough.

    Example: untrackable export 5d41402a 7 round7.parquet
    """
    from untrackable.collector.rounds.change_words import counted
    from untrackable.collector.rounds.round_export import export_round
    from untrackable.errors import ReportFileError

    with opened(store) as found:
        try:
            written = export_round(found, chosen(found, id).id, round, file)
        except ReportFileError as error:
            raise click.ClickException(str(error)) from None
    if as_json:
        print_json({"file": str(file), "what": written.what, "reports": written.reports, "bytes": written.bytes})
    else:
        many = counted(written.reports)
        echo(f"{file}: {many if written.what == 'reports' else f'the sums of {many}'}, {written.bytes:,} bytes")
