"""A plan in words: the recommendation, a table, why not the others, and the paper's own selection."""

from typing import Any

from untrackable import strict_json
from untrackable.display import way_words
from untrackable.display.attendance_words import participation_words
from untrackable.display.crowd_words import crowd_cell
from untrackable.display.numbers import all_of, cell, number, said, upper
from untrackable.display.observer_words import shift_words, trust_words
from untrackable.display.truth_words import truth_words
from untrackable.planning.goals import AMONG, FOREVER, USABLE_ERROR, Goals
from untrackable.planning.plans import Option, Plan, Refusal
from untrackable.planning.rounding import counted, rounded_up

COLUMNS = (
    "mechanism",
    "people",
    "rounds",
    "eps alone",
    "eps in the crowd",
    "error of a figure",
    "error of one round",
    "answered",
    "recognised",
    "followed",
    "other answers",
    "report",
    "state",
    "parameters",
)

_FEW = 8
"""Entries of a parameter that are shown one by one."""


def asked(goals: Goals) -> str:
    """The goals in a sentence."""
    question = "a yes/no question" if goals.size == 2 else f"a question with {_many(goals.size)} answers"
    if goals.discovered is not None:
        question = f"strings of up to {goals.discovered.longest} symbols, discovered by {goals.levels} prefixes"
    if goals.asked is not None:
        tables = f", in {len(goals.asked.tables)} tables" if len(goals.asked.tables) > 1 else ""
        question = f"several answers at once, of which {goals.asked.cells:,} shares are wanted{tables}"
    parts = [question, "asked without end" if goals.rounds == FOREVER else ""]
    parts += [_rounds(goals)] if isinstance(goals.rounds, int) else []
    parts += [f"{goals.pooled:,} rounds pooled for a figure"] if goals.pooled > 1 else []
    parts += [_people(goals.people)] if goals.people else []
    parts += _privacy(goals)
    held = "all reports" if goals.reports is None else f"{goals.reports:,} report{'s' * (goals.reports > 1)}"
    tolerance = goals.tolerance
    parts.append(f"{tolerance.measure} at most {number(tolerance.limit)} if an observer holds {held} of a person")
    if goals.answer_limit < 1:
        parts.append(f"matched among {goals.crowd:,} by other answers at most {number(goals.answer_limit)}")
    parts.append(_attending(goals))
    if goals.want != "frequencies":
        parts.append({"quantiles": "the share of people up to each number", "mean": "the mean"}[goals.want])
    if goals.error is not None:
        parts.append(f"error at most {number(goals.error)}")
    elif goals.unknown == "error":
        parts.append(f"error at most {number(USABLE_ERROR)}, above which a figure says little")
    if goals.unknown == "eps":
        parts.append(f"eps at most {number(goals.largest_eps)}")
    return "; ".join(filter(None, parts)) + "."


def _privacy(goals: Goals) -> list[str]:
    """What is asked against each observer."""
    values = " for any sequence of values" if goals.changes else ""
    if goals.crowd_eps is None:
        asked = f"everlasting eps = {number(goals.eps)} at" if goals.eps else "everlasting privacy at"
        return [f"{asked} delta = {goals.delta:g}{values}"]
    crowd = f"in the crowd everlasting eps = {number(goals.crowd_eps)} at delta = {goals.crowd_delta:g}{values}"
    alone = "" if goals.eps is None else f"alone eps at most {number(goals.eps)} at delta = {goals.delta:g}"
    return [crowd, alone]


def _attending(goals: Goals) -> str:
    """What is asked of attendance."""
    often = "" if goals.participation is None else f", each round answered with probability {goals.participation}"
    if goals.one_network:
        return "answers from one network only" + often
    if goals.recognition == 1:
        return "attendance left out" + often
    stays = f" for {goals.persistence:,} rounds at a time" if goals.persistence > 1 else ""
    return (
        f"recognised among {AMONG:,} by reports and attendance at most {number(goals.recognition)}, by an observer "
        f"of {len(goals.places)} places where people are {' and '.join(map(str, goals.places))} of the time"
        f"{stays}{often}"
    )


def _people(count: int) -> str:
    return f"{counted(count)} {'people' if count > 1 else 'person'}"


def _rounds(goals: Goals) -> str:
    if goals.rounds == FOREVER:
        return "for ever"
    return f"{goals.rounds:,} round{'s' * (goals.rounds != 1)}"


def promise(goals: Goals) -> str:
    """Which frequencies the error is of, and how surely."""
    if goals.discovered is not None:
        return "the frequency from which on strings are found (predicted)"
    what = "all values at once" if goals.simultaneous and goals.size > 2 else "any one value"
    if goals.asked is not None:
        what = f"{all_of(goals.asked.cells, 'shares')} at once" if goals.simultaneous else "any one share"
    if goals.want == "quantiles":
        what = "the share of people up to any number" + ", all at once" * goals.simultaneous
    if goals.want == "mean":
        what = "the mean, as a share of the range of numbers"
    pooled = f", {goals.pooled:,} rounds pooled" if goals.pooled > 1 else ""
    when = "the first figure" if goals.rounds == FOREVER else "every figure"
    return f"{what}, except with probability {goals.beta:g}, in {when}{pooled}"


