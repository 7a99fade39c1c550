"""An audit in plain words: the verdict, the captions, and a table in which every number says how certain it is."""

import math
from collections.abc import Iterable

from untrackable.auditing.mechanism_audit import Apart, Audit, InCrowd
from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.brackets import Bracket
from untrackable.display import turns_audit_words
from untrackable.display.audit_line import Line
from untrackable.display.crowd_words import DOES_NOT_APPLY, both_ends
from untrackable.display.numbers import all_of, lower, number, said, upper
from untrackable.display.percentages import percent
from untrackable.display.truth_words import share

_CERTAIN = 0.99
"""From this probability of being recognised by attendance on, people are said to be given away."""

CAPTIONS = {
    "recognised": (
        "Picked out of a crowd",
        "How often an observer who knows a person's reports from one place picks that person out of a crowd by "
        "what reports from another place say. The line is a proved limit for anyone who matches this person alone. "
        "The diamond is an attack that was carried out, with its interval (sampled).",
    ),
    "attended": (
        "Picked out by attendance alone",
        "The same without reading any report, if people answer every round: by the rounds that they answer from "
        "each place. Nobody answers one round from two places, so one person and two leave different traces.",
    ),
    "following": (
        "Who is followed",
        "An observer without names matches reports from one place with reports from another, as reports grow. "
        "Reports that can be linked give people away even among others with the same value. Reports that cannot be "
        "linked never do, however loud they are; but loud reports tell different values apart (dashed). The dotted "
        "line is a guess. Shares are sampled, with their intervals.",
    ),
    "gammas": (
        "Worst case by number of reports",
        "No set of reports is more than e^gamma times likelier from one person than from two, or the other way "
        "round, for the worst split. One line always holds, the other except with probability delta. Infinite "
        "values are not drawn.",
    ),
    "deltas": (
        "How often gamma does not hold",
        "delta against gamma for the worst split of all reports: the probability with which an observer may be "
        "surer than gamma allows. At gamma = 0 it is the advantage.",
    ),
    "taus": (
        "What an observer typically sees",
        "How likely each τ is: the largest log-likelihood ratio over all splits up to half, for reports of one "
        "person or of two.",
    ),
    "roc": (
        "The best observer's trade-off",
        "How often reports of one person are recognised as such, against how often reports of two people are taken "
        "for one person's. Half of the reports are on each side.",
    ),
}
"""The title and the caption of each chart of an audit."""

FORMULAS = (
    (
        "One person or two",
        "P: reports of one person who holds u. Q: the reports in J come from one person, the others from another, "
        "and both hold u. Each report has its own round.",
        "Naor, Vexler, definition of untrackable, with the product measure",
    ),
    (
        "Attendance",
        "P: one person, who answers every round from one of two places, each half of the time. Q: a different "
        "person at each place. In one round, just one of the places sees an answer with probability 1 or 1/2. "
        "Recognised among N after k rounds: at most 2^k/N.",
        "",
    ),
    ("Loss", "ln P/Q of what is observed; gamma at delta = 0 is its largest absolute value.", ""),
    (
        "delta(gamma)",
        "max over sets T of P(T) − e^gamma·Q(T), or with P and Q exchanged; advantage = delta(0).",
        "",
    ),
    (
        "Recognised among M",
        "min over gamma of delta(gamma) + e^gamma/M: picking one of M is a test with false positive rate 1/M.",
        "Neyman, Pearson 1933",
    ),
    (
        "τ",
        "the largest absolute loss over one stream of P and one of Q for each split 1 … ⌊k/2⌋.",
        "Naor, Vexler, appendix",
    ),
    (
        "In a crowd",
        "a person's report is of a part that the two values share or of one that they do not, and everybody "
        "else's law contains the same parts. The observer is granted the part of every report. What is left is how "
        "many reports are of each part, in both worlds.",
        "",
    ),
    (
        "Different values",
        "δ(α) = Σ w(u)·(1 − α·w(u))·δ′(α·(1 − w(u))/(1 − α·w(u))) for values u with probabilities w(u), where "
        "δ′ is that of one value against another; matched among M: at most δ(α) + α/M for every α.",
        "",
    ),
    ("Error radius", "span·√(ln(2/β)/(2n)).", "Hoeffding 1963"),
)
"""Name, formula and source of the numbers in audits and comparisons."""


def verdict(audit: Audit | TurnsAudit) -> list[str]:
    """The answer in a few sentences, the most important first."""
    if isinstance(audit, TurnsAudit):
        return turns_audit_words.verdict(audit)
    return [
        _recognition(audit),
        _attended(audit),
        *_privacy(audit),
        *_in_crowd(audit),
        *_apart(audit),
        *_change(audit),
        *_persistence(audit),
    ]


