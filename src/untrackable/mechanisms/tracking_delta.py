"""Delta of tracking for all rounds of a campaign, also where there are too many reports for the engine."""

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism


def tracking_delta_beyond_engine(mechanism: Mechanism, reports: int | None, *, values: int) -> Bracket:
    """A bound on delta at any gamma where the engine takes no more reports (upper); `reports` None: any number.

    Delta never exceeds the advantage, which may have a closed form. That form is for people whose value stays the
    same, so if values may change and tracking depends on it, nothing is known.
    """
    if values > 1 and not mechanism.follows_changes:
        return Bracket(0.0, 1.0)
    return Bracket(0.0, min(1.0, mechanism.tracking_advantage_upper(reports)))
