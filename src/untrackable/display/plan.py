"""A plan: how far off figures will be and what anybody can learn, in words, as tables, as JSON and as charts."""

import dataclasses
import math
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from untrackable import strict_json
from untrackable.brackets import Bracket
from untrackable.display import charts, view
from untrackable.display.audit import both_ends
from untrackable.display.charts import alt
from untrackable.display.numbers import as_dict, number, odds_factor, percent, upper
from untrackable.display.page import result_page
from untrackable.planning.forecast import DIVIDE, DRAW, GROUPS, JOINT, Promise
from untrackable.planning.goals import Goals, counted, rounded_up
from untrackable.planning.plan import DELTA, WIPED_DELTA, EveryRound, Instead, Plan, QuestionSet, Way

COLUMNS = ("figure of", "rounds", "reports", "fewest", "standard error", "error", "error of any answer")
"""The table of a plan."""
WAY_COLUMNS = ("way to ask", "standard error of a round", "error of a figure", "what a person sends")
_HARDLY_PRIVATE = 10.0
"""From this eps on, one answer can be 20,000 times as likely as another: words say that this protects little."""
WAYS = {
    DRAW: "one report about one of the questions, which the client draws",
    GROUPS: "one report about some of the questions together, which the client draws",
    JOINT: "one report about all questions together",
    DIVIDE: "a report about each question, with its part of eps",
}
"""What a person sends in each way to ask."""


def verdict(plan: Plan) -> list[str]:
    """The answer first: accuracy, ranks, and what each observer learns. If goals are not met, what would help."""
    return [*_unmet(plan), *accuracy(plan), ranking(plan), *observers(plan), relay(plan), *details(plan)]


def _unmet(plan: Plan) -> list[str]:
    if plan.met:
        return []
    helped = [f"Instead: {change.text}." for change in plan.changes]
    return [f"Not met. {plan.why}", *helped, "A relay would not change the error. What this campaign would give:"]


def accuracy(plan: Plan) -> list[str]:
    """Three lines: how far off one round, a quarter of the rounds and all of them together will be."""
    goals, rounds = plan.solved, plan.all_rounds.rounds
    first = f"{_answer(plan)}{_figure_words(plan, 'one round', plan.one_round)}, {_certainly(goals)}."
    part = "A quarter of the rounds" if plan.looks == 1 else "Whole stretches"
    quarter = f"{part}, {plan.quarter.rounds:,} together: {_short_words(plan, plan.quarter)}."
    once = "nobody is in them twice" if plan.looks == 1 else "each person counts once"
    everything = f"All {rounds:,} rounds together: {_short_words(plan, plan.all_rounds)}; {once}."
    if rounds == 1:
        return [first]
    return [first, *_looks(plan), *([] if plan.quarter.rounds == rounds else [quarter]), everything]


def _looks(plan: Plan) -> list[str]:
    """What it means that a report is about several rounds."""
    if plan.looks == 1:
        return []
    stretches = plan.turns.rounds
    many = f"{stretches:,} stretches" if stretches > 1 else "the only stretch"
    return [
        f"One report is about {plan.looks} consecutive rounds: a device draws one of {many} of {plan.looks} "
        "rounds, keeps its answers to itself, and sends them together in the last of these rounds. Figures of a "
        f"stretch come when it is over. The report says that its {plan.looks} answers are one person's; eps is for "
        "all of them together."
    ]


def _answer(plan: Plan) -> str:
    """What was solved for, if that is not the error."""
    goals = plan.solved
    match plan.unknown if plan.met else None:
        case "people":
            return f"{counted(goals.people or 0)} people are needed. "
        case "rounds":
            return f"At most {goals.rounds:,} round{'s' * (goals.rounds != 1)}. "
        case "eps":
            return f"eps {upper(rounded_up(goals.eps or 0.0))} is needed. "
    return ""


