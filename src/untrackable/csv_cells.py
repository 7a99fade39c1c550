"""Cells of CSV files that no spreadsheet runs as formulas (CSV injection)."""

import math
import re
import unicodedata
from typing import Any

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SIGNS = frozenset("=+-@\u2212")
"""The characters that formulas begin with, and the minus sign of typesetters."""
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters that nobody sees. Other blanks are known by their category."""
_BREAKS = frozenset("\t\r\n")
"""Characters that a spreadsheet may take for the end of a cell, so that the next one begins with a sign."""


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet runs. Every table that is written as CSV has its cells from here.

    Spreadsheets take a text for a formula if it begins with =, +, - or @. They skip blanks and invisible characters
    before it, and read full-width signs as these. People who answer may choose such a text. It gets an apostrophe
    in front, and `csv_text` takes it away again. Numbers stay numbers, also those that are written as text. NaN is
    an empty cell.
    """
    if isinstance(value, float) and math.isnan(value):
        return None
    return f"'{value}" if isinstance(value, str) and _runs(value.lstrip("'")) else value


def csv_text(cell: str) -> str:
    """The text that `csv_cell` made this cell of."""
    return cell[1:] if cell.startswith("'") and _runs(cell.lstrip("'")) else cell


def _runs(text: str) -> bool:
    """Whether a spreadsheet might run this text."""
    if _NUMBER.fullmatch(text):
        return False
    seen = next((each for each in text if each not in _BLANKS and unicodedata.category(each)[0] not in "ZCM"), "")
    return text[:1] in _BREAKS or unicodedata.normalize("NFKC", seen)[:1] in _SIGNS
