"""Numbers in documents: wrong, misplaced, wrongly rounded and unexplained ones are refused."""

import pytest

from tests.documented_numbers import NumberError, check_page, unexplained

PAGE = """# A page

{text}

## More
"""
NUMBERS = """# A page
    from fractions import Fraction
    from untrackable.brackets import Bracket

    third = 1 / 3
    limit = 8 * 2**20
{origin}
"""


def check(text: str, origin: str) -> None:
    check_page(PAGE.format(text=text), NUMBERS.format(origin=origin))


@pytest.mark.parametrize(
    ("text", "origin"),
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
        ("It is 0.3.", "given: 0.3\n0.3 = third"),
        ("```python\nx = 3  # a third is 0.333\n```", "0.333 = 1 / x"),
    ],
)
def test_right_numbers_are_taken(text: str, origin: str) -> None:
    check(text, origin)


@pytest.mark.parametrize(
    ("text", "origin"),
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
def test_wrong_numbers_are_refused(text: str, origin: str) -> None:
    with pytest.raises(NumberError, match="is shown, and"):
        check(text, origin)


@pytest.mark.parametrize("text", ["It is 0.3.", "It is 0.3333.", "It is 10.333.", "It is.\n\n## Next\n\n0.333"])
def test_an_origin_is_of_a_number_in_its_section(text: str) -> None:
    with pytest.raises(NumberError, match=r"'0\.333' is not below '# A page'"):
        check(text, "0.333 = third")


@pytest.mark.parametrize("text", ["    0.333", "```python\nx = 0.333\n```", "```text\n0.333\n```"])
def test_numbers_of_code_need_no_origin(text: str) -> None:
    with pytest.raises(NumberError, match="is not below"):
        check(text, "0.333 = third")


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ("# A page\n0.3", 2),
        ("0.3 = 0.3", 1),
        ("# Another page\n0.3 = 0.3", 1),
        ("## More\n# A page\n0.3 = 0.3", 2),
        ("# A page\n```\ngiven: 0.3", 2),
    ],
)
def test_a_file_that_does_not_follow_the_page_is_refused(numbers: str, line: int) -> None:
    with pytest.raises(NumberError, match=rf"^line {line}:"):
        check_page(PAGE.format(text="It is 0.3."), numbers)


def test_headings_within_code_are_none() -> None:
    page = "# A page\n\n```python\n# A page\n```\n\nIt is 0.3.\n"
    check_page(page, "# A page\n0.3 = 0.3")
    with pytest.raises(NumberError, match="no heading"):
        check_page(page, "# A page\n# A page\n0.3 = 0.3")


def test_names_are_those_of_the_blocks_above() -> None:
    block = "```python\nhalf = 0.5\nprint(half)  # {said}\n```\n"
    check_page(f"# One\n\n{block.format(said='0.5')}\n# Two\n\nIt is 50 %.", "# Two\n50 % = half")
    with pytest.raises(NameError):
        check_page(f"# One\n\nIt is 50 %.\n\n# Two\n\n{block.format(said='0.5')}", "# One\n50 % = half")
    with pytest.raises(AssertionError, match=r"prints '0\.5'"):
        check_page(block.format(said="0.6"))


def test_outputs_of_commands_can_be_computed_with() -> None:
    page = "# A\n\n<!-- printed by: untrackable x -->\n\n    off by\n    0.1 (upper)\n\nFrom 0.4 on.\n"
    check_page(page, "# A\n0.4 = 0.5 - printed('off by')")
    with pytest.raises(NumberError, match="no command"):
        check_page(page, "# A\n0.4 = 0.5 - printed('up by')")


@pytest.mark.parametrize(
    "result",
    ["0.25", "5 %", "±3", "×4", "4×", "30 times", "1e-06", "3·10⁶", "64 KiB", "12 bytes", "7 seconds", "1 ms"],
)
def test_results_must_say_where_they_come_from(result: str) -> None:
    text = f"# A\n\nShares are off by at most {result} here."
    assert len(unexplained(text)) == 1
    assert len(unexplained(f"| a | {result} |")) == 1
    assert len(unexplained(f"```python\nwidth(3)  # at most {result}\n```")) == 1
    assert unexplained(text, f"# A\n{result} = width") == []
    assert unexplained(text, f"# A\npublished: {result} = A. Author 1999") == []
    assert unexplained(text, f"# A\ngiven: 17, {result}") == []
    assert len(unexplained(f"{text}\n# B\n", f"# B\ngiven: {result}")) == 1, "it is about another section"


def test_a_changed_digit_is_noticed_on_either_side() -> None:
    page, numbers = "# A\n\nIt is 0.333.", "# A\n0.333 = 1 / 3"
    check_page(page, numbers)
    assert unexplained(page, numbers) == []
    for changed in ("0.334", "0.332", "0.33", "0.3333"):
        assert unexplained(page.replace("0.333", changed), numbers)
        assert unexplained(page, numbers.replace("0.333", changed))
        with pytest.raises(NumberError):
            check_page(page.replace("0.333", changed), numbers)
        with pytest.raises(NumberError):
            check_page(page, numbers.replace("0.333", changed))


def test_printed_numbers_may_be_repeated() -> None:
    block = "```python\nhalf = width(0.7)\nprint(half)  # 0.5 — not 0.125\n```"
    assert unexplained(f"{block}\n\nThat is 0.5, or 50 %, of 0.7.") == ["line 1: 0.125"]
    assert len(unexplained(f"{block}\n\nThat is 0.6.")) == 2
    shown = "<!-- printed by: untrackable x -->\n\n    off by 7 %\n"
    assert unexplained(f"{shown}\nThat is 0.07, or 7 %.") == []


@pytest.mark.parametrize(
    "text", ["100,000 people, 12 rounds", "RFC 9458", "2^24", "pure-ldp 1.2.0", "`0.5`", "127.0.0.1"]
)
def test_other_numbers_need_no_origin(text: str) -> None:
    assert unexplained(text) == []