def _figure_words(plan: Plan, when: str, promise: Promise) -> str:
    goals = plan.solved
    reports = f"About {promise.reports:,.0f} people answer {when}"
    if promise.radius_upper > 1:
        return f"{reports}: too few to tell anything"
    if goals.discovered is not None:
        least = in_points(promise.radius_upper)
        return f"{reports}: strings that at least {least} of people hold are found (predicted)"
    error = f"off by at most ±{in_points(promise.radius_upper)} (upper; standard error {_standard(plan, promise)})"
    return f"{reports}: {subject(goals)} {'are' if goals.want == 'quantiles' else 'is'} {error}"


def _short_words(plan: Plan, promise: Promise) -> str:
    if promise.radius_upper > 1:
        return "too few to tell anything"
    if plan.solved.discovered is not None:
        return f"strings from {in_points(promise.radius_upper)} on (predicted)"
    return f"±{in_points(promise.radius_upper)} (upper; standard error {_standard(plan, promise)})"


def _standard(plan: Plan, promise: Promise) -> str:
    exact = promise.certainty == "exact"
    return f"{_number(100 * promise.standard_error, exact)}, {'exact' if exact else 'upper'}"


def subject(goals: Goals) -> str:
    """What an error is of."""
    if goals.want == "mean":
        return "the mean, in hundredths of the range of numbers,"
    if goals.want == "quantiles":
        return "the shares of people up to any number"
    if goals.discovered is not None:
        return "a string"
    share = goals.typical_share(goals.size)
    if goals.asked is not None:
        alike = goals.typical is not None or max(map(len, goals.asked.shown)) == 1
        return (
            "the share of an answer" if alike else f"an answer (any to yes/no, others of at most {100 * share:g} %)"
        )
    if goals.size == 2:
        return "the share of a yes"
    return f"an answer that {100 * share:g} % of people give, or fewer,"


def _certainly(goals: Goals) -> str:
    if goals.want == "mean" or not goals.simultaneous or (goals.size == 2 and goals.asked is None):
        return f"except with probability {goals.beta:g}"
    return f"all at once, except with probability {goals.beta:g}"


def ranking(plan: Plan) -> str:
    """Whether answers can be ranked, in one round and in all rounds together."""
    goals = plan.solved
    if goals.want != "frequencies" or goals.discovered is not None:
        return "There are no answers to be ranked."
    one, everything = (2 * promise.radius_upper for promise in (plan.one_round, plan.all_rounds))
    typical = plan.law.share
    if goals.size == 2 and goals.asked is None:
        if everything > 1:
            return "Which answer is more frequent cannot be told: all rounds together tell too little."
        half = f"half the people by more than {in_points(everything / 2)} in all rounds together"
        return f"Which answer is more frequent is certain if its share differs from {half} (upper)."
    told = (
        f"two shares that differ by more than {in_points(one)} in one round, or by {in_points(everything)} in all "
        "rounds together, are surely in the right order (upper)"
    )
    if everything > 1:
        return "Can answers be ranked? No: even all rounds together tell too little."
    if one > 1:
        enough = f"{in_points(everything)} in all rounds together"
        told = f"only two shares that differ by more than {enough} are surely in the right order (upper)"
    can = "yes" if one <= typical else "in all rounds together only" if everything <= typical else "no"
    return f"Can answers be ranked? {can[:1].upper()}{can[1:]}: {told}."


def observers(plan: Plan) -> list[str]:
    """What nobody can learn, what the collector alone can, and what relay and collector can together."""
    goals, eps = plan.solved, plan.eps_alone
    reports = "one report" if not goals.wipes else f"one report, or {goals.wipes + 1} if their storage is wiped"
    hardly = ", which is hardly any protection" if eps > _HARDLY_PRIVATE else ""
    return [
        f"Nobody can follow a person: each sends {reports}, in {_a_turn(plan)} that their device draws in secret. "
        "Nobody has to be trusted for this.",
        f"The collector alone learns of a person's answer at most eps {upper(eps)}, for ever and with delta 0: "
        f"nothing that they send is more than {odds_factor(eps)} times as likely for one answer as for "
        f"another{hardly} (upper).",
        "Relay and collector together learn no more than that. Somebody seen at one place is found among "
        f"{goals.people or 0:,} people seen at another with probability at most {upper(plan.recognition_upper)} "
        f"(upper{', if no storage is wiped' if goals.wipes else ''}).",
    ]


