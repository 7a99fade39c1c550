"""Clients: states that survive saving and nothing else, refusals by name, and no word about the value."""

import dataclasses
import math
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrackable import (
    Bitwise,
    Dealt,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
    framing,
)
from untrackable.errors import DeckEmpty, RoundPassed, StateError, UntrackableError, ValueChangeRefused
from untrackable.estimation.aggregators import Scope
from untrackable.mechanisms.interface import LARGEST_ROUND, BareClient, Mechanism
from untrackable.mechanisms.local import LARGEST_SLOTS
from untrackable.mechanisms.local_interface import Local

FADING = Fading(bits=2, eps=4.0, delta=0.01)
RR = RandomizedResponse(eps=1.0)
WIDE = NoisyInnerProduct(bits=16, eps=1.0)

ONE_OF_EACH: dict[str, tuple[Mechanism, Any]] = {
    "Bitwise": (Bitwise(eps_state=1.0, eps_report=0.5), 1),
    "InnerProduct": (InnerProduct(bits=13, slots=5, eps_report=0.5), 4711),
    "Deck": (Deck(bits=13, slots=5, eps_report=0.5), 4711),
    "Deck, replay": (Deck(bits=13, slots=5, eps_report=0.5, when_empty="replay"), 4711),
    "Fading": (FADING, 3),
    "Rappor": (Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75), "Ada"),
    "Fresh bit": (Fresh(RR), 1),
    "Fresh": (Fresh(WIDE), 4711),
    "Memoized bit": (Memoized(RR), 1),
    "Memoized": (Memoized(WIDE), 4711),
    "Stored": (Stored(RR, 9), 1),
    "Dealt": (Dealt(RR, 9), 1),
}
each = pytest.mark.parametrize("name", ONE_OF_EACH)


def used_client(name: str) -> tuple[Mechanism, BareClient]:
    """A client that has answered two rounds."""
    mechanism, value = ONE_OF_EACH[name]
    client = mechanism.client(value)
    client.report(1)
    client.report(2)
    return mechanism, client


# --- states as bytes -------------------------------------------------------------------------------------------


