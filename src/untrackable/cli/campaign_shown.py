"""How commands show a campaign: what it asks, when, and what it guarantees."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from untrackable.cli.terminal import echo, print_json

if TYPE_CHECKING:
    from untrackable.accounting.check import Verdict
    from untrackable.protocol.campaign import Campaign

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""The seconds of each unit of time."""


def when(second: float) -> str:
    """A time for people to read, to the minute, or to the second if it is not a full minute."""
    try:
        moment = datetime.datetime.fromtimestamp(second, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{second:.0f} seconds after 1970"
    return moment.strftime("%Y-%m-%d %H:%M UTC" if not moment.second else "%Y-%m-%d %H:%M:%S UTC")


def show_campaign(found: Campaign, as_json: bool, verified: dict[str, Any] | None = None, **further: Any) -> None:
    """Print a campaign, with what its verification found if that is known; `further` is added to its JSON."""
    if as_json:
        print_json({"id": found.id, "campaign": found.to_json(), **further})
        return
    from untrackable import strict_json
    from untrackable.display.campaign_words import guarantee_words

    length = found.round_seconds // found.looks
    unit = next(name for name, size in reversed(UNITS.items()) if length % size == 0)
    many = f"{found.rounds} round{'s' * (found.rounds > 1)}" if found.rounds else "rounds without end"
    echo(f"campaign {found.id}")
    echo(f"  question   {found.question}")
    echo(f"  answers    {found.encoding.describe()}")
    looks = f"{found.looks} looks of " if found.looks > 1 else ""
    echo(f"  rounds     {many} of {looks}{length // UNITS[unit]}{unit}, the first from {when(found.first_round)}")
    echo(f"  mechanism  {found.mechanism!r}")
    title = "declares"
    for sentence in guarantee_words(found, strict_json.write(verified or {})):
        echo(f"  {title:<10} {sentence}")
        title = ""
    if found.gateway is not None:
        keys = len(found.gateway.keys)
        echo(f"  relay      Reports are sealed for {keys} key{'s' * (keys > 1)} of the collector's gateway.")


def verified_lines(found: Campaign, verdict: Verdict) -> list[str]:
    """What the verification of a campaign found, beside what is declared."""
    declared, crowd = found.guarantee, found.guarantee.crowd
    if found.turns is not None:
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
    if crowd is not None and verdict.crowd_throughout is not None:
        lines.append(
            f"eps at delta = {crowd.delta:g} for people who are active in all rounds: {verdict.crowd_throughout}"
        )
    return lines