def _a_turn(plan: Plan) -> str:
    return "a round" if plan.looks == 1 else f"a stretch of {plan.looks} rounds"


def relay(plan: Plan) -> str:
    """What a relay changes, or would change: the collector's view alone."""
    crowd, relay = plan.crowd, plan.solved.relay
    begin = "The relay changes" if relay else "A relay would change"
    if crowd is None:
        return f"{begin} nothing that is proved: {_a_turn(plan)} may have fewer than two reports."
    if crowd.everybody.upper >= plan.eps_alone:
        return f"{begin} nothing that is proved: {_a_turn(plan)} has too few reports, at least {crowd.reports:,}."
    always = ""
    if crowd.throughout is not None:
        who = "for people who are active in every round, if others' turns are uniform too"
        always = f"; {who}, {both_ends(crowd.throughout)}"
    kind = f" {RELAY_KINDS}" if relay else ""
    return (
        f"{begin} no error, only the collector's view: among the {crowd.reports:,} reports that {_a_turn(plan)} "
        f"has at least, eps is {both_ends(crowd.everybody)}{always}, at delta {crowd.delta:g}.{kind}"
    )


RELAY_KINDS = (
    "For this, take a relay that holds: it releases the reports of a round once, together, so these are the crowd "
    "even if the collector sees who visits, and people may send at any time, also from web pages. A relay that "
    "passes reports on at once is enough for programs that keep running and send at a random moment, if the "
    "collector does not see who is there."
)
"""Which of the two kinds of relay a campaign needs."""


def details(plan: Plan) -> list[str]:
    """What else should be known."""
    told = []
    if plan.ways:
        told.append(f"Best way to ask: {WAYS[plan.way]}.")
    told.append(
        f"If storage is wiped once in every {_a_turn(plan)[2:]}, a person answers again and again: eps "
        f"{_bound(plan.wiped)} at delta {WIPED_DELTA:g}. Wiped more often, there is no bound."
    )
    unwiped = ", if no storage is wiped" if plan.solved.wipes else ""
    told.append(
        f"Somebody seen at one place is certainly nobody who is seen at another{unwiped}: with half of the time at "
        f"each, that excludes people with advantage {number(plan.exclusion)} (exact), and finds nobody."
    )
    if plan.mechanism.shift() is not None:
        told.append(f"One dishonest report counts for up to {upper(plan.mechanism.shift() or 0.0)} people (upper).")
    told += ["Rounds that are pooled weigh people by how often they are active.", _in_pages(plan)]
    return [*told, f"Asked for: {asked(plan.goals)}."]


def _in_pages(plan: Plan) -> str:
    """What the campaign asks of a web page."""
    if plan.goals.discovered is not None:
        return "Web pages cannot ask this: their client does not know strings that nobody listed. Programs can."
    held, late = "any visit in their round if the relay holds reports", "a visit late enough in their round"
    return (
        "A web page needs a few lines: it asks each visitor first, keeps the answer in their browser, and sends "
        f"one report, with {held if plan.solved.relay else late}."
    )


def better_words(eps: float | None, goals: Goals) -> str:
    """Where everybody in every round would be better."""
    if goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        return ""
    if eps is None:
        return "Everybody in every round (`Deck`) would be less accurate at any eps up to 64."
    return (
        f"Everybody in every round (`Deck`, delta {DELTA:g}) would be more accurate from eps {number(eps)} on. "
        "People can then be recognised by the rounds that they answer."
    )


def _every_round_table(rows: Sequence[EveryRound]) -> view.Table:
    """The mechanisms for every round, and whether reports can be linked by what they say."""
    errors = ["–" if row.standard_error is None else share_cell(row.standard_error, "") for row in rows]
    cells = [(row.name, error, "yes" * row.linked, row.why) for row, error in zip(rows, errors, strict=True)]
    caption, title = "In points (hundredths), of the last round (exact)", "Everybody in every round instead"
    return view.Table((title.lower(), "standard error", "can be linked", ""), cells, caption, title)


