"""The path of a person: one number for several looks, and the tables that are asked for."""

from itertools import product
from typing import Any

import pytest

from untrackable.encodings import Bit, Categories, Choices, Encoding, IntegerRange, Path, Presence, from_json
from untrackable.errors import EncodingError

SYSTEM = Categories(names=["linux", "mac", "windows"])
SYSTEMS = Path(of=SYSTEM, looks=3)


def test_a_path_is_the_answers_one_after_the_other() -> None:
    assert SYSTEMS.bits == 3 * 2
    for raw in product(SYSTEM.names, repeat=3):
        value = SYSTEMS.encode(raw)
        encoded = [SYSTEM.encode(one) for one in raw]
        assert value == encoded[0] + 4 * encoded[1] + 16 * encoded[2] == SYSTEMS.joined(encoded)
        assert SYSTEMS.decode(value) == list(raw)
        assert SYSTEMS.stands(value)
        assert SYSTEMS.label(value) == ", ".join(f"look {i + 1}={one}" for i, one in enumerate(raw))
    assert sum(SYSTEMS.stands(value) for value in range(SYSTEMS.values)) == 27


def test_looks_and_their_neighbours_are_asked_for_in_one_report() -> None:
    asked = SYSTEMS.asked
    assert asked.views == ((0, 1, 2, 3, 4, 5),)
    names = ["look 1", "look 2", "look 3", "look 1, look 2", "look 2, look 3"]
    assert [table.name for table in asked.tables] == names
    assert [SYSTEMS.look(number) for number in (1, 2, 3)] == list(asked.tables[:3])
    for raw in product(SYSTEM.names, repeat=3):
        value = SYSTEMS.encode(raw)
        for table, looks in zip(asked.tables, ([0], [1], [2], [0, 1], [1, 2]), strict=True):
            held = [
                cell.label
                for cell in table.cells
                if sum((value >> bit & 1) << i for i, bit in enumerate(cell.bits)) == cell.entry
            ]
            assert held == [" × ".join(raw[look] for look in looks)]


def test_json_is_read_back() -> None:
    assert SYSTEMS.to_json() == {"type": "path", "version": 1, "of": SYSTEM.to_json(), "looks": 3}
    assert from_json(SYSTEMS.to_json()) == SYSTEMS
    assert hash(from_json(SYSTEMS.to_json())) == hash(SYSTEMS)
    broken: list[dict[str, Any]] = [
        {"looks": 1},
        {"looks": 9},
        {"looks": True},
        {"looks": 2.0},
        {"of": 3},
        {"of": Presence().to_json()},
        {"of": Choices(names=["a", "b"]).to_json()},
        {"of": SYSTEMS.to_json()},
    ]
    for change in broken:
        with pytest.raises(EncodingError):
            from_json({**SYSTEMS.to_json(), **change})


@pytest.mark.parametrize(("of", "looks"), [(Bit(), 16), (SYSTEM, 8), (IntegerRange(low=0, high=255), 2)])
def test_the_widest_paths(of: Encoding, looks: int) -> None:
    assert Path(of=of, looks=looks).bits == 16
    with pytest.raises(ValueError, match=r"at most 16 bits|between 2 and 16"):
        Path(of=of, looks=looks + 1)


def test_other_answers_are_refused_and_not_repeated() -> None:
    for raw in ("mac", ["mac"], ["mac"] * 4, ["mac", "mac", "secret"], 7, {"mac", "linux", "windows"}):
        with pytest.raises((TypeError, ValueError)) as refused:
            SYSTEMS.encode(raw)
        assert "secret" not in str(refused.value)