def verdict(plan: Plan) -> list[str]:
    """The answer first, then what it rests on."""
    best = plan.recommended
    if best is None:
        told = way_words.recommended(plan) if plan.separately else [_unusable(plan)]
        told += [
            f"The nearest is {refusal.name}. It needs {_instead(refusal)}."
            for refusal in plan.refusals[:1]
            if refusal.nearest
        ]
        return [*told, "Asked for: " + asked(plan.goals)]
    first = [_answer(plan, best)]
    return [
        *([*way_words.recommended(plan), *first] if plan.separately else [*first, *way_words.recommended(plan)]),
        *trust_words(best),
        _promises(best),
        *attendance(best),
        *_meaning(best),
        *shift_words(best),
        *_second(plan, best),
        *_paper(plan),
        "Asked for: " + asked(plan.goals),
    ]


def _unusable(plan: Plan) -> str:
    """The first line where nothing meets the goals: how large the error would be, if that is what is wrong."""
    found = [r.error_upper for r in plan.refusals if r.error_upper is not None]
    if not found:
        return "No mechanism meets these goals."
    wanted = number(plan.goals.error or USABLE_ERROR)
    error = f"±{upper(min(found))} (upper)" if min(found) < 1 else "more than ±1"
    told = f"Not usable: the error would be {error}, and it must be at most ±{wanted}."
    return f"{told} No mechanism meets these goals."


def attendance(best: Option) -> list[str]:
    """How often clients answer, and what that reveals beside the reports."""
    found, goals = best.recognised, best.goals
    told = [participation_words(goals.answered, goals.one_network)]
    if goals.one_network:
        return told
    if goals.rounds == FOREVER:
        return [
            *told,
            f"Recognised among {AMONG:,} by reports and attendance: 1 (exact), as there is no last round.",
        ]
    stays = "" if goals.persistence == 1 else f" if people stay at a place for {goals.persistence:,} rounds"
    return [
        *told,
        f"Recognised among {AMONG:,} by reports and attendance together{stays}: at most "
        f"{upper(found.recognition.upper)} (upper; guessing: {1 / AMONG:g}), advantage {said(found.advantage)}. "
        f"If people stay at a place for 7 rounds, it is at most {upper(found.stays_of_7.upper)}; for 30 rounds, "
        f"{upper(found.stays_of_30.upper)}; for {_rounds_long(found.worst_stay)}, which is the worst, "
        f"{upper(found.worst.upper)} (all upper).",
    ]


def _rounds_long(count: int) -> str:
    return f"{count:,} round{'s' * (count != 1)}"


def _meaning(best: Option) -> list[str]:
    """What the parameters mean for a person, and for people with different answers."""
    apart = best.other_answers
    told = (
        f"People with other answers are told apart with advantage {said(apart.advantage)}; "
        f"matched among {best.goals.crowd:,}: {said(apart.matched)}."
    )
    return [told, *([] if best.truthfulness is None else [truth_words(*best.truthfulness)])]


def _answer(plan: Plan, best: Option) -> str:
    match plan.unknown:
        case "people":
            return f"{best.name} with {_people(best.goals.people or 0)}."
        case "eps":
            return f"{best.name} at everlasting eps = {number(rounded_up(best.goals.eps or 0.0))}."
        case "rounds" if best.goals.rounds == FOREVER:
            return f"{best.name}, {_rounds(best.goals)}."
        case "rounds":
            return f"{best.name} for {_rounds(best.goals)}."
    if best.goals.discovered is not None:
        share = upper(best.error_upper)
        return f"{best.name}: it finds strings that at least {share} of all people hold (predicted)."
    if best.goals.want == "quantiles":
        return f"{best.name}: shares of people up to a number are off by at most {upper(best.error_upper)} (upper)."
    if best.goals.want == "mean":
        return f"{best.name}: the mean is off by at most {upper(best.error_upper)} of the range (upper)."
    if best.goals.asked is not None:
        return f"{best.name}: shares are off by at most {upper(best.error_upper)} (upper)."
    return f"{best.name}: frequencies are off by at most {upper(best.error_upper)} (upper)."


def _promises(best: Option) -> str:
    if best.goals.discovered is not None:
        return (
            f"Tracking: {best.goals.tolerance.measure} {said(best.tracked)}. "
            f"Reports are divided among {best.goals.levels} prefixes. "
            "A string counts as found three standard errors above the threshold of one prefix."
        )
    return (
        f"Error at most {upper(best.error_upper)} (upper; {promise(best.goals)}); standard error of one round "
        f"{_standard_error(best)} ({error_given(best.goals)}). "
        f"Tracking: {best.goals.tolerance.measure} {said(best.tracked)}."
    )


