"""The options of a new campaign with a relay, and the keys that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from untrackable.protocol.crowd_declaration import Gateway

_Command = TypeVar("_Command", bound="Callable[..., Any]")

CROWD_OPTIONS = ("relay", "margin", "crowd_delta")
"""The options that say what a crowd hides. The keys of the gateway are not among them: a plan does not set them."""


def crowd_options(command: _Command) -> _Command:
    """Add the options for a relay."""
    options = (
        click.option("--relay", is_flag=True, help="A relay hides who sends which report."),
        click.option(
            "--margin",
            type=click.FloatRange(0, 1, max_open=True),
            default=0.05,
            show_default=True,
            help="Share of a crowd that may be missing.",
        ),
        click.option(
            "--crowd-delta", type=float, default=1e-6, show_default=True, help="Chance that the relay's eps fails."
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


def check_relay(relay: bool, people: int | None) -> None:
    """Refuse options that need a relay without one, and a relay without a number of people."""
    given = click.get_current_context().get_parameter_source
    said = [name for name in CROWD_OPTIONS[1:] if given(name) is not click.core.ParameterSource.DEFAULT]
    if said and not relay:
        raise ValueError(f"--{said[0].replace('_', '-')} is for campaigns with a relay: give --relay too")
    if relay and people is None:
        raise ValueError("give --people too: a relay hides a report among those of how many people?")


def gateway_of(keys: Path | None, *, needed: bool) -> Gateway | None:
    """The public keys in a file. A campaign needs them just if it relies on a crowd."""
    from untrackable import strict_json
    from untrackable.errors import CampaignError
    from untrackable.protocol.crowd_declaration import Gateway

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
        return Gateway.from_json(strict_json.parse(strict_json.small_file(keys)))
    except OSError as error:
        raise ValueError(f"cannot read {keys}: {error.strerror}") from None
    except (CampaignError, TypeError, ValueError) as error:
        raise ValueError(f"{keys}: {error}. Give what `untrackable gateway show KEYS --json` prints") from None