@st.composite
def clients(draw: st.DrawFn) -> tuple[Mechanism, BareClient]:
    """Any mechanism, any value, some rounds answered."""
    eps = st.floats(1e-6, 60)
    bits = draw(st.integers(1, 256))
    slots = draw(st.integers(1, 20))
    when_empty: Literal["stop", "replay"] = draw(st.sampled_from(("stop", "replay")))
    local: Local = draw(
        st.one_of(
            eps.map(lambda e: RandomizedResponse(eps=e)),
            eps.map(lambda e: NoisyInnerProduct(bits=bits, eps=e)),
        )
    )
    chances = st.floats(0, 1)
    p, q = draw(st.tuples(chances, chances).filter(lambda both: abs(both[0] - both[1]) > 1e-15))
    mechanisms: list[Mechanism] = [
        Bitwise(eps_state=draw(eps), eps_report=draw(eps)),
        InnerProduct(bits=bits, slots=slots, eps_report=draw(eps)),
        Deck(bits=bits, slots=slots, eps_report=draw(eps), when_empty=when_empty),
        Fresh(local),
        Memoized(local),
        Stored(local, slots),
        Dealt(local, slots, when_empty),
        Rappor(bloom_bits=bits, hashes=draw(st.integers(1, 16)), f=draw(chances), p=p, q=q),
        FADING,
    ]
    mechanism = draw(st.sampled_from(mechanisms))
    value: int | str
    if isinstance(mechanism, Rappor):
        value = draw(st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"]))))
    elif isinstance(mechanism, Fading):
        value = draw(st.integers(0, 3))
    elif isinstance(mechanism, Bitwise):
        value = draw(st.integers(0, 1))
    else:
        assert isinstance(mechanism, (Fresh, Stored, Dealt))
        value = draw(st.integers(0, mechanism.base.values - 1))
    last = slots if isinstance(mechanism, Dealt) and mechanism.when_empty == "stop" else 40
    client = mechanism.client(value)
    for number in sorted(draw(st.lists(st.integers(1, last), max_size=4))):
        assert 0 <= client.report(number) < 1 << mechanism.report_bits
    return mechanism, client


@given(clients())
@settings(max_examples=200)
def test_state_survives_saving(made: tuple[Mechanism, BareClient]) -> None:
    mechanism, client = made
    saved = client.to_bytes()
    restored = mechanism.restore(saved)
    assert restored._state == client._state
    assert restored.to_bytes() == saved


@each
def test_truncated_and_extended_states_are_refused(name: str) -> None:
    mechanism, client = used_client(name)
    saved = client.to_bytes()
    for size in range(len(saved)):
        with pytest.raises(StateError):
            mechanism.restore(saved[:size])
    with pytest.raises(StateError):
        mechanism.restore(saved + b"\0")


@each
def test_every_flipped_bit_is_noticed(name: str) -> None:
    mechanism, client = used_client(name)
    saved = client.to_bytes()
    for bit in range(8 * len(saved)):
        damaged = bytearray(saved)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(StateError):
            mechanism.restore(bytes(damaged))


@given(st.binary(max_size=60))
@settings(max_examples=100)
def test_other_bytes_are_no_state(data: bytes) -> None:
    for mechanism, _ in ONE_OF_EACH.values():
        with pytest.raises(StateError):
            mechanism.restore(data)


@each
def test_foreign_states_are_refused(name: str) -> None:
    """Also of mechanisms that differ in one parameter, or only in how the same cards are sent."""
    mechanism, _ = ONE_OF_EACH[name]
    for other in ONE_OF_EACH:
        if other != name:
            _, foreigner = used_client(other)
            with pytest.raises(StateError, match="another mechanism"):
                mechanism.restore(foreigner.to_bytes())


def test_states_of_the_same_parameters_are_at_home() -> None:
    first, again = (InnerProduct(bits=4, slots=3, eps_report=0.5) for _ in range(2))
    saved = first.client(7).to_bytes()
    assert again.restore(saved).to_bytes() == saved


@each
def test_payloads_of_another_length_are_refused_even_with_a_right_checksum(name: str) -> None:
    mechanism, client = used_client(name)
    payload = mechanism.pack_state(client._state)
    for wrong in (b"", payload[:-1], payload + b"\0", payload * 2):
        with pytest.raises(StateError, match="payload of"):
            mechanism.restore(framing.frame_state(mechanism, wrong))


@pytest.mark.parametrize(
    ("mechanism", "payload"),
    [
        (Bitwise(eps_state=1.0, eps_report=0.5), b"\x02"),
        (InnerProduct(bits=4, slots=2, eps_report=0.5), b"\x1f\x20"),
        (Deck(bits=4, slots=2, eps_report=0.5), b"\x00\x1f\x20"),
        (Deck(bits=4, slots=2, eps_report=0.5), b"\x20\x1f\x1f"),
        (Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75), b"\x20\x00"),
        (Fresh(NoisyInnerProduct(bits=4, eps=1.0)), b"\x10"),
        (FADING, bytes(8) + b"\x04\x00"),
        (FADING, bytes(7) + b"\x01\x03\x08"),
    ],
)
def test_bits_that_no_state_has_are_refused(mechanism: Mechanism, payload: bytes) -> None:
    with pytest.raises(StateError, match="bits set"):
        mechanism.restore(framing.frame_state(mechanism, payload))


def test_fading_state_must_have_both_round_and_report_or_neither() -> None:
    for payload in (bytes(8) + b"\x03\x05", bytes(7) + b"\x01\x03\x00"):
        with pytest.raises(StateError, match="without"):
            FADING.restore(framing.frame_state(FADING, payload))


# --- restored clients go on ------------------------------------------------------------------------------------


def saved_and_restored(mechanism: Mechanism, client: BareClient) -> BareClient:
    return mechanism.restore(client.to_bytes())


@pytest.mark.parametrize("when_empty", ["stop", "replay"])
def test_sent_cards_stay_sent(when_empty: Any) -> None:
    """Through any number of saves, also when the value changes; unsent cards are dealt anew for it."""
    mechanism = Deck(bits=64, slots=6, eps_report=1.0, when_empty=when_empty)
    client = mechanism.client(5)
    sent = {2: client.report(2)}
    client = saved_and_restored(mechanism, client)
    sent[5] = client.report(5)
    before = client._state.cards
    client = saved_and_restored(mechanism, client)
    sent[1] = client.report(1, 77)
    after = client._state.cards
    client = saved_and_restored(mechanism, client)
    assert client._state.sent == (True, True, False, False, True, False)
    assert {number: client.report(number) for number in sent} == sent
    for slot in range(6):
        assert (before[slot] == after[slot]) == (slot + 1 in (2, 5))
    for number in (3, 4, 6):
        assert client.report(number) == after[number - 1]


