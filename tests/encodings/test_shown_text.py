"""Names and questions cannot forge or hide what stands around them, and scripts that need joiners have them."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.samples import campaign
from untrackable import Bit, Categories, DiscoveredStrings
from untrackable.encodings.encoding import Choices, check_shown, from_json, hidden_places
from untrackable.encodings.record import Record
from untrackable.errors import EncodingError

ACTING = [
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    0x61C,
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xE000,
    0xFEFF,
    0xE0041,
]
"""Controls, line ends, everything that changes the direction of text, and what cannot be seen."""


@pytest.mark.parametrize("code", [code for code in ACTING if unicodedata.category(chr(code)) != "Cn"])
def test_acting_characters_are_refused_wherever_they_stand(code: int) -> None:
    for text in (chr(code), f"a{chr(code)}b", f"می{chr(code)}خواهم"):
        with pytest.raises(ValueError, match=f"must not contain control .* has U\\+{code:04X}$"):
            check_shown("name", text)


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "?",
        "🙂",
        "naïve",
        "a\u0302\u0323",
        "ས\u0f92\u0f90\u0fb5\u0fb1\u0f72\u0f83",
        "בְּ֭",
        "a\u2800b",
        "ㅤa",
        "Ελλάδα",
        "日本語\u3000東京",
        "שלום עולם",
        "می\u200cخواهم",
        "क्\u200dष",
        "ক্\u200cষ",
        "👩\u200d🔬",
        "🏳\ufe0f\u200d🌈",
        "👩🏽\u200d🔬",
        "Fumez-vous\u00a0?",
    ],
)
def test_words_of_all_scripts_are_shown(text: str) -> None:
    assert check_shown("name", text) == text


@pytest.mark.parametrize(
    "text", ["y\u200des", "\u200cخ", "خ\u200c", "\u200d", "a \u200c b", "да\u200dнет", "👩\u200d"]
)
def test_joiners_that_no_script_needs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"U\+200[CD]"):
        check_shown("name", text)


def test_vowel_signs_may_stand_before_a_joiner_and_long_texts_are_read_once() -> None:
    assert hidden_places("مِ\u200cخ") == []
    assert hidden_places("خ\u200c" * 200_000) == [399_999]


@given(st.text())
def test_what_is_not_hidden_is_on_one_line(text: str) -> None:
    hidden = set(hidden_places(text))
    shown = "".join(mark for place, mark in enumerate(text) if place not in hidden)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(mark) in ("Cc", "Co", "Zl", "Zp") for mark in shown)


FORGED = "a\n(exact) Nobody can be followed"


def test_texts_of_encodings_are_checked_when_made_and_when_read() -> None:
    for make in (
        lambda: Categories(names=["a", FORGED]),
        lambda: Bit(one=FORGED),
        lambda: Bit(zero="\x1b[2J"),
        lambda: Record(attributes={"a": Bit(), FORGED: Bit()}),
        lambda: DiscoveredStrings(alphabet="ab\u202e", longest=4, prefixes=(2, 4), bucket_bits=12, salt=bytes(16)),
    ):
        with pytest.raises(ValueError, match="must not contain control characters"):
            make()
    described = Categories(names=["a", "b"]).to_json()
    with pytest.raises(EncodingError, match="names must not contain control characters"):
        from_json({**described, "names": ["a", FORGED]})
    assert DiscoveredStrings(alphabet="اب\u200c", longest=4, prefixes=(2, 4), bucket_bits=12, salt=bytes(16)).values


UNSEEN = [
    "",
    " ",
    "\u00a0",
    "\u2003\u3000",
    "\u3164",
    "\uffa0",
    "\u115f\u1160",
    "\u2800",
    "\ufe0f",
    "\u034f",
    "\u0301\u0302",
]
"""Nothing, blanks, fillers, signs without a shape, and accents without a letter."""


@pytest.mark.parametrize("text", UNSEEN)
def test_names_have_something_to_see(text: str) -> None:
    makers: list[Callable[[], object]] = [
        lambda: check_shown("name", text),
        lambda: Categories(names=["yes", text]),
        lambda: Choices(names=["yes", text]),
        lambda: Bit(one=text),
        lambda: Record(attributes={"size": Bit(), text: Bit()}),
        lambda: campaign(question=text or "\u00a0"),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="must have something to see"):
            make()
    with pytest.raises(EncodingError, match="must have something to see"):
        from_json({"type": "bit", "version": 1, "zero": "no", "one": text})


def test_every_blank_of_python_and_every_mark_alone_is_nothing_to_see() -> None:
    for code in range(0x11000):
        mark = chr(code)
        if mark.isspace() or unicodedata.category(mark) in ("Mn", "Mc", "Me", "Zs"):
            with pytest.raises(ValueError, match=r"must (have something to see|not contain control)"):
                check_shown("name", mark)


def test_heaps_of_accents_are_refused() -> None:
    assert check_shown("name", "a" + "\u0301" * 6 + "b" + "\u0301" * 6)
    for text in ("a" + "\u0301" * 7, "a" + "\u0301" * 300, "a" + "\u0301\u20dd\u0903" * 3):
        with pytest.raises(ValueError, match="name must have at most 6 accents or signs on one letter"):
            check_shown("name", text)
