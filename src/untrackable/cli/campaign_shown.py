"""How commands show a campaign: what it asks, when, and what it guarantees."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.terminal import echo, print_json

if TYPE_CHECKING:
    from untrackable.protocol.campaign import Campaign

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""The seconds of each unit of time."""


class _Wipes(click.ParamType[Any]):
    """A number of wipes, or any."""

    name = "N|any"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or "any"."""
        if value == "any" or isinstance(value, int):
            return value
        if not value.isdecimal() or len(value) > 3:
            self.fail("must be a whole number, or any", param, ctx)
        return int(value)


WIPES = _Wipes()
"""The type of the option that says how often stored data may be lost."""


def when(second: float) -> str:
    """A time for people to read, to the minute, or to the second if it is not a full minute."""
    try:
        moment = datetime.datetime.fromtimestamp(second, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{second:.0f} seconds after 1970"
    return moment.strftime("%Y-%m-%d %H:%M UTC" if not moment.second else "%Y-%m-%d %H:%M:%S UTC")


def show_campaign(found: Campaign, as_json: bool, **further: Any) -> None:
    """Print a campaign; `further` is added to its JSON."""
    if as_json:
        print_json({"id": found.id, "campaign": found.to_json(), **further})
        return
    declared, length = found.guarantee, found.round_seconds
    unit = next(name for name, size in reversed(UNITS.items()) if length % size == 0)
    many = f"{found.rounds} rounds" if found.rounds else "rounds without end"
    echo(f"campaign {found.id}")
    echo(f"  question   {found.question}")
    echo(f"  answers    {found.encoding.describe()}")
    echo(f"  rounds     {many} of {length // UNITS[unit]}{unit}, the first from {when(found.first_round)}")
    echo(f"  mechanism  {found.mechanism!r}")
    echo(
        f"  declares   all reports together are ({declared.eps:g}, {declared.delta:g})-private, "
        f"{'whatever the answers are' if declared.values == 'any' else 'if the answer never changes'};"
    )
    echo(
        "             one person and two with the same answer look alike: "
        f"({declared.gamma:g}, {declared.tracking_delta:g})-untrackable"
    )
    if declared.recognition is not None:
        echo(f"             attendance included, recognised among 1,000 people: at most {declared.recognition:g}")
    if declared.wipes is not None:
        from untrackable.display.campaign_words import wipes_words

        echo(f"  storage    {wipes_words(declared.wipes)}")
    if declared.crowd is not None and found.gateway is not None:
        from untrackable.display.crowd_guarantee_words import TRUST_WORDS, crowd_words
        from untrackable.display.numbers import odds_factor

        echo(f"  crowd      {crowd_words(declared.crowd)}")
        together = (
            f"If the relay and the collector work together, the factor is at most {odds_factor(declared.eps)}"
        )
        echo(
            f"             {together} (eps = {declared.eps:g}), except with probability {declared.delta:g} (upper)."
        )
        echo(f"             {TRUST_WORDS}")
        s = "s" * (found.fewest_reports > 1)
        many = f"{len(found.gateway.keys)} keys" if len(found.gateway.keys) > 1 else "1 key"
        fewest = f"{found.fewest_reports:,} report{s}"
        echo(f"             a round is published from {fewest} on, and the crowd's privacy is that of so many")
        echo(f"             reports are sealed for {many}")
    from untrackable.display.attendance_words import participation_words

    echo(f"  attendance {participation_words(found.participation, found.attending.one_network)}")
