"""The options of a new campaign that relies on a crowd, and the deck that they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from untrackable.cli.answer_options import tables_budget
from untrackable.cli.attendance_options import margin_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from untrackable.encodings.encoding import Encoding
    from untrackable.mechanisms.interface import Mechanism
    from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway

_Command = TypeVar("_Command", bound="Callable[..., Any]")

CROWD_OPTIONS = ("crowd_people", "margin", "crowd_eps", "crowd_delta", "crowd_share")
"""The options that say what a crowd hides. The keys of the gateway are not among them: a plan does not set them."""


def crowd_options(command: _Command) -> _Command:
    """Add the options for a crowd."""
    options = (
        click.option("--crowd-people", type=click.IntRange(min=2), help="Rely on a crowd of so many people."),
        margin_option,
        click.option(
            "--crowd-eps",
            type=float,
            default=1.0,
            show_default=True,
            help="Privacy if nobody knows who sent which.",
        ),
        click.option(
            "--crowd-delta", type=float, default=1e-6, show_default=True, help="Probability that crowd-eps fails."
        ),
        click.option(
            "--crowd-share",
            type=click.FloatRange(0, 1),
            default=0.1,
            show_default=True,
            help="Share whose error is smallest.",
        ),
        click.option(
            "--gateway",
            "keys",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Public keys (`gateway show --json`).",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def crowd_of(
    people: int | None, margin: float, eps: float, delta: float, participation: Fraction
) -> CrowdGuarantee | None:
    """The guarantee in a crowd that the options ask for, if any. It counts on the fewest people that are likely."""
    from untrackable.protocol.crowd_declaration import CrowdGuarantee
    from untrackable.theory.crowd_counts import checked_margin, counted_crowd

    given = click.get_current_context().get_parameter_source
    if people is None:
        said = [name for name in CROWD_OPTIONS[1:] if given(name) is not click.core.ParameterSource.DEFAULT]
        if said:
            raise ValueError("give --crowd-people too: a crowd of how many people hides the reports?")
        return None
    counted = counted_crowd(people, participation, checked_margin(margin))
    if counted < 2:
        raise ValueError(
            f"--crowd-people {people} is too few: more than one round in a hundred would have no crowd"
        )
    return CrowdGuarantee(eps=eps, delta=delta, people=counted)


def gateway_of(keys: Path | None, *, needed: bool) -> Gateway | None:
    """The public keys in a file. A campaign needs them just if it relies on a crowd."""
    from untrackable import strict_json
    from untrackable.errors import CampaignError
    from untrackable.protocol.crowd_declaration import Gateway

    if keys is None and needed:
        raise ValueError(
            "a campaign that relies on a crowd needs the public keys of the collector's gateway: --gateway FILE, "
            "with what `untrackable gateway new KEYS --json` prints"
        )
    if keys is None:
        return None
    if not needed:
        raise ValueError("--gateway is for campaigns that rely on a crowd: give --crowd-people too")
    try:
        return Gateway.from_json(strict_json.parse(strict_json.small_file(keys)))
    except OSError as error:
        raise ValueError(f"cannot read {keys}: {error.strerror}") from None
    except (CampaignError, TypeError, ValueError) as error:
        raise ValueError(f"{keys}: {error}. Give what `untrackable gateway show KEYS --json` prints") from None


def crowd_mechanism(
    crowd: CrowdGuarantee,
    share: float,
    *,
    encoding: Encoding,
    rounds: int,
    delta: float,
    eps: float,
    participation: Fraction,
) -> tuple[Mechanism, float]:
    """The deck for a crowd, and the eps that it keeps alone: `eps` if that was asked for, else at most 4."""
    from untrackable.accounting.crowd_deck import alone_eps, crowd_deck, crowd_tables_deck
    from untrackable.planning.goals import LARGE_EPS

    source = click.get_current_context().get_parameter_source("eps")
    asked = source is not click.core.ParameterSource.DEFAULT
    limit = eps if asked else LARGE_EPS
    deck: Mechanism
    if encoding.asked is not None:
        budget = tables_budget(encoding, rounds, limit, delta, participation, crowd.people)
        deck = crowd_tables_deck(budget, crowd)
    else:
        deck = crowd_deck(
            bits=encoding.bits,
            rounds=rounds,
            crowd=crowd,
            participation=participation,
            share=share,
            alone=(limit, delta),
        )
    if asked:
        return deck, eps
    return deck, min(limit, alone_eps(deck, rounds=rounds, delta=delta, participation=participation))
