"""The audit of one turn in plain words: the verdict, and a table in which every number says how certain it is."""

from collections.abc import Iterable

from untrackable.auditing.turns_audit import FEWER, OFTEN, SELDOM, TurnsAudit
from untrackable.display.audit_line import Line
from untrackable.display.crowd_words import DOES_NOT_APPLY, both_ends
from untrackable.display.numbers import lower, number, said, upper


def title(audit: TurnsAudit) -> str:
    """What was found, in one line."""
    return f"one turn in {audit.turns.rounds:,} rounds; recognised among {audit.crowd:,}: {_most(audit)}"


def verdict(audit: TurnsAudit) -> list[str]:
    """The answer in a few sentences, the most important first."""
    return [
        _linked(audit),
        _recognised(audit),
        _conditions(audit),
        _excluded(audit),
        *_several(audit),
        *_privacy(audit),
    ]


def _linked(audit: TurnsAudit) -> str:
    turns = audit.turns
    often = "once" if turns.share == 1 else f"once with probability {turns.share}, and else never"
    told = (
        f"Each person answers {often}, in one of {turns.rounds:,} rounds that their device draws in secret. Nobody "
        "sends two reports, so there is nothing to link (exact)."
    )
    if not turns.wipes:
        return told
    return (
        f"{told} A device whose storage is wiped forgets this and draws again. The campaign is planned for up to "
        f"{turns.wipes + 1} answers of a person; what is said about recognition is for storage that is not wiped."
    )


def _recognised(audit: TurnsAudit) -> str:
    return (
        f"An observer of two places recognises a person among {audit.crowd:,} with probability {_most(audit)}, "
        "however people move and however long they stay. If everybody is matched at once, at most 2 matches are "
        "expected to be right, of all people (upper)."
    )


def _most(audit: TurnsAudit) -> str:
    return f"at most {upper(audit.recognised_upper)} (upper; a guess: {number(1 / audit.crowd)})"


def _conditions(audit: TurnsAudit) -> str:
    return (
        "This is for an observer to whom all of them are alike. One who knows that a person is at the second place "
        f"in {100 * OFTEN:g} % of the rounds and everybody else in {100 * SELDOM:g} % reaches at most "
        f"{upper(audit.habits_upper)}. One who knows that only one in {FEWER} could have been there reaches at "
        f"most {upper(audit.whereabouts_upper)}. One who reads the reports and knows the person's answer, and "
        f"nobody else's, reaches at most {upper(audit.answer_upper)} (all upper)."
    )


def _excluded(audit: TurnsAudit) -> str:
    return (
        "Somebody who was seen at one place is nobody who was seen at the other. With half of the rounds at each "
        f"place, this tells one person from two with advantage {said(audit.exclusion)}. It excludes people and "
        "does not find them."
    )


def _several(audit: TurnsAudit) -> Iterable[str]:
    told = [f"{lower(found)} after {count}" for count, found in audit.several_lower.items()]
    yield (
        "Several campaigns, one after the other, exclude more people each time. The strongest attack found "
        f"recognises a person with probability {', '.join(told)} (lower). An upper bound is claimed for one "
        "campaign only."
    )


def _privacy(audit: TurnsAudit) -> Iterable[str]:
    if not audit.eps_upper:
        yield (
            "Reports have no content, so there is no answer to protect: everything that a person ever sends has "
            "eps = 0, with delta = 0 (exact), also if storage is wiped. A report says one thing: that somebody was "
            "active in its round. That is seen, and no noise hides it."
        )
        return
    yield (
        f"Everything that a person ever sends keeps the answer private with eps = {upper(audit.eps_upper)}, with "
        "delta = 0, also if the answer changes (upper)."
    )
    yield (
        "A device whose storage is wiped in every round draws anew each time: then eps is at most "
        f"{upper(audit.wiped_often_upper)} at delta = {audit.delta:g} (upper). Wiped more often, there is no bound."
    )
    found = audit.in_crowd
    if found.eps is None:
        yield f"A relay that hides who sends which report would not help more: {found.why}."
    else:
        yield (
            f"If a relay hides who sends which of the {found.people:,} reports of a round, they keep the answer "
            f"private with eps {both_ends(found.eps)} at delta = {found.delta:g}."
        )


def lines(audit: TurnsAudit) -> list[Line]:
    """Every number of the audit."""
    ever, crowd = "Privacy, everything ever sent", f"{audit.crowd:,}"
    seen = f"Tracking, one turn in {audit.turns.rounds:,} rounds"
    round_heading = f"One round, {audit.reports:,} reports"
    habits = f"the person is there in {100 * OFTEN:g} % of the rounds, everybody else in {100 * SELDOM:g} %"
    found = [
        Line.at_most(
            ever, "eps, delta = 0", audit.eps_upper, f"planned for {audit.turns.wipes} wipes of the storage"
        ),
        Line.at_most(
            ever, "eps of one report", audit.eps_report_upper, "largest log-likelihood ratio; holds always"
        ),
        Line.at_most(
            ever, f"eps at delta = {audit.delta:g}", audit.wiped_often_upper, "storage wiped in every round"
        ),
        Line.exactly(seen, "advantage by reports", 0.0, "there are no two reports of a person"),
        Line.of(seen, "advantage by exclusion", audit.exclusion, "it excludes people and does not find them"),
        Line.at_most(seen, f"recognised among {crowd}", audit.recognised_upper, "however people move"),
        Line.at_most(seen, "right matches, everybody at once", 2.0, "expected number, of all people"),
        Line.at_most(seen, "recognised, known habits", audit.habits_upper, habits),
        Line.at_most(
            seen, "recognised, known whereabouts", audit.whereabouts_upper, f"one in {FEWER} could be there"
        ),
        Line.at_most(seen, "recognised, known answer", audit.answer_upper, "by a reader of the reports"),
    ]
    for count, least in audit.several_lower.items():
        what, meaning = f"recognised after {count} campaigns", "strongest attack found; no upper bound is claimed"
        found.append(Line(seen, what, lower(least), "lower", meaning, lower=least))
    what, eps = f"eps in the crowd, delta = {audit.delta:g}", audit.in_crowd.eps
    if eps is None:
        found.append(Line(round_heading, what, DOES_NOT_APPLY, "", audit.in_crowd.why))
    else:
        found.append(Line.of(round_heading, what, eps, "if nobody knows who sent which report"))
    accuracy = audit.accuracy
    surely = f"{100 * (1 - accuracy.beta):g} %, one value; of those who were active"
    found.append(Line.at_most(round_heading, "error radius", accuracy.radius, surely))
    noise = f"of the noise, {accuracy.given}"
    found.append(Line.exactly(round_heading, "standard error", accuracy.standard_error, noise))
    return found
