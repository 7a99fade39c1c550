"""Several answers at once: sets of names as bits."""

import pytest

from untrackable.encodings import Choices, from_json
from untrackable.encodings.encoding import from_text
from untrackable.errors import EncodingError

FEATURES = Choices(names=["search", "export", "share"])


def test_a_set_is_a_bit_for_each_name() -> None:
    assert FEATURES.values == 8
    assert FEATURES.bits == 3
    assert FEATURES.encode(["share", "search", "share"]) == 0b101
    assert FEATURES.encode(()) == 0
    assert FEATURES.decode(0b110) == ("export", "share")
    assert FEATURES.label(0) == "none of them"
    for value in range(8):
        assert FEATURES.encode(FEATURES.decode(value)) == value
    assert from_text(FEATURES, " export ,search") == ["export", "search"]
    assert from_text(FEATURES, "") == []


def test_its_table_has_one_cell_for_each_name() -> None:
    asked = FEATURES.asked
    assert asked.views == ((0,), (1,), (2,))
    (table,) = asked.tables
    assert [(cell.label, cell.bits, cell.entry) for cell in table.cells] == [
        ("search", (0,), 1),
        ("export", (1,), 1),
        ("share", (2,), 1),
    ]
    with pytest.raises(ValueError, match="table must be choices, which has every share that was asked for"):
        asked.named("search")


def test_json_makes_it_again() -> None:
    assert from_json(FEATURES.to_json()) == FEATURES
    assert hash(from_json(FEATURES.to_json())) == hash(FEATURES)
    with pytest.raises(EncodingError):
        from_json({**FEATURES.to_json(), "more": 1})


@pytest.mark.parametrize("wrong", ["secret", ["search", "secret"], 5, None, {"search": True}, [1]])
def test_what_is_wrong_is_refused_and_not_repeated(wrong: object) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        FEATURES.encode(wrong)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("names", [["a"], [], ["a", "a"], "ab", [f"{i}" for i in range(257)], ["a", "b\n"]])
def test_a_list_of_names_is_checked(names: list[str]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Choices(names=names)
