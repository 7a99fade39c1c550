"""An audit: its verdict in words, a table in which every number says how certain it is, its view and its charts.

A campaign in which each person has one turn is audited by theory alone, and has words of its own. A dashboard also
says whether a campaign could be used to follow somebody, beside RAPPOR at the same privacy.
"""

import contextlib
import inspect
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from untrackable.auditing.attacks import followed_beside
from untrackable.auditing.audit import FEWER, OFTEN, SELDOM, Apart, Audit, InCrowd, TurnsAudit
from untrackable.brackets import Bracket
from untrackable.display import charts
from untrackable.display.campaign import share
from untrackable.display.charts import alt
from untrackable.display.numbers import all_of, as_dict, cell, lower, number, percent, said, shown, upper
from untrackable.display.observer import following_chart
from untrackable.display.page import result_page
from untrackable.display.view import Chart, Columns, Table, View, floats, make_charts, make_view, texts
from untrackable.theory.accuracy import Matched

DOES_NOT_APPLY = "does not apply"
"""Instead of an eps where a crowd does not hide reports."""


def crowd_cell(privacy: InCrowd) -> str:
    """The eps in the crowd; or that it does not apply, because reports can be linked, or is not known."""
    if privacy.eps is not None:
        return cell(privacy.eps)
    return DOES_NOT_APPLY if "linked" in privacy.why else "not computed"


def both_ends(eps: Bracket) -> str:
    """Both ends: the bound for whatever others hold, and what an example of their values shows."""
    ends = f"at most {upper(eps.upper)} (upper"
    return f"{ends}; at least {lower(eps.lower)}, lower)" if eps.lower > 0 else f"{ends})"


class Line(NamedTuple):
    """One row of the table: its heading, what it is, the number, its certainty, and what it means.

    `estimate` is a sampled number. `lower` and `upper` are the ends that are known, or those of its interval.
    """

    heading: str
    what: str
    number: str
    certainty: str
    meaning: str
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None

    @staticmethod
    def of(heading: str, what: str, bracket: Bracket, meaning: str) -> "Line":
        """A number that is known as a bracket."""
        return Line(heading, what, *shown(bracket), meaning, None, *bracket.known_ends)

    @staticmethod
    def at_most(heading: str, what: str, bound: float, meaning: str) -> "Line":
        """An upper bound."""
        return Line(heading, what, upper(bound), "upper", meaning, upper=bound)

    @staticmethod
    def exactly(heading: str, what: str, value: float, meaning: str) -> "Line":
        """A number that is known exactly."""
        return Line(heading, what, number(value), "exact", meaning, lower=value, upper=value)

    @staticmethod
    def measured(heading: str, what: str, matched: Matched, meaning: str) -> "Line":
        """A number that was sampled, with its interval."""
        ends = matched.sampled, matched.lower, matched.upper
        return Line(heading, what, sampled(matched), "sampled", meaning, *ends)


def sampled(matched: Matched) -> str:
    """A sampled share with its interval."""
    return f"{number(matched.sampled)} ({lower(matched.lower)} to {upper(matched.upper)})"


def turns_verdict(audit: TurnsAudit) -> list[str]:
    """The answer in a few sentences, the most important first."""
    several = ", ".join(f"{lower(least)} after {count}" for count, least in audit.several_lower.items())
    return [
        _linked(audit),
        f"An observer of two places recognises a person among {audit.crowd:,} with probability {_most(audit)}, "
        "however people move and however long they stay. If everybody is matched at once, at most 2 matches are "
        "expected to be right, of all people (upper).",
        "This is for an observer to whom all of them are alike. One who knows that a person is at the second place "
        f"in {100 * OFTEN:g} % of the rounds and everybody else in {100 * SELDOM:g} % reaches at most "
        f"{upper(audit.habits_upper)}. One who knows that only one in {FEWER} could have been there reaches at "
        f"most {upper(audit.whereabouts_upper)}. One who reads the reports and knows the person's answer, and "
        f"nobody else's, reaches at most {upper(audit.answer_upper)} (all upper).",
        "Somebody who was seen at one place is nobody who was seen at the other. With half of the rounds at each "
        f"place, this tells one person from two with advantage {said(audit.exclusion)}. It excludes people and "
        "does not find them.",
        "Several campaigns, one after the other, exclude more people each time. The strongest attack found "
        f"recognises a person with probability {several} (lower). An upper bound is claimed for one campaign only.",
        *_turns_privacy(audit),
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


def _most(audit: TurnsAudit) -> str:
    return f"at most {upper(audit.recognised_upper)} (upper; a guess: {number(1 / audit.crowd)})"


def _turns_privacy(audit: TurnsAudit) -> Iterable[str]:
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
        "A device whose storage is wiped in every round draws again each time: then eps is at most "
        f"{upper(audit.wiped_often_upper)} at delta = {audit.delta:g} (upper). Wiped more often, there is no bound."
    )
    yield _crowd_words(audit.in_crowd, "{:,} reports of a round, they keep the answer")


