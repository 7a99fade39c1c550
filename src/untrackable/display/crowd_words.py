"""What an observer of a whole crowd learns, in plain words and in cells of tables."""

from untrackable.auditing.mechanism_audit import InCrowd
from untrackable.display.numbers import cell, said

DOES_NOT_APPLY = "does not apply"
"""Instead of an eps where a crowd does not hide reports."""


def crowd_eps(found: InCrowd) -> str:
    """The eps in the crowd within a sentence, or the reason why there is none."""
    if found.eps is None:
        return found.why
    return (
        f"in a crowd of {found.people:,} people, all reports ever have eps = {said(found.eps)} at "
        f"delta = {found.delta:g}"
    )


def crowd_cell(found: InCrowd) -> str:
    """The eps in the crowd; or that it does not apply, because reports can be linked, or is not known."""
    if found.eps is not None:
        return cell(found.eps)
    return DOES_NOT_APPLY if "linked" in found.why else "not computed"