def test_a_card_sent_is_not_dealt_again_for_the_new_value() -> None:
    """Asking for the same round with another value gives the same card."""
    mechanism = Deck(bits=64, slots=3, eps_report=1.0)
    client = mechanism.client(5)
    card = client.report(2)
    assert client.report(2, 6) == card
    assert saved_and_restored(mechanism, client).report(2, 7) == card


@pytest.mark.parametrize("name", ["Deck", "Dealt"])
def test_deck_stops_when_empty(name: str) -> None:
    mechanism, value = ONE_OF_EACH[name]
    assert isinstance(mechanism, Dealt)
    client = mechanism.client(value)
    reports = [client.report(number) for number in range(1, mechanism.slots + 1)]
    for _ in range(2):
        for number in (mechanism.slots + 1, 10**9):
            with pytest.raises(DeckEmpty, match=f"{mechanism.slots} cards; round {number}"):
                client.report(number)
        assert [client.report(number) for number in range(1, mechanism.slots + 1)] == reports
        client = saved_and_restored(mechanism, client)


def test_deck_empty_changes_nothing() -> None:
    """Also when a new value came with the refused round."""
    mechanism = Deck(bits=64, slots=2, eps_report=1.0)
    client = mechanism.client(5)
    before = client.to_bytes()
    with pytest.raises(DeckEmpty):
        client.report(3, 6)
    assert client.to_bytes() == before


def test_replay_goes_on_with_the_same_cards() -> None:
    mechanism = Deck(bits=64, slots=4, eps_report=1.0, when_empty="replay")
    client = mechanism.client(5)
    reports = [client.report(number) for number in range(1, 5)]
    client = saved_and_restored(mechanism, client)
    assert [client.report(number) for number in range(5, 13)] == 2 * reports
    assert client.report(4 * 10**15 + 3) == reports[2]
    assert client.report(13, 6) == reports[0]  # every card has been sent: nothing is left to deal for another value


@pytest.mark.parametrize("name", ["Bitwise", "InnerProduct", "Rappor", "Memoized", "Memoized bit", "Stored"])
def test_value_change_is_refused(name: str) -> None:
    mechanism, value = ONE_OF_EACH[name]
    client = mechanism.client(value)
    before = client.to_bytes()
    for change in (0, value):
        with pytest.raises(ValueChangeRefused, match=f"{type(mechanism).__name__} keeps its state for one value"):
            client.report(1, change)
    assert client.to_bytes() == before


@pytest.mark.parametrize("name", ["Bitwise", "InnerProduct", "Rappor", "Memoized", "Stored", "Fresh"])
def test_reporting_leaves_these_states_alone(name: str) -> None:
    mechanism, value = ONE_OF_EACH[name]
    client = mechanism.client(value)
    before = client.to_bytes()
    for number in (1, 2, 2, 1):
        client.report(number)
    assert client.to_bytes() == before


def test_memoized_repeats_itself_and_stored_sends_only_what_it_stores() -> None:
    memoized = Memoized(WIDE).client(5)
    assert len({memoized.report(number) for number in range(1, 50)}) == 1
    stored = InnerProduct(bits=64, slots=3, eps_report=1.0).client(5)
    assert {stored.report(number) for number in range(1, 500)} == set(stored._state)  # misses with (2/3)^499·3


def test_fading_repeats_a_round_and_refuses_an_earlier_one() -> None:
    mechanism = FADING
    client = mechanism.client(3)
    for number in (3, 7, 100):
        report = client.report(number)
        assert {client.report(number) for _ in range(60)} == {report}
        client = saved_and_restored(mechanism, client)
        assert {client.report(number) for _ in range(60)} == {report}
        before = client.to_bytes()
        for earlier in (1, number - 1):
            with pytest.raises(RoundPassed, match=f"round {earlier} is over"):
                client.report(earlier, 2)
        assert client.to_bytes() == before


