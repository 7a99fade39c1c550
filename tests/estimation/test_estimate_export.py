"""Cells of CSV files: no spreadsheet runs them, and they can be read again."""

import math
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untrackable.csv_cells import csv_cell, csv_text

BLANKS = st.text(st.sampled_from(" \t\r\n\xa0\u2003\u200b\u200d\u2060\ufeff\u3000\u3164\u2800\x00\x1f"), max_size=4)
SIGNS = st.sampled_from("=+-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2212")


@given(BLANKS, SIGNS, st.text())
@example("", "=", "1+1")
@example("", "+", "cmd|x")
@example(" ", "=", "1+1")
@example("", "\uff1d", "1+1")
def test_no_text_begins_with_a_sign_whatever_is_before_it(blanks: str, sign: str, rest: str) -> None:
    text = f"{blanks}{sign}{rest}"
    if not rest.isascii() or not rest.replace(".", "").isdigit():  # Numbers stay numbers.
        made = csv_cell(text)
        assert made in (f"'{text}", text)
        assert made[0] == "'" or math.isfinite(float(text))
    assert csv_text(csv_cell(text)) == text


@given(st.text(st.one_of(st.characters(), st.sampled_from("'= +-@\t\uff1d"))))
def test_every_text_can_be_read_again_and_harmless_ones_stay(text: str) -> None:
    made = csv_cell(text)
    assert csv_text(made) == text
    if unicodedata.category(text[:1] or "a")[0] in "LN" and text[:1] not in "\u115f\u1160\u3164\uffa0":
        assert made == text


@pytest.mark.parametrize("start", ["\t", "\r", "\n"])
def test_texts_that_begin_with_the_end_of_a_cell(start: str) -> None:
    assert csv_cell(f"{start}a") == f"'{start}a"


@given(st.one_of(st.floats(allow_nan=False), st.integers(), st.booleans()))
def test_numbers_stay_numbers(number: float) -> None:
    assert csv_cell(number) is number
    if (isinstance(number, float) and math.isfinite(number)) or type(number) is int:
        assert csv_cell(str(number)) == str(number)
    assert csv_cell(math.nan) is None
    assert csv_cell("-0.5") == "-0.5"
    assert csv_cell("-5 to 0") == "'-5 to 0"
