"""Tables, days of use and trends of data that nobody here made: what is stated holds, and is not too wide.

Some of the data are asked many times over. Seeds are fixed.
"""

import dataclasses
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.real_data import CONTINENTS, City, cities, flights
from tests.seen_spread import BETA, TIMES, check_promise, check_width, most_misses
from untrackable import Categories, Deck, Fading, IntegerRange
from untrackable.answers.answer import Answer, Question, active_shares, answer, returned_shares
from untrackable.answers.trend import NumberTrend, mean_trend, quantile_trend
from untrackable.display.campaign import campaign_accuracy
from untrackable.encodings import Choices, Record
from untrackable.encodings.days_of_use import ACTIVE_DAYS, RETENTION, DaysOfUse
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.fading import Faded
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, Guarantee

PEOPLE = 1500
SIZES = ("below 50,000", "below 200,000", "below a million", "larger")
CITY = Record(
    attributes={"continent": Categories(names=CONTINENTS), "size": Categories(names=SIZES)},
    tables=[("continent", "size")],
)


def reports_of(made: Any, held: NDArray[Any], rounds: list[int]) -> NDArray[Any]:
    seed = zlib.crc32(repr((made, held.size)).encode())
    return np.concatenate([batch.reports for batch in made.simulate(held, rounds=rounds, seed=seed)])


def estimates(made: Any, question: Question, held: NDArray[Any], round: int) -> Iterator[Estimate]:
    """The same people, asked many times."""
    for part in np.split(reports_of(made, np.tile(held, TIMES), [round]), TIMES):
        yield question.estimate(question.prepare(made.aggregator(round)).add(part), BETA)


