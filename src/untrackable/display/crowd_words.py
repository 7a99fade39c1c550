"""What an observer of a whole crowd learns, in plain words and in cells of tables."""

from untrackable.auditing.mechanism_audit import InCrowd
from untrackable.brackets import Bracket
from untrackable.display.numbers import cell, lower, upper

DOES_NOT_APPLY = "does not apply"
"""Instead of an eps where a crowd does not hide reports."""


def crowd_eps(found: InCrowd) -> str:
    """The eps in the crowd within a sentence, or the reason why there is none."""
    if found.eps is None:
        return found.why
    return (
        f"in a crowd of {found.people:,} people, all reports ever have eps {both_ends(found.eps)} at "
        f"delta = {found.delta:g}"
    )


def crowd_cell(found: InCrowd) -> str:
    """The eps in the crowd; or that it does not apply, because reports can be linked, or is not known."""
    if found.eps is not None:
        return cell(found.eps)
    return DOES_NOT_APPLY if "linked" in found.why else "not computed"


def both_ends(eps: Bracket) -> str:
    """Both ends: the bound for whatever others hold, and what an example of their values shows."""
    ends = f"at most {upper(eps.upper)} (upper"
    return f"{ends}; at least {lower(eps.lower)}, lower)" if eps.lower > 0 else f"{ends})"
