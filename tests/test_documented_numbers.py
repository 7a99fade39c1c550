"""Numbers in documents: wrong, misplaced, wrongly rounded and unexplained ones are refused."""

import pytest

from tests.documented_numbers import NumberError, check_page, unexplained

PAGE = """# A page

<!-- computed with:
from fractions import Fraction
from untrackable.brackets import Bracket
third = 1 / 3
limit = 8 * 2**20
-->

{text}

<!-- computed: {claim} -->
"""


def check(text: str, claim: str) -> None:
    check_page(PAGE.format(text=text, claim=claim))


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("It is 0.333 wide.", "0.333 = third"),
        ("It is ±0.34.", "±0.34 >= third"),
        ("It is 33.3 %.", "33.3 % <= third"),
        ("It is 33.4 %\n of all.", "33.4 % of all >= third"),
        ("It is 1/3.", "1/3 = str(Fraction(1, 3))"),
        ("At most 8 MiB.", "8 MiB = limit"),
        ("Some 8,400,000 bytes.", "8,400,000 bytes = float(limit)"),
        ("It is 8.4·10⁶.", "8.4·10⁶ = float(limit)"),
        ("It is 3.4e-07.", "3.4e-07 >= third * 1e-6"),
        ("Seven of them.", "Seven = 7"),
        ("| 0.33 | 66.7 % |", "0.33 | 66.7 % = third, 2 * third"),
        ("Between 0.2 and 0.5.", "0.2 and 0.5 = 0.2, 0.5"),
        ("It is 1.", "1 >= 1 + 1e-15"),
        ("It is 0.25.", "0.25 = Bracket(0.2499, 0.2501)"),
        ("It is 0.26.", "0.26 >= Bracket(0.2499, 0.2501)"),
        ("It is 0.24.", "0.24 <= Bracket(0.2499, 0.2501)"),
        ("It is 0.7.", "0.7 = Fraction(2, 3)"),
        ("It is 0.3.\n\n<!-- given: 0.3 -->", "0.3 = third"),
    ],
)
def test_right_numbers_are_taken(text: str, claim: str) -> None:
    check(text, claim)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("It is 0.334.", "0.334 = third"),
        ("It is 0.33.", "0.33 >= third"),
        ("It is 0.35.", "0.35 >= third"),
        ("It is 0.34.", "0.34 <= third"),
        ("It is 33.3.", "33.3 = third"),
        ("It is 33 KiB.", "33 KiB = limit"),
        ("It is 8,388,000.", "8,388,000 = limit"),
        ("It is 9,000,000.", "9,000,000 = float(limit)"),
        ("It is 100.", "100 = 106.0"),
        ("| 0.33 | 0.67 |", "0.33 | 0.67 = 2 * third, third"),
        ("| 0.33 | 0.67 |", "0.33 | 0.67 = [third]"),
        ("It is a third.", "a third = third"),
        ("Six.", "Six = 7"),
        ("It is 1/3.", "1/3 = '1/2'"),
        ("It is 0.25.", "0.25 = Bracket(0.2, 0.25)"),
        ("It is 0.25.", "0.25 >= Bracket(0.2499, 0.2501)"),
    ],
)
def test_wrong_numbers_are_refused(text: str, claim: str) -> None:
    with pytest.raises(NumberError, match="is shown, and"):
        check(text, claim)


@pytest.mark.parametrize("text", ["It is 0.3.", "It is 0.3333.", "It is 10.333.", "It is 0.333.\n\nThen it ends."])
def test_a_number_must_be_in_the_text_above(text: str) -> None:
    with pytest.raises(NumberError, match=r"'0\.333' is not in the text above"):
        check(text, "0.333 = third")


@pytest.mark.parametrize("page", ["It.\n\n<!-- computed: 0.3 -->", "<!-- given: 0.3 -->"])
def test_comments_that_say_nothing_are_refused(page: str) -> None:
    with pytest.raises(NumberError, match=r"line [13]"):
        check_page(page)


def test_names_are_those_of_the_blocks_above() -> None:
    block = "```python\nhalf = 0.5\nprint(half)  # {said}\n```\n"
    check_page(f"{block.format(said='0.5')}\nIt is 50 %.\n\n<!-- computed: 50 % = half -->\n")
    with pytest.raises(NameError):
        check_page(f"It is 50 %.\n\n<!-- computed: 50 % = half -->\n\n{block.format(said='0.5')}")
    with pytest.raises(AssertionError, match=r"prints '0\.5'"):
        check_page(block.format(said="0.6"))


def test_outputs_of_commands_can_be_computed_with() -> None:
    shown = "<!-- printed by: untrackable x -->\n\n    off by\n    0.1 (upper)\n"
    page = shown + "\nFrom 0.4 on.\n\n<!-- computed: 0.4 = {} -->"
    check_page(page.format("0.5 - printed('off by')"))
    with pytest.raises(NumberError, match="no command"):
        check_page(page.format("0.5 - printed('up by')"))


@pytest.mark.parametrize(
    "result",
    ["0.25", "5 %", "±3", "×4", "4×", "30 times", "1e-06", "3·10⁶", "64 KiB", "12 bytes", "7 seconds", "1 ms"],
)
def test_results_must_say_where_they_come_from(result: str) -> None:
    text = f"Shares are off by at most {result} here."
    assert len(unexplained(text)) == 1
    assert len(unexplained(f"| a | {result} |")) == 1
    assert len(unexplained(f"```python\nwidth(3)  # at most {result}\n```")) == 1
    assert unexplained(f"{text}\n\n<!-- computed: {result} = found -->") == []
    assert unexplained(f"{text}\n\n<!-- published: {result} = A. Author 1999 -->") == []
    assert unexplained(f"{text}\n\n<!-- given: 17, {result} -->") == []
    assert len(unexplained(f"{text}\n\nMore.\n\n<!-- given: {result} -->")) == 1, "it is about another paragraph"


def test_what_blocks_say_may_be_repeated() -> None:
    block = "```python\nhalf = width(0.7)\nprint(half)  # 0.5 — not 0.125\n```"
    assert unexplained(f"{block}\n\nThat is 0.5, or 50 %, of 0.7.") == ["line 1: 0.125"]
    assert len(unexplained(f"{block}\n\nThat is 0.6.")) == 2
    shown = "<!-- printed by: untrackable x -->\n\n    off by 7 %\n"
    assert unexplained(f"{shown}\nThat is 0.07, or 7 %.") == []


@pytest.mark.parametrize(
    "text", ["100,000 people, 12 rounds", "RFC 9458", "2^24", "pure-ldp 1.2.0", "`0.5`", "127.0.0.1"]
)
def test_other_numbers_need_no_comment(text: str) -> None:
    assert unexplained(text) == []
