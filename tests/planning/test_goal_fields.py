"""The table of demands: its limits are those of the library, and its errors say which field is wrong."""

from typing import Any, get_args

import pytest

from untrackable import Goals
from untrackable.encodings.encoding import LARGEST_BITS
from untrackable.encodings.strings import MOST_LEVELS
from untrackable.planning.goal_fields import GOALS, GoalError, GoalKindError
from untrackable.settings.demands import Want
from untrackable.theory.crowd import MARGIN

ASKED: dict[str, Any] = {"people": 1000, "values": 16, "rounds": 12, "eps": 1.0}


def test_limits_are_those_of_the_library() -> None:
    assert GOALS["bits"].high == LARGEST_BITS
    assert GOALS["strings"].high == 2 * (MOST_LEVELS - 1)
    assert GOALS["want"].words == get_args(Want)
    assert Goals(**ASKED).margin == MARGIN


def test_every_demand_but_the_encoding_is_in_the_table() -> None:
    assert {"encoding", *GOALS} == set(Goals.__slots__)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"people": 0}, "people", "--people must be between 1 and 1000000000000000, got 0"),
        ({"crowd_delta": 1e-13}, "crowd_delta", "--crowd-delta must be at least 1e-12, got 1e-13"),
        ({"pooled": 13}, "pooled", "--pooled must be at most --rounds, 12, got 13"),
        ({"want": "median"}, "want", "--want must be one of frequencies, quantiles, mean, got 'median'"),
    ],
)
def test_an_error_has_the_field_and_its_value(given: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(GoalError) as raised:
        Goals(**{**ASKED, **given})
    assert (raised.value.field, raised.value.value) == (field, given[field])
    assert raised.value.worded(lambda name: GOALS[name].option) == said


def test_a_wrong_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="simultaneous must be True or False, not int") as raised:
        Goals(**{**ASKED, "simultaneous": 1})
    assert isinstance(raised.value, GoalKindError)