def _standard_error(best: Option) -> str:
    return number(best.standard_error, "nearest" if _is_plain(best.goals) else "up")


def error_given(goals: Goals) -> str:
    """How well the standard error is known, and of what."""
    return "exact; of a value that nobody holds" if _is_plain(goals) else "upper"


def _is_plain(goals: Goals) -> bool:
    """Whether the frequencies of single answers are wanted."""
    return goals.want == "frequencies" and goals.asked is None


def _second(plan: Plan, best: Option) -> list[str]:
    """The best option whose reports cannot be linked, if that is another one."""
    if best.tracked.upper == 0 or best.goals.matched is not None:
        return []
    hidden = next((o for o in plan.options if o.tracked.upper == 0), None)
    if hidden is None:
        return []
    return [
        f"If nobody may be followed at all: {hidden.name}, {_answers(hidden, plan.unknown)} "
        f"({hidden.goals.tolerance.measure} 0, exact)."
    ]


def _answers(option: Option, unknown: str | None) -> str:
    match unknown:
        case "people":
            return _people(option.goals.people or 0)
        case "eps":
            return f"eps = {number(rounded_up(option.goals.eps or 0.0))}"
        case "rounds":
            return _rounds(option.goals)
    return f"error at most {upper(option.error_upper)}"


def _paper(plan: Plan) -> list[str]:
    found = plan.published
    if plan.goals.crowd_eps is not None or not _is_plain(plan.goals):
        return []  # The paper knows no crowd, and estimates the frequencies of one answer only.
    if found is None:
        return ["The paper's own parameter selection has no answer to these goals."]
    slots = (
        f"L = {found.slots:,}, k²/L = {upper(found.delta_upper)}" if found.slots else "L = 0: nothing can be stored"
    )
    limit = number(plan.goals.tolerance.advantage_limit)
    return [
        f"The paper's own selection, as printed: eps' = {number(found.eps_report)}, {slots}. "
        f"For k²/L within {limit} it needs {counted(found.people_upper)} people, {upper(found.ratio_upper)} "
        f"times as many as {plan.options[0].name} ({upper(found.ratio_same_radius_upper)} times with the same "
        "accuracy radius on both sides; its term L²/2^d is left out)."
    ]


def cells(option: Option) -> tuple[str, ...]:
    """A row of the table under `COLUMNS`."""
    goals = option.goals
    about = "≤" if goals.discovered is None else "≈"
    parameters = {k: v for k, v in option.mechanism.to_json().items() if k != "mechanism"}
    return (
        option.name,
        counted(goals.people or 0),
        "for ever" if goals.rounds == FOREVER else f"{goals.rounds:,}",
        cell(option.everlasting),
        crowd_cell(option.in_crowd),
        f"{about} {upper(option.error_upper)}",
        f"{about} {upper(option.one_round_upper)}",
        answered(option),
        f"≤ {upper(option.recognised.recognition.upper)}",
        cell(option.tracked),
        cell(option.other_answers.advantage),
        _bytes(option.report_bytes),
        _bytes(option.state_bytes),
        ", ".join(f"{key}={_short(value)}" for key, value in parameters.items()),
    )


def table_caption(goals: Goals) -> str:
    """What the columns of the table mean."""
    return (
        "best first; exact unless marked ≤ (upper); alone: an observer who knows whose reports are whose; in the "
        "crowd: one who does not (does not apply: reports can be linked); answered: rounds; recognised: among "
        f"{AMONG:,}, by reports and attendance; followed: {goals.tolerance.measure}, by the same answer; "
        f"other answers: advantage; errors: {promise(goals)}"
    )


def answered(option: Option) -> str:
    """The share of rounds that a client answers."""
    share = option.goals.answered
    if share == 1:
        return "all"
    return f"1 in {share.denominator:,}" if share.numerator == 1 else str(share)


def refusals(plan: Plan) -> list[tuple[str, str]]:
    """Names, and why they do not meet the goals; those with the same reason together."""
    grouped: dict[str, list[str]] = {}
    for refusal in plan.refusals:
        told = refusal.why + (f" It needs {_instead(refusal)}." if refusal.nearest else "")
        grouped.setdefault(told, []).append(refusal.name)
    return [(", ".join(names), told) for told, names in grouped.items()]


def campaign_text(plan: Plan) -> str:
    """The recommended option as indented JSON, or that there is none."""
    return (
        strict_json.write(plan.campaign().to_json(), indent=2) if plan.options else "no mechanism meets these goals"
    )


def _instead(refusal: Refusal) -> str:
    return ", or ".join(change.text for change in refusal.nearest)


def _many(size: int) -> str:
    return f"{size:,}" if size < 10**9 else f"2^{(size - 1).bit_length()}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key}={_short(item)}" for key, item in value.items() if key != "mechanism")
        return f"{value['mechanism']}({inner})"
    if isinstance(value, list) and len(value) > _FEW:
        return f"[{len(value):,} entries]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _bytes(count: int) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