def test_fading_repeats_a_round_even_with_another_value() -> None:
    """A second report of the same round, about another value, would be one that nobody accounted for."""
    client = FADING.client(3)
    report = client.report(5)
    assert {client.report(5, value) for value in (0, 1, 2, 3) for _ in range(20)} == {report}


# --- silence ---------------------------------------------------------------------------------------------------

SECRET, TEXT = 48879, "Rosebud-48879"
SILENT: dict[str, tuple[Mechanism, Any]] = {
    "InnerProduct": (InnerProduct(bits=16, slots=3, eps_report=0.5), SECRET),
    "Deck": (Deck(bits=16, slots=3, eps_report=0.5), SECRET),
    "Fresh": (Fresh(WIDE), SECRET),
    "Memoized": (Memoized(WIDE), SECRET),
    "Stored": (Stored(WIDE, 3), SECRET),
    "Dealt": (Dealt(WIDE, 3), SECRET),
    "Fading": (Fading(bits=16, eps=4.0, delta=0.01), SECRET),
    "Rappor": (Rappor(bloom_bits=64, hashes=2, f=0.5, p=0.25, q=0.75), TEXT),
    "Rappor of a number": (Rappor(bloom_bits=64, hashes=2, f=0.5, p=0.25, q=0.75), SECRET),
}


def told(error: BaseException | None) -> Iterator[str]:
    """All that an error says, and those it came from."""
    while error is not None:
        yield from (str(error), repr(error), repr(error.args), repr(vars(error)), *getattr(error, "__notes__", []))
        error = error.__cause__ or error.__context__


def assert_silent(mechanism: Mechanism, client: BareClient, *texts: str) -> None:
    payload = mechanism.pack_state(client._state)
    needles = [str(SECRET), f"{SECRET:x}", f"{SECRET:b}", "Rosebud", payload.hex(), client.to_bytes().hex()]
    needles += [repr(client._state), repr(payload), repr(payload)[2:-1]]
    for text in texts:
        for needle in needles:
            assert needle.lower() not in text.lower()


@pytest.mark.parametrize("name", SILENT)
def test_clients_show_nothing(name: str) -> None:
    mechanism, value = SILENT[name]
    client = mechanism.client(value)
    assert_silent(mechanism, client, repr(client), str(client), format(client), f"{client!s:>9}", repr([client]))
    assert repr(client) == f"<client of {mechanism!r}>"
    with pytest.raises(TypeError):
        vars(client)


@pytest.mark.parametrize("name", SILENT)
def test_errors_show_neither_value_nor_state(name: str) -> None:
    mechanism, value = SILENT[name]
    client = mechanism.client(value)
    saved = client.to_bytes()
    values: list[Any] = [TEXT.encode(), float(SECRET), [TEXT], (SECRET,)]
    populations: list[Any] = [[TEXT.encode()], [float(SECRET)], [[TEXT]]]
    changes: list[Any] = [value]
    if not isinstance(mechanism, Rappor):
        values += [SECRET << 16, -SECRET, TEXT]
        populations += [[SECRET << 16], [-SECRET], [TEXT], [[SECRET, 1, 2, 3]]]
        changes = values
    attempts: list[Callable[[], object]] = [
        lambda: mechanism.restore(saved[:-1]),
        lambda: mechanism.restore(saved + b"\0"),
        lambda: mechanism.restore(framing.frame_state(mechanism, mechanism.pack_state(client._state) + b"\0")),
        lambda: Bitwise(eps_state=1.0, eps_report=1.0).restore(saved),
        lambda: client.report(0, value),
        *(partial(mechanism.client, bad) for bad in values),
        *(partial(client.report, 1, bad) for bad in changes),
        *(partial(mechanism.simulate, bad, rounds=2, seed=1) for bad in populations),
    ]
    for attempt in attempts:
        with pytest.raises((TypeError, ValueError, UntrackableError)) as caught:
            attempt()
        assert_silent(mechanism, client, *told(caught.value))


@pytest.mark.parametrize("local", [RR, WIDE])
def test_local_mechanisms_do_not_show_a_value_either(local: Local) -> None:
    wrong: list[Any] = [SECRET << 16, -SECRET, TEXT, float(SECRET)]
    for bad in wrong:
        with pytest.raises(
            (TypeError, ValueError), match=f"value must be .*between 0 and {local.values - 1}"
        ) as caught:
            local.draw(bad, bytes)
        assert all(str(SECRET) not in text and "Rosebud" not in text for text in told(caught.value))