def asked(goals: Goals) -> str:
    """The goals, or the solved ones, in a sentence without its full stop."""
    question = "a yes/no question" if goals.size == 2 else f"a question with {_many(goals.size)} answers"
    if goals.discovered is not None:
        question = f"strings of up to {goals.discovered.longest} symbols, discovered by their prefixes"
    if goals.asked is not None:
        question = f"several answers at once, of which {goals.asked.cells:,} shares are wanted"
    parts = [question]
    parts += [f"{goals.rounds:,} round{'s' * (goals.rounds != 1)}"] if goals.rounds else []
    parts += [f"{goals.looks:,} of them in one report"] if (goals.looks or 1) > 1 else []
    parts += [f"{goals.pooled:,} of them pooled for a figure"] if goals.pooled > 1 else []
    parts += [f"{counted(goals.people)} {'people' if goals.people > 1 else 'person'}"] if goals.people else []
    parts += [f"{goals.share} of them with a turn"] if goals.share != 1 else []
    parts += [f"eps {upper(goals.eps)} for ever"] if goals.eps else []
    parts += [f"up to {goals.wipes} wipe{'s' * (goals.wipes != 1)} of storage"] if goals.wipes else []
    parts += [{"quantiles": "shares up to each number", "mean": "the mean"}.get(goals.want, "")]
    parts += [f"error at most {in_points(goals.error)}"] if goals.error is not None else []
    return "; ".join(filter(None, parts))


def rows(plan: Plan) -> list[tuple[str, ...]]:
    """The table of a plan under `COLUMNS`."""
    part = "a quarter" if plan.looks == 1 else "whole stretches"
    named = (("one round", plan.one_round), (part, plan.quarter), ("all rounds", plan.all_rounds))
    figure = [("a figure", plan.figure)] if plan.solved.pooled > 1 else []
    return [
        (
            name,
            f"{promise.rounds:,}",
            f"{promise.reports:,.0f}",
            f"{promise.fewest:,}",
            share_cell(promise.standard_error, "" if promise.certainty == "exact" else "≤ "),
            share_cell(promise.radius_upper),
            share_cell(promise.widest_upper),
        )
        for name, promise in (*figure, *named)
    ]


def caption(plan: Plan) -> str:
    """What the columns of the table mean."""
    certainty = "of one round exact, of several upper" if plan.law.certainty == "exact" else "upper"
    return (
        "In points (hundredths). reports: on average; fewest: in 99 of 100 cases (exact); standard error "
        f"({certainty}): of {subject(plan.solved).rstrip(',')}, by noise and by who answers; error: of the same, "
        f"at most (upper), {_certainly(plan.solved)}; error of any answer: of one that many people give (upper)"
    )


def way_rows(ways: tuple[Way, ...]) -> list[tuple[str, ...]]:
    """The ways to ask under `WAY_COLUMNS`, best first."""
    return [
        (way.name, "–", "–", way.why)
        if way.standard_error is None or way.error_upper is None
        else (way.name, share_cell(way.standard_error), share_cell(way.error_upper), WAYS[way.name])
        for way in ways
    ]


def share_cell(share: float, sign: str = "≤ ") -> str:
    """An error in a table, in points."""
    return f"{sign}{_number(100 * share, exact=not sign)}" if share <= 1 else "–"


def in_points(share: float) -> str:
    """A share as points, rounded up."""
    return f"{_number(100 * share)} points" if math.isfinite(share) and share <= 1 else "more than 100 points"


def _number(value: float, exact: bool = False) -> str:
    """Three digits, rounded up unless it is exact."""
    return f"{value:.3g}" if exact else f"{rounded_up(value, 3, forgiven=1e-12):.3g}"


def _bound(bracket: Bracket) -> str:
    return f"{number(bracket.upper, 'up')} ({'exact' if bracket.certainty == 'exact' else 'upper'})"


