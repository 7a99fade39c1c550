"""Results in notebooks: a line, HTML without scripts, and columns. The words are those of the command line."""

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any, NamedTuple

from untrackable.answers.answer import Answer
from untrackable.auditing.comparison import Comparison
from untrackable.auditing.mechanism_audit import Audit
from untrackable.discovery.discovered import Discovered
from untrackable.display import audit_words, comparison_words, decoded_words, plan_words
from untrackable.display.answer_words import range_words
from untrackable.display.numbers import number
from untrackable.display.percentages import percent
from untrackable.estimation.estimate import Estimate
from untrackable.planning.plans import Plan
from untrackable.rappor_decode.decode_result import Candidate, Decoded
from untrackable.theory.world_pair import WorldPair

_SHOWN = 20
"""The largest number of rows of a table in a notebook."""
_GAMMAS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)
"""Where the delta of two worlds is shown."""


class View(NamedTuple):
    """A line that says what a result is, sentences, and a table. `more` rows are not shown."""

    title: str
    sentences: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int = 0


def title(result: object) -> str:
    """What a result is, in one line."""
    return view(result).title


def fragment(result: object) -> str:
    """A result as HTML: sentences and a table, everything escaped."""
    seen = view(result)
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in seen.sentences)
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in seen.headings)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in seen.rows)
    rest = f"<p>and {seen.more:,} more</p>" if seen.more else ""
    return f"<div>{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cells(row: Iterable[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in row)


@singledispatch
def view(result: object) -> View:
    """What is shown of a result."""
    raise TypeError(f"there is no view of {type(result).__name__}")


@singledispatch
def columns_of(result: object) -> dict[str, list[Any]]:
    """The numbers of a result, as columns."""
    raise TypeError(f"there is no table of {type(result).__name__}")


@view.register
def _(audit: Audit) -> View:
    rows = [(line.heading, line.what, line.number, line.certainty) for line in audit_words.lines(audit)]
    said = audit_words.verdict(audit)
    return View(said[0], said, ("about", "number", "is", "certainty"), rows)


@columns_of.register
def _(audit: Audit) -> dict[str, list[Any]]:
    lines = audit_words.lines(audit)
    return {name: [getattr(line, name) for line in lines] for name in audit_words.Line._fields}


@view.register
def _(comparison: Comparison) -> View:
    said = comparison_words.verdict(comparison)
    rows = [comparison_words.cells(row) for row in comparison.rows]
    return View(
        f"{len(rows)} mechanisms at eps {comparison.eps:g}", said, comparison_words.columns(comparison), rows
    )


@columns_of.register
def _(comparison: Comparison) -> dict[str, list[Any]]:
    return _columns(comparison_words.columns(comparison), [comparison_words.cells(row) for row in comparison.rows])


@view.register
def _(plan: Plan) -> View:
    said = plan_words.verdict(plan)
    rows = [plan_words.cells(option) for option in plan.options]
    refused = [f"{name}: {why}" for name, why in plan_words.refusals(plan)] if not rows else []
    return View(said[0], [*said, *refused], plan_words.COLUMNS, rows)


@columns_of.register
def _(plan: Plan) -> dict[str, list[Any]]:
    return _columns(plan_words.COLUMNS, [plan_words.cells(option) for option in plan.options])


@view.register
def _(decoded: Decoded) -> View:
    rows = decoded_words.cells(decoded)
    said = [*decoded_words.verdict(decoded), *decoded_words.notes(decoded)]
    return View(said[0], said, decoded_words.columns(decoded), rows[:_SHOWN], max(0, len(rows) - _SHOWN))


@columns_of.register
def _(decoded: Decoded) -> dict[str, list[Any]]:
    names = Candidate.__slots__
    return {name: [getattr(one, name) for one in decoded.candidates] for name in names}


@view.register
def _(discovered: Discovered) -> View:
    count = len(discovered.strings)
    words = f"{count:,} string{'' if count == 1 else 's'} found in {discovered.n:,} reports"
    said = f"{words}. Each of them is held by somebody, except with probability {discovered.alpha:g} (upper)."
    rows = [
        (each.string, percent(each.frequency), range_words(each.lower, each.upper)) for each in discovered.strings
    ]
    return View(words, [said], ("string", "share", "interval"), rows[:_SHOWN], max(0, len(rows) - _SHOWN))


@view.register
def _(estimate: Estimate) -> View:
    return _estimated(estimate, str)


@view.register
def _(answer: Answer) -> View:
    return _estimated(answer.best, answer.label)


def _estimated(estimate: Estimate, label: Any) -> View:
    count = estimate.frequencies.size
    words = f"{count:,} values from {estimate.n:,} reports"
    said = (
        f"{words}. Intervals hold for all values at once, except with probability {estimate.beta:g} (upper); the "
        "standard error is estimated."
    )
    rows = [
        (
            label(each.value),
            percent(each.frequency),
            percent(each.standard_error),
            range_words(each.lower, each.upper),
            "stands out" if each.stands_out else "",
        )
        for each in estimate.top(min(_SHOWN, count))
    ]
    headings = ("value", "share", "standard error", "interval", "")
    return View(words, [said], headings, rows, count - len(rows))


@view.register
def _(pair: WorldPair) -> View:
    advantage = pair.advantage()
    said = (
        f"Two worlds that an observer tells apart with an advantage of {advantage} over a guess. Delta is how far "
        "the odds can exceed the factor e^gamma."
    )
    rows = [(number(gamma), str(pair.delta(gamma))) for gamma in _GAMMAS]
    return View(f"advantage {advantage}", [said], ("gamma", "delta"), rows)


def _columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    return {heading: [row[place] for row in rows] for place, heading in enumerate(headings)}
