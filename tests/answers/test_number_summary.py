"""Mean and quantiles in words and as JSON, and what cannot be told."""

import json
import math

import numpy as np
import pytest

from untrackable import Bit, Buckets, Categories, Fresh, IntegerRange, NoisyInnerProduct
from untrackable.answers.answer import MOST_NUMBERS, NumberSummary, Question, number_summary
from untrackable.display.estimate import number_notes, number_rows, quantile_name, quantity
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.numbers import Outside, buckets_from_text

PEOPLE = 20_000


def summed(encoding: Encoding, held: int, *, eps: float = 5.0) -> NumberSummary | None:
    """The summary if all people hold one encoded value."""
    mechanism = Fresh(NoisyInnerProduct(bits=max(1, encoding.bits), eps=eps))
    (batch,) = mechanism.simulate(np.full(PEOPLE, held), rounds=1, seed=1)
    estimate = Question(mechanism, encoding).estimate(mechanism.aggregator().add(batch.reports), 0.05)
    return number_summary(encoding, estimate)


def times(above: Outside) -> Buckets:
    return buckets_from_text("50ms:20s:14:log", above=above)


def test_numbers_in_words() -> None:
    result = summed(times("clamp"), 6)
    assert result is not None
    mean, median, high = number_rows(result)
    assert (mean.name, median.name, high.name) == ("mean", "median", "95th percentile")
    assert mean.interval.startswith("between 5")
    assert median.interval == "between 650 ms and 1 s"
    assert "numbers above the range count as its nearest number" in number_notes(result)
    assert "(upper)" in number_notes(result)[0]
    content = result.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["quantiles"][0]["lower"] == 650


def test_numbers_out_of_range() -> None:
    result = summed(times("separate"), 14)
    assert result is not None
    assert result.mean is None
    assert [row[1:] for row in number_rows(result)] == [("out of range", "at least 20 s")] * 2
    assert number_notes(result)[-1].startswith("not given: there is no bound on the mean")
    assert result.to_json()["quantiles"][0]["value"] == "inf"
    within = summed(times("separate"), 3)
    assert within is not None
    assert number_rows(within)[0].interval == "between 180 ms and 280 ms"


def test_what_cannot_be_told() -> None:
    result = summed(IntegerRange(low=0, high=200), 5, eps=0.05)
    assert result is not None
    assert [row[1:] for row in number_rows(result)] == [("these reports cannot tell", "")] * 3
    large = summed(IntegerRange(low=0, high=MOST_NUMBERS), 5)
    assert large is not None
    assert number_rows(large) == []
    assert "at most 65,536 values" in number_notes(large)[0]


def test_exactly_one_number() -> None:
    result = summed(IntegerRange(low=0, high=3), 2)
    assert result is not None
    assert number_rows(result)[1] == ("median", "2", "exactly 2")


@pytest.mark.parametrize("encoding", [Bit(), Categories(names=["a", "b"])])
def test_other_answers_have_none(encoding: Encoding) -> None:
    assert summed(encoding, 1) is None


def test_names_and_digits() -> None:
    named = {0.5: "median", 0.95: "95th percentile", 0.01: "1st percentile", 0.11: "11th percentile"}
    named |= {0.22: "22nd percentile", 0.999: "99.9th percentile", 0.991: "99.1th percentile"}
    assert {q: quantile_name(q) for q in named} == named
    assert quantity(1234.5, "ms") == "1.23 s"
    assert quantity(1234.5, "ms", "up") == "1.24 s"
    assert quantity(1234.5, "", "down") == "1,230"
    assert quantity(math.pi * 60_000, "ms") == "3.14 min"
    assert quantity(0.0, "") == "0"


def test_infinite_numbers_are_strings_in_json() -> None:
    result = summed(times("separate"), 14)
    assert result is not None
    told = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert told["quantiles"][0]["upper"] in ("inf", result.quantiles[0].upper)
    assert told["quantiles"][1]["upper"] == "inf"
