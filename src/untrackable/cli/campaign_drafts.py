"""What a new campaign is made of: one answer from each person, every round for research, or a plan."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.answer_options import NO_ANSWERS
from untrackable.cli.campaign_crowd import CROWD_OPTIONS
from untrackable.cli.mechanism_options import words_of
from untrackable.cli.terminal import read_json
from untrackable.errors import UntrackableError

if TYPE_CHECKING:
    from untrackable.encodings.encoding import Encoding
    from untrackable.mechanisms.interface import Mechanism
    from untrackable.protocol.campaign_draft import CampaignDraft
    from untrackable.protocol.crowd_declaration import CrowdGuarantee

TURNS_OPTIONS = ("share", "wipes", "want", "looks")
"""The options of campaigns in which each person answers once."""
EVERY_ROUND_OPTIONS = ("mechanism", "delta", "gamma", "tracking_delta", "values")
"""The options of campaigns in which everybody answers every round."""


def given_options(names: tuple[str, ...]) -> list[str]:
    """Those of these options that somebody gave."""
    source = click.get_current_context().get_parameter_source
    found = [name for name in names if source(name) is not click.core.ParameterSource.DEFAULT]
    return ["--" + name.replace("_", "-") for name in found]


def turns_draft(encoding: Encoding, *, people: int, rounds: int, eps: float, **demands: Any) -> CampaignDraft:
    """A campaign in which each person answers once, with the report of the smallest error for the question."""
    if said := given_options(EVERY_ROUND_OPTIONS):
        raise ValueError(
            f"{said[0]} is for --every-round. If each person answers once, delta is 0, and the report is chosen "
            "for the question"
        )
    from untrackable.encodings.path import Path
    from untrackable.encodings.presence import Presence
    from untrackable.planning.goals import Goals
    from untrackable.planning.longer_looks import best_look
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
        crowd = _crowd(made, turns.wipes + 1, (people, goals.margin, goals.crowd_delta), turns.chance)
    return CampaignDraft(
        encoding=encoding if looks == 1 else Path(of=encoding, looks=looks),
        mechanism=made,
        rounds=turns.rounds,
        guarantee=Guarantee(eps=eps, crowd=crowd),
        turns=turns,
    )


def _counting_people(encoding: Encoding, rounds: int, demands: dict[str, Any]) -> CampaignDraft:
    """A campaign that asks nothing. A report has no content, so there is nothing to protect: eps is 0."""
    from untrackable.mechanisms.local.present import Present
    from untrackable.mechanisms.wrappers.fresh import Fresh
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
    mechanism: str | None,
    *,
    rounds: int,
    eps: float,
    delta: float,
    values: Any,
    gamma: float,
    tracking_delta: float,
    crowd: tuple[int, Any, float] | None,
) -> CampaignDraft:
    """A campaign in which everybody answers every round. With a relay, `crowd` is people, margin and delta."""
    if said := given_options(TURNS_OPTIONS):
        raise ValueError(f"{said[0]} is for campaigns in which each person answers once; leave out --every-round")
    from untrackable.protocol.campaign import Guarantee
    from untrackable.protocol.campaign_draft import CampaignDraft

    made = _mechanism(mechanism, encoding, rounds, eps, delta)
    declared = Guarantee(
        eps=eps,
        delta=delta,
        values=values,
        gamma=gamma,
        tracking_delta=tracking_delta,
        crowd=None if crowd is None else _crowd(made, rounds, crowd),
    )
    return CampaignDraft(encoding=encoding, mechanism=made, rounds=rounds, guarantee=declared)


def _crowd(
    mechanism: Mechanism, sent: int, hidden: tuple[int, Any, float], chance: Fraction = Fraction(1)
) -> CrowdGuarantee:
    """What a relay adds for somebody who sends so many reports, among people who answer a round by chance.

    `hidden` is the number of people, the share of them that may be missing, and delta.
    """
    from untrackable.planning.forecast import fewest_reports
    from untrackable.planning.rounding import rounded_up
    from untrackable.protocol.crowd_declaration import CrowdGuarantee, check_crowd
    from untrackable.theory.crowd_counts import LARGEST_CROWD, checked_margin

    people, margin, delta = hidden
    reports = min(LARGEST_CROWD, fewest_reports(people, chance * (1 - checked_margin(margin))))
    if reports < 2:
        raise ValueError(f"--people {people:,} is too few: more than one round in a hundred would have no crowd")
    check_crowd(CrowdGuarantee(eps=1.0, delta=delta, reports=reports), mechanism, sent)
    eps = mechanism.crowd(people=reports, reports=sent).gamma(delta).upper
    return CrowdGuarantee(eps=rounded_up(eps, 3), delta=delta, reports=reports)


def _mechanism(given: str | None, encoding: Encoding, rounds: int, eps: float, delta: float) -> Mechanism:
    """The mechanism that is given, or a deck that spends the budget."""
    from untrackable.cli.mechanism_argument import resolve
    from untrackable.mechanisms.demands import Budget

    goal = Budget(values=max(2, encoding.values), eps=eps, delta=delta, reports=rounds)
    name, *parameters = words_of("deck" if given is None else given)
    try:
        found: Mechanism = resolve(name, parameters, goal=goal)
    except (UntrackableError, TypeError, ValueError) as error:
        raise ValueError(f"--mechanism: {error}") from None
    return found


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
            raise ValueError(f"it only says how wide answers are; {NO_ANSWERS}")
        return draft

    found: CampaignDraft = read_json("--plan", given, drafted)
    return found


def planned_people(given: str) -> int | None:
    """The number of people that a plan is for; None if the plan does not say it, or is only its campaign."""

    def counted(document: Any) -> int | None:
        solved = document.get("solved") if isinstance(document, dict) else None
        people = solved.get("people") if isinstance(solved, dict) else None
        return people if isinstance(people, int) else None

    found: int | None = read_json("--plan", given, counted)
    return found
