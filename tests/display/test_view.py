"""What notebooks show: a short line, and words and a table without scripts, everything escaped."""

import re

import pytest

from tests.display.notebook_results import OTHERS, TABLES, result
from untrackable.discovery.discovery import Discovered, FoundString
from untrackable.display.view import view_of
from untrackable.notebook_view import NotebookView

pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_a_short_line_and_a_fragment(name: str) -> None:
    outcome = result(name)
    assert isinstance(outcome, NotebookView)
    assert "\n" not in repr(outcome)
    assert len(repr(outcome)) < 200
    html = outcome._repr_html_()
    assert re.fullmatch(r"<div>(<p>.*</p>)+<table>.*</table>(<p>.*</p>)?</div>", html, re.S)
    assert not re.search(r"<(?!/?(div|p|table|thead|tbody|tr|th|td)\b)", html), "nothing but words and a table"
    assert html.count("<tr>") == html.count("</tr>") <= 60


def test_names_are_escaped_and_long_tables_cut() -> None:
    html = result("answer")._repr_html_()
    assert "&lt;b&gt;one&lt;/b&gt;" in html
    assert "two &amp; three" in html
    strings = result("discovered")._repr_html_()
    assert "&lt;i&gt;0&lt;/i&gt;" in strings
    assert "and 6 more" in strings, "25 strings and a lead"


def test_the_words_are_those_of_the_command_line() -> None:
    assert "Nobody has to be trusted" in result("plan")._repr_html_()
    assert repr(result("plan")).startswith("<Plan: About 83,333 people answer one round: ")
    together = result("together")
    assert repr(together) == "<QuestionSet: 2 questions in one campaign, with one turn for all of them>"
    assert "&lt;i&gt;size&lt;/i&gt;" in together._repr_html_()
    assert repr(result("estimate")) == "<Estimate: 3 values from 3,000 reports>"
    assert "advantage" in result("experiment")._repr_html_()


def test_other_things_have_no_view() -> None:
    with pytest.raises(TypeError, match="there is no view of int"):
        view_of(3)


def test_intervals_are_rounded_outwards() -> None:
    strings = (FoundString("a", 0.1, 0.01, 0.1234567, 0.1234512, *[0.1] * (len(FoundString._fields) - 5)),)
    result = Discovered(strings, (), 1000, 0.05, 1, 10, 0.01, 9)
    ends = re.search(r"([\d.]+) … ([\d.]+) %", result._repr_html_())
    assert ends is not None
    (string,) = result.strings
    assert float(ends[1]) <= 100 * string.lower
    assert float(ends[2]) >= 100 * string.upper
