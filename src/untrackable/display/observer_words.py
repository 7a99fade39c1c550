"""Who has to be trusted, and what each observer learns, in plain words."""

import math

from untrackable.display.crowd_words import crowd_eps
from untrackable.display.numbers import said, upper
from untrackable.planning.goals import Goals
from untrackable.planning.plans import Option
from untrackable.theory.crowd_counts import checked_margin

HARDLY_PRIVATE = 10.0
"""From this eps on, one answer can be 20,000 times as likely as another: words say that this protects little."""


def trust_words(option: Option) -> list[str]:
    """The observer that the plan defends against, and what both observers learn from all reports ever."""
    alone = f"eps = {said(option.everlasting)} at delta = {option.goals.delta:g}"
    if option.goals.crowd_eps is None:
        return [
            "Nobody has to be trusted: this holds against a collector that knows which reports are one person's. "
            f"All reports ever, together: {alone}.",
            _crowd_too(option),
        ]
    limit = f"the limit is {option.goals.eps:g}"
    hardly = ", which is hardly any protection" if option.everlasting.lower > HARDLY_PRIVATE else ""
    return [
        "One thing has to be trusted: that the relay, which knows who sends, does not work with the collector, "
        f"which reads the reports. Then, {crowd_eps(option.in_crowd)}.",
        f"If the two work together, or there is no relay, all reports ever have {alone}{hardly}; {limit}.",
        margin_words(option.goals),
    ]


def margin_words(goals: Goals) -> str:
    """The people who may be missing from a round of a crowd, and the number of reports that the privacy is for."""
    fewest = math.ceil(goals.answered * goals.enrolled)
    missing = float(100 * checked_margin(goals.margin))
    return (
        f"Up to {missing:.3g} % of {goals.people or 0:,} people may be missing from a round. Even then, 99 of 100 "
        f"rounds have at least {fewest:,} reports (lower), and are published from that number on. The privacy in "
        f"the crowd is that of so many reports, which {goals.enrolled:,} people send on average."
    )


def _crowd_too(option: Option) -> str:
    found = option.in_crowd
    if found.eps is None:
        return f"A relay that hides who sends which report adds nothing that is known: {found.why}."
    return f"If a relay hides who sends which report, {crowd_eps(found)}."


def shift_words(option: Option) -> list[str]:
    """What one dishonest report can do."""
    shift = option.shift
    if shift is None:
        return []
    return [f"One dishonest report can feign up to {upper(shift)} people who hold a value (exact, rounded up)."]