def _recognition(audit: Audit) -> str:
    half = audit.reports // 2
    each = f"{half} report{'s' * (half > 1)} from each of two places"
    who = f"An observer with {each} recognises this person among {audit.crowd:,}"
    guess = 1 / audit.crowd
    if audit.recognised.upper <= guess * (1 + 1e-6):
        return (
            f"An observer with {each} cannot tell this person from {audit.crowd - 1:,} others with the same value "
            f"by what the reports say: the chance of picking the right one is 1/{audit.crowd:,}, as for a guess "
            "(exact)."
        )
    limit = upper(audit.recognised.upper)
    if audit.linked is None or audit.linked.people != audit.crowd:
        return f"{who} with probability at most {limit} (upper; a guess: {number(guess)})."
    top = audit.linked.top1
    beyond = ""
    if audit.recognised.upper < 0.9995:
        beyond = f"; an observer who matches this person alone cannot exceed {limit}, upper"
    return (
        f"{who} with probability {number(top.sampled)} (sampled; {100 * top.level:g} % interval "
        f"{lower(top.lower)} to {upper(top.upper)}{beyond})."
    )


def _attended(audit: Audit) -> str:
    """How well people are recognised by attendance, if they answer every round."""
    found, often = audit.attended, f"people answer {all_of(audit.rounds, 'rounds')}"
    if found.alone.lower < _CERTAIN:
        attack = (
            "" if found.matched is None else f"; an attack found {number(found.matched.alone.sampled)}, sampled"
        )
        return (
            f"By the rounds alone, a person is picked out of {audit.crowd:,} with probability at most "
            f"{upper(found.alone.upper)} (upper{attack}; a guess: {number(1 / audit.crowd)}), if {often} from two "
            "places."
        )
    told = f"the rounds seen at two places are enough to pick a person out of {audit.crowd:,}"
    matched = found.matched
    attack = (
        f"an attack matched {share(matched.alone.sampled)} of {matched.people:,} people (sampled)"
        if matched
        else ""
    )
    told += f"; {attack}" if matched else " (upper)"
    return f"Attendance gives people away, whatever their reports say: if {often}, {told}."


def _privacy(audit: Audit) -> list[str]:
    if audit.everlasting is None:
        return []
    always, any_values = audit.everlasting, audit.everlasting_any
    if math.isinf(always.gamma.lower):
        sentences = ["Privacy does not last: enough reports reveal the value."]
        if audit.lasting is not None:
            sentences.append(
                f"The first {audit.rounds} reports together keep the value private with eps = "
                f"{said(audit.lasting.gamma)} at delta = {audit.delta:g}."
            )
        return sentences
    if math.isinf(always.gamma.upper):
        return ["How private all reports together are is not known: there is no bound."]
    sentence = (
        "All reports ever sent, together, keep a value that never changes private with "
        f"eps = {said(always.gamma)} at delta = {audit.delta:g}"
    )
    if any_values is None:
        return [sentence + "."]
    if math.isinf(any_values.gamma.upper):
        return [sentence + "; for values that change there is no such guarantee."]
    if any_values.gamma.upper <= always.gamma.upper * (1 + 1e-9):
        return [sentence + ". The same holds for values that change."]
    return [f"{sentence}, and values that change with eps = {said(any_values.gamma)}."]


def _in_crowd(audit: Audit) -> list[str]:
    """What a collector learns that does not know who sent which report, because a relay hides it."""
    found = audit.in_crowd
    if found is None:
        return []
    if found.eps is None:
        return [f"A relay that hides who sends which report would not help more: {found.why}."]
    return [
        f"If a relay hides who sends which of the reports of {found.people:,} people, the first {audit.rounds:,} "
        f"rounds keep a value private with eps {both_ends(found.eps)} at delta = {found.delta:g}."
    ]


def _apart(audit: Audit) -> list[str]:
    """How well people with different values are followed."""
    linked = audit.linked_apart
    if linked is None:
        return []
    bound = linked.top1_bound
    limit = "" if bound is None else f"; at most {percent(bound.upper, 'up')} is possible, upper"
    half = linked.reports
    return [
        f"People with different values are easier to follow: with {half} report{'s' * (half > 1)} from each of two "
        f"places, an attack matches {percent(linked.top1.sampled)} of {linked.people:,} people (sampled{limit})."
    ]


def _change(audit: Audit) -> list[str]:
    if audit.detection_fresh is None:
        return []
    fresh = audit.detection_fresh.advantage
    sentence = f"{audit.reports} reports reveal that a value changed with advantage {said(fresh)}"
    if audit.detection_same is not None and audit.detection_same.advantage != fresh:
        sentence += f", and with {said(audit.detection_same.advantage)} if the same client keeps reporting"
    return [sentence + "; an advantage of 0 is a guess and 1 is certainty."]


def _persistence(audit: Audit) -> list[str]:
    return [f"What stays the same from report to report: {audit.persists}."] if audit.persists else []