@pytest.mark.parametrize("name", ["InnerProduct", "Deck", "Fresh", "Memoized", "Stored", "Dealt", "Fading"])
def test_values_that_do_not_fit_are_refused_by_range(name: str) -> None:
    mechanism, _ = SILENT[name]
    for bad in (1 << 16, -1, 1 << 300):
        with pytest.raises(
            ValueError, match=r"^value must be between 0 and 65535; the given one \(not shown\) is not"
        ):
            mechanism.client(bad)
    for kind in ("7", 7.0, None, b"7"):
        with pytest.raises(TypeError, match=r"^value must be an integer between 0 and 65535$"):
            mechanism.client(kind)


def test_bits_that_are_no_bits_are_refused_by_range() -> None:
    for mechanism in (Bitwise(eps_state=1.0, eps_report=1.0), Fresh(RR), Memoized(RR), Stored(RR, 3), Dealt(RR, 3)):
        for bad in (2, -1):
            with pytest.raises(
                ValueError, match=r"^value must be between 0 and 1; the given one \(not shown\) is not"
            ):
                mechanism.client(bad)
        assert mechanism.client(True).report(1) in (0, 1)


def test_rappor_takes_text_and_integers_only() -> None:
    mechanism = Rappor(bloom_bits=8, hashes=2, f=0.5, p=0.25, q=0.75)
    for bad in (1.5, b"x", None, ["x"]):
        with pytest.raises(TypeError, match=r"^value must be a string or an integer$"):
            mechanism.client(bad)
    assert mechanism.bloom(7) == mechanism.bloom("7")


# --- parameters ------------------------------------------------------------------------------------------------

Maker = Callable[[Any], object]

POSITIVE: list[tuple[str, Maker]] = [
    ("eps", lambda x: RandomizedResponse(eps=x)),
    ("eps", lambda x: NoisyInnerProduct(bits=2, eps=x)),
    ("eps_state", lambda x: Bitwise(eps_state=x, eps_report=1.0)),
    ("eps_report", lambda x: Bitwise(eps_state=1.0, eps_report=x)),
    ("eps_report", lambda x: InnerProduct(bits=2, slots=2, eps_report=x)),
    ("eps_report", lambda x: Deck(bits=2, slots=2, eps_report=x)),
    ("eps", lambda x: Fading(bits=2, eps=x, delta=0.01)),
    ("power", lambda x: Fading(bits=2, eps=1.0, delta=0.01, power=x)),
    ("eps", lambda x: Deck.for_budget(bits=2, slots=2, eps=x, delta=0.01)),
]


@pytest.mark.parametrize(("name", "make"), POSITIVE)
def test_positive_parameters(name: str, make: Maker) -> None:
    for bad in (-1.0, 0.0, -0.0, math.inf, -math.inf, -3):
        with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {float(bad)}$"):
            make(bad)
    with pytest.raises(ValueError, match=rf"^{name} must be .*, got nan$"):
        make(math.nan)
    for kind in (True, "1", None, [1.0], b"1"):
        with pytest.raises(TypeError, match=rf"^{name} must be a number, not {type(kind).__name__}$"):
            make(kind)