def _crowd_words(crowd: InCrowd, kept: str) -> str:
    """What a collector learns if a relay hides who sent which report. `kept` says which, with room for people."""
    if crowd.eps is None:
        return f"A relay that hides who sends which report would not help more: {crowd.why}."
    private = f"private with eps {both_ends(crowd.eps)} at delta = {crowd.delta:g}"
    return f"If a relay hides who sends which of the {kept.format(crowd.people)} {private}."


def turns_lines(audit: TurnsAudit) -> list[Line]:
    """Every number of the audit."""
    ever, crowd = "Privacy, everything ever sent", f"{audit.crowd:,}"
    seen = f"Tracking, one turn in {audit.turns.rounds:,} rounds"
    round_heading = f"One round, {audit.reports:,} reports"
    habits = f"the person is there in {100 * OFTEN:g} % of the rounds, everybody else in {100 * SELDOM:g} %"
    private = {
        "eps, delta = 0": (audit.eps_upper, f"planned for {audit.turns.wipes} wipes of the storage"),
        "eps of one report": (audit.eps_report_upper, "largest log-likelihood ratio; holds always"),
        f"eps at delta = {audit.delta:g}": (audit.wiped_often_upper, "storage wiped in every round"),
    }
    recognised = {
        f"recognised among {crowd}": (audit.recognised_upper, "however people move"),
        "right matches, everybody at once": (2.0, "expected number, of all people"),
        "recognised, known habits": (audit.habits_upper, habits),
        "recognised, known whereabouts": (audit.whereabouts_upper, f"one in {FEWER} could be there"),
        "recognised, known answer": (audit.answer_upper, "by a reader of the reports"),
    }
    numbers = [
        *(Line.at_most(ever, what, *told) for what, told in private.items()),
        Line.exactly(seen, "advantage by reports", 0.0, "there are no two reports of a person"),
        Line.of(seen, "advantage by exclusion", audit.exclusion, "it excludes people and does not find them"),
        *(Line.at_most(seen, what, *told) for what, told in recognised.items()),
    ]
    for count, least in audit.several_lower.items():
        what, meaning = f"recognised after {count} campaigns", "strongest attack found; no upper bound is claimed"
        numbers.append(Line(seen, what, lower(least), "lower", meaning, lower=least))
    numbers.append(_crowd_line(round_heading, "eps in the crowd, delta =", audit.in_crowd))
    accuracy = audit.accuracy
    surely = f"{100 * (1 - accuracy.beta):g} %, one value; of those who were active"
    numbers.append(Line.at_most(round_heading, "error radius", accuracy.radius, surely))
    noise = f"of the noise, {accuracy.given}"
    numbers.append(Line.exactly(round_heading, "standard error", accuracy.standard_error, noise))
    return numbers


_CERTAIN = 0.99
"""From this probability of being recognised by attendance on, people are said to be given away."""


