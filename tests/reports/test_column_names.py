import pytest

from untrackable.reports.files import are_names, column_words


@pytest.mark.parametrize("cells", [["id", "report"], ["User", "irr", "Start-up time (ms)"], [" value", "größe"]])
def test_names_are_recognised(cells: list[str]) -> None:
    assert are_names(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [],
        ["alice", "home"],
        ["user", "17"],
        ["report", ""],
        ["report", "x" * 41],
        ["4f1d00aa", "report"],
        ["user", "alice@example.org"],
    ],
)
def test_what_may_be_data_is_not_taken_for_names(cells: list[str]) -> None:
    assert not are_names(cells)


def test_words_say_which_columns_there_are_or_how_many() -> None:
    assert column_words(["id", "report"], shown=True) == "its columns are id, report"
    assert column_words([], shown=True) == "its columns are none"
    assert column_words(["alice", "home"], shown=False) == "its first line has 2 columns, which may not be names"
    assert column_words(["alice"], shown=False) == "its first line has 1 column, which may not be names"
