"""JSON is read strictly, written so that every reader takes it, and nowhere else."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.strict_json import canonical, finite, parse, small_file, small_text, write

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(DOCUMENTS)
def test_what_is_written_is_read_again(document: Any) -> None:
    for text in (write(document), write(document, indent=2), write(document, compact=True, ascii=True)):
        assert parse(text) == parse(text.encode()) == document
    assert parse(canonical(document)) == document
    assert canonical(parse(canonical(document))) == canonical(document)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{} {}", "Extra data"),
        ("NaN", "NaN is not a number in JSON"),
        ("[1, Infinity]", "Infinity is not a number in JSON"),
        ("-Infinity", "-Infinity is not a number in JSON"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ('{"a": 1, "b": 2, "a": 1}', "a key occurs twice"),
        ('[{"a": {"b": 1, "b": 1}}]', "a key occurs twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5000, "digits"),
        (b"\xff", "utf-8"),
        ("{}".encode("utf-16"), "utf-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
    ],
)
def test_what_is_not_strictly_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have(number: float) -> None:
    for writing in (write, canonical):
        with pytest.raises(ValueError, match="not JSON compliant"):
            writing({"a": [number]})
    assert json.loads(write(finite({"a": (number, 1.5, 2, None, True), 3: "x"}))) == {
        "a": [str(number), 1.5, 2, None, True],
        "3": "x",
    }


def test_the_forms() -> None:
    document = {"b": [1, "ü"], "a": None}
    assert write(document) == '{"b": [1, "ü"], "a": null}'
    assert write(document, compact=True, ascii=True) == '{"b":[1,"\\u00fc"],"a":null}'
    assert write(document, indent=2).splitlines()[1] == '  "b": ['
    assert canonical(document) == '{"a":null,"b":[1,"ü"]}'.encode()


def test_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes("é\r\nb".encode())
    assert small_file(path, most=5) == "é\r\nb".encode()
    assert small_text(path) == "é\nb"
    with pytest.raises(OSError, match="it has more than 4 bytes, the most that are read"):
        small_file(path, most=4)
    with pytest.raises(OSError, match="more than 4,194,304 bytes"):
        small_file("/dev/zero")
