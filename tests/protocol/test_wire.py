"""Reports on the wire: golden vectors, round trips, and everything else refused whole."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable import Bitwise, Deck, Rappor
from untrackable.errors import WireError
from untrackable.protocol import wire
from untrackable.protocol.wire import LAST_ROUND, Wire

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "wire" / "reports.json").read_text(encoding="utf-8"))
NONCE = bytes(range(16))


@pytest.mark.parametrize("vector", VECTORS["reports"], ids=lambda v: v["name"])
def test_golden_vectors(vector: dict[str, str | int]) -> None:
    layout = Wire(int(vector["report_bits"]))
    body = bytes.fromhex(str(vector["bytes"]))
    report, nonce, round = int(str(vector["report"]), 16), bytes.fromhex(str(vector["nonce"])), int(vector["round"])
    assert layout.encode(round=round, nonce=nonce, report=report) == body
    assert layout.size == len(body)
    found = layout.decode(body)
    assert found.rounds.tolist() == [round]
    assert found.nonces[0].tobytes() == nonce
    assert int.from_bytes(found.payloads[0].tobytes(), "little") == report


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: v["why"])
def test_refused_vectors(vector: dict[str, str | int]) -> None:
    with pytest.raises(WireError, match=str(vector["says"])):
        Wire(int(vector["report_bits"])).decode(bytes.fromhex(str(vector["bytes"])))


@given(st.integers(1, 300), st.data())
def test_what_is_encoded_is_decoded(bits: int, data: st.DataObject) -> None:
    layout = Wire(bits)
    one = st.tuples(
        st.integers(1, LAST_ROUND), st.binary(min_size=16, max_size=16), st.integers(0, (1 << bits) - 1)
    )
    reports = data.draw(st.lists(one, min_size=1, max_size=5))
    body = b"".join(layout.encode(round=r, nonce=n, report=v) for r, n, v in reports)
    assert len(body) == layout.size * len(reports)
    found = layout.decode(body)
    assert found.rounds.tolist() == [r for r, _, _ in reports]
    assert [n.tobytes() for n in found.nonces] == [n for _, n, _ in reports]
    assert [int.from_bytes(p.tobytes(), "little") for p in found.payloads] == [v for _, _, v in reports]


@given(st.integers(1, 80), st.binary(max_size=120))
def test_any_bytes_are_decoded_or_refused(bits: int, body: bytes) -> None:
    layout = Wire(bits)
    try:
        found = layout.decode(body)
    except WireError:
        return
    again = [
        layout.encode(round=int(r), nonce=n.tobytes(), report=int.from_bytes(p.tobytes(), "little"))
        for r, n, p in zip(found.rounds, found.nonces, found.payloads, strict=True)
    ]
    assert b"".join(again) == body  # nothing that is taken could have been written otherwise


def test_the_length_depends_on_the_mechanism_alone() -> None:
    for mechanism, size in (
        (Bitwise(eps_state=1.0, eps_report=1.0), 22),
        (Deck(bits=10, slots=5, eps_report=1.0, width=1), 23),
        (Deck(bits=10, slots=5, eps_report=1.0, width=3), 26),
        (Deck(bits=100, slots=5, eps_report=1.0, width=1), 34),
        (Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75), 37),
    ):
        assert wire.of(mechanism).size == size
        assert wire.of(mechanism).report_bits == mechanism.report_bits


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"round": 0}, "round must be between 1 and 4294967295"),
        ({"round": 1 << 32}, "round must be between 1 and 4294967295"),
        ({"nonce": b"short"}, "nonce must be 16 bytes"),
        ({"nonce": bytearray(16)}, "nonce must be 16 bytes"),
        ({"report": 1 << 11}, "report must have at most 11 bits"),
        ({"report": -1}, "report must have at most 11 bits"),
    ],
)
def test_what_cannot_be_encoded(arguments: dict[str, object], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Wire(11).encode(**{"round": 1, "nonce": NONCE, "report": 5, **arguments})  # type: ignore[arg-type]


def test_which_report_is_malformed_is_told() -> None:
    layout = Wire(11)
    good = layout.encode(round=1, nonce=NONCE, report=5)
    with pytest.raises(WireError, match="report 2 of the body: version must be 1"):
        layout.decode(good + good + b"\0" + good[1:])


def test_a_batch_is_one_view_of_the_body() -> None:
    """Nothing is copied, whatever the size: the columns point into the bytes."""
    layout = Wire(11)
    body = layout.encode(round=3, nonce=NONCE, report=5) * 1000
    found = layout.decode(body)
    whole = np.frombuffer(body, dtype=np.uint8)
    for column in (found.rounds, found.nonces, found.payloads):
        assert np.shares_memory(column, whole)


@pytest.mark.parametrize("bits", [3, 8, 22, 64, 70])
def test_many_are_each_after_the_other(bits: int) -> None:
    layout, rng = Wire(bits), np.random.default_rng(1)
    nonces = rng.integers(0, 256, (5, 16), dtype=np.uint8)
    numbers = [int.from_bytes(rng.bytes(9), "little") & (1 << bits) - 1 for _ in nonces]
    one_by_one = b"".join(
        layout.encode(round=7, nonce=nonce.tobytes(), report=number)
        for nonce, number in zip(nonces, numbers, strict=True)
    )
    size = layout.size - 21
    rows = np.frombuffer(b"".join(n.to_bytes(size, "little") for n in numbers), dtype=np.uint8).reshape(5, size)
    assert layout.encode_many(round=7, nonces=nonces, reports=rows) == one_by_one
    if bits <= 64:
        words = np.array(numbers, dtype=np.uint64)
        assert layout.encode_many(round=7, nonces=nonces, reports=words) == one_by_one


def test_many_that_do_not_fit() -> None:
    layout, nonces = Wire(3), np.zeros((2, 16), dtype=np.uint8)
    with pytest.raises(ValueError, match="nonces must be 16 bytes for each of 3 reports"):
        layout.encode_many(round=1, nonces=nonces, reports=np.zeros(3, dtype=np.uint64))
    for wide in (8, 256):
        with pytest.raises(ValueError, match=r"at most 3 bits; a given one \(not shown\) has more"):
            layout.encode_many(round=1, nonces=nonces, reports=np.array([1, wide], dtype=np.uint64))
    with pytest.raises(ValueError, match="round must be between 1 and 4294967295, got 0"):
        layout.encode_many(round=0, nonces=nonces, reports=np.zeros(2, dtype=np.uint64))