INTEGERS: list[tuple[str, int, int | None, Maker]] = [
    ("bits", 1, 256, lambda x: NoisyInnerProduct(bits=x, eps=1.0)),
    ("bits", 1, 256, lambda x: InnerProduct(bits=x, slots=2, eps_report=1.0)),
    ("bits", 1, 256, lambda x: Deck(bits=x, slots=2, eps_report=1.0)),
    ("bits", 1, 256, lambda x: Fading(bits=x, eps=1.0, delta=0.01)),
    ("slots", 1, LARGEST_SLOTS, lambda x: InnerProduct(bits=2, slots=x, eps_report=1.0)),
    ("slots", 1, LARGEST_SLOTS, lambda x: Deck(bits=2, slots=x, eps_report=1.0)),
    ("slots", 1, LARGEST_SLOTS, lambda x: Stored(RR, x)),
    ("slots", 1, LARGEST_SLOTS, lambda x: Dealt(RR, x)),
    ("bloom_bits", 1, 256, lambda x: Rappor(bloom_bits=x, hashes=2, f=0.5, p=0.25, q=0.75)),
    ("hashes", 1, 16, lambda x: Rappor(bloom_bits=8, hashes=x, f=0.5, p=0.25, q=0.75)),
    ("round", 1, LARGEST_ROUND, lambda x: Bitwise(eps_state=1.0, eps_report=1.0).client(1).report(x)),
    ("round", 1, LARGEST_ROUND, lambda x: Bitwise(eps_state=1.0, eps_report=1.0).aggregator(x)),
    ("round", 1, LARGEST_ROUND, lambda x: Fresh(RR).aggregator(x)),
    ("round", 1, LARGEST_ROUND, lambda x: Stored(RR, 2).aggregator(x)),
    ("round", 1, 2, lambda x: Dealt(RR, 2).aggregator(x)),
    ("round", 1, LARGEST_ROUND, lambda x: Dealt(RR, 2, "replay").aggregator(x)),
    ("round", 1, LARGEST_ROUND, lambda x: FADING.eps_report(x)),
    ("round", 1, LARGEST_ROUND, lambda x: Fresh(RR).simulate([1], rounds=[x], seed=1)),
    ("seed", 0, None, lambda x: Fresh(RR).simulate([1], rounds=1, seed=x)),
]


@pytest.mark.parametrize(("name", "low", "high", "make"), INTEGERS)
def test_integer_parameters(name: str, low: int, high: int | None, make: Maker) -> None:
    allowed = f"at least {low}" if high is None else f"between {low} and {high}"
    for bad in (low - 1, -7, *([] if high is None else [high + 1])):
        with pytest.raises(ValueError, match=rf"^{name} must be {allowed}, got {bad}$"):
            make(bad)
    for kind in (True, "3", 2.0, math.nan, None):
        with pytest.raises(TypeError, match=rf"^{name} must be an integer, not {type(kind).__name__}$"):
            make(kind)


PROBABILITIES: list[tuple[str, str, Maker]] = [
    ("f", "between 0 and 1", lambda x: Rappor(bloom_bits=8, hashes=2, f=x, p=0.25, q=0.75)),
    ("p", "between 0 and 1", lambda x: Rappor(bloom_bits=8, hashes=2, f=0.5, p=x, q=0.75)),
    ("q", "between 0 and 1", lambda x: Rappor(bloom_bits=8, hashes=2, f=0.5, p=0.25, q=x)),
    ("delta", "strictly between 0 and 1", lambda x: Fading(bits=2, eps=1.0, delta=x)),
    (
        "beta",
        "strictly between 0 and 1",
        lambda x: RR.aggregator(Scope(None, 0, pools=True)).add([1]).estimate(beta=x),
    ),
]


@pytest.mark.parametrize(("name", "allowed", "make"), PROBABILITIES)
def test_probabilities(name: str, allowed: str, make: Maker) -> None:
    ends = (0.0, 1.0) if allowed.startswith("strictly") else ()
    for bad in (-0.1, 1.1, math.inf, -math.inf, *ends):
        with pytest.raises(ValueError, match=rf"^{name} must be {allowed}, got {bad}$"):
            make(bad)
    with pytest.raises(ValueError, match=rf"^{name} must be .*, got nan$"):
        make(math.nan)
    for kind in (True, "0.5", None):
        with pytest.raises(TypeError, match=rf"^{name} must be a number, not {type(kind).__name__}$"):
            make(kind)


def test_equal_p_and_q() -> None:
    with pytest.raises(ValueError, match=r"^p and q must differ.*got 0\.5 for both$"):
        Rappor(bloom_bits=8, hashes=2, f=0.5, p=0.5, q=0.5)


@pytest.mark.parametrize("power", [0.5, 0.1, 4.5])
def test_power_of_fading(power: float) -> None:
    with pytest.raises(ValueError, match=rf"^power must be above 0\.5 and at most 4, got {power}$"):
        Fading(bits=2, eps=1.0, delta=0.01, power=power)


