"""`untrackable campaign`: make, show, verify and list campaigns."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.answer_options import NO_ANSWERS, encoding_of
from untrackable.cli.bucket_options import bucket_options
from untrackable.cli.campaign_crowd import check_relay, crowd_options, gateway_of
from untrackable.cli.campaign_drafts import (
    TURNS_OPTIONS,
    every_round_draft,
    planned_draft,
    planned_people,
    turns_draft,
)
from untrackable.cli.campaign_shown import show_campaign, verified_lines, when
from untrackable.cli.campaign_times import first_moment, round_length
from untrackable.cli.file_kinds import wrong_kind
from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.ready_option import ready_option, ready_question
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json, write_page
from untrackable.cli.typed_numbers import Amount, Count

if TYPE_CHECKING:
    from untrackable.display.campaign_accuracy import CampaignAccuracy
    from untrackable.encodings.encoding import Encoding
    from untrackable.protocol.campaign import Campaign
    from untrackable.protocol.campaign_draft import CampaignDraft

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PEOPLE = 10_000
"""The people that are assumed to take part, if nobody says how many."""
MOST_PEOPLE = 10**12
"""The most people that may be given."""


@click.group(cls=CommandGroup)
def campaign() -> None:
    """Write, show and check campaigns: one question for everyone.

    A campaign is a public file that never changes. It says what is asked, when, by which mechanism, and what is
    guaranteed.

    Example: untrackable campaign show campaign.json
    """


@campaign.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--question", help="The question, on one line.")
@ready_option
@click.option("--category", "categories", multiple=True, metavar="NAME", help="A possible answer; give them all.")
@click.option("--choice", "choices", multiple=True, metavar="NAME", help="Or one of several at once; give all.")
@click.option("--categories", "listed", type=FILE, metavar="FILE", help="The possible answers, one per line.")
@bucket_options("encoding_json")
@click.option("--encoding", "encoding_json", metavar="JSON|FILE", help="Any other kind of answer, as JSON.")
@click.option(
    "--plan",
    "planned",
    metavar="JSON|FILE",
    help="Use what `untrackable plan --json` printed.",
)
@click.option("--rounds", type=Count(), help="In how many rounds answers come in.")
@click.option(
    "--every", default="1d", show_default=True, metavar="TIME", help="Round length: 90s, 15m, 6h, 1d, 1w."
)
@click.option(
    "--first",
    metavar="WHEN",
    show_default="next midnight",
    help="Start: 2027-01-31T12:00 UTC.",
)
@click.option(
    "--eps", type=Amount(), default=1.0, show_default=True, help="Privacy of all that a person ever sends."
)
@click.option("--people", type=Count(), show_default=f"{_PEOPLE:,}", help="People who take part.")
@click.option(
    "--want",
    type=click.Choice(["frequencies", "quantiles", "mean"]),
    default="frequencies",
    metavar="WHAT",
    help="Publish frequencies, quantiles or mean.",
)
@click.option("--share", default="1", show_default=True, help="Share of people who have a turn.")
@click.option("--wipes", type=int, default=0, show_default=True, help="Wipes of storage to allow for.")
@crowd_options
@click.option("--looks", type=Count(), default=1, show_default=True, help="Rounds that one report is about.")
@click.option("--every-round", is_flag=True, help="Everybody answers every round, for research.")
@click.option("--mechanism", metavar="WORDS", show_default="a deck", help="'NAME key=value …'.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Chance that eps fails.")
@click.option("--gamma", type=float, default=0.0, show_default=True, help="How linkable reports may be.")
@click.option("--tracking-delta", type=float, default=0.0, show_default=True, help="Chance that gamma fails.")
@click.option(
    "--values",
    type=click.Choice(["fixed", "any"]),
    default="any",
    show_default=True,
    help="May answers change?",
)
@JSON
def new(
    file: Path,
    question: str | None,
    ready: str | None,
    categories: tuple[str, ...],
    choices: tuple[str, ...],
    listed: Path | None,
    encoding_json: str | None,
    planned: str | None,
    every: str,
    first: str | None,
    people: int | None,
    keys: Path | None,
    as_json: bool,
    **demands: Any,
) -> None:
    r"""Write a new campaign to a file and print its id.

    Each person answers once, in a round that their device draws in secret. --eps limits what anybody can ever learn
    from that answer. The report is the one with the smallest error for the question. The command says how accurate
    a round will be, and refuses a campaign that would not keep what it declares.

    With --relay, reports are sealed for the collector's gateway (--gateway) and sent through a relay, so that the
    collector does not know who sent which. Up to the share --margin of --people may be missing: then at most one
    round in a hundred has too few reports to be published.

    With --looks 4, --rounds 12 --every 1w are cut into 3 stretches of 4 weeks: a device draws one of them, keeps
    its answers of the 4 weeks, and sends them in one report in the last week. `untrackable plan` says where that
    is more accurate.

    A device that loses what it stored, as browsers do, may answer again. With --wipes 1, eps counts both answers:
    give that for web pages.

    With --ready, devices answer by themselves: on how many of the last 28 days it was used (active-days), whether
    people came back 1, 7 and 28 days after the first use (retention), or just that they are there (people).

    With --every-round, everybody answers every round, by the --mechanism that is named. --delta, --gamma,
    --tracking-delta and --values go with it. That is for research: answering every round gives people away, and
    clients refuse it unless their owner allows it.

    Example: untrackable campaign new campaign.json --question "Do you smoke?" \
                 --category no --category yes --rounds 52 --every 1w --eps 2
             untrackable campaign new campaign.json --ready active-days \
                 --rounds 52 --every 1w
             untrackable campaign new campaign.json --question "Do you smoke?" \
                 --plan plan.json
             untrackable campaign new campaign.json --question "Do you smoke?" \
                 --category no --category yes --rounds 12 --every 1w \
                 --people 100,000 --relay --gateway gateway.json
    """
    if file.exists():
        raise click.ClickException(f"{file} exists already; a campaign never changes, so choose another name")
    with one_line_errors():
        from untrackable.accounting.check import verify as verdict_of

        question, encoding = ready_question(
            question, ready, encoding_of(categories, choices, listed, encoding_json)
        )
        if planned is not None:
            draft = planned_draft(planned, encoding)
            people = people or planned_people(planned)
        elif encoding is None:
            raise ValueError(NO_ANSWERS)
        else:
            draft = _draft(encoding, people=people, keys=keys, **demands)
        relied = draft.guarantee.crowd
        made = draft.campaign(
            question=question,
            first_round=first_moment(first),
            round_seconds=round_length(every),
            gateway=gateway_of(keys, needed=relied is not None),
        )
        if (end := made.first_round + made.round_seconds) <= time.time():
            raise ValueError(f"the first round ended at {when(end)}; give a later --first")
        verdict = verdict_of(made)
        if not verdict.holds:
            raise ValueError(f"this campaign would not keep what it declares: {'; '.join(verdict.problems)}")
        accurate = _accuracy(made, people)
    write_page(file, made.to_bytes().decode())
    told = {} if accurate is None else {"accuracy": dataclasses.asdict(accurate)}
    show_campaign(made, as_json, verdict.to_json(), **told)
    if not as_json and accurate is not None:
        from untrackable.display.campaign_accuracy import accuracy_words, spread_words

        echo(f"  accuracy   {accuracy_words(accurate)}")
        if people is None:
            echo(f"             {accurate.people:,} people are assumed; give --people")
        if spread := spread_words(accurate):
            echo(f"             {spread}")


def _draft(
    encoding: Encoding,
    *,
    people: int | None,
    keys: Path | None,
    every_round: bool,
    rounds: int | None,
    eps: float,
    relay: bool,
    margin: float,
    crowd_delta: float,
    **others: Any,
) -> CampaignDraft:
    """The campaign that the options ask for, of one kind or the other."""
    if rounds is None:
        raise ValueError("give --rounds, or a --plan that says how many")
    if people is not None and not 1 <= people <= MOST_PEOPLE:
        raise ValueError(f"--people must be between 1 and {MOST_PEOPLE:,}, got {people:,}")
    check_relay(relay, people)
    gateway_of(keys, needed=relay)
    alone = {name: others.pop(name) for name in TURNS_OPTIONS}
    if not every_round:
        return turns_draft(
            encoding,
            people=people or _PEOPLE,
            rounds=rounds,
            eps=eps,
            relay=relay,
            margin=margin,
            crowd_delta=crowd_delta,
            **alone,
        )
    crowd = (people or 0, margin, crowd_delta) if relay else None
    return every_round_draft(encoding, others.pop("mechanism"), rounds=rounds, eps=eps, crowd=crowd, **others)


def _accuracy(made: Campaign, people: int | None) -> CampaignAccuracy | None:
    """The accuracy of one round; None if nothing is asked."""
    from untrackable.display.campaign_accuracy import campaign_accuracy
    from untrackable.encodings.presence import Presence

    return None if isinstance(made.encoding, Presence) else campaign_accuracy(made, people or _PEOPLE)


@campaign.command()
@click.argument("file", type=FILE)
@JSON
def show(file: Path, as_json: bool) -> None:
    """Show what a campaign asks, when, and what it guarantees.

    Example: untrackable campaign show campaign.json
    """
    show_campaign(read(file), as_json)


@campaign.command()
@click.argument("file", type=FILE)
@JSON
def verify(file: Path, as_json: bool) -> None:
    """Check that a campaign keeps the privacy it declares.

    Recomputes the guarantee. Exits with 1 if the campaign declares more privacy than it keeps.

    Example: untrackable campaign verify campaign.json
    """
    found = read(file)
    from untrackable.accounting.check import verify as verdict_of

    verdict = verdict_of(found)
    if as_json:
        problems = list(verdict.problems)
        print_json({"id": found.id, "holds": verdict.holds, "problems": problems, **verdict.to_json()})
    else:
        echo(f"campaign {found.id}")
        for line in verified_lines(found, verdict):
            echo(f"  {line}")
        for problem in verdict.problems:
            echo(f"  wrong: {problem}")
        echo("it keeps what it declares" if verdict.holds else "it does NOT keep what it declares")
    if not verdict.holds:
        raise click.exceptions.Exit(1)


@campaign.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("campaigns", nargs=-1, type=FILE)
@JSON
def directory(file: Path, campaigns: tuple[Path, ...], as_json: bool) -> None:
    """Add campaigns to a directory file and print its digest.

    Clients that pin the digest accept every campaign in the directory.

    Example: untrackable campaign directory directory.json campaign.json
    """
    from untrackable.protocol.campaign import Directory

    listed = read_directory(file) if file.exists() else Directory(())
    found = listed.with_ids(read(path).id for path in campaigns)
    if found != listed or not file.exists():
        write_page(file, found.to_bytes().decode())
    if as_json:
        print_json({"digest": found.digest, "campaigns": list(found.ids)})
        return
    echo(f"directory {found.digest}")
    for name in found.ids:
        echo(f"  {name}")


def read(file: Path) -> Campaign:
    """The campaign in a file. If it is malformed, one line says why."""
    from untrackable.errors import CampaignError
    from untrackable.protocol.campaign import Campaign

    try:
        return Campaign.from_bytes(strict_json.small_file(file))
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except CampaignError as error:
        raise click.ClickException(wrong_kind(file, "campaign") or f"{file}: {error}") from None


def read_directory(file: Path) -> Any:
    """The directory in a file."""
    from untrackable.errors import CampaignError
    from untrackable.protocol.campaign import Directory

    try:
        return Directory.from_bytes(strict_json.small_file(file))
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except CampaignError as error:
        raise click.ClickException(f"{file}: {error}") from None
