"""What notebooks show: a short line, words and a table without scripts, everything escaped, and data frames."""

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from untrackable import Bit, Categories, Deck, audit, compare, plan
from untrackable.answers.answer import answer
from untrackable.answers.question import Question
from untrackable.discovery.discovered import Discovered, FoundString
from untrackable.display.notebook_views import fragment
from untrackable.notebook_view import NotebookTable, NotebookView
from untrackable.theory.experiment import Experiment

DECK = Deck(bits=2, slots=9, eps_report=2.0)
NAMES = Categories(names=["<b>one</b>", "two & three", "four"])


def answered() -> Any:
    sums = DECK.aggregator()
    for batch in DECK.simulate(np.arange(3000) % 3, rounds=[1], seed=1):
        sums.add(batch.reports)
    question = Question(DECK, NAMES)
    return answer(question, {1: question.prepare(sums)})


TABLES = ("audit", "comparison", "plan", "no plan")
OTHERS = ("estimate", "answer", "experiment", "nothing", "discovered")
pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results


@cache
def result(name: str) -> Any:
    if name == "audit":
        return audit(DECK, reports=4, attack=False)
    if name == "comparison":
        return compare(values=2, eps=1, reports=2, people=1000, crowd=20)
    if name == "plan":
        return plan(people=10**6, encoding=Bit(), rounds=12, eps=1.0, pooled=4)
    if name == "no plan":
        return plan(people=100, values=2, rounds=9, eps=0.1, error=0.001)
    if name == "discovered":
        strings = (FoundString(f"<i>{i}</i>", *[0.1] * (len(FoundString._fields) - 1)) for i in range(25))
        return Discovered(tuple(strings), (), 1000, 0.05, 1, 10, 0.01, 9)
    if name in ("estimate", "answer"):
        return answered().best if name == "estimate" else answered()
    return DECK.privacy() if name == "experiment" else Experiment()


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_a_short_line_and_a_fragment(name: str) -> None:
    found = result(name)
    assert isinstance(found, NotebookView)
    assert "\n" not in repr(found)
    assert len(repr(found)) < 300
    html = found._repr_html_()
    assert re.fullmatch(r"<div>(<p>.*</p>)+<table>.*</table>(<p>.*</p>)?</div>", html, re.S)
    assert not re.search(r"<(?!/?(div|p|table|thead|tbody|tr|th|td)\b)", html), "nothing but words and a table"
    assert html.count("<tr>") == html.count("</tr>") <= 60


def test_names_are_escaped_and_long_tables_cut() -> None:
    html = fragment(result("answer"))
    assert "&lt;b&gt;one&lt;/b&gt;" in html
    assert "two &amp; three" in html
    strings = fragment(result("discovered"))
    assert "&lt;i&gt;0&lt;/i&gt;" in strings
    assert "and 5 more" in strings


@pytest.mark.parametrize("name", TABLES)
def test_tables_for_data_tools(name: str) -> None:
    found = result(name)
    assert isinstance(found, NotebookTable)
    table = found.to_arrow()
    assert isinstance(table, pa.Table)
    assert pa.table(found).equals(table)
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == table.num_rows
    assert (len(frame) > 0) == (name != "no plan")


def test_the_words_are_those_of_the_command_line() -> None:
    assert "Nobody has to be trusted" in fragment(result("plan"))
    assert repr(result("plan")).startswith("<Plan: deck: ")
    assert repr(result("estimate")) == "<Estimate: 3 values from 3,000 reports>"
    assert "advantage" in fragment(result("experiment"))


def test_other_things_have_no_view() -> None:
    with pytest.raises(TypeError, match="there is no view of int"):
        fragment(3)


def test_intervals_are_rounded_outwards() -> None:
    strings = (FoundString("a", 0.1, 0.01, 0.1234567, 0.1234512, *[0.1] * (len(FoundString._fields) - 5)),)
    found = Discovered(strings, (), 1000, 0.05, 1, 10, 0.01, 9)
    ends = re.search(r"([\d.]+) to ([\d.]+) %", fragment(found))
    assert ends is not None
    (string,) = found.strings
    assert float(ends[1]) <= 100 * string.lower
    assert float(ends[2]) >= 100 * string.upper
