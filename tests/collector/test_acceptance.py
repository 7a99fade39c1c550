"""Reading bodies: whatever the bytes, reports that were encoded, or a refusal; on time, or not."""

import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.samples import BEGIN, DECK, HOUR, bodies, campaign, sealed
from tests.estimation.test_saved_sums import OTHERS
from tests.mechanisms.test_client_states import ONE_OF_EACH
from untrackable import Categories, Deck, Fading, InnerProduct
from untrackable.collector.problems import Problem, Refused
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round
from untrackable.collector.writer import (
    AcceptedReports,
    CampaignAcceptance,
    as_reports,
    group_by_round,
    reason_not_collectable,
)
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol import wire

NOW = BEGIN + 10.0
ASKED = campaign()
READER = CampaignAcceptance(ASKED, Settings())
WIDE = [
    Deck(bits=100, slots=5, eps_report=0.5),
    InnerProduct(bits=63, slots=5, eps_report=0.5),
    Deck(bits=4, slots=5, eps_report=2.0, width=2),
    Deck(bits=12, slots=5, eps_report=4.0, width=6),
    Deck(bits=100, slots=5, eps_report=2.0, width=2),
]
ALL: list[Mechanism] = [*(mechanism for mechanism, _ in ONE_OF_EACH.values()), *OTHERS, *WIDE]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    refused: Refused | None = None
    try:
        found = READER.read(body, NOW)
        assert len(found.rounds) * READER.wire.size == len(body)
    except Refused as error:
        refused = error
    if refused is not None:
        assert refused.problem in (Problem.MALFORMED_REPORTS, Problem.ROUND_OVER, Problem.ROUND_NOT_BEGUN)
        assert refused.detail


@given(
    st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(2, 31)), min_size=1, max_size=8), st.data()
)
def test_one_bit_changed_is_read_as_what_it_is_or_refused(
    reports: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    body = bytearray(b"".join(READER.wire.encode(round=1, nonce=nonce, report=report) for nonce, report in reports))
    assert READER.read(bytes(body), NOW).rows.shape == (len(reports), 17)
    place = data.draw(st.integers(0, 8 * len(body) - 1))
    body[place // 8] ^= 1 << place % 8
    within = place // 8 % 22
    try:
        found = READER.read(bytes(body), NOW)
    except Refused:
        assert within < 5 or within == 21  # a changed nonce is another nonce
    else:
        assert within >= 5
        assert found.rows.reshape(-1).tobytes() == b"".join(
            bytes(body[i + 5 : i + 22]) for i in range(0, len(body), 22)
        )


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: repr(m)[:40])
def test_check_raises_what_add_raises_and_adds_nothing(mechanism: Mechanism) -> None:
    """Any word of `report_bits` bits: taken by both, or refused by both in the same words."""
    rng = np.random.default_rng(3)
    layout = wire.of(mechanism)
    size = layout.size - 21
    refusals = 0
    for _ in range(300):
        row = rng.integers(0, 256, (1, size), dtype=np.uint8)
        if rng.integers(2):
            row[0, rng.integers(size) :] = 0
        row[0, -1] &= 0xFF >> (8 * size - mechanism.report_bits)
        sums = mechanism.aggregator(1)
        empty = sums.to_bytes()
        reports = as_reports(row, sums)
        said = []
        for step in (sums.check, sums.add):
            try:
                step(reports)
                said.append("")
            except ValueError as error:
                said.append(str(error))
            if step == sums.check:
                assert sums.to_bytes() == empty
        assert said[0] == said[1]
        refusals += bool(said[0])
    if type(mechanism).__name__ in ("Deck", "InnerProduct"):
        assert refusals > 0


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: repr(m)[:40])
def test_reports_off_the_wire_are_those_that_were_sent(mechanism: Mechanism) -> None:
    if reason_not_collectable(campaign(mechanism)) is not None:
        return
    numbers = [mechanism.client(0).report(1) for _ in range(40)]
    asked = campaign(mechanism)
    found = CampaignAcceptance(asked, Settings()).read(b"".join(sealed(asked, numbers)), NOW)
    sums = mechanism.aggregator(1)
    sums.add(as_reports(found.rows[:, 16:], sums))
    assert sums.to_bytes() == mechanism.aggregator(1).add(numbers).to_bytes()


def test_rounds_by_the_clock() -> None:
    settings = Settings(early=60, grace=600)
    reader = CampaignAcceptance(ASKED, settings)
    assert reader.open_rounds(BEGIN - 61) == (1, 0)
    assert reader.open_rounds(BEGIN - 60) == (1, 1)
    assert reader.open_rounds(BEGIN + HOUR - 61) == (1, 1)
    assert reader.open_rounds(BEGIN + HOUR + 599) == (1, 2)
    assert reader.open_rounds(BEGIN + HOUR + 600) == (2, 2)
    assert reader.open_rounds(BEGIN + 30 * HOUR + 599) == (30, 30)
    assert reader.open_rounds(BEGIN + 30 * HOUR + 600) == (31, 30)


def test_a_round_of_which_no_sums_can_be_made_is_refused() -> None:
    """So late that its answers say nothing: accepted, it could never be closed."""
    faded = Fading(bits=4, eps=2.0, delta=1e-6, power=4.0)
    asked = campaign(faded, begin=0, seconds=5, rounds=None)
    number = asked.round_at(NOW)
    assert number is not None
    reader = CampaignAcceptance(asked, Settings())
    body = b"".join(sealed(asked, [faded.client(0).report(1)], round=number))
    for _ in range(2):
        with pytest.raises(Refused, match="its answers would be pure noise") as refused:
            reader.read(body, NOW)
        assert refused.value.problem is Problem.ROUND_OVER
    assert len(reader.read(b"".join(sealed(asked, [faded.client(0).report(1)])), 1.0).rounds) == 1


def test_stored_in_the_order_of_nonces() -> None:
    sent = bodies(ASKED, 200)
    found = group_by_round("x", READER.read(b"".join(sent), NOW))
    rows = found[Round("x", 1)]
    assert [row.tobytes() for row in rows] == sorted(body[5:] for body in sent)
    assert [row.tobytes() for row in rows] != [body[5:] for body in sent]


def test_rounds_are_told_apart() -> None:
    rounds = np.array([2, 1, 2], dtype=np.uint32)
    rows = np.frombuffer(secrets.token_bytes(3 * 17), dtype=np.uint8).reshape(3, 17)
    found = group_by_round("x", AcceptedReports(rounds, rows))
    assert {key: len(value) for key, value in found.items()} == {Round("x", 1): 1, Round("x", 2): 2}


def test_what_cannot_be_collected() -> None:
    reasons = {type(m).__name__: reason_not_collectable(campaign(m)) for m in ALL}
    assert {name for name, reason in reasons.items() if reason} == {"OneChange", "Votes"}
    assert reason_not_collectable(campaign(DECK, encoding=Categories(names=["a", "b"]))) is None