def _many(size: int) -> str:
    return f"{size:,}" if size < 10**9 else f"2^{(size - 1).bit_length()}"


_POINTS = "in points, of the worst answer (upper)"


@view.make_view.register
def plan_view(plan: Plan, instead: Instead | None = None, again: Sequence[str] = ()) -> view.View:
    """The view of a plan, and what everybody in every round would give `instead`; `again` makes the plan again."""
    sentences = verdict(plan)
    kinds = {
        "figure": plan.figure,
        "one round": plan.one_round,
        "quarter": plan.quarter,
        "all rounds": plan.all_rounds,
    }
    tables = plan_tables(plan)
    told: dict[str, Any] = {}
    if instead is not None:
        sentences += filter(None, [better_words(instead.better_from, plan.solved)])
        told["every_round_better_from_eps"] = instead.better_from
        if instead.rows is not None:
            tables.append(_every_round_table(instead.rows))
            told["every_round"] = as_dict(instead.rows)
    if plan.met:
        campaign = plan.campaign().to_json()
        parts = [(name, strict_json.write(part)) for name, part in campaign.items() if part is not None]
        tables.append(view.Table(("the beginning of a campaign", ""), parts, title="The beginning of a campaign"))
    return view.View(
        title=sentences[0],
        sentences=sentences,
        tables=tables,
        data=lambda: _data(list(kinds), list(kinds.values())),
        commands=_campaign_commands(plan, again) if plan.met and again else [],
        json=lambda: {**_json(plan), **told},
    )


def _campaign_commands(plan: Plan, again: Sequence[str]) -> list[list[str]]:
    """The commands that make a campaign of the plan."""
    relay = ["--hold-at", "https://relay.example/gateways/study"]
    gateway = ["--gateway", "gateway.json", *relay] if plan.solved.relay else []
    keys = ["untrackable", "gateway", "new", "gateway.keys", "--json", ">", "gateway.json"]
    return [
        ["untrackable", *map(shlex.quote, again), "--json", ">", "plan.json"],
        *([keys] if gateway else []),
        ["untrackable", "campaign", "new", "campaign.json", "--plan", "plan.json", "--question", '"…"', *gateway],
    ]


def plan_tables(plan: Plan) -> list[view.Table]:
    """How far off figures will be, and the ways to ask for several answers at once."""
    tables = [view.Table(COLUMNS, rows(plan), caption(plan), "How far off figures will be")]
    if plan.ways:
        tables.append(view.Table(WAY_COLUMNS, way_rows(plan.ways), _POINTS, "Ways to ask for the same"))
    return tables


def _data(kinds: list[str], promises: list[Promise]) -> dict[str, view.Column]:
    return {
        "figure_of": view.texts(kinds),
        "rounds": view.counts(each.rounds for each in promises),
        "reports": view.floats(each.reports for each in promises),
        "fewest_reports": view.counts(each.fewest for each in promises),
        "standard_error": view.floats(each.standard_error for each in promises),
        "standard_error_certainty": view.texts(each.certainty for each in promises),
        "error_upper": view.floats(each.radius_upper for each in promises),
        "error_of_any_answer_upper": view.floats(each.widest_upper for each in promises),
    }


SET_COLUMNS = (
    "question",
    "answers",
    "standard error of a round",
    "error of a round",
    "of a quarter",
    "of all rounds",
)


@view.make_view.register
def set_view(together: QuestionSet, command: Sequence[str] = ()) -> view.View:
    """The view of several questions; a `command` writes their campaign.

    Words about the plan are for the question that is known least well.
    """
    title = f"{len(together.parts)} questions in one campaign, with one turn for all of them"
    certainly = f"all answers of a question at once, except with probability {together.plan.solved.beta:g}"
    rows = [
        (
            part.name,
            f"{part.encoding.values:,}",
            share_cell(part.one_round.standard_error),
            *(share_cell(each.radius_upper) for each in (part.one_round, part.quarter, part.all_rounds)),
        )
        for part in together.parts
    ]
    caption = f"In points (hundredths), at most (upper); errors: {certainly}"
    return view.View(
        title=title,
        sentences=[f"{title}.", *verdict(together.plan)],
        tables=[view.Table(SET_COLUMNS, rows, caption, "The questions"), *plan_tables(together.plan)],
        data=lambda: _set_data(together),
        commands=[["untrackable", *map(shlex.quote, command)]] if together.met and command else [],
        json=lambda: _set_json(together),
    )


