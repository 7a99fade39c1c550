"""Mechanisms as JSON: equal when they come back, and nothing else is taken."""

import inspect
import json
from typing import Any

import pytest

from untrackable import (
    Dealt,
    Deck,
    Fading,
    Fresh,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Stored,
    mechanisms,
)
from untrackable.errors import MechanismError
from untrackable.mechanisms import CountMeanSketch, HadamardSketch, Votes, interface
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.fixed_vector import NumberedBit, VectorQuestion
from untrackable.mechanisms.interface import FORMS, Mechanism, from_json
from untrackable.mechanisms.local import OneBitMean, SubsetSelection
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.views import Views
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget

BASES: list[Local] = [
    NoisyInnerProduct(bits=5, eps=0.1),
    NoisyInnerProduct(bits=5, eps=4.0),
    NoisyInnerProduct(bits=200, eps=1.0, width=1),
    RandomizedResponse(eps=1.25),
    CountMeanSketch(hashes=5, width=16, eps=2.0, values=9),
    HadamardSketch(hashes=5, width=16, eps=2.0),
    NumberedBit(bits=3, eps=1.0, people=50, width=1),
    VectorQuestion(bits=3, eps=1.0, width=1),
    SubsetSelection(values=9, eps=1.0),
    Views.single_bits(bits=200, eps=1.0),
    Views.prefixes(bits=5, eps=1.0, width=2, weights=(5, 4, 3, 2, 1)),
    OneBitMean(values=101, eps=0.5),
    Divided(sizes=(1, 6), eps=6.0, weights=(3, 4)),
]


def catalogue() -> dict[str, Mechanism]:
    found: dict[str, Mechanism] = {}
    for entry in CATALOGUE.values():
        found |= {f"{entry.name}-{name}": make() for name, make in entry.presets.items()}
        if entry.name not in ("fixed-vector-fresh", "rarely"):
            found[entry.name] = entry.for_budget(Budget(values=2 if entry.yes_no else 16, reports=4))
    found["rarely"] = CATALOGUE["rarely"].make(eps=1.0, chance=0.25)
    found["fixed-vector-fresh"] = CATALOGUE["fixed-vector-fresh"].make(bits=3, eps=1.0)
    for base in BASES:
        for kept in (Fresh(base), Memoized(base), Stored(base, 3), Dealt(base, 3, "replay")):
            found[repr(kept)] = kept
    return found


MECHANISMS = catalogue()


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_comes_back_equal(name: str) -> None:
    mechanism = MECHANISMS[name]
    written = json.dumps(mechanism.to_json(), allow_nan=False)
    back = from_json(json.loads(written))
    assert back == mechanism
    assert type(back) is type(mechanism)
    assert repr(back) == repr(mechanism)  # which states and sums are sealed with
    assert json.dumps(back.to_json()) == written


def test_every_public_mechanism_has_a_description() -> None:
    kinds = [getattr(mechanisms, name) for name in mechanisms.__all__]
    wanted = {k.__name__ for k in kinds if inspect.isclass(k) and (issubclass(k, Mechanism) or hasattr(k, "draw"))}
    homes = {
        home.rpartition(".")[2] for home in (*interface.FORMS.mechanisms.values(), *interface.FORMS.bases.values())
    }
    assert wanted - {"Mechanism"} <= homes


def test_names_are_those_of_the_catalogue_where_the_parameters_are() -> None:
    for entry in CATALOGUE.values():
        if inspect.isclass(entry.make):
            assert MECHANISMS[entry.name].to_json()["mechanism"] == entry.name


DECK = Deck(bits=4, slots=3, eps_report=0.5).to_json()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ([], "must be a JSON object"),
        ({}, "mechanism must be one of assigned, "),
        ({"mechanism": "poker"}, "mechanism must be one of"),
        ({"mechanism": ["deck"]}, "mechanism must be one of"),
        ({**DECK, "suits": 4}, "deck has no field 'suits'"),
        ({key: value for key, value in DECK.items() if key != "slots"}, "deck lacks slots"),
        ({**DECK, "bits": 0}, "deck: bits must be between"),
        ({**DECK, "bits": "4"}, "deck: bits must be an integer"),
        ({**DECK, "bits": True}, "deck: bits must be an integer, not bool"),
        ({**DECK, "bits": 4.0}, "deck: bits must be an integer"),
        ({**DECK, "eps_report": None}, "deck: eps_report must be a number"),
        ({**DECK, "when_empty": "shuffle"}, "deck: when_empty must be one of"),
        (NoisyInnerProduct, "must be a JSON object"),
        (FORMS.describe(NoisyInnerProduct(bits=3, eps=1.0)), "mechanism must be one of assigned"),
        ({"mechanism": "fresh", "base": DECK}, "mechanism must be one of count-mean-sketch"),
        ({"mechanism": "fresh", "base": 3}, "fresh: base must be a local mechanism"),
        ({**Fading(bits=2, eps=1.0, delta=1e-6).to_json(), "scale": 0}, "fading: scale must be as"),
    ],
)
def test_whatever_else_is_refused(description: Any, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        from_json(description)


def test_updates_out_of_order_are_not_what_would_be_written() -> None:
    votes = Votes(eps_vote=0.8, eps_estimate=1.3, votes=2, estimates=1, updates=(1, 3))
    with pytest.raises(MechanismError, match="votes: "):
        from_json({**votes.to_json(), "updates": [3, 1]})


def test_a_mechanism_of_ones_own_has_none() -> None:
    class Mine(Deck):
        __slots__ = ()

    with pytest.raises(MechanismError, match="Mine has no description"):
        Mine(bits=2, slots=2, eps_report=1.0).to_json()
