"""Several attributes of a person: one number, and the tables that are asked for."""

from itertools import product

import pytest

from untrackable.encodings import Bit, Categories, Choices, IntegerRange, Record, from_json
from untrackable.encodings.encoding import from_text
from untrackable.errors import EncodingError

SYSTEM = Categories(names=["linux", "mac", "windows"])
AGE = IntegerRange(low=0, high=4, above="clamp")
PERSON = Record(attributes={"system": SYSTEM, "dark": Bit(), "age": AGE})


def test_a_record_is_its_attributes_one_after_the_other() -> None:
    assert PERSON.bits == 2 + 1 + 3
    for system, dark, age in product(SYSTEM.names, (0, 1), range(5)):
        raw = {"system": system, "dark": dark, "age": age}
        value = PERSON.encode(raw)
        assert value == SYSTEM.encode(system) + 4 * dark + 8 * age
        assert PERSON.decode(value)["system"] == system
        assert f"system={system}" in PERSON.label(value)
    assert PERSON.encode({"system": "mac", "dark": 0, "age": 90}) == 1 + 8 * 4
    assert from_text(PERSON, "system=mac, dark=1, age=3") == {"system": "mac", "dark": 1, "age": 3}


def test_every_two_attributes_are_asked_for_unless_tables_are_given() -> None:
    asked = PERSON.asked
    assert asked.views == ((0, 1, 2), (0, 1, 3, 4, 5), (2, 3, 4, 5))
    assert [table.name for table in asked.tables] == [
        "system, dark",
        "system, age",
        "dark, age",
        "system",
        "dark",
        "age",
    ]
    assert asked.cells == 3 * 2 + 3 * 5 + 2 * 5 + 3 + 2 + 5
    one = Record(attributes={"system": SYSTEM, "dark": Bit(), "age": AGE}, tables=[["system", "dark"], ["age"]])
    assert [table.name for table in one.asked.tables] == ["system, dark", "age", "system", "dark"]
    with pytest.raises(ValueError, match="others were not asked for"):
        one.asked.named("dark, age")


def test_cells_are_the_people_whose_bits_they_say() -> None:
    """Every record is in exactly one cell of every table: the one of its labels."""
    asked = PERSON.asked
    for system, dark, age in product(SYSTEM.names, (0, 1), range(5)):
        value = PERSON.encode({"system": system, "dark": dark, "age": age})
        labels = {"system": system, "dark": Bit().label(dark), "age": str(age)}
        for table in asked.tables:
            held = []
            for cell in table.cells:
                entry = sum((value >> bit & 1) << i for i, bit in enumerate(cell.bits))
                held += [cell.label] * (entry == cell.entry)
            assert held == [" × ".join(labels[name] for name in table.name.split(", "))]


def test_json_keeps_the_order_of_attributes() -> None:
    assert from_json(PERSON.to_json()) == PERSON
    assert hash(from_json(PERSON.to_json())) == hash(PERSON)
    turned = Record(attributes={"dark": Bit(), "system": SYSTEM, "age": AGE})
    assert turned != PERSON
    for broken in ({"attributes": 3}, {"tables": [["system", "nothing"]]}, {"attributes": [{"name": "x"}]}):
        with pytest.raises(EncodingError):
            from_json({**PERSON.to_json(), **broken})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"system": "mac", "dark": 1}, "lacks age"),
        ({"system": "mac", "dark": 1, "age": 3, "secret": 1}, "1 attributes that are not asked for"),
        ({"system": "secret", "dark": 1, "age": 3}, r"^system: .*not shown"),
        ({"system": "mac", "dark": 1, "age": "secret"}, "^age: "),
        ("secret", "must map the names"),
    ],
)
def test_what_is_wrong_is_refused_and_not_repeated(wrong: object, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said) as refused:
        PERSON.encode(wrong)
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="an attribute must be one of"):
        from_text(PERSON, "secret=1")
    with pytest.raises(ValueError, match="has system more than once"):
        from_text(PERSON, "system=mac, system=linux, dark=1, age=3")
    with pytest.raises(ValueError, match=r"^age: value must be an integer") as refused:
        from_text(PERSON, "system=mac, dark=1, age=secret")
    assert "secret" not in str(refused.value)


def test_attributes_and_tables_are_checked() -> None:
    for attributes, tables in (
        ({"a": Bit()}, ()),
        ({"a": Bit(), "b, c": Bit()}, ()),
        ({"a": Bit(), "b": Choices(names=["x", "y"])}, ()),
        ({"a": Bit(), "b": Bit()}, [["b", "a"]]),
        ({"a": Bit(), "b": Bit()}, [["a", "a"]]),
        ({"a": Bit(), "b": Bit()}, [["a"], ["a"]]),
        ({"a": Bit(), "b": Bit()}, [[]]),
        ({"a": IntegerRange(low=0, high=999), "b": IntegerRange(low=0, high=999)}, ()),
    ):
        with pytest.raises((ValueError, TypeError)):
            Record(attributes=attributes, tables=tables)
