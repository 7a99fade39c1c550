"""Results as columns for data tools. Numbers are numbers, and a column says how certain they are."""

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from untrackable.answers.number_trend import NumberTrend
from untrackable.auditing.comparison import Comparison
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.auditing.mechanism_audit import Audit
from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.brackets import Bracket
from untrackable.discovery.discovered import Discovered, FoundString
from untrackable.display import audit_words, client_audit_words
from untrackable.display.delta_curve import delta_curve
from untrackable.display.numbers import known_ends
from untrackable.estimation.ordered_values import Distribution
from untrackable.planning.forecast import Promise
from untrackable.planning.plans import Plan
from untrackable.planning.question_set import QuestionSet
from untrackable.rappor_decode.decode_result import Candidate, Decoded
from untrackable.theory.world_pair import WorldPair

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["bool", "float64", "int64", "string", "texts"]


class Column(NamedTuple):
    """A column: what is in it, in the names of Arrow's types (or several texts), and a value for each row."""

    kind: Kind
    values: list[Any]


Columns = dict[str, Column]
T = TypeVar("T")


def arrow_array(column: Column) -> "pa.Array":
    """A column as an Arrow array of its kind, also if nothing in it is known."""
    import pyarrow as pa

    types = {"texts": pa.list_(pa.string())}
    return pa.array(column.values, type=types.get(column.kind, column.kind))


@singledispatch
def columns_of(result: object) -> Columns:
    """The numbers of a result, as columns. None stands for what is not known."""
    raise TypeError(f"there is no table of {type(result).__name__}")


@columns_of.register
def _(audit: Audit | TurnsAudit) -> Columns:
    lines = audit_words.lines(audit)
    certainties = ["bracket" if line.certainty == "exact up to ±" else line.certainty for line in lines]
    return {
        "about": _texts(line.heading for line in lines),
        "number": _texts(line.what for line in lines),
        "estimate": _floats(line.estimate for line in lines),
        "lower": _floats(line.lower for line in lines),
        "upper": _floats(line.upper for line in lines),
        "certainty": _texts(certainties),
        "meaning": _texts(line.meaning for line in lines),
    }


@columns_of.register
def _(audit: FileAudit) -> Columns:
    found = audit.attacks.values()
    return {
        "followed_by": _texts(audit.attacks),
        "how": _texts(each.similarity for each in found),
        "advantage_lower": _floats(each.lower for each in found),
        "advantage_sampled": _floats(each.sampled for each in found),
        "level": _floats(each.level for each in found),
        "one_person_recognised_sampled": _floats(each.same.sampled for each in found),
        "two_taken_for_one_sampled": _floats(each.different.sampled for each in found),
    }


@columns_of.register
def _(audit: ClientAudit) -> Columns:
    rows = client_audit_words.measures(audit)
    return {
        "what": _texts(row.what.replace(" ", "_") for row in rows),
        "reports": _counts(row.reports for row in rows),
        "lower": _floats(row.lower for row in rows),
        "sampled": _floats(row.sampled for row in rows),
        "claimed": _floats(row.claimed for row in rows),
        "level": _floats(audit.level for _ in rows),
    }


@columns_of.register
def _(comparison: Comparison) -> Columns:
    rows = comparison.rows
    return {
        "mechanism": _texts(row.name for row in rows),
        "private_for_ever": _truths(row.lasts for row in rows),
        **_ends("recognised", rows, lambda row: row.recognised),
        **_ends("recognised_with_attendance", rows, lambda row: row.attended),
        **_ends("tracking_advantage", rows, lambda row: row.tracking.advantage),
        **_ends("tracking_gamma", rows, lambda row: row.tracking.gamma),
        **_ends("change_noticed", rows, lambda row: row.noticed),
        **_ends("eps", rows, lambda row: row.privacy.gamma),
        **_ends("eps_in_crowd", rows, lambda row: row.in_crowd.eps),
        **_ends("eps_changing_values", rows, lambda row: row.privacy_any),
        **_ends("eps_one_report", rows, lambda row: row.one_report),
        "error_one_round_exact": _floats(row.standard_error for row in rows),
        "error_all_rounds_exact": _floats(row.all_rounds for row in rows),
        "radius_one_round_upper": _floats(row.radius for row in rows),
        "one_dishonest_report_exact": _floats(row.shift for row in rows),
        "parameters": _texts(row.mechanism for row in rows),
    }


