"""Results in notebooks: a line, and HTML without scripts. The words are those of the command line."""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from html import escape
from typing import Any, NamedTuple

from untrackable.answers.answer import Answer
from untrackable.answers.number_trend import NumberTrend
from untrackable.answers.people_trend import people_trend
from untrackable.auditing.comparison import Comparison
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.auditing.mechanism_audit import Audit
from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.brackets import Bracket, at_least
from untrackable.discovery.discovered import Discovered
from untrackable.display import (
    audit_words,
    client_audit_words,
    comparison_words,
    decoded_words,
    file_audit_words,
    plan_words,
    question_set_words,
    turns_audit_words,
)
from untrackable.display.answer_words import range_words
from untrackable.display.numbers import number, said, upper
from untrackable.display.people_words import active_notes
from untrackable.display.percentages import NOT_TOLD, order_notes, percent, shown_share, string_notes
from untrackable.display.trend_words import amount, band_note, change_note, change_sentence, trend_name
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.ordered_values import Distribution
from untrackable.planning.plans import Plan
from untrackable.planning.question_set import QuestionSet
from untrackable.rappor_decode.decode_result import Decoded
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
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in seen.sentences)
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in seen.headings)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in seen.rows)
    rest = f"<p>and {seen.more:,} more</p>" if seen.more else ""
    return f"<div>{told}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cells(row: Iterable[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in row)


@singledispatch
def view(result: object) -> View:
    """What is shown of a result."""
    raise TypeError(f"there is no view of {type(result).__name__}")


@view.register
def _(audit: Audit | TurnsAudit) -> View:
    rows = [(line.heading, line.what, line.number, line.certainty) for line in audit_words.lines(audit)]
    title = turns_audit_words.title(audit) if isinstance(audit, TurnsAudit) else _audit_title(audit)
    return View(title, audit_words.verdict(audit), ("about", "number", "is", "certainty"), rows)


def _audit_title(audit: Audit) -> str:
    by_reports, alone, always = audit.recognised, audit.attended.alone, audit.everlasting
    told = f"recognised among {audit.crowd:,} by {audit.reports} reports {_limit(by_reports)}"
    told += f", by attendance {_limit(alone)}"
    return told if always is None else f"{told}; eps for ever {said(always.gamma)}"


def _limit(bracket: Bracket) -> str:
    """A probability that nobody exceeds."""
    exact = bracket.certainty == "exact"
    return f"{number(bracket.upper)} (exact)" if exact else f"at most {upper(bracket.upper)} (upper)"


@view.register
def _(audit: FileAudit) -> View:
    rows = [
        (name, at_least(found.lower, 3), f"{found.sampled:.3g}", found.similarity)
        for name, found in audit.attacks.items()
    ]
    surely = f"lower, {100 * audit.level:.12g} %"
    headings = ("people are followed by", f"advantage, at least ({surely})", "sampled", "how")
    return View(file_audit_words.summary(audit), file_audit_words.verdict(audit), headings, rows)


@view.register
def _(audit: ClientAudit) -> View:
    rows = [client_audit_words.cells(row) for row in client_audit_words.measures(audit)]
    told = client_audit_words.verdict(audit)
    return View(client_audit_words.title(audit), told, client_audit_words.COLUMNS, rows)


@view.register
def _(comparison: Comparison) -> View:
    told = comparison_words.verdict(comparison)
    rows = [comparison_words.cells(row) for row in comparison.rows]
    return View(
        f"{len(rows)} mechanisms at eps {comparison.eps:g}", told, comparison_words.columns(comparison), rows
    )


@view.register
def _(plan: Plan) -> View:
    told = plan_words.verdict(plan)
    return View(told[0], [*told, f"{plan_words.caption(plan)}."], plan_words.COLUMNS, plan_words.rows(plan))


@view.register
def _(together: QuestionSet) -> View:
    told = question_set_words.sentences(together)
    rows = [question_set_words.cells(part) for part in together.parts]
    caption = f"{question_set_words.caption(together)}."
    title = question_set_words.title(together)
    return View(title, [*told, caption], question_set_words.COLUMNS, rows[:_SHOWN], max(0, len(rows) - _SHOWN))


@view.register
def _(decoded: Decoded) -> View:
    rows = decoded_words.cells(decoded)
    words = f"{len(decoded.found):,} of {decoded.listed:,} candidates found in {decoded.reports:,} reports"
    told = [*decoded_words.verdict(decoded), *decoded_words.notes(decoded)]
    return View(words, told, decoded_words.columns(decoded), rows[:_SHOWN], max(0, len(rows) - _SHOWN))


