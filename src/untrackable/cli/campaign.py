"""`untrackable campaign`: make, show, verify and list campaigns."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.checks import MOST_ROUNDS
from untrackable.cli.answer_options import NO_ANSWERS, encoding_of, mechanism_for
from untrackable.cli.attendance_options import attendance_of, chosen_attendance
from untrackable.cli.bucket_options import bucket_options
from untrackable.cli.campaign_crowd import CROWD_OPTIONS, crowd_mechanism, crowd_of, crowd_options, gateway_of
from untrackable.cli.campaign_shown import WIPES, show_campaign, when
from untrackable.cli.campaign_times import first_moment, round_length
from untrackable.cli.file_kinds import wrong_kind
from untrackable.cli.help_layout import CommandGroup
from untrackable.cli.ready_option import ready_option, ready_question
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json, read_json, write_page

if TYPE_CHECKING:
    from untrackable.encodings.encoding import Encoding
    from untrackable.protocol.campaign import Campaign
    from untrackable.protocol.campaign_draft import CampaignDraft

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PEOPLE = 10_000


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
@click.option("--part", metavar="NAME", help="The part of a plan for several campaigns.")
@click.option("--rounds", type=click.IntRange(1, MOST_ROUNDS), help="How often to ask; needed without --plan.")
@click.option(
    "--every", default="1d", show_default=True, metavar="TIME", help="Round length: 90s, 15m, 6h, 1d, 1w."
)
@click.option(
    "--first",
    metavar="WHEN",
    show_default="next midnight",
    help="Start: 2027-01-31T12:00 UTC.",
)
@click.option("--eps", type=float, default=1.0, show_default=True, help="Privacy of all reports together.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Probability that eps does not hold.")
@click.option(
    "--mechanism",
    "mechanism_json",
    metavar="WORDS",
    show_default="a deck",
    help="'NAME key=value …'.",
)
@click.option("--gamma", type=float, default=0.0, show_default=True, help="How linkable reports may be.")
@click.option(
    "--tracking-delta", type=float, default=0.0, show_default=True, help="Probability that gamma does not hold."
)
@click.option(
    "--values",
    type=click.Choice(["fixed", "any"]),
    default="any",
    show_default=True,
    help="May answers change?",
)
@chosen_attendance
@crowd_options
@click.option("--wipes", type=WIPES, help="How often storage may be lost.")
@click.option(
    "--people",
    type=click.IntRange(min=1),
    show_default=f"the crowd, or {_PEOPLE}",
    help="People in a round.",
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
    part: str | None,
    rounds: int | None,
    every: str,
    first: str | None,
    eps: float,
    delta: float,
    mechanism_json: str | None,
    gamma: float,
    tracking_delta: float,
    values: Any,
    participation: str | None,
    recognition: float | None,
    places: str,
    persistence: int,
    one_network: bool,
    crowd_people: int | None,
    margin: float,
    crowd_eps: float,
    crowd_delta: float,
    crowd_share: float,
    keys: Path | None,
    wipes: Any,
    people: int | None,
    as_json: bool,
) -> None:
    r"""Write a new campaign to a file and print its id.

    Refuses a campaign that would not keep the privacy it declares, and one whose first round is over. Says how
    accurate a round will be. Without --participation, people answer as often as --recognition allows: the
    probability that somebody who watches two places recognises a person among 1,000.

    With --crowd-people, the campaign relies on a crowd: reports are sealed for the collector's gateway and sent
    through a relay. Up to the share --margin of these people may be missing from a round: then at most one round in
    a hundred has too few reports to be published. The deck is then the best one of which the collector, which does
    not know who sent which, learns no more than --crowd-eps. Without --eps, relay and collector together learn at
    most eps = 4.

    With --wipes, the campaign declares what happens to people whose client loses what it stored, as in browsers: a
    number, or any. The guarantee is checked for that many new beginnings.

    With --ready, devices count days of use and answer by themselves: on how many of the last 28 days (active-days),
    or whether they came back 1, 7 and 28 days after the first use (retention).

    Example: untrackable campaign new campaign.json --question "Do you smoke?" \
                 --category no --category yes --rounds 365
             untrackable campaign new campaign.json --ready active-days \
                 --rounds 365
             untrackable campaign new campaign.json --question "Do you smoke?" \
                 --plan plan.json
             untrackable campaign new campaign.json --question "Do you smoke?" \
                 --category no --category yes --rounds 365 \
                 --crowd-people 1000000 --eps 4 --gateway gateway.json
    """
    if file.exists():
        raise click.ClickException(f"{file} exists already; a campaign never changes, so choose another name")
    with one_line_errors():
        from untrackable.accounting.client_check import declaring_recognition
        from untrackable.accounting.verification import verify as verdict_of
        from untrackable.protocol.campaign import Guarantee
        from untrackable.protocol.campaign_draft import CampaignDraft

        question, encoding = ready_question(
            question, ready, encoding_of(categories, choices, listed, encoding_json)
        )
        if planned is not None:
            draft = _planned(planned, part, encoding)
        else:
            if part is not None:
                raise ValueError("--part is for a --plan for several campaigns")
            if encoding is None:
                raise ValueError(NO_ANSWERS)
            if rounds is None:
                raise ValueError("give --rounds, or a --plan that says how many")
            attending = attendance_of(participation, recognition, places, persistence, one_network, rounds=rounds)
            crowd = crowd_of(crowd_people, margin, crowd_eps, crowd_delta, attending.participation)
            gateway_of(keys, needed=crowd is not None)
            if crowd is not None and mechanism_json is None:
                mechanism, eps = crowd_mechanism(
                    crowd,
                    crowd_share,
                    encoding=encoding,
                    rounds=rounds,
                    delta=delta,
                    eps=eps,
                    participation=attending.participation,
                )
            else:
                mechanism = mechanism_for(
                    mechanism_json, encoding, rounds, eps, delta, attending.participation, people or _PEOPLE
                )
            declared = Guarantee(
                eps=eps,
                delta=delta,
                values=values,
                gamma=gamma,
                tracking_delta=tracking_delta,
                recognition=recognition or 1.0,
                crowd=crowd,
            )
            draft = CampaignDraft(
                encoding=encoding, mechanism=mechanism, rounds=rounds, guarantee=declared, attendance=attending
            )
        if wipes is not None:
            draft = dataclasses.replace(draft, guarantee=dataclasses.replace(draft.guarantee, wipes=wipes))
        relied = draft.guarantee.crowd
        made = draft.campaign(
            question=question,
            first_round=first_moment(first),
            round_seconds=round_length(every),
            gateway=gateway_of(keys, needed=relied is not None),
        )
        if planned is None and recognition is None:
            made = declaring_recognition(made)
        if (end := made.first_round + made.round_seconds) <= time.time():
            raise ValueError(f"the first round ended at {when(end)}; give a later --first")
        verdict = verdict_of(made)
        if not verdict.holds:
            raise ValueError(f"this campaign would not keep what it declares: {'; '.join(verdict.problems)}")
        from untrackable.display.campaign_accuracy import accuracy_words, campaign_accuracy, spread_words

        assumed = _PEOPLE if relied is None else crowd_people or relied.people
        accurate = campaign_accuracy(made, people or assumed)
    write_page(file, made.to_bytes().decode())
    show_campaign(made, as_json, accuracy=dataclasses.asdict(accurate))
    if not as_json:
        click.echo(f"  accuracy   {accuracy_words(accurate)}")
        if people is None and relied is None:
            click.echo(f"             {_PEOPLE:,} people are assumed; give --people")
        if relied is not None and (spread := spread_words(accurate)):
            click.echo(f"             {spread}")


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
    from untrackable.accounting.verification import verify as verdict_of

    verdict = verdict_of(found)
    if as_json:
        problems = list(verdict.problems)
        print_json({"id": found.id, "holds": verdict.holds, "problems": problems, **verdict.to_json()})
    else:
        declared = found.guarantee
        echo(f"campaign {found.id}")
        together = "" if declared.crowd is None else " if relay and collector work together"
        echo(f"  delta at eps = {declared.eps:g}{together}: {verdict.delta}, declared {declared.delta:g}")
        echo(
            f"  tracking delta at gamma = {declared.gamma:g}: {verdict.tracking_delta}, "
            f"declared {declared.tracking_delta:g}"
        )
        if declared.crowd is not None:
            crowd = declared.crowd
            echo(
                f"  delta at eps = {crowd.eps:g} in a crowd of {crowd.people:,} (a round is published from "
                f"{found.fewest_reports:,} reports on): {verdict.crowd}, declared {crowd.delta:g}"
            )
        said = "nothing declared" if declared.recognition is None else f"declared {declared.recognition:g}"
        echo(f"  recognised among 1,000 people, attendance included: {verdict.recognition}, {said}")
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


def _planned(given: str, part: str | None, encoding: Encoding | None) -> CampaignDraft:
    """The draft of a plan, with the encoding that is given, if any."""
    source = click.get_current_context().get_parameter_source
    attendance = ("participation", "recognition", "places", "persistence", "one_network")
    limits = ("eps", "delta", "gamma", "tracking_delta", *CROWD_OPTIONS)
    fixed = ("rounds", "mechanism_json", *limits, "values", *attendance)
    if said := [name for name in fixed if source(name) is not click.core.ParameterSource.DEFAULT]:
        options = ", ".join("--" + name.removesuffix("_json").replace("_", "-") for name in said)
        raise ValueError(f"--plan already sets {options}; leave out one or the other")

    def drafted(document: Any) -> CampaignDraft:
        from untrackable.errors import CampaignError
        from untrackable.protocol.campaign_draft import CampaignDraft

        if part is not None:
            document = _part_of(document, part)
        elif isinstance(document, dict) and "campaign" in document:
            document = document["campaign"]
            if document is None:
                raise ValueError("no mechanism meets the goals of this plan, so it has no campaign")
        try:
            draft = CampaignDraft.from_json(document)
        except CampaignError as error:
            raise ValueError(
                f"must be what `untrackable plan --json` prints, or the campaign in it: {error}"
            ) from None
        if encoding is not None:
            return draft.with_encoding(encoding)
        if draft.encoding is None:
            raise ValueError(f"it only says how wide answers are; {NO_ANSWERS}")
        return draft

    found: CampaignDraft = read_json("--plan", given, drafted)
    return found


def _part_of(document: Any, part: str) -> Any:
    """The campaign of one table in a plan for several campaigns."""
    parts = document.get("campaigns") if isinstance(document, dict) else None
    if not isinstance(parts, dict):
        raise ValueError("this plan is for one campaign; leave out --part")  # noqa: TRY004
    if part not in parts:
        raise ValueError(f"--part must be one of: {'; '.join(parts)}")
    return parts[part]