@columns_of.register
def _(plan: Plan) -> Columns:
    named = {
        "figure": plan.figure,
        "one round": plan.one_round,
        "quarter": plan.quarter,
        "all rounds": plan.all_rounds,
    }
    return _promises("figure_of", list(named), list(named.values()))


@columns_of.register
def _(together: QuestionSet) -> Columns:
    kinds = ("figure", "one_round", "quarter", "all_rounds")
    rows = [(part.name, kind.replace("_", " "), getattr(part, kind)) for part in together.parts for kind in kinds]
    questions = {"question": _texts(name for name, _, _ in rows)}
    return {**questions, **_promises("figure_of", [kind for _, kind, _ in rows], [found for *_, found in rows])}


def _promises(name: str, kinds: list[str], promises: list[Promise]) -> Columns:
    return {
        name: _texts(kinds),
        "rounds": _counts(each.rounds for each in promises),
        "reports": _floats(each.reports for each in promises),
        "fewest_reports": _counts(each.fewest for each in promises),
        "standard_error": _floats(each.standard_error for each in promises),
        "standard_error_certainty": _texts(each.certainty for each in promises),
        "error_upper": _floats(each.radius_upper for each in promises),
        "error_of_any_answer_upper": _floats(each.widest_upper for each in promises),
    }


@columns_of.register
def _(decoded: Decoded) -> Columns:
    kinds: dict[str, Kind] = {"name": "string", "alike": "texts", "found": "bool"}
    fields = {
        name: Column(kinds.get(name, "float64"), [getattr(one, name) for one in decoded.candidates])
        for name in Candidate.__slots__
    }
    told = _truths(one.share is not None for one in decoded.candidates)
    shares = _floats(one.share for one in decoded.candidates)
    return {**fields, "proportion": shares, "tells": told, "unclamped": fields["proportion"]}


@columns_of.register
def _(discovered: Discovered) -> Columns:
    found = [*discovered.strings, *discovered.leads]
    return {
        "string": _texts(each.string for each in found),
        "frequency": _floats(each.share for each in found),
        "tells": _truths(each.share is not None for each in found),
        "unclamped": _floats(each.frequency for each in found),
        **{name: _floats(getattr(each, name) for each in found) for name in FoundString._fields[2:]},
        "certain": _truths(place < len(discovered.strings) for place in range(len(found))),
    }


@columns_of.register
def _(trend: NumberTrend) -> Columns:
    errors = [None] * len(trend.rounds) if trend.standard_errors is None else trend.standard_errors
    return {
        "round": _counts(trend.rounds),
        "reports": _counts(trend.reports),
        "estimate": _floats(None if isnan(each) else each for each in trend.estimates.tolist()),
        "tells": _truths(not isnan(each) for each in trend.estimates.tolist()),
        "standard_error": _floats(errors),
        "lower": _floats(trend.lower),
        "upper": _floats(trend.upper),
    }


@columns_of.register
def _(found: Distribution) -> Columns:
    names = ("standard_error", "lower", "upper", "lower_simultaneous", "upper_simultaneous")
    tells = found.tells.tolist()
    shown = {"share": found.shares.clip(0, 1), "curve": found.curve}
    return {
        "number": _floats(found.edges),
        **{
            name: _floats(share if told else None for share, told in zip(shares, tells, strict=True))
            for name, shares in shown.items()
        },
        "tells": _truths(tells),
        "unclamped": _floats(found.shares),
        **{name: _floats(getattr(found, name)) for name in names},
    }


@columns_of.register
def _(pair: WorldPair) -> Columns:
    curve = delta_curve(pair)
    return {
        "gamma": _floats(point.gamma for point in curve),
        **_ends("delta", curve, lambda point: point.delta),
    }


def _ends(name: str, rows: Sequence[T], of: Callable[[T], Bracket | None]) -> Columns:
    """Three columns of one number: both ends, as far as they are known, and the certainty."""
    found = [of(row) for row in rows]
    known = [(None, None) if each is None else known_ends(each) for each in found]
    return {
        f"{name}_lower": _floats(lower for lower, _ in known),
        f"{name}_upper": _floats(upper for _, upper in known),
        f"{name}_certainty": _texts(None if each is None else each.certainty for each in found),
    }


def _texts(values: Iterable[str | None]) -> Column:
    return Column("string", list(values))


def _floats(values: Iterable[float | None]) -> Column:
    return Column("float64", list(values))


def _counts(values: Iterable[int | None]) -> Column:
    return Column("int64", list(values))


def _truths(values: Iterable[bool]) -> Column:
    return Column("bool", list(values))
