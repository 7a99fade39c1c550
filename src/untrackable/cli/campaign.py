"""`untrackable campaign`: make, show, verify and list campaigns.

A new campaign is made of a plan, or of options: one answer from each person, or every round for research.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli import options
from untrackable.cli.terminal import (
    CommandGroup,
    one_line_errors,
    read_json,
    readable,
    write_page,
    wrong_kind,
)
from untrackable.errors import UntrackableError
from untrackable.planning.goal_fields import GOALS, GoalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from untrackable.accounting.check import Verdict
    from untrackable.display.campaign import CampaignAccuracy
    from untrackable.encodings.encoding import Encoding
    from untrackable.mechanisms.interface import Mechanism
    from untrackable.protocol.ballots import CampaignBallots
    from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Directory, Gateway
    from untrackable.protocol.campaign_draft import CampaignDraft

CROWD_OPTIONS = ("relay", "margin", "crowd_delta")
"""The options that say what a crowd hides. The keys of the gateway are not among them: a plan does not set them."""
TURNS_OPTIONS = ("share", "wipes", "want", "looks")
"""The options of campaigns in which each person answers once."""
EVERY_ROUND_OPTIONS = ("mechanism", "delta", "gamma", "tracking_delta", "values")
"""The options of campaigns in which everybody answers every round."""
_PEOPLE = 10_000
"""The people that are assumed to take part, if nobody says how many."""


@click.group(cls=CommandGroup)
def campaign() -> None:
    """Write, show and check campaigns: one question for everyone.

    A campaign is a public file that never changes. It says what is asked, when, by which mechanism, and what is
    guaranteed.

    Example: untrackable campaign show campaign.json
    """


@campaign.command()
@click.argument("file", type=options.FILE)
@click.option("--question", help="The question, on one line.")
@options.ready_option
@click.option("--category", "categories", multiple=True, metavar="NAME", help="A possible answer; give them all.")
@click.option("--choice", "choices", multiple=True, metavar="NAME", help="Or one of several at once; give all.")
@click.option(
    "--categories", "listed", type=options.GIVEN_FILE, metavar="FILE", help="The possible answers, one per line."
)
@options.bucket_options("encoding_json")
@click.option("--encoding", "encoding_json", metavar="JSON|FILE", help="Any other kind of answer, as JSON.")
@click.option("--plan", "planned", metavar="JSON|FILE", help="Use what `untrackable plan --json` printed.")
@options.goal_option("rounds")
@click.option("--every", default="1d", metavar="TIME", help="Round length: 90s, 15m, 6h, 1d, 1w.")
@click.option("--first", metavar="WHEN", show_default="next midnight", help="Start: 2027-01-31T12:00 UTC.")
@options.goal_option("eps", default=1.0, show_default=True)
@options.goal_option("people", show_default=f"{_PEOPLE:,}")
@options.goal_options("want", "share", "wipes", *CROWD_OPTIONS)
@click.option(
    "--gateway", "keys", type=options.GIVEN_FILE, metavar="FILE", help="Public keys (`gateway show --json`)."
)
@click.option("--hold-at", metavar="URL", help="Relay that holds reports until a round is over.")
@click.option("--release-after", metavar="TIME", show_default="a full hour", help="From end to release.")
@click.option(
    "--ballots", "issued", type=options.GIVEN_FILE, metavar="FILE", help="One ballot each (`ballots public`)."
)
@options.goal_option("looks", default=1, show_default=True)
@click.option("--every-round", is_flag=True, help="Everybody answers every round, for research.")
@click.option("--mechanism", metavar="WORDS", show_default="a deck", help="'NAME key=value …'.")
@click.option("--delta", type=float, default=1e-6, help="Chance that eps fails.")
@click.option("--gamma", type=float, default=0.0, help="How linkable reports may be.")
@click.option("--tracking-delta", type=float, default=0.0, help="Chance that gamma fails.")
@click.option("--values", type=click.Choice(["fixed", "any"]), default="any", help="May answers change?")
@options.result_options()
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
    hold_at: str | None,
    release_after: str | None,
    issued: Path | None,
    output: options.ResultOutput,
    **demands: Any,
) -> None:
    r"""Write a new campaign to a file and print its id.

    Each person answers once, in a round that their device draws in secret. --eps limits what anybody can ever learn
    from that answer. The report is the one with the smallest error for the question. The command says how accurate
    a round will be, and refuses a campaign that would not keep what it declares.

    With --relay, reports are sealed for the collector's gateway (--gateway) and sent through a relay, so that the
    collector does not know who sent which. Up to the share --margin of --people may be missing: then at most one
    round in a hundred has too few reports to be published. With --hold-at, the campaign names the relay: it holds
    the reports of a round and releases them once, together, some time after its end. Then people send at any time
    of the round, also from web pages, and the collector does not see when. Relays usually release on full hours:
    if this campaign needs another one, that is shown.

    With --looks 4, --rounds 12 --every 1w are cut into 3 stretches of 4 weeks: a device draws one of them, keeps
    its answers of the 4 weeks, and sends them in one report in the last week. `untrackable plan` says where that
    is more accurate.

    With --ballots, a report counts only with a ballot, and each person who is entitled gets one: `untrackable
    ballots` makes what the file needs.

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
                 --people 100,000 --relay --gateway gateway.json \
                 --hold-at https://relay.example/gateways/study
    """
    if file.exists():
        raise click.ClickException(f"{file} exists already; a campaign never changes, so choose another name")
    with one_line_errors():
        from untrackable.accounting.check import make_campaign

        question, encoding = options.ready_question(
            question, ready, options.encoding_of(categories, choices, listed, encoding_json)
        )
        if planned is not None:
            draft = planned_draft(planned, encoding)
            people = people or planned_people(planned)
        elif encoding is None:
            raise ValueError(options.NO_ANSWERS)
        else:
            try:
                draft = _draft(encoding, people=people, keys=keys, **demands)
            except GoalError as error:
                raise ValueError(error.worded(options.option_of)) from None
        begins, length = options.first_moment(first), options.round_length(every)
        gateway = gateway_of(keys, needed=draft.guarantee.crowd is not None)
        gateway = held_at(gateway, hold_at, release_after, first_end=begins + length * looks_of(draft))
        made, verdict = make_campaign(
            draft,
            question=question,
            first_round=begins,
            round_seconds=length,
            gateway=gateway,
            ballots=ballots_of(issued),
        )
        if (end := made.begins(2)) <= time.time():
            raise ValueError(f"the first round ended at {options.when(end)}; give a later --first")
        accurate = _accuracy(made, people)
    write_page(file, made.to_bytes().decode())
    from untrackable.display.campaign import campaign_view

    assumed = {} if people or accurate is None else {"people": f"{_PEOPLE:,} are assumed; give --people"}
    output.give(made, view=campaign_view(made, verdict.to_json(), accurate, **assumed))


@campaign.command()
@click.argument("file", type=options.GIVEN_FILE)
@options.result_options()
def show(file: Path, output: options.ResultOutput) -> None:
    """Show what a campaign asks, when, and what it guarantees.

    Example: untrackable campaign show campaign.json
    """
    asked = read(file)
    from untrackable.display.campaign import campaign_view

    output.give(asked, view=campaign_view(asked))


@campaign.command()
@click.argument("file", type=options.GIVEN_FILE)
@options.result_options()
def verify(file: Path, output: options.ResultOutput) -> None:
    """Check that a campaign keeps the privacy it declares.

    Recomputes the guarantee. Exits with 1 if the campaign declares more privacy than it keeps.

    Example: untrackable campaign verify campaign.json
    """
    asked = read(file)
    from untrackable.accounting.check import verify as verdict_of
    from untrackable.display.view import View

    verdict = verdict_of(asked)
    problems = list(verdict.problems)
    holds = f"it {'keeps' if verdict.holds else 'does NOT keep'} what it declares"
    told = [*verified_lines(asked, verdict), *(f"wrong: {problem}" for problem in problems)]
    view = View(
        title=holds,
        sentences=[f"campaign {asked.id}", *(f"  {line}" for line in told), holds],
        listing=True,
        json=lambda: {"id": asked.id, "holds": verdict.holds, "problems": problems, **verdict.to_json()},
    )
    output.give(verdict, view=view)
    if not verdict.holds:
        raise click.exceptions.Exit(1)


def verified_lines(asked: Campaign, verdict: Verdict) -> list[str]:
    """What the verification of a campaign found, beside what is declared."""
    from untrackable.display.campaign import release_words

    declared, crowd = asked.guarantee, asked.guarantee.crowd
    if asked.turns is not None:
        lines = [
            f"eps of everything that a person ever sends: {verdict.eps}, declared {declared.eps:g}",
            "delta: 0 (exact), because a person sends one report, or as many as wipes are allowed for",
            "recognised by an observer of two places among N people: at most 2/N (upper), if nothing else is known "
            "of a person and no storage is wiped",
        ]
    else:
        together = "" if crowd is None else " if relay and collector work together"
        lines = [
            f"delta at eps = {declared.eps:g}{together}: {verdict.delta}, declared {declared.delta:g}",
            f"tracking delta at gamma = {declared.gamma:g}: {verdict.tracking_delta}, "
            f"declared {declared.tracking_delta:g}",
            "recognised by attendance: people answer every round, so an observer of two places who waits long "
            "enough recognises them",
        ]
    if crowd is not None:
        lines.append(
            f"delta at eps = {crowd.eps:g} for the collector alone, which does not know who sent which of "
            f"{crowd.reports:,} reports a round: {verdict.crowd}, declared {crowd.delta:g}"
        )
    if asked.relay is not None:
        lines.append(
            f"released: the reports of a round, which are this crowd, at once by {asked.relay.address}, "
            f"{asked.relay.delay:,} seconds after its end"
        )
        if needed := release_words(asked):
            lines.append(f"releases: {needed}")
    if crowd is not None and verdict.crowd_throughout is not None:
        lines.append(
            f"eps at delta = {crowd.delta:g} for people who are active in all rounds: {verdict.crowd_throughout}"
        )
    return lines


@campaign.command()
@click.argument("file", type=options.FILE)
@click.argument("campaigns", nargs=-1, type=options.GIVEN_FILE)
@options.result_options()
def directory(file: Path, campaigns: tuple[Path, ...], output: options.ResultOutput) -> None:
    """Add campaigns to a directory file and print its digest.

    Clients that pin the digest accept every campaign in the directory.

    Example: untrackable campaign directory directory.json campaign.json
    """
    from untrackable.protocol.campaign import Directory

    listed = read_directory(file) if file.exists() else Directory(())
    extended = listed.with_ids(read(path).id for path in campaigns)
    if extended != listed or not file.exists():
        write_page(file, extended.to_bytes().decode())
    told = {"digest": extended.digest, "campaigns": list(extended.ids)}
    output.tell(told, f"directory {extended.digest}", *(f"  {name}" for name in extended.ids))


@campaign.command()
@click.argument("files", nargs=-1, required=True, type=options.GIVEN_FILE)
@click.option("--server", required=True, metavar="URL", help="The collector's address.")
@click.option(
    "--answer", "answers", multiple=True, metavar="JS", show_default="null", help="Each visitor's answer."
)
@options.result_options()
def embed(files: tuple[Path, ...], server: str, answers: tuple[str, ...], output: options.ResultOutput) -> None:
    """Print the lines that ask campaigns on a web page.

    A page has such lines once, for all that it asks. Each --answer is an expression in JavaScript: the answer to
    the campaign at the same place. The client refuses null, so no example is ever an answer.

    Example: untrackable campaign embed asked.json --server https://a.example
    """
    from untrackable.collector.browser import snippet
    from untrackable.web_address import WebAddress

    with one_line_errors():
        WebAddress.parse("--server", server)
        if len(answers) > len(files):
            raise ValueError("give at most one --answer for each campaign")
    lines = snippet([read(file) for file in files], server.rstrip("/"), answers)
    output.tell({"html": lines}, *lines.splitlines())


def read(file: Path) -> Campaign:
    """The campaign in a file. If it is malformed, one line says why."""
    from untrackable.protocol.campaign import Campaign

    with _one_line_errors(file, "campaign"):
        return Campaign.from_bytes(strict_json.small_file(file))


def read_directory(file: Path) -> Directory:
    """The directory in a file."""
    from untrackable.protocol.campaign import Directory

    with _one_line_errors(file, ""):
        return Directory.from_bytes(strict_json.small_file(file))


@contextmanager
def _one_line_errors(file: Path, kind: str) -> Iterator[None]:
    """Say in one line why a document cannot be read. If the file is of another kind than this one, it says so."""
    from untrackable.errors import CampaignError

    try:
        with readable(file):
            yield
    except CampaignError as error:
        wrong = wrong_kind(file, kind) if kind else None
        raise click.ClickException(wrong or f"{file}: {error}") from None


def _draft(
    encoding: Encoding, *, people: int | None, keys: Path | None, every_round: bool, **demands: Any
) -> CampaignDraft:
    """The campaign that the options ask for, of one kind or the other."""
    if demands["rounds"] is None:
        raise ValueError("give --rounds, or a --plan that says how many")
    if people is not None:
        GOALS["people"].checked(people)
    relay: bool = demands["relay"]
    check_relay(relay, people)
    gateway_of(keys, needed=relay)
    other_kind = TURNS_OPTIONS if every_round else EVERY_ROUND_OPTIONS
    demands = {name: demand for name, demand in demands.items() if name not in other_kind}
    if not every_round:
        return turns_draft(encoding, people=people or _PEOPLE, **demands)
    relay, margin, delta = (demands.pop(name) for name in CROWD_OPTIONS)
    return every_round_draft(encoding, crowd=(people or 0, margin, delta) if relay else None, **demands)


def given_options(names: tuple[str, ...]) -> list[str]:
    """Those of these options that somebody gave."""
    return [options.option_of(name) for name in names if options.was_given(name)]


def turns_draft(encoding: Encoding, *, people: int, rounds: int, eps: float, **demands: Any) -> CampaignDraft:
    """A campaign in which each person answers once, with the report of the smallest error for the question."""
    if said := given_options(EVERY_ROUND_OPTIONS):
        raise ValueError(
            f"{said[0]} is for --every-round. If each person answers once, delta is 0, and the report is chosen "
            "for the question"
        )
    from untrackable.encodings.encoding import Presence
    from untrackable.encodings.record import Path
    from untrackable.planning.forecast import best_look
    from untrackable.planning.goals import Goals
    from untrackable.protocol.campaign import Guarantee
    from untrackable.protocol.campaign_draft import CampaignDraft

    if isinstance(encoding, Presence):
        return _counting_people(encoding, rounds, demands)
    if isinstance(encoding, Path):
        if given_options(("looks",)):
            raise ValueError("--looks is for the encoding of one answer; this one says its looks itself")
        demands["looks"] = encoding.looks
        encoding = encoding.of
    goals = Goals(people=people, encoding=encoding, rounds=rounds, eps=eps, **demands)
    made, turns = best_look(goals)[1].mechanism, goals.turns
    looks = goals.looks or 1
    crowd = None
    if goals.relay:
        hidden = people, goals.margin, goals.crowd_delta
        crowd = _crowd(made, turns.wipes + 1, hidden, rounds=turns.rounds, share=turns.share)
    return CampaignDraft(
        encoding=encoding if looks == 1 else Path(of=encoding, looks=looks),
        mechanism=made,
        rounds=turns.rounds,
        guarantee=Guarantee(eps=eps, crowd=crowd),
        turns=turns,
    )


def _counting_people(encoding: Encoding, rounds: int, demands: dict[str, Any]) -> CampaignDraft:
    """A campaign that asks nothing. A report has no content, so there is nothing to protect: eps is 0."""
    from untrackable.mechanisms.local import Fresh, Present
    from untrackable.protocol.campaign import Guarantee
    from untrackable.protocol.campaign_draft import CampaignDraft
    from untrackable.theory.turns import Turns

    if said := given_options(("eps", "relay", "want", "looks")):
        raise ValueError(f"{said[0]} has no meaning here: reports have no content, so there is nothing to protect")
    turns = Turns(rounds=rounds, share=demands["share"], wipes=demands["wipes"])
    return CampaignDraft(
        encoding=encoding, mechanism=Fresh(Present()), rounds=rounds, guarantee=Guarantee(eps=0.0), turns=turns
    )


def every_round_draft(
    encoding: Encoding,
    *,
    mechanism: str | None,
    rounds: int,
    eps: float,
    delta: float,
    crowd: tuple[int, Any, float] | None,
    **declared: Any,
) -> CampaignDraft:
    """A campaign in which everybody answers every round. With a relay, `crowd` is people, margin and delta."""
    if said := given_options(TURNS_OPTIONS):
        raise ValueError(f"{said[0]} is for campaigns in which each person answers once; leave out --every-round")
    from untrackable.protocol.campaign import Guarantee
    from untrackable.protocol.campaign_draft import CampaignDraft

    made = _mechanism(mechanism, encoding, rounds, eps, delta)
    hidden = None if crowd is None else _crowd(made, rounds, crowd)
    guarantee = Guarantee(eps=eps, delta=delta, crowd=hidden, **declared)
    return CampaignDraft(encoding=encoding, mechanism=made, rounds=rounds, guarantee=guarantee)


def _crowd(
    mechanism: Mechanism,
    sent: int,
    hidden: tuple[int, Any, float],
    *,
    rounds: int = 1,
    share: Fraction = Fraction(1),
) -> CrowdGuarantee:
    """What a relay adds for somebody who sends this many reports, among people who answer a round by chance.

    `hidden` is the number of people, the share of them that may be missing, and delta.
    """
    from untrackable.planning.forecast import fewest_reports
    from untrackable.planning.goals import rounded_up
    from untrackable.protocol.campaign import CrowdGuarantee, check_crowd
    from untrackable.theory.crowd import LARGEST_CROWD, checked_margin

    people, margin, delta = hidden
    reports = min(LARGEST_CROWD, fewest_reports(people, share / rounds * (1 - checked_margin(margin))))
    if reports < 2:
        raise ValueError(f"--people {people:,} is too few: more than one round in a hundred would have no crowd")
    check_crowd(CrowdGuarantee(eps=1.0, delta=delta, reports=reports), mechanism, sent)
    eps = mechanism.crowd(people=reports, reports=sent, present=share).gamma(delta).upper
    return CrowdGuarantee(eps=rounded_up(eps, 3), delta=delta, reports=reports)


def _mechanism(given: str | None, encoding: Encoding, rounds: int, eps: float, delta: float) -> Mechanism:
    """The mechanism that is given, or a deck that spends the budget."""
    from untrackable.cli.mechanism_argument import resolve
    from untrackable.settings.demands import Budget

    goal = Budget(values=max(2, encoding.values), eps=eps, delta=delta, reports=rounds)
    name, *parameters = options.words_of("deck" if given is None else given)
    try:
        made: Mechanism = resolve(name, parameters, goal=goal)
    except (UntrackableError, TypeError, ValueError) as error:
        raise ValueError(f"--mechanism: {error}") from None
    return made


def planned_draft(given: str, encoding: Encoding | None) -> CampaignDraft:
    """The draft of a plan, with the encoding that is given, if any."""
    fixed = ("rounds", "eps", "every_round", *TURNS_OPTIONS, *EVERY_ROUND_OPTIONS, *CROWD_OPTIONS)
    if said := given_options(fixed):
        raise ValueError(f"--plan already sets {', '.join(said)}; leave out one or the other")

    def drafted(document: Any) -> CampaignDraft:
        from untrackable.errors import CampaignError
        from untrackable.protocol.campaign_draft import CampaignDraft

        if isinstance(document, dict) and "campaign" in document:
            document = document["campaign"]
            if document is None:
                raise ValueError("the goals of this plan are not met, so it has no campaign")
        try:
            draft = CampaignDraft.from_json(document)
        except CampaignError as error:
            raise ValueError(
                f"must be what `untrackable plan --json` prints, or the campaign in it: {error}"
            ) from None
        if encoding is not None:
            return draft.with_encoding(encoding)
        if draft.encoding is None:
            raise ValueError(f"it only says how wide answers are; {options.NO_ANSWERS}")
        return draft

    draft: CampaignDraft = read_json("--plan", given, drafted)
    return draft


def planned_people(given: str) -> int | None:
    """The number of people that a plan is for; None if the plan does not say it, or is only its campaign."""

    def counted(document: Any) -> int | None:
        solved = document.get("solved") if isinstance(document, dict) else None
        people = solved.get("people") if isinstance(solved, dict) else None
        return people if isinstance(people, int) else None

    people: int | None = read_json("--plan", given, counted)
    return people


def check_relay(relay: bool, people: int | None) -> None:
    """Refuse options that need a relay without one, and a relay without a number of people."""
    if (said := given_options(CROWD_OPTIONS[1:])) and not relay:
        raise ValueError(f"{said[0]} is for campaigns with a relay: give --relay too")
    if relay and people is None:
        raise ValueError("give --people too: a relay hides a report among those of how many people?")


def gateway_of(keys: Path | None, *, needed: bool) -> Gateway | None:
    """The public keys in a file. A campaign needs them if it relies on a crowd, and only then."""
    from untrackable.errors import CampaignError
    from untrackable.protocol.campaign import Gateway

    if keys is None and needed:
        raise ValueError(
            "a campaign with a relay needs the public keys of the collector's gateway: --gateway FILE, with what "
            "`untrackable gateway new KEYS --json` prints"
        )
    if keys is None:
        return None
    if not needed:
        raise ValueError("--gateway is for campaigns with a relay: give --relay too")
    try:
        with readable(keys):
            return Gateway.from_json(strict_json.parse(strict_json.small_file(keys)))
    except (CampaignError, TypeError, ValueError) as error:
        raise ValueError(f"{keys}: {error}. Give what `untrackable gateway show KEYS --json` prints") from None


def ballots_of(issued: Path | None) -> CampaignBallots | None:
    """The public part of an issuer's ballots in a file, if one is given."""
    from untrackable.errors import CampaignError
    from untrackable.protocol.ballots import CampaignBallots

    if issued is None:
        return None
    try:
        with readable(issued):
            return CampaignBallots.from_json(strict_json.parse(strict_json.small_file(issued)))
    except (CampaignError, TypeError, ValueError) as error:
        raise ValueError(f"{issued}: {error}. Give what `untrackable ballots public … --json` prints") from None


def held_at(gateway: Gateway | None, relay: str | None, after: str | None, *, first_end: int) -> Gateway | None:
    """The gateway with the relay that holds its reports, if one is named. The first round ends at `first_end`."""
    from untrackable.protocol.campaign import HoldingRelay

    if relay is None:
        if after is not None:
            raise ValueError("--release-after is for a relay that holds reports: give --hold-at too")
        return gateway
    if gateway is None:
        raise ValueError("--hold-at is for campaigns with a relay: give --relay too")
    if after is None:
        return replace(gateway, relay=HoldingRelay.usual(relay, first_end))
    return replace(gateway, relay=HoldingRelay(relay, options.round_length(after, "--release-after")))


def looks_of(draft: CampaignDraft) -> int:
    """The number of looks of a round."""
    from untrackable.encodings.record import Path

    return draft.encoding.looks if isinstance(draft.encoding, Path) else 1


def _accuracy(made: Campaign, people: int | None) -> CampaignAccuracy | None:
    """The accuracy of one round; None if nothing is asked."""
    from untrackable.display.campaign import campaign_accuracy
    from untrackable.encodings.encoding import Presence

    return None if isinstance(made.encoding, Presence) else campaign_accuracy(made, people or _PEOPLE)
