"""The ways to ask for several answers at once in words: sentences for the verdict, and a table."""

from untrackable.display.attendance_words import participation_words
from untrackable.display.numbers import said, upper
from untrackable.planning.plans import Plan
from untrackable.planning.ways_to_ask import SEPARATE, Compared

COLUMNS = ("way to ask", "campaigns", "error of a figure", "a report is about")
_ABOUT = {
    "views": "one of the tables",
    "groups": "some of the tables together",
    "whole": "all answers together",
    SEPARATE: "the only table of its campaign",
}


def ways(compared: Compared) -> list[tuple[str, ...]]:
    """A row for each way under `COLUMNS`, best first. Those that are not possible say why."""
    rows: list[tuple[str, ...]] = []
    for place, way in enumerate(compared.ways):
        known = way.error_upper is not None
        error = "—" if way.error_upper is None else f"≤ {upper(way.error_upper)}"
        about = _ABOUT[way.name] + ("" if known else f". {way.why}")
        rows.append((f"{way.name}{' (best)' * (known and place == 0)}", f"{way.campaigns:,}", error, about))
    return rows


def caption(compared: Compared) -> str:
    """What the table compares."""
    what = "all shares at once" if compared.goals.simultaneous else "any one share"
    return (
        "all with the same budget, people and rounds; each choice is a table; "
        f"{SEPARATE}: all campaigns count together, as a client's ledger counts them; errors: upper, of {what}"
    )


def recommended(plan: Plan) -> list[str]:
    """That a campaign for each table is recommended, or how that compares with one campaign for all of them."""
    compared = plan.compared
    if compared is None:
        return []
    found = {way.name: way for way in compared.ways}
    apart, whole = found[SEPARATE], found["whole"]
    noun = "choice" if len(plan.goals.asked.tables if plan.goals.asked else ()) == 1 else "table"
    many = f"{apart.campaigns:,} campaigns, one for each {noun}"
    if plan.separately and compared.separate is not None and apart.error_upper is not None:
        return [
            f"{many}: shares are off by at most {upper(apart.error_upper)} (upper).",
            "All of them together keep the budget and the attendance that is asked for. Somebody who knows which "
            "reports are one person's sees all reports ever of all of them with eps "
            f"{said(compared.separate.alone)} at delta = {plan.goals.delta:g}. In each of them: "
            + participation_words(compared.separate.participation, plan.goals.one_network),
            *(["The rest is about one campaign for all of it."] if plan.options else []),
        ]
    parts = [
        f"{name}, would be off by at most {upper(way.error_upper)} (upper)"
        for name, way in ((many, apart), ("one question, about all answers together", whole))
        if way.error_upper is not None and (plan.recommended is None or plan.recommended.name != way.name)
    ]
    return [f"With the same budget, {', and '.join(parts)}."] if parts else []