def lines(audit: Audit | TurnsAudit) -> list[Line]:
    """Every number of an audit."""
    if isinstance(audit, TurnsAudit):
        return turns_audit_words.lines(audit)
    delta = f"{audit.delta:g}"
    found: list[Line] = []

    def add(heading: str, what: str, bracket: Bracket | None, meaning: str) -> None:
        if bracket is not None:
            found.append(Line.of(heading, what, bracket, meaning))

    def apart(heading: str, what: str, answer: Apart | None, *, advantage: bool) -> None:
        if answer is not None:
            add(heading, f"{what}, worst case", answer.pure, "largest log-likelihood ratio; holds always")
            add(heading, f"{what} at delta = {delta}", answer.gamma, "holds except with probability delta")
            if advantage:
                add(
                    heading,
                    what.replace("gamma", "advantage"),
                    answer.advantage,
                    "the best observer's edge: 0 is a guess, 1 is certainty",
                )

    k = audit.reports
    apart("Privacy, all reports ever", "eps, fixed value", audit.everlasting, advantage=False)
    apart("Privacy, all reports ever", "eps, changing values", audit.everlasting_any, advantage=False)
    heading = f"Privacy, {audit.rounds} reports"
    apart(heading, "eps, fixed value", audit.lasting, advantage=False)
    apart(heading, "eps, changing values", audit.lasting_any, advantage=False)
    add(heading, "eps of one report", audit.one_report, "")
    if audit.in_crowd is not None:
        found.append(_crowd_line(audit, audit.in_crowd))
    heading = f"Tracking, {k} reports"
    apart(heading, "gamma", audit.tracking, advantage=True)
    apart(heading, "gamma, colliding hashes", audit.tracking_colliding, advantage=True)
    add(heading, "τ, median", audit.tau_median, "the log-likelihood ratio that an observer typically sees")
    add(heading, "τ, 90th percentile", audit.tau_90, "")
    add(
        heading,
        f"recognised among {audit.crowd:,}, at most",
        audit.recognised,
        "by the best observer, half against half",
    )
    found.extend(_attendance(audit))
    heading = f"Detecting a change, {k} reports"
    apart(heading, "gamma, fresh client", audit.detection_fresh, advantage=True)
    apart(heading, "gamma, same client", audit.detection_same, advantage=True)
    found.extend(_simulated(audit))
    found.extend(_accuracy(audit))
    return found


def _crowd_line(audit: Audit, found: InCrowd) -> Line:
    heading = f"Privacy in a crowd of {found.people:,} people, {audit.rounds:,} rounds"
    what = f"eps at delta = {found.delta:g}"
    if found.eps is None:
        return Line(heading, what, DOES_NOT_APPLY, "", found.why)
    return Line.of(heading, what, found.eps, "if nobody knows who sent which report")


def _attendance(audit: Audit) -> Iterable[Line]:
    found, crowd = audit.attended, f"{audit.crowd:,}"
    heading = f"Attendance, {audit.rounds:,} rounds"
    often = "people who answer every round"
    yield Line.of(heading, f"recognised among {crowd}, at most", found.alone, f"by attendance alone: {often}")
    yield Line.of(heading, "advantage", found.advantage, "two places, each half of the time, drawn anew each round")
    if found.with_reports is not None:
        meaning = "by reports and attendance together"
        yield Line.of(heading, "recognised, with reports, at most", found.with_reports, meaning)
    if found.matched is not None:
        heading = f"Matching {found.matched.people:,} people by attendance, {audit.rounds:,} rounds"
        limit = f"proved to be at most {upper(found.matched.alone_bound.upper)}"
        yield Line.measured(heading, "first choice right", found.matched.alone, limit)
        if found.matched.together is not None:
            yield Line.measured(heading, "with reports", found.matched.together, "")


def _simulated(audit: Audit) -> Iterable[Line]:
    changed = audit.changed
    for linked, who in ((audit.linked, "people"), (audit.linked_apart, "people with different values")):
        if linked is None:
            continue
        heading = f"Linking {linked.people:,} {who}, {linked.reports} + {linked.reports} reports"
        shares = [
            ("first choice right", linked.top1, linked.top1_bound),
            ("right among first five", linked.top5, linked.top5_bound),
            ("all matched at once", linked.assignment, None),
            ("area under the curve", linked.auc, linked.auc_bound),
        ]
        for what, matched, bound in shares:
            if matched is not None:
                limit = "" if bound is None else f"proved to be at most {upper(bound.upper)}"
                yield Line.measured(heading, what, matched, limit)
    if changed is not None:
        heading = f"Finding changes of {changed.people:,} people, {changed.reports} reports"
        yield Line.measured(heading, "found at 5 % false alarms", changed.found, "")
        yield Line.measured(heading, "right round named", changed.when, "")
        limit = f"proved to be at most {upper(changed.auc_bound.upper)}"
        yield Line.measured(heading, "area under the curve", changed.auc, limit)


def _accuracy(audit: Audit) -> Iterable[Line]:
    if audit.accuracy is None:
        return
    found = audit.accuracy
    heading = f"Accuracy, {found.people:,} people"
    surely = f"{100 * (1 - found.beta):g} %, one value"
    yield Line.at_most(heading, "error radius, one round", found.radius, surely)
    yield Line.exactly(heading, "standard error, one round", found.standard_error, found.given)
    if audit.shift is not None:
        meaning = "people whose value it can feign in one round"
        yield Line.exactly(heading, "one dishonest report", audit.shift, meaning)
    if audit.pools:
        radius = found.radius / math.sqrt(audit.reports)
        yield Line.at_most(heading, f"error radius, {audit.reports} rounds pooled", radius, "")