def verdict(audit: Audit | TurnsAudit) -> list[str]:
    """The answer in a few sentences, the most important first."""
    if isinstance(audit, TurnsAudit):
        return turns_verdict(audit)
    crowd = [] if audit.in_crowd is None else [audit.in_crowd]
    kept = f"reports of {{:,}} people, the first {audit.rounds:,} rounds keep a value"
    return [
        _recognition(audit),
        _attended(audit),
        *_privacy(audit),
        *(_crowd_words(each, kept) for each in crowd),
        *_apart(audit),
        *_change(audit),
        *([f"What stays the same from report to report: {audit.persists}."] if audit.persists else []),
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
    attended, often = audit.attended, f"people answer {all_of(audit.rounds, 'rounds')}"
    if attended.alone.lower < _CERTAIN:
        attack = (
            ""
            if attended.matched is None
            else f"; an attack found {number(attended.matched.alone.sampled)}, sampled"
        )
        return (
            f"By the rounds alone, a person is picked out of {audit.crowd:,} with probability at most "
            f"{upper(attended.alone.upper)} (upper{attack}; a guess: {number(1 / audit.crowd)}), if {often} "
            "from two places."
        )
    told = f"the rounds seen at two places are enough to pick a person out of {audit.crowd:,}"
    matched = attended.matched
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


def lines(audit: Audit | TurnsAudit) -> list[Line]:
    """Every number of an audit."""
    if isinstance(audit, TurnsAudit):
        return turns_lines(audit)
    delta = f"{audit.delta:g}"

    def apart(heading: str, what: str, answer: Apart | None) -> Iterable[Line]:
        """The numbers of two worlds; the advantage where it is about people and not about privacy."""
        if answer is not None:
            ever, rarely = "largest log-likelihood ratio; holds always", "holds except with probability delta"
            yield Line.of(heading, f"{what}, worst case", answer.pure, ever)
            yield Line.of(heading, f"{what} at delta = {delta}", answer.gamma, rarely)
            if what.startswith("gamma"):
                edge = "the best observer's edge: 0 is a guess, 1 is certainty"
                yield Line.of(heading, what.replace("gamma", "advantage"), answer.advantage, edge)

    def known(heading: str, what: str, bracket: Bracket | None, meaning: str) -> Iterable[Line]:
        return () if bracket is None else (Line.of(heading, what, bracket, meaning),)

    always, rounds = "Privacy, all reports ever", f"Privacy, {audit.rounds} reports"
    tracking, change = (f"{what}, {audit.reports} reports" for what in ("Tracking", "Detecting a change"))
    recognised, best = f"recognised among {audit.crowd:,}, at most", "by the best observer, half against half"
    hidden = () if audit.in_crowd is None else (audit.in_crowd,)
    crowd = "Privacy in a crowd of {:,} people, {:,} rounds"
    typical = "the log-likelihood ratio that an observer typically sees"
    return [
        *apart(always, "eps, fixed value", audit.everlasting),
        *apart(always, "eps, changing values", audit.everlasting_any),
        *apart(rounds, "eps, fixed value", audit.lasting),
        *apart(rounds, "eps, changing values", audit.lasting_any),
        *known(rounds, "eps of one report", audit.one_report, ""),
        *(_crowd_line(crowd.format(each.people, audit.rounds), "eps at delta =", each) for each in hidden),
        *apart(tracking, "gamma", audit.tracking),
        *apart(tracking, "gamma, colliding hashes", audit.tracking_colliding),
        *known(tracking, "τ, median", audit.tau_median, typical),
        *known(tracking, "τ, 90th percentile", audit.tau_90, ""),
        Line.of(tracking, recognised, audit.recognised, best),
        *_attendance(audit),
        *apart(change, "gamma, fresh client", audit.detection_fresh),
        *apart(change, "gamma, same client", audit.detection_same),
        *_simulated(audit),
        *_accuracy(audit),
    ]


def _crowd_line(heading: str, what: str, privacy: InCrowd) -> Line:
    what = f"{what} {privacy.delta:g}"
    if privacy.eps is None:
        return Line(heading, what, DOES_NOT_APPLY, "", privacy.why)
    return Line.of(heading, what, privacy.eps, "if nobody knows who sent which report")


def _attendance(audit: Audit) -> Iterable[Line]:
    attended, crowd = audit.attended, f"{audit.crowd:,}"
    heading = f"Attendance, {audit.rounds:,} rounds"
    often = "people who answer every round"
    yield Line.of(heading, f"recognised among {crowd}, at most", attended.alone, f"by attendance alone: {often}")
    yield Line.of(
        heading, "advantage", attended.advantage, "two places, each half of the time, by a coin each round"
    )
    if attended.with_reports is not None:
        meaning = "by reports and attendance together"
        yield Line.of(heading, "recognised, with reports, at most", attended.with_reports, meaning)
    if attended.matched is not None:
        heading = f"Matching {attended.matched.people:,} people by attendance, {audit.rounds:,} rounds"
        limit = f"proved to be at most {upper(attended.matched.alone_bound.upper)}"
        yield Line.measured(heading, "first choice right", attended.matched.alone, limit)
        if attended.matched.together is not None:
            yield Line.measured(heading, "with reports", attended.matched.together, "")


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
    accuracy = audit.accuracy
    heading = f"Accuracy, {accuracy.people:,} people"
    surely = f"{100 * (1 - accuracy.beta):g} %, one value"
    yield Line.at_most(heading, "error radius, one round", accuracy.radius, surely)
    yield Line.exactly(heading, "standard error, one round", accuracy.standard_error, accuracy.given)
    if audit.shift is not None:
        meaning = "people whose value it can feign in one round"
        yield Line.exactly(heading, "one dishonest report", audit.shift, meaning)
    if audit.pools:
        radius = accuracy.radius / math.sqrt(audit.reports)
        yield Line.at_most(heading, f"error radius, {audit.reports} rounds pooled", radius, "")


@make_view.register
def _(audit: Audit | TurnsAudit) -> View:
    numbers, sentences = lines(audit), verdict(audit)
    table = Table(
        ("about", audit.mechanism, "", "is", ""),
        [(line.heading, line.what, line.number, line.certainty, line.meaning) for line in numbers],
        title="Every number",
        grouped=True,
        spare=[4],
    )
    return View(
        title=_title(audit),
        sentences=sentences,
        tables=[table],
        data=lambda: _data(numbers),
        notes=[f"{what}: {why}" for what, why in audit.missing.items()],
        json=lambda: {"verdict": sentences, **as_dict(audit)},
    )


def _title(audit: Audit | TurnsAudit) -> str:
    if isinstance(audit, TurnsAudit):
        return f"one turn in {audit.turns.rounds:,} rounds; recognised among {audit.crowd:,}: {_most(audit)}"
    by_reports, alone, always = audit.recognised, audit.attended.alone, audit.everlasting
    told = f"recognised among {audit.crowd:,} by {audit.reports} reports {_limit(by_reports)}"
    told += f", by attendance {_limit(alone)}"
    return told if always is None else f"{told}; eps for ever {said(always.gamma)}"


def _limit(bracket: Bracket) -> str:
    """A probability that nobody exceeds."""
    exact = bracket.certainty == "exact"
    return f"{number(bracket.upper)} (exact)" if exact else f"at most {upper(bracket.upper)} (upper)"


def _data(numbers: list[Line]) -> Columns:
    certainties = ["bracket" if line.certainty == "exact up to ±" else line.certainty for line in numbers]
    return {
        "about": texts(line.heading for line in numbers),
        "number": texts(line.what for line in numbers),
        "estimate": floats(line.estimate for line in numbers),
        "lower": floats(line.lower for line in numbers),
        "upper": floats(line.upper for line in numbers),
        "certainty": texts(certainties),
        "meaning": texts(line.meaning for line in numbers),
    }


_BAND = charts.Series("between lower and upper bound", charts.NEUTRAL, mark="square")
_Attack = tuple[charts.Series, int, Matched]
"""An attack that was carried out: its look, after how many rounds, and how many people it matched."""


@make_charts.register
def _(audit: Audit, top: int) -> list[Chart]:
    """One chart for each question; a chart without a finite number is left out."""
    amounts = list(_amounts(audit))
    return [
        Chart(name=name, title=title, drawing=drawing, detailed=detailed)
        for name, title, drawing, detailed in (
            ("recognised", "Picked out of a crowd", _recognised_chart(audit), False),
            ("attended", "Picked out by attendance alone", _attended_chart(audit), False),
            ("gammas", "Worst case by number of reports", _gammas(audit), True),
            ("deltas", "How often gamma does not hold", _deltas(audit), True),
            ("taus", "What an observer typically sees", _taus(audit), True),
            ("roc", "The best observer's trade-off", _roc(audit), True),
        )
        if drawing is not None
    ] + ([_eps(amounts, audit.delta)] if amounts else [])


def _amounts(audit: Audit) -> Iterable[tuple[str, Bracket]]:
    """The eps of one report and of more and more, at the audit's delta."""
    rounds = f"{audit.rounds:,} rounds"
    if audit.one_report is not None:
        yield "one report", audit.one_report
    if audit.in_crowd is not None and audit.in_crowd.eps is not None:
        yield f"{rounds}, in the crowd", audit.in_crowd.eps
    for name, guarantee in (
        (rounds, audit.lasting),
        (f"{rounds}, value changes", audit.lasting_any),
        ("for ever", audit.everlasting),
        ("for ever, value changes", audit.everlasting_any),
    ):
        if guarantee is not None:
            yield name, guarantee.gamma


def _eps(amounts: list[tuple[str, Bracket]], delta: float) -> Chart:
    """Bars of eps. One without a bound goes over the edge."""
    finite = [eps.upper for _, eps in amounts if math.isfinite(eps.upper)]
    edge = 1.55 * max(finite, default=1.0) or 1.0
    rows = [
        {
            "place": place,
            "length": min(edge, eps.upper),
            "reach": 0.0 if math.isinf(eps.upper) else eps.upper,
            "told": _told(eps),
            "certainty": _certainty(eps),
        }
        for place, (_, eps) in enumerate(amounts)
    ]
    x = alt.X("length:Q", title="eps", scale=charts.span(0.0, edge), axis=charts.few_ticks())
    chart = charts.NamedBars([name for name, _ in amounts], x)
    for certainty, colour in (("exact", charts.BLUE), ("upper bound", charts.AMBER), ("no bound", charts.RED)):
        chart.bars([row for row in rows if row["certainty"] == certainty], certainty, colour)
    title = f"eps at delta = {delta:g}: less is more private"
    return chart.told(rows, "reach").chart("eps", title)


def _told(eps: Bracket) -> str:
    if math.isinf(eps.upper):
        return "∞" if math.isinf(eps.lower) else "no bound is known"
    return cell(eps)


def _certainty(eps: Bracket) -> str:
    if math.isinf(eps.upper):
        return "no bound"
    return "upper bound" if cell(eps).startswith("≤") else "exact"


def _rows(line: str, points: Iterable[tuple[float, Bracket]], *, positive: bool = False) -> list[dict[str, Any]]:
    """Points with both ends, without infinite ones, and without zeros where an axis is logarithmic."""
    return [
        {"line": line, "x": x, "y": bracket.upper, "low": bracket.lower, "certainty": bracket.certainty}
        for x, bracket in points
        if math.isfinite(bracket.upper) and (bracket.upper > 0 or not positive)
    ]


def _lines(
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    *,
    marks: bool = False,
    whole: bool = False,
    scale: Any = None,
    attacks: Iterable[_Attack] = (),
    least: float = 0.0,
) -> Any:
    """Lines with their brackets as bands, and attacks that were carried out; `whole`: x counts something."""
    names, attacks = list(dict.fromkeys(row["line"] for row in rows)), list(attacks)
    key = charts.Key(
        charts.line_series(names, marks=marks),
        ([_BAND] if _band_seen(rows) else []) + [look for look, *_ in attacks],
    )
    across = _across(x, [row["x"] for row in rows] if whole else [])
    base = charts.points(rows).encode(
        x=across,
        tooltip=[
            alt.Tooltip("line:N", title="line"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".5~g"),
            alt.Tooltip("low:Q", title="at least", format=".5~g"),
            alt.Tooltip("certainty:N", title="certainty"),
        ],
    )
    height = alt.Y("y:Q", title=y, scale=alt.Undefined if scale is None else scale, axis=charts.few_ticks())
    band = base.mark_area(opacity=0.15, color=charts.NEUTRAL).encode(y=height, y2="low:Q", detail="line:N")
    layers = [band, *key.lines(base.encode(y=height)), key.legend]
    beside = max(row["x"] for row in rows) / 40
    for place, (look, rounds, matched) in enumerate(attacks):
        layers += _carried_out(key, across, look, rounds + place * beside, matched, least)
    return alt.layer(*layers).properties(height=charts.HEIGHT)


def _across(title: str, counted: list[int]) -> Any:
    """The axis across. Of numbers that are counted, it marks about six whole ones."""
    marked: dict[str, Any] = {}
    if counted:
        first, last = min(counted), max(counted)
        marked = {"values": list(range(first, last + 1, math.ceil((last - first + 1) / 6))), "format": ",d"}
    axis = alt.Axis(tickCount=6, labelOverlap=True, **marked)
    return alt.X("x:Q", title=title, axis=axis, scale=alt.Scale(nice=False, padding=8, zero=False))


def _band_seen(rows: list[dict[str, Any]]) -> bool:
    """Whether a bracket is wide enough to be seen."""
    highest = max(row["y"] for row in rows)
    return any(row["y"] - row["low"] > 0.01 * highest for row in rows)


def _gammas(audit: Audit) -> Any:
    points = audit.curves.points
    rows = _rows("worst case", [(p.reports, p.tracking.pure) for p in points])
    rows += _rows(f"at delta = {audit.delta:g}", [(p.reports, p.tracking.gamma) for p in points])
    return _lines(rows, "reports", "gamma", marks=True, whole=True) if rows else None


def _recognised_chart(audit: Audit) -> Any:
    points = audit.curves.points
    rows = _rows("proved limit (upper)", [(p.reports, p.recognised) for p in points])
    rows += _guess(audit, points[0].reports, points[-1].reports)
    attacks = []
    if audit.linked is not None:
        attacks.append(
            (_attack("the same value", charts.COLOURS[2], "diamond"), 2 * audit.linked.reports, audit.linked.top1)
        )
    if audit.linked_apart is not None:
        apart = audit.linked_apart
        attacks.append((_attack("different values", charts.AMBER, "square"), 2 * apart.reports, apart.top1))
    title, scale = "reports, half from each of two places", alt.Scale(domain=[0, 1])
    return _lines(rows, title, "picked out of a crowd", marks=True, whole=True, scale=scale, attacks=attacks)


def _attended_chart(audit: Audit) -> Any:
    attended, least = audit.attended, 0.5 / audit.crowd
    rows = _rows("proved limit (upper)", attended.curve)
    rows += _guess(audit, attended.curve[0].rounds, attended.curve[-1].rounds)
    attacks = []
    if attended.matched is not None:
        look = _attack("attendance alone", charts.COLOURS[2], "diamond")
        attacks.append((look, attended.rounds, attended.matched.alone))
        if attended.matched.together is not None:
            look = _attack("reports and attendance", charts.COLOURS[3], "triangle-up")
            attacks.append((look, attended.rounds, attended.matched.together))
    scale = alt.Scale(type="log", domain=[least, 1], nice=False)
    title = "picked out of a crowd"
    return _lines(rows, "rounds", title, whole=True, scale=scale, attacks=attacks, least=least)


def _guess(audit: Audit, first: int, last: int) -> list[dict[str, Any]]:
    chance = 1 / audit.crowd
    return [
        {"line": "guessing (exact)", "x": x, "y": chance, "low": chance, "certainty": "exact"}
        for x in (first, last)
    ]


def _attack(by: str, colour: str, mark: str) -> charts.Series:
    return charts.Series(f"attack, {by}, with interval (sampled)", colour, mark=mark, size=110)


def _carried_out(
    key: charts.Key, across: Any, look: charts.Series, x: float, share: Matched, least: float
) -> tuple[Any, Any]:
    """A mark for an attack that was carried out, and its interval; nothing is drawn below `least`."""
    ends = {"y": max(least, share.sampled), "low": max(least, share.lower), "high": max(least, share.upper)}
    seen = charts.points([{"x": x, "line": look.name, **ends}]).encode(x=across)
    bar = seen.mark_rule(color=look.colour, strokeWidth=2).encode(y="low:Q", y2="high:Q")
    tip = alt.Tooltip("y:Q", title=look.name, format=".3~g")
    return bar, key.marks(seen, look.name).encode(y="y:Q", tooltip=[tip])


def _deltas(audit: Audit) -> Any:
    rows = _rows("delta", zip(audit.curves.gammas, audit.curves.deltas, strict=True), positive=True)
    if not rows:
        return None
    for row in rows:
        row["low"] = max(row["low"], 1e-12)
    return _lines(rows, "gamma", "delta", scale=alt.Scale(type="log"))


def _taus(audit: Audit) -> Any:
    rows = [
        {"line": "τ", "x": tau.upper, "low": level, "y": level, "certainty": tau.certainty}
        for level, tau in zip(audit.curves.levels, audit.curves.taus, strict=True)
        if math.isfinite(tau.upper)
    ]
    scale = alt.Scale(domain=[0, 1])
    title = "probability that τ is at most this"
    return _lines(rows, "τ", title, marks=len(rows) < 2, scale=scale) if rows else None


def _roc(audit: Audit) -> Any:
    rows = _rows("best observer", zip(audit.curves.rates, audit.curves.powers, strict=True))
    rows += [{"line": "guessing (exact)", "x": x, "y": x, "low": x, "certainty": "exact"} for x in (0.0, 1.0)]
    scale = alt.Scale(domain=[0, 1])
    return _lines(rows, "two people taken for one", "one person recognised", scale=scale)


@make_charts.register
def _(audit: TurnsAudit, top: int) -> list[Chart]:
    """Bars of recognition: the bounds for one campaign, and below them the strongest attack on several."""
    known = {
        "nothing": audit.recognised_upper,
        "the person's habits": audit.habits_upper,
        "who could have been there": audit.whereabouts_upper,
        "the person's answer": audit.answer_upper,
    }
    several = {f"{count} campaigns": share for count, share in audit.several_lower.items()}
    guess = 1 / audit.crowd
    bounds = [{"place": i, "length": share, "told": f"≤ {upper(share)}"} for i, share in enumerate(known.values())]
    attacks = [
        {"place": i, "length": share, "told": f"≥ {lower(share)}"}
        for i, share in enumerate(several.values(), len(known))
    ]
    scale = alt.Scale(type="log", domain=[guess / 2, 4], nice=False)
    x = alt.X(
        "length:Q", title="picked out", scale=scale, axis=charts.share_axis(values=charts.log_ticks(guess / 2, 1))
    )
    title = f"How well a person with one turn is picked out of {audit.crowd:,}, by what an observer knows"
    return [
        charts.NamedBars([*known, *several], x)
        .bars(bounds, "one campaign: at most (upper)", charts.BLUE, guess / 2)
        .bars(attacks, "several: the strongest attack found (lower)", charts.AMBER, guess / 2)
        .limits([guess], "by guessing (exact)")
        .told([*bounds, *attacks], "length")
        .chart("turns", title)
    ]


def audit_page(audit: Audit | TurnsAudit, mechanism: Any, name: str, command: list[str]) -> str:
    """The page of the audit of a mechanism by that name; `command` makes it again."""
    drawn = list(make_charts(audit, 0))
    if isinstance(audit, Audit) and audit.linked_apart is not None:
        with contextlib.suppress(ValueError):  # Some mechanisms take no such values.
            drawn.append(following_chart(followed_beside(name, mechanism)))
    return result_page(
        make_view(audit),
        drawn,
        command,
        title=f"{name}: can its reports be followed?",
        formulas="audit_formulas.html",
        how=_how(mechanism),
        source=audit.published,
        parameters=audit.mechanism,
    )


def _how(mechanism: object) -> str:
    """What the mechanism's own docstrings say about it and about tracking."""
    method = getattr(type(mechanism), "_trackings", None) or getattr(type(mechanism), "tracking", None)
    base = getattr(mechanism, "base", None)
    about = base if base is not None and not callable(base) else None
    parts = (inspect.getdoc(type(mechanism)), inspect.getdoc(type(about)) if about else "", inspect.getdoc(method))
    return " ".join(part.replace("`", "") for part in parts if part)
