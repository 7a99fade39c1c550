"""`untrackable manage` and `untrackable export`: a collector's campaigns and rounds, straight from its store."""

from __future__ import annotations

import time
from pathlib import Path

import click

from untrackable.cli.keys import JSON, opened
from untrackable.cli.serve import STORE
from untrackable.cli.terminal import print_json


@click.group()
def manage() -> None:
    """Add campaigns to a collector's store, publish their estimates, and close rounds.

    The same can be done over HTTP, with a key.

    Example: untrackable manage add campaign.json --published
    """


@manage.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--published", is_flag=True, help="Let everybody read its estimates.")
@STORE
@JSON
def add(file: Path, published: bool, store: str, as_json: bool) -> None:
    """Let the collector take reports of a campaign, once its guarantee is verified.

    Example: untrackable manage add campaign.json --published --store sqlite:///reports.db
    """
    from untrackable.collector.managing import create_campaign
    from untrackable.collector.problems import Refused

    with opened(store) as found:
        try:
            id, new = create_campaign(found, file.read_bytes(), published=published)
        except Refused as refused:
            raise click.ClickException(refused.detail) from None
    if as_json:
        print_json({"id": id, "new": new})
    else:
        click.echo(f"{id} {'is added' if new else 'was there already'}.")


@manage.command()
@click.argument("id")
@click.option("--not", "hide", is_flag=True, help="Let estimates need a key instead.")
@STORE
@JSON
def publish(id: str, hide: bool, store: str, as_json: bool) -> None:
    """Let everybody read a campaign's estimates.

    Example: untrackable manage publish 5d41…b92a
    """
    with opened(store) as found:
        if not found.publish(id, not hide):
            raise click.ClickException(f"there is no campaign {id}")
    if as_json:
        print_json({"id": id, "published": not hide})
    else:
        click.echo(f"{id} is {'no longer ' if hide else ''}published.")


@manage.command()
@click.argument("id")
@click.argument("round", type=click.IntRange(min=1))
@STORE
@JSON
def close(id: str, round: int, store: str, as_json: bool) -> None:
    """Close a round that has begun: its sums are kept, its reports dropped, and late ones refused.

    Rounds are closed by themselves when they are over.

    Example: untrackable manage close 5d41…b92a 7
    """
    from untrackable.campaign import Campaign
    from untrackable.collector.managing import close as close_round
    from untrackable.collector.problems import Refused

    with opened(store) as found:
        stored = found.campaign(id)
        if stored is None:
            raise click.ClickException(f"there is no campaign {id}")
        try:
            closed = close_round(found, Campaign.from_bytes(stored.document), round, time.time())
        except Refused as refused:
            raise click.ClickException(refused.detail) from None
    if as_json:
        print_json({"round": closed.number, "state": closed.state, "reports": closed.reports})
    else:
        click.echo(f"Round {closed.number} is closed, with {closed.reports:,} reports.")


@click.command()
@click.argument("id")
@click.argument("round", type=click.IntRange(min=1))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@STORE
@JSON
def export(id: str, round: int, file: Path, store: str, as_json: bool) -> None:
    """Write a round to a Parquet file: its reports while it is open, its sums once it is closed.

    Reports go without nonces, and `untrackable estimate` and any cluster can read them.

    Example: untrackable export 5d41…b92a 7 round7.parquet
    """
    from untrackable.collector.export import export_round
    from untrackable.errors import ReportFileError

    with opened(store) as found:
        try:
            written = export_round(found, id, round, file)
        except ReportFileError as error:
            raise click.ClickException(str(error)) from None
    if as_json:
        print_json({"file": str(file), "what": written.what, "reports": written.reports, "bytes": written.bytes})
    else:
        many = f"{written.reports:,} reports"
        click.echo(
            f"{file}: {many if written.what == 'reports' else f'the sums of {many}'}, {written.bytes:,} bytes"
        )
