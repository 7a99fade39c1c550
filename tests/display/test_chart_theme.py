"""What charts share: series that coincide are all seen."""

import itertools

import pytest

from untrackable.display.chart_theme import Key, Series, line_series


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_lines_and_marks_that_coincide_are_all_seen(count: int) -> None:
    """Dashes have one period and get shorter, marks get smaller: each leaves a part of those before it."""
    series = line_series([str(i) for i in range(count)], marks=True)
    assert series[0].dash[1] == 0
    assert len({round(sum(each.dash), 9) for each in series}) == 1
    for before, after in itertools.pairwise(series):
        assert before.dash[0] - after.dash[0] >= 2
        assert before.size**0.5 - after.size**0.5 >= 1.4
    assert len({each.mark for each in series}) == len({each.colour for each in series}) == count


def test_a_legend_shows_marks_and_dashes() -> None:
    assert Series("a", "#000000", mark="diamond").sample == "diamond"
    assert Series("a", "#000000", (1, 0)).sample == "M-1.5,0L0,0M0,0L1.5,0"
    assert Series("a", "#000000", (5, 5)).sample == "M-1.5,0L-0.75,0M0,0L0.75,0"
    names = ["it's", 'a "name"', "c"]
    domain = Key(line_series(names)).legend.to_dict()["encoding"]["shape"]["scale"]["domain"]
    assert domain == names