def check_shares(result: list[Estimate], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unbiased; intervals hold for each share and for all; radii and standard errors are as they must be."""
    shares = np.array([estimate.frequencies for estimate in result])
    errors = shares - truth
    assert np.all(np.abs(errors.mean(axis=0)) <= 5 * errors.std(axis=0) / len(result) ** 0.5)
    alone = np.array([estimate.radius for estimate in result])
    together = np.array([estimate.simultaneous_radius for estimate in result])
    assert np.all((np.abs(errors) > alone).sum(axis=0) <= most_misses())
    assert np.any(np.abs(errors) > together, axis=1).sum() <= most_misses()
    check_width(alone[0], errors, by="Poisson")
    check_width(together[0], errors, together=truth.size, by="Poisson")
    said = np.sqrt(np.mean([estimate.standard_error**2 for estimate in result], axis=0))
    check_width(np.sqrt(2 * np.log(2 / BETA)) * said, errors)
    return errors


def check_campaign(made: Any, encoding: Any, *tables: NDArray[np.float64]) -> None:
    """The error that `campaign new` promises for as many people is kept, for all shares of all tables at once.

    With one table, 20 % less would not be kept. With several, 28 % less would not, in the one that is known least
    well.
    """
    promise = Guarantee(eps=1e4, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0)
    asked = Campaign(
        question="What?",
        encoding=encoding,
        randomizer=made,
        first_round=0,
        round_seconds=86_400,
        rounds=1,
        guarantee=promise,
    )
    accuracy, errors = campaign_accuracy(asked, PEOPLE), np.concatenate(tables, axis=1)
    missed = np.any(np.abs(errors) > accuracy.error_upper, axis=1)
    assert missed.sum() <= most_misses(beta=accuracy.beta)
    worst = max(tables, key=lambda table: float(table.var(axis=0).mean()))
    tight = accuracy.error_upper * (1.0 if len(tables) == 1 else 0.9)
    check_promise(tight, worst, beta=accuracy.beta, together=errors.shape[1], by="Poisson")


@cache
def destinations() -> tuple[tuple[str, ...], list[set[str]]]:
    """The eight most frequent destinations, and where each of some planes flew in July."""
    july = flights()[flights()["month"] == 7]
    names = tuple(july["dest"].value_counts().index[:8])
    flown = [set(result) & set(names) for _, result in july.groupby("tailnum")["dest"]]
    return names, flown[:PEOPLE]


@pytest.mark.parametrize("fades", [False, True])
def test_where_planes_flew(fades: bool) -> None:
    """Many choices at once: each report is about one destination."""
    names, flown = destinations()
    encoding = Choices(names=names)
    views = Views.single_bits(bits=encoding.bits, eps=1.0)
    made: Any = Faded(local=views, eps=4.0, delta=1e-3) if fades else Dealt(views, 3)
    truth = np.array([np.mean([name in one for one in flown]) for name in names])
    result = list(estimates(made, Question(made, encoding), encoding.encode_many(flown), 1 + fades))
    errors = check_shares(result, truth)
    if not fades:
        check_campaign(made, encoding, errors)


def city_class(city: City) -> dict[str, str]:
    return {
        "continent": city.continent,
        "size": SIZES[np.searchsorted([50_000, 200_000, 1_000_000], city.people, "right")],
    }


def test_cities_by_continent_and_size() -> None:
    """A table of two attributes, and the table of each of them."""
    some = [city_class(city) for city in cities()[:: len(cities()) // PEOPLE]]
    assert CITY.asked is not None
    made = Dealt(Views(bits=CITY.bits, views=CITY.asked.views, eps=1.0), 3)
    reports, errors = reports_of(made, np.tile(CITY.encode_many(some), TIMES), [1]), []
    for table in ("continent, size", "continent", "size"):
        question = Question(made, CITY, table=table)
        result = [question.estimate(made.aggregator(1).add(part), BETA) for part in np.split(reports, TIMES)]
        kept = table.split(", ")
        labels = [" × ".join(city[name] for name in kept) for city in some]
        truth = np.array([labels.count(label) / len(some) for label in result[0].values or ()])
        assert truth.sum() == pytest.approx(1)
        errors.append(check_shares(result, truth))
    check_campaign(made, CITY, *errors)


@cache
def planes() -> dict[str, tuple[int, ...]]:
    """The days on which each plane flew."""
    return {plane: tuple(sorted(set(days))) for plane, days in flights().groupby("tailnum")["day_number"]}


def held_answers(encoding: Any, today: int) -> list[Any]:
    """What the devices of some planes answer on a day. Those that flew in January had flown before."""
    begin = min(days[0] for days in planes().values())
    answers = []
    for days in planes().values():
        past = [day for day in days if day <= today]
        if past:
            kept = DaysOfUse.begun(past[0], newcomer=past[0] >= begin + 31)
            for day in past[1:]:
                kept = kept.used(day)
            answers.append(kept.answer(encoding, today))
    return answers


def answered(made: Any, encoding: Any, part: NDArray[Any]) -> Answer:
    sums = {i + 1: made.aggregator(i + 1).add(part[:, i]) for i in range(part.shape[1])}
    return answer(Question(made, encoding), sums, beta=BETA)


@pytest.mark.parametrize("made", [Deck(bits=5, slots=1, eps_report=3.0), Dealt(Views.prefixes(bits=5, eps=3.0), 1)])
def test_active_days_of_planes(made: Any) -> None:
    """On how many of the last 28 days did planes leave New York, at the end of June?"""
    today, times = min(days[0] for days in planes().values()) + 180, 100
    held = np.array(held_answers(ACTIVE_DAYS, today))
    counted = np.array(
        [sum(today - 28 < day <= today for day in days) for days in planes().values() if days[0] <= today]
    )
    assert np.array_equal(held, counted)
    missed = 0
    for part in np.split(reports_of(made, np.tile(ACTIVE_DAYS.encode_many(held), times), [1]), times):
        result = active_shares(answered(made, ACTIVE_DAYS, part), beta=BETA)
        missed += any(not share.lower <= (held >= share.days).mean() <= share.upper for share in result)
    assert missed <= most_misses(times)
    assert all(share.tells for share in result)


def test_planes_that_come_back() -> None:
    """Of the planes that first left New York after January, who left again 1, 7 and 28 days later?"""
    begin, times = min(days[0] for days in planes().values()), 100
    today = begin + 300
    held = RETENTION.encode_many(held_answers(RETENTION, today))
    truth = {}
    for after in (1, 7, 28):
        known = [days for days in planes().values() if begin + 31 <= days[0] < today - after]
        truth[after] = np.mean([days[0] + after in days for days in known])
    made, missed = Deck(bits=RETENTION.bits, slots=1, eps_report=4.0), 0
    for part in np.split(reports_of(made, np.tile(held, times), [1]), times):
        result = returned_shares(answered(made, RETENTION, part), beta=BETA)
        missed += any(not share.lower <= truth[share.days] <= share.upper for share in result)
    assert missed <= most_misses(times)


MONTHS = 6
FLIGHTS = IntegerRange(low=0, high=15, above="clamp")


@cache
def flown_by_month() -> NDArray[np.int64]:
    """How often each of some planes left New York in each of six months. More than 15 times counts as 15."""
    counts = flights().groupby(["tailnum", "month"]).size().unstack(fill_value=0)
    kept = counts[(counts > 0).sum(axis=1) >= 9].to_numpy()[:, 6 : 6 + MONTHS]
    some: NDArray[np.int64] = np.minimum(kept[np.linspace(0, len(kept) - 1, PEOPLE).astype(np.int64)], 15)
    return some


TREND_MECHANISMS = [
    Deck(bits=4, slots=MONTHS, eps_report=2.0, width=1),
    Dealt(Views.prefixes(bits=4, eps=1.0), MONTHS),
    Fading(bits=4, eps=12.0, delta=1e-3, width=1),
]


def trends(result: Answer) -> dict[str, NumberTrend]:
    return {"mean": mean_trend(result, beta=BETA), "median": quantile_trend(result, 0.5, beta=BETA)}


@pytest.mark.parametrize(
    ("made", "still"), [(TREND_MECHANISMS[i], still) for i, still in ((0, True), (0, False), (1, False), (2, True))]
)
def test_trends_of_flights(made: Any, still: bool) -> None:
    """Bands hold for all months together, and changes that are named are real."""
    held, times = flown_by_month(), 120
    if still:
        held = held[:, :1].repeat(MONTHS, axis=1)
    truth = {"mean": held.mean(axis=0), "median": np.sort(held, axis=0)[-(-PEOPLE // 2) - 1].astype(float)}
    missed, wrong, named = (dict.fromkeys(truth, 0) for _ in range(3))
    means, too_narrow = [], 0
    for part in np.split(reports_of(made, np.tile(held, (times, 1)), list(range(1, MONTHS + 1))), times):
        months = answered(made, FLIGHTS, part)
        for name, result in trends(months).items():
            missed[name] += bool(np.any((truth[name] < result.lower) | (truth[name] > result.upper)))
            named[name] += bool(result.changes)
            wrong[name] += any(_is_wrong(change, truth[name]) for change in result.changes)
        result = mean_trend(months, beta=BETA)
        means.append(result.estimates)
        too_narrow += still and bool(mean_trend(_narrowed(months), beta=BETA).changes)
    assert max(missed.values()) <= most_misses(times)
    assert max(wrong.values()) <= most_misses(times)
    assert named == wrong or not still
    radius = (result.upper - result.lower) / 2
    assert np.all((result.lower > 0) & (result.upper < 15))
    check_width(1.0, ((np.array(means) - truth["mean"]) / radius).reshape(-1), together=MONTHS)
    assert not still or too_narrow > most_misses(times)  # With half the radius, changes would be wrong too often.


def _narrowed(months: Answer) -> Answer:
    """The same estimates, as if their errors were half as large."""

    def half(estimate: Estimate) -> Estimate:
        spread = estimate.spread
        return dataclasses.replace(estimate, spread=LinearSpreads(lambda weights: spread.of(weights).scaled(0.5)))

    return dataclasses.replace(months, rounds={month: half(result) for month, result in months.rounds.items()})


@pytest.mark.parametrize("made", TREND_MECHANISMS[:2], ids=["deck", "views"])
def test_planes_fly_less_in_autumn(made: Any) -> None:
    """With enough reports, the change of the mean in the log is found."""
    held = np.tile(flown_by_month(), (40, 1))
    mean = mean_trend(answered(made, FLIGHTS, reports_of(made, held, list(range(1, MONTHS + 1)))))
    assert mean.changes
    assert not mean.changes[0].rose
    assert not any(_is_wrong(change, held.mean(axis=0)) for change in mean.changes)


def _is_wrong(change: Any, truth: NDArray[np.float64]) -> bool:
    """Rounds weigh the same. A mixture's quantile lies between those of its rounds."""
    before, after = (truth[first - 1 : last] for first, last in (change.before, change.after))
    least, most = after.min() - before.max(), after.max() - before.min()
    inside = change.lower <= most + 1e-9 and change.upper >= least - 1e-9
    return not (inside and np.ptp(truth[change.first - 1 : change.last]) > 0)
