"""What an observer achieves: two worlds told apart, with delta by gamma (the privacy profile); people followed."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from untrackable.auditing.attacks import PEOPLE, Followed
from untrackable.brackets import Bracket
from untrackable.display import charts
from untrackable.display.charts import alt
from untrackable.display.numbers import number, percent, range_words, said
from untrackable.display.view import Chart, Table, View, ends, floats, make_charts, make_view
from untrackable.theory.experiment import WorldPair

SMALLEST_DELTA = 1e-9
"""The smallest delta that is shown."""
_GAMMAS = 61
_FARTHEST = 20.0
"""The largest gamma that is shown where delta never falls below the smallest."""


class DeltaPoint(NamedTuple):
    """Delta at one gamma."""

    gamma: float
    delta: Bracket


def delta_curve(pair: WorldPair) -> list[DeltaPoint]:
    """Delta from gamma = 0 to where there is nothing beyond, or too little to be shown."""
    small = pair.gamma(SMALLEST_DELTA).upper
    end = small if math.isfinite(small) else min(pair.pure(), _FARTHEST)
    gammas = np.linspace(0.0, end if end > 0 else 1.0, _GAMMAS).tolist()
    return [DeltaPoint(gamma, pair.delta(gamma)) for gamma in gammas]


@make_view.register
def _(pair: WorldPair) -> View:
    advantage = pair.advantage()
    told = (
        f"Two worlds that an observer tells apart with an advantage of {advantage} over a guess. Delta is how far "
        "the odds can exceed the factor e^gamma."
    )
    rows = [(number(gamma), str(pair.delta(gamma))) for gamma in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)]

    def data() -> dict[str, Any]:
        curve = delta_curve(pair)
        return {"gamma": floats(at.gamma for at in curve), **ends("delta", curve, lambda at: at.delta)}

    return View(
        title=f"advantage {advantage}",
        sentences=[told],
        tables=[Table(("gamma", "delta"), rows)],
        data=data,
    )


_RATES = 201
_WITHIN = "(exact, within the width of the line)"
_SMALL = 0.01
"""If delta falls below this, its axis is logarithmic."""
_BETWEEN = charts.square("where it lies: at least, at most", "#c5dbec")


@make_charts.register
def _(pair: WorldPair, top: int) -> list[Chart]:
    """The bracket of delta(gamma), and below it how often one world is recognised at what price."""
    return [_delta_chart(pair), _trade_off(pair, pair.advantage())]


def _delta_chart(pair: WorldPair) -> Chart:
    curve = delta_curve(pair)
    deltas = [point.delta for point in curve]
    highest, lowest = (most(delta.upper for delta in deltas) for most in (max, min))
    logarithmic = highest > 0 and lowest < _SMALL
    wide = _is_wide(deltas) and pair.has_lower_end
    rows = [
        {
            "gamma": point.gamma,
            "delta": point.delta.upper,
            "low": max(point.delta.lower, SMALLEST_DELTA / 10) if logarithmic else point.delta.lower,
        }
        for point in curve
        if point.delta.upper > 0 or not logarithmic
    ]
    ends = [SMALLEST_DELTA, 2.0] if logarithmic else [0.0, 1.0]
    scale = alt.Scale(type="log" if logarithmic else "linear", domain=ends, nice=False, clamp=True)
    base = charts.points(rows).encode(x=alt.X("gamma:Q", title="gamma", scale=alt.Scale(nice=False)))
    axis = alt.Axis(tickCount=5, format=".0e" if logarithmic else ".4~g")
    line = base.mark_line(color=charts.BLUE, strokeWidth=2)
    layers = [line.encode(y=alt.Y("delta:Q", title="delta", scale=scale, axis=axis))]
    series = [charts.Series(_certainty(deltas), charts.BLUE)]
    if wide:
        area = base.mark_area(color=charts.BLUE, opacity=0.25).encode(y=alt.Y("delta:Q", scale=scale), y2="low:Q")
        layers.insert(0, area)
        series.append(_BETWEEN)
    title = "How far the odds can exceed the factor e^gamma: delta"
    return Chart(name="deltas", title=title, drawing=charts.legended(layers, series, 230))


def _certainty(deltas: list[Bracket]) -> str:
    at_most = _is_wide(deltas) or any(delta.certainty == "upper" for delta in deltas)
    return "delta, at most (upper)" if at_most else f"delta {_WITHIN}"


def _is_wide(deltas: list[Bracket]) -> bool:
    """Whether a picture shows that the two ends differ."""
    return any(delta.upper > SMALLEST_DELTA and delta.upper > 1.02 * delta.lower for delta in deltas)


def _trade_off(pair: WorldPair, advantage: Bracket) -> Chart:
    curve = pair.roc(_RATES)
    exact = pair.has_lower_end and float(np.max(curve.upper - curve.lower)) < 0.01
    ends = zip(curve.fpr.tolist(), curve.upper.tolist(), curve.lower.tolist(), strict=True)
    base = charts.points([{"rate": rate, "power": upper, "low": lower} for rate, upper, lower in ends])
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("rate:Q", title="Q taken for P (false positives)", scale=unit)
    y = alt.Y("power:Q", title="P recognised (true positives)", scale=unit)
    best = f"the best observer {_WITHIN}" if exact else "any observer, at most (upper)"
    layers, series = [], [charts.Series(best, charts.BLUE)]
    if pair.has_lower_end and not exact:
        layers.append(base.mark_area(color=charts.BLUE, opacity=0.25).encode(x=x, y=y, y2="low:Q"))
        series.append(_BETWEEN)
    layers.append(base.mark_line(color=charts.BLUE, strokeWidth=2).encode(x=x, y=y))
    guess = charts.Series("guessing (exact)", charts.NEUTRAL, (4, 4))
    diagonal = charts.points([{"rate": 0, "power": 0}, {"rate": 1, "power": 1}])
    layers.append(diagonal.mark_line(color=charts.NEUTRAL, strokeDash=[4, 4], strokeWidth=1.5).encode(x=x, y=y))
    series.append(guess)
    if advantage.upper > 0:
        at = float(curve.fpr[int(np.argmax(curve.upper - curve.fpr))])
        gap = charts.points([{"rate": at, "power": at + advantage.upper, "low": at}])
        layers.append(gap.mark_rule(color=charts.INK, strokeWidth=2).encode(x=x, y=y, y2="low:Q"))
        series.append(charts.Series(f"the advantage: {said(advantage)}", charts.INK, mark=charts.WHISKER))
    title = f"The best observer's trade-off: advantage {said(advantage)}"
    return Chart(name="roc", title=title, drawing=charts.legended(layers, series, 380))


# --- people who are followed from one place to another, by a mechanism and by one that it is compared with ---

_TINY = 1e-4


def followed_words(own: list[Followed], rival: list[Followed]) -> list[str]:
    """The answer in two sentences, from the attack with the most reports on people with the same value."""
    sentences = []
    for name, measured in (("this campaign", own), ("RAPPOR", rival)):
        last = max((point for point in measured if not point.different), key=lambda point: point.reports)
        many = f"{last.reports} report{'s' * (last.reports > 1)} from each of two places"
        limit = "" if last.bound is None else f"; at most {percent(last.bound.upper, 'up')} is possible, upper"
        sentences.append(
            f"With {name}, an attack that has {many} matches {percent(last.matched.sampled)} of {PEOPLE} people "
            f"who hold the same value (sampled{limit}; a guess: {percent(1 / PEOPLE)})."
        )
    return sentences


def followed_rows(followed: list[Followed]) -> dict[tuple[int, bool], tuple[str, str]]:
    """What the attack matched (sampled), and what is possible (upper), by reports and whether values differ."""
    return {
        (point.reports, point.different): (
            f"{percent(point.matched.sampled)} ({_range(point)})",
            "" if point.bound is None else f"≤ {percent(point.bound.upper, 'up')}",
        )
        for point in followed
    }


def _range(point: Followed) -> str:
    """The interval of a sampled share. A lower end that is next to nothing is 0."""
    lower = 0.0 if point.matched.lower < _TINY else point.matched.lower
    return range_words(lower, point.matched.upper)


ACROSS = "reports from each of two places"
_UP = f"matched among {PEOPLE} (sampled)"
_APART = charts.Series("people with different values", charts.NEUTRAL, (5, 4))
_GUESS, _INTERVAL = (
    charts.Series("a guess", charts.NEUTRAL, (2, 3)),
    charts.Series("95 % interval", charts.NEUTRAL, mark=charts.WHISKER),
)
_ASIDE = 0.09
"""How far lines stand beside each other, so that no interval hides another, in powers of two of the axis."""


def following_chart(followed: Sequence[Followed]) -> Chart:
    """Each mechanism in its colour, people with the same value as a line and with different ones dashed."""
    drawing = Matches(tuple(followed))
    return Chart(name="following", title="Who is followed", drawing=drawing, detailed=True)


class Matches(NamedTuple):
    """What attacks matched, by the number of reports, both on logarithmic axes."""

    points: tuple[Followed, ...]
    lowest: float = 0.5 / PEOPLE
    """Where the axis of shares begins: a share of zero is drawn here."""

    def names(self) -> list[str]:
        """The names of the mechanisms, in order."""
        return list(dict.fromkeys(point.name for point in self.points))

    def rows(self) -> list[dict[str, Any]]:
        """Each attack with its place on both axes. Those of one number of reports stand beside each other."""
        lines = [(name, different) for name in self.names() for different in (False, True)]
        places = {of: 2 ** (_ASIDE * (i - (len(lines) - 1) / 2)) for i, of in enumerate(lines)}
        return [
            {
                "line": _line_name(point.name, point.different),
                "x": point.reports * places[point.name, point.different],
                "reports": point.reports,
                "y": max(point.matched.sampled, self.lowest),
                "share": point.matched.sampled,
                "low": max(point.matched.lower, self.lowest),
                "high": point.matched.upper,
                "bound": None if point.bound is None else point.bound.upper,
            }
            for point in self.points
        ]

    def lines(self) -> list[charts.Series]:
        """How the line of each mechanism looks, for people with the same value and with different ones."""
        return [
            charts.Series(
                _line_name(name, different),
                charts.COLOURS[i % len(charts.COLOURS)],
                (5, 4) if different else (1, 0),
                "square" if different else "circle",
                40,
            )
            for i, name in enumerate(self.names())
            for different in (False, True)
        ]

    def legend(self) -> list[charts.Series]:
        """What every line and mark means."""
        return [*self.lines()[::2], _APART, _INTERVAL, _GUESS]

    def altair(self) -> Any:
        key = charts.Key(self.lines(), self.legend()[-3:], shown=[each.name for each in self.legend()])
        up = alt.Scale(type="log", domain=[self.lowest, 1.0], nice=False)
        base = charts.points(self.rows()).encode(
            x=alt.X(
                "x:Q",
                title=ACROSS,
                scale=alt.Scale(type="log", base=2, nice=False, padding=12),
                axis=alt.Axis(values=sorted({point.reports for point in self.points}), format="d"),
            ),
            tooltip=[
                alt.Tooltip("line:N"),
                alt.Tooltip("reports:Q", title=ACROSS),
                alt.Tooltip("share:Q", title="matched (sampled)", format=".3~g"),
                alt.Tooltip("bound:Q", title="at most (upper)", format=".3~g"),
            ],
        )
        share = alt.Y("y:Q", title=_UP, scale=up, axis=alt.Axis(tickCount=6, format="~g"))
        reach = key.coloured(base.mark_rule(strokeWidth=1.5, opacity=0.6)).encode(
            y=alt.Y("low:Q", scale=up), y2="high:Q"
        )
        rule = key.rule(_GUESS.name, 1 / PEOPLE)
        return alt.layer(reach, *key.lines(base.encode(y=share)), rule, key.legend).properties(height=280)


def _line_name(name: str, different: bool) -> str:
    return f"{name}, different values" if different else name
