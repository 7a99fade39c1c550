"""Randomizers make the reports of the golden vectors, and are a part of the mechanisms of the same names."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.accounting.test_client_check import BASES
from tests.recorded_entropy import Recorded
from untrackable import randomizers
from untrackable.errors import MechanismError
from untrackable.estimation.aggregators import LARGEST_DENSE_BITS
from untrackable.mechanisms import interface
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh, Present, RandomizedResponse
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.string_levels import Levelled
from untrackable.randomizers.interface import FORMS
from untrackable.randomizers.views import LARGEST_LEVEL_BITS

VECTORS = Path(__file__).parent.parent / "vectors"
EVERY_GROUP = [
    group
    for file in sorted(VECTORS.glob("*.json"))
    for group in json.loads(file.read_text(encoding="utf-8"))["groups"]
]
GROUPS = [group for group in EVERY_GROUP if FORMS.knows(json.loads(group["mechanism"]))]


def dealt_base(group: dict[str, Any]) -> Any:
    """The base of a group of vectors for decks, if clients know it."""
    described = json.loads(group["mechanism"])
    as_fresh = {"mechanism": "fresh", "base": described.get("base")}
    known = described["mechanism"] == "dealt" and FORMS.knows(as_fresh)
    return randomizers.from_json(as_fresh).base if known else None  # type: ignore[attr-defined]


EVERY_BASE = [*BASES, Present(), Levelled(NoisyInnerProduct(bits=2, eps=1.0), 2)]


def test_every_base_has_vectors() -> None:
    named = {json.loads(group["mechanism"])["base"]["mechanism"] for group in GROUPS}
    dealt = {FORMS.describe(base)["mechanism"] for base in map(dealt_base, EVERY_GROUP) if base is not None}
    assert named | dealt == FORMS.bases.keys() - {"present"}  # It draws nothing.


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["mechanism"])
def test_golden_vectors(group: dict[str, Any]) -> None:
    made = randomizers.from_json(json.loads(group["mechanism"]))
    assert made.to_json() == json.loads(group["mechanism"])
    for case in group["cases"]:
        entropy = Recorded(bytes.fromhex(case["entropy"]))
        state, reports = made.new_state(int(case["value"]), entropy), []
        assert made.pack_state(state) == bytes.fromhex(case["state"])[12:-4]
        for round, change in zip(case["rounds"], case["changes"], strict=True):
            if change is not None:
                state = made.change_value(state, int(change), entropy)
            report, state = made.make_report(made.unpack_state(made.pack_state(state)), round, entropy)
            reports.append(str(report))
            assert made.base.possible(report)  # type: ignore[attr-defined]
        assert reports == case["reports"]
        assert entropy.used == len(case["entropy"]) // 2


@pytest.mark.parametrize(
    "group", [each for each in EVERY_GROUP if dealt_base(each)], ids=lambda group: group["mechanism"]
)
def test_golden_cards(group: dict[str, Any]) -> None:
    """A deck draws all its cards first, one after the other."""
    base, slots = dealt_base(group), json.loads(group["mechanism"])["slots"]
    for case in group["cases"]:
        entropy = Recorded(bytes.fromhex(case["entropy"]))
        cards = [base.draw(int(case["value"]), entropy) for _ in range(slots)]
        for round, change, report in zip(case["rounds"], case["changes"], case["reports"], strict=True):
            if change is not None:
                break
            assert str(cards[(round - 1) % slots]) == report


@pytest.mark.parametrize("base", EVERY_BASE, ids=repr)
def test_a_client_has_a_part_of_the_mechanism(base: Local) -> None:
    """It describes itself in the same way, and knows the same loss: no less than the engine's."""
    whole = Fresh(base)
    part = whole.client_part()
    assert type(part) is randomizers.Fresh
    assert repr(part) == repr(whole)
    assert part.to_json() == whole.to_json()
    assert part.client_part() is part
    assert interface.whole(part) == whole
    assert interface.whole(whole) is whole
    assert (part.capacity, part.report_bits) == (whole.capacity, whole.report_bits)
    loss = part.loss_of_one_report
    assert loss == whole.loss_of_one_report
    assert loss is not None
    assert loss >= abs(base.privacy_factor().loss).max() * (1 - 1e-15)
    reports = range(-1, min(1 << base.report_bits, 4096) + 1)
    assert [part.base.possible(report) for report in reports] == [base.possible(report) for report in reports]


def test_a_base_that_clients_do_not_know_stays_whole() -> None:
    class Own(RandomizedResponse):
        __slots__ = ()

    whole = Fresh(Own(eps=1.0))
    assert whole.client_part() is whole
    with pytest.raises(MechanismError, match="Own has no description"):
        whole.to_json()
    with pytest.raises(TypeError, match=r"base must be a local mechanism, .* not Fresh"):
        randomizers.Fresh(whole)  # type: ignore[arg-type]


def test_what_is_known_is_known_by_all_its_names() -> None:
    known = Fresh(RandomizedResponse(eps=1.0)).to_json()
    assert FORMS.knows(known)
    unknown: object
    for unknown in (None, [], {}, {**known, "mechanism": "deck"}, {**known, "base": {"mechanism": "numbered-bit"}}):
        assert not FORMS.knows(unknown)
    deeper = {"mechanism": "fresh", "base": {"mechanism": "levelled", "base": {"mechanism": "count-mean-sketch"}}}
    assert not FORMS.knows(deeper)


def test_levels_have_as_many_sums_as_servers_keep() -> None:
    assert LARGEST_LEVEL_BITS == LARGEST_DENSE_BITS
