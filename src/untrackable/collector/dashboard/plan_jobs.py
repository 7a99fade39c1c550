"""Plans and new campaigns, computed in the process for heavy work, as the words that pages show.

The process that takes reports only names these functions. What they need is loaded where they run.
"""

from untrackable.collector.dashboard.shown_plan import ShownCampaign, ShownPlan
from untrackable.collector.dashboard.typed_fields import Asked
from untrackable.planning.goals import Goals


def show_plan(goals: Goals) -> ShownPlan:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    from untrackable.collector.dashboard.planned_words import shown_plan

    return shown_plan(goals)


def show_campaign(asked: Asked, gateway: str | None) -> ShownCampaign:
    """The campaign of a plan. `gateway` has the public keys (JSON) for a campaign that relies on a crowd."""
    from untrackable.collector.dashboard.planned_words import shown_campaign

    return shown_campaign(asked, gateway)


def begin() -> None:
    """Start the process and load what plans need, before somebody waits for one."""
    from untrackable.collector.dashboard import planned_words  # noqa: F401