def _set_data(together: QuestionSet) -> view.Columns:
    kinds = ("figure", "one_round", "quarter", "all_rounds")
    rows = [(part.name, kind.replace("_", " "), getattr(part, kind)) for part in together.parts for kind in kinds]
    promises = _data([kind for _, kind, _ in rows], [promise for *_, promise in rows])
    return {"question": view.texts(name for name, _, _ in rows), **promises}


def _json(plan: Plan) -> dict[str, Any]:
    """The whole plan as JSON."""
    return {
        "verdict": verdict(plan),
        "met": plan.met,
        "why": plan.why,
        "changes": as_dict(plan.changes),
        "goals": _goals(plan.goals),
        "solved": _goals(plan.solved),
        "unknown": plan.unknown,
        "promises": {
            name: as_dict(getattr(plan, name)) for name in ("figure", "one_round", "quarter", "all_rounds")
        },
        "ranks": plan.ranks,
        "gap_upper": plan.gap_upper,
        "eps_alone_upper": plan.eps_alone,
        "crowd": as_dict(plan.crowd),
        "recognition_upper": plan.recognition_upper,
        "exclusion_exact": plan.exclusion,
        "wiped_every_round": as_dict(plan.wiped),
        "ways": as_dict(plan.ways),
        "campaign": plan.campaign().to_json() if plan.met else None,
    }


def _set_json(together: QuestionSet) -> dict[str, Any]:
    """The plan of several questions as JSON."""
    parts = {
        part.name: {
            "encoding": part.encoding.to_json(),
            **{name: as_dict(getattr(part, name)) for name in ("figure", "one_round", "quarter", "all_rounds")},
        }
        for part in together.parts
    }
    return {**_json(together.plan), "questions": parts}


def _goals(goals: Goals) -> dict[str, Any]:
    fields = {f.name: as_dict(getattr(goals, f.name)) for f in dataclasses.fields(goals) if f.name != "encoding"}
    return {**fields, "encoding": None if goals.encoding is None else goals.encoding.to_json()}


_DRAWN = 25
"""Curves are drawn at this many numbers of people, from a hundredth to a hundred times as many as planned."""
_ONE, _ALL = "one round, at most (upper)", "all rounds together, at most (upper)"


@view.make_charts.register
def _(plan: Plan, top: int) -> list[view.Chart]:
    """The errors of figures, and the error of a round with fewer or more people, or rounds."""
    drawn = (_errors(plan), _people(plan), _rounds(plan))
    return [chart for chart in drawn if chart is not None]


@view.make_charts.register
def _(together: QuestionSet, top: int) -> Sequence[view.Chart]:
    return view.charts_of(together.plan, top)


def _title(goals: Goals) -> str:
    if goals.discovered is not None:
        return "The share of people from which on a string is found (predicted)"
    what = {"quantiles": "a share up to a number", "mean": "the mean, of its range"}.get(goals.want, "a share")
    return f"The error of {what}, at most (upper), for one round, a quarter of the rounds and all rounds together"