@view.register
def _(discovered: Discovered) -> View:
    count = len(discovered.strings)
    words = f"{count:,} string{'' if count == 1 else 's'} found in {discovered.n:,} reports"
    told = f"{words}. Each of them is held by somebody, except with probability {discovered.alpha:g} (upper)."
    rows = [
        (each.string, shown_share(each.share), range_words(each.lower, each.upper)) for each in discovered.strings
    ]
    told += "".join(f" {note[:1].upper()}{note[1:]}." for note in string_notes(discovered.strings[:_SHOWN]))
    return View(words, [told], ("string", "share", "interval"), rows[:_SHOWN], max(0, len(rows) - _SHOWN))


@view.register
def _(estimate: Estimate) -> View:
    return _estimated(estimate, str)


@view.register
def _(answer: Answer) -> View:
    if answer.only_counts:
        return view(people_trend(answer, beta=answer.best.beta))
    found = _estimated(answer.best, answer.label)
    if answer.question.turns is None:
        return found
    people = active_notes(answer.people(beta=answer.best.beta), len(answer.rounds) if answer.pooled else 1)
    return found._replace(sentences=[*found.sentences, *people])


def _estimated(estimate: Estimate, label: Any) -> View:
    count = estimate.frequencies.size
    words = f"{count:,} values from {estimate.n:,} reports"
    told = (
        f"{words}. Intervals hold for all values at once, except with probability {estimate.beta:g} (upper); the "
        "standard error is estimated."
    )
    ranked = estimate.top(min(_SHOWN, count))
    rows = [
        (
            label(each.value),
            shown_share(each.frequency),
            "" if each.frequency is None else percent(each.standard_error),
            range_words(each.lower, each.upper),
            "stands out" if each.stands_out else "",
        )
        for each in ranked
    ]
    notes = [NOT_TOLD] * any(each.frequency is None for each in ranked)
    others = not estimate.certainly_top(ranked)
    notes += order_notes([(each.lower, each.upper) for each in ranked], others=others)
    headings = ("value", "share", "standard error", "interval", "")
    return View(words, [told, *notes], headings, rows, count - len(rows))


@view.register
def _(pair: WorldPair) -> View:
    advantage = pair.advantage()
    told = (
        f"Two worlds that an observer tells apart with an advantage of {advantage} over a guess. Delta is how far "
        "the odds can exceed the factor e^gamma."
    )
    rows = [(number(gamma), str(pair.delta(gamma))) for gamma in _GAMMAS]
    return View(f"advantage {advantage}", [told], ("gamma", "delta"), rows)


@view.register
def _(trend: NumberTrend) -> View:
    count = len(trend.changes)
    changes = "no change is certain" if not count else f"{count} change{'s' * (count > 1)}"
    of = "share of " if trend.unit is None else ""
    words = f"{of}{trend_name(trend)} in {len(trend.rounds):,} rounds, {changes}"
    told = [change_sentence(trend, change, trend.unit) for change in trend.changes]
    notes = [
        band_note(trend.beta, len(trend.rounds), all_values=False),
        change_note(trend),
    ]
    columns = ("round", "reports", "estimate", "band")
    rows = [(f"{at:,}", f"{sent:,}", share, band) for at, sent, share, band in _by_round(trend)][:_SHOWN]
    return View(words, [f"{words}.", *told, *notes], columns, rows, len(trend.rounds) - len(rows))


def _by_round(trend: NumberTrend) -> Iterator[tuple[int, int, str, str]]:
    lines = zip(trend.rounds, trend.reports, trend.estimates, trend.lower, trend.upper, strict=True)
    for at, sent, estimate, low, high in lines:
        ends = amount(float(low), trend.unit, "down"), amount(float(high), trend.unit, "up")
        yield at, sent, amount(float(estimate), trend.unit), " … ".join(ends)


@view.register
def _(found: Distribution) -> View:
    count = found.edges.size
    words = f"the share of people at or below each of {count:,} numbers"
    told = (
        f"{words.capitalize()} (sampled). Intervals hold for all numbers at once, except with probability "
        f"{found.beta:g} (upper)."
    )
    step = -(-count // _SHOWN)
    rows = [
        (
            number(float(found.edges[i])),
            shown_share(float(found.curve[i]) if found.tells[i] else None),
            range_words(float(found.lower_simultaneous[i]), float(found.upper_simultaneous[i])),
        )
        for i in range(0, count, step)
    ]
    return View(words, [told], ("number", "share", "interval"), rows, count - len(rows))