@pytest.mark.parametrize("bad", ["Stop", "", 3, True])
def test_when_empty_is_one_of_two_words(bad: Any) -> None:
    with pytest.raises(ValueError, match=rf"^when_empty must be one of stop, replay, got {bad!r}$"):
        Deck(bits=2, slots=2, eps_report=1.0, when_empty=bad)


@each
def test_mechanisms_are_values(name: str) -> None:
    """Frozen, hashable, and their repr tells one from another."""
    mechanism, _ = ONE_OF_EACH[name]
    assert {mechanism: 1}[mechanism] == 1
    others = [other for other, _ in ONE_OF_EACH.values() if other is not mechanism]
    assert mechanism not in others
    assert repr(mechanism) not in {repr(other) for other in others}
    frozen: Any = mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(frozen, dataclasses.fields(frozen)[0].name, 1)


def test_equal_parameters_make_equal_mechanisms_and_shared_states() -> None:
    pairs: list[tuple[Mechanism, Mechanism]] = [
        (Bitwise(eps_state=1, eps_report=2), Bitwise(eps_state=1.0, eps_report=np.float64(2))),
        (Stored(RR, np.int64(3)), Stored(RR, 3)),  # type: ignore[arg-type]
        (Rappor(bloom_bits=8, hashes=1, f=1, p=0, q=1), Rappor(bloom_bits=8, hashes=1, f=1.0, p=0.0, q=1.0)),
        (Deck(bits=3, slots=2, eps_report=Fraction(1, 2)), Deck(bits=3, slots=2, eps_report=0.5)),  # type: ignore[arg-type]
    ]
    for one, other in pairs:
        assert one == other
        assert repr(one) == repr(other)
        other.restore(one.client(1).to_bytes())


def test_fading_carries_its_scale() -> None:
    assert f"scale={FADING.scale!r}" in repr(FADING)
    same = Fading(bits=2, eps=4.0, delta=0.01, scale=FADING.scale)
    assert same == FADING
    smaller = Fading(bits=2, eps=4.0, delta=0.01, scale=FADING.scale / 2)
    with pytest.raises(StateError, match="another mechanism"):
        smaller.restore(FADING.client(1).to_bytes())
    with pytest.raises(ValueError, match="is too large"):
        Fading(bits=2, eps=4.0, delta=0.01, scale=FADING.scale * 1.1)


def test_text_that_cannot_be_encoded_is_not_shown() -> None:
    with pytest.raises(ValueError, match="UTF-8") as caught:
        Rappor(bloom_bits=8, hashes=1, f=0.5, p=0.2, q=0.8).client("Rosebud\ud800")
    told = "".join(traceback.format_exception(caught.value, chain=True)[-1:])
    assert "Rosebud" not in told
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("eps", [1e-19, 5e-324])
def test_an_epsilon_that_would_not_matter_is_refused(eps: float) -> None:
    with pytest.raises(ValueError, match=r"eps must be at least 2\.2e-19"):
        RandomizedResponse(eps=eps)
    with pytest.raises(ValueError, match="eps must be positive and finite, got inf"):
        RandomizedResponse(eps=10**400)


def test_cards_that_cannot_be_are_refused() -> None:
    mechanism = InnerProduct(bits=3, slots=2, eps_report=1.0, width=1)
    with pytest.raises(StateError, match="cannot have made"):
        mechanism.restore(framing.frame_state(mechanism, bytes([1, 5])))
    assert mechanism.restore(framing.frame_state(mechanism, bytes([2, 15]))).report(1) in (2, 15)


@pytest.mark.parametrize("base", [None, 3, Bitwise(eps_state=1, eps_report=1), "RandomizedResponse"])
def test_a_base_must_be_a_local_mechanism(base: Any) -> None:
    for make in (Fresh, Memoized, partial(Stored, slots=2), partial(Dealt, slots=2)):
        with pytest.raises(TypeError, match="base must be a local mechanism"):
            make(base)


def test_errors_name_the_parameter_that_was_given() -> None:
    with pytest.raises(ValueError, match=r"^eps_report must be at least"):
        Deck(bits=2, slots=2, eps_report=1e-30)
    with pytest.raises(TypeError, match=r"^state must be bytes"):
        Fresh(RR).restore(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^rounds must be a collection of integers, not int"):
        Fresh(RR).tracking(rounds=3)  # type: ignore[arg-type]