def _errors(plan: Plan) -> view.Chart:
    promises = {"one round": plan.one_round, "a quarter of the rounds": plan.quarter, "all rounds": plan.all_rounds}
    lengths = [min(1.0, promise.radius_upper) for promise in promises.values()]
    limit = plan.goals.error
    x, start, edge = charts.length_axis("error", [*lengths, *([] if limit is None else [limit])])
    rows = [
        {
            "place": place,
            "length": length,
            "standard": min(edge, promise.standard_error),
            "told": f"±{percent(length, 'up')}" if length < 1 else "above 100 %",
        }
        for place, (length, promise) in enumerate(zip(lengths, promises.values(), strict=True))
    ]
    chart = (
        charts.NamedBars(list(promises), x)
        .bars(rows, f"error, at most (upper), except with probability {plan.goals.beta:g}", charts.BLUE, start)
        .ticks(rows, "standard", "standard error (upper)", charts.INK)
        .told(rows, "length")
    )
    if limit is not None:
        chart.limits([limit], f"asked for: at most ±{percent(limit, 'up')}", charts.RED)
    return chart.chart("errors", _title(plan.solved))


def _people(plan: Plan) -> view.Chart | None:
    """The error with fewer or more people; None if none of them would be enough to tell anything."""
    goals, planned = plan.solved, plan.solved.people or 1
    people = np.unique(np.geomspace(max(10.0, planned / 100), planned * 100, _DRAWN).round().astype(np.int64))
    rows = [
        {"line": name, "x": int(count), "y": error}
        for name, rounds in ((_ONE, 1), (_ALL, plan.all_rounds.rounds))
        for count in people
        if (error := plan.law.promise(goals.replace(people=int(count)), rounds).radius_upper) <= 1
    ]
    drawing = _curves(rows, [_ONE, _ALL], "people", plan, planned, f"the plan: {counted(planned)} people")
    return drawing and view.Chart(name="people", title="The error by people", drawing=drawing)


def _rounds(plan: Plan) -> view.Chart | None:
    """The error with fewer or more rounds, in the same way."""
    goals, planned = plan.solved, plan.all_rounds.rounds
    stretches = np.unique(np.geomspace(1, max(4, plan.turns.rounds * 4), _DRAWN).round().astype(np.int64))
    rows = []
    for count in np.unique([*(stretches * plan.looks), planned]):
        error = plan.law.promise(goals.replace(rounds=int(count), pooled=1), 1).radius_upper
        if error <= 1:
            rows.append({"line": _ONE, "x": int(count), "y": error})
    drawing = _curves(rows, [_ONE], "rounds", plan, planned, f"the plan: {planned:,} rounds")
    return drawing and view.Chart(name="rounds", title="The error by rounds", drawing=drawing)


def _curves(rows: list[dict[str, Any]], names: list[str], x: str, plan: Plan, planned: int, named: str) -> Any:
    if not rows:
        return None
    across, up = (charts.log_ticks(min(ends), max(ends)) for ends in ([row[name] for row in rows] for name in "xy"))
    look = charts.Series(named, charts.INK, mark="circle", size=110)
    marked = [{"line": named, "x": planned, "y": plan.one_round.radius_upper}]
    shown = marked if plan.one_round.radius_upper <= 1 else []
    key = charts.Key(charts.line_series(names), [look] if shown else [])
    axes: dict[str, Any] = {
        "x": alt.X(
            "x:Q",
            title=x,
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=charts.count_axis(values=across, labelBound=True),
        ),
        "y": alt.Y(
            "y:Q",
            title="error, at most",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=charts.share_axis(values=up),
        ),
        "tooltip": [
            alt.Tooltip("line:N", title="figure"),
            alt.Tooltip("x:Q", title=x, format=",.0f"),
            alt.Tooltip("y:Q", title="error, at most", format=".3~%"),
        ],
    }
    lines = key.lines(charts.points(rows).encode(**axes))
    marks = [key.marks(charts.points(shown).encode(**axes), named)] if shown else []
    return alt.layer(*lines, *marks, key.legend).properties(height=charts.HEIGHT)


def plan_page(plan: Plan | QuestionSet, command: list[str], shown: view.View | None = None) -> str:
    """The page of a plan, or of several questions together; `command` makes it again."""
    title = f"What will {'this campaign' if isinstance(plan, Plan) else 'these questions'} tell?"
    return result_page(
        shown or view.make_view(plan),
        view.make_charts(plan, 0),
        command,
        title=title,
        formulas="plan_formulas.html",
    )
