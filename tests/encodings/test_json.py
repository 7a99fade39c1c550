"""JSON out and in, and what is true of every encoding."""

import json
import subprocess
import sys
import traceback
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.encodings.samples import encodings, one_of_each
from untrackable import Bit, Buckets, Categories, HashedStrings, IntegerRange
from untrackable.encodings import Encoding
from untrackable.encodings.encoding import _HOMES, from_json
from untrackable.errors import EncodingError

EACH = pytest.mark.parametrize("encoding", one_of_each(), ids=lambda encoding: type(encoding).__name__)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(encodings())
def test_json_out_and_in_is_the_same(encoding: Encoding) -> None:
    written = encoding.to_json()
    assert written == json.loads(json.dumps(written, allow_nan=False))
    back = from_json(json.loads(json.dumps(written)))
    assert back == encoding
    assert hash(back) == hash(encoding)
    assert type(back) is type(encoding)
    assert json.dumps(back.to_json()) == json.dumps(written)


def test_json_is_what_it_was() -> None:
    """What is written down must be readable for as long as its version stands."""
    assert [encoding.to_json() for encoding in one_of_each()[:2] + one_of_each()[4:]] == [
        {"type": "bit", "version": 1, "zero": "off", "one": "on"},
        {"type": "integer-range", "version": 1, "low": -3, "high": 12, "below": "clamp", "above": "separate"},
        {"type": "categories", "version": 1, "names": ["red", "grün", "青"], "unknown": "other"},
        {
            "type": "hashed-strings",
            "version": 1,
            "bits": 20,
            "salt": "000102030405060708090a0b0c0d0e0f",
            "longest": 40,
            "too_long": "truncate",
        },
        {
            "type": "discovered-strings",
            "version": 1,
            "longest": 6,
            "prefixes": [2, 4, 6, 6],
            "salt": "000102030405060708090a0b0c0d0e0f",
            "alphabet": "абвгд",
            "shortest": 0,
            "bucket_bits": 20,
            "too_long": "error",
            "unknown": "omit",
        },
    ]
    assert json.dumps(Buckets(edges=[-0.0, 0.5, 10], above="clamp").to_json()) == (
        '{"type": "buckets", "version": 1, "edges": [0, 0.5, 10], "below": "error", "above": "clamp"}'
    )


@given(
    JSON
    | st.fixed_dictionaries(
        {"type": st.sampled_from([kind for kind in _HOMES if kind != "presence"]), "version": st.just(1)},
        optional={},
    )
)
def test_malformed_json_is_an_error(given: Any) -> None:
    with pytest.raises(EncodingError):
        from_json(given)


@EACH
@given(data=st.data())
def test_a_damaged_description_is_an_error_or_reads_as_written(encoding: Encoding, data: st.DataObject) -> None:
    damaged = encoding.to_json()
    key = data.draw(st.sampled_from(list(damaged)))
    damaged[key] = data.draw(JSON | st.lists(JSON, max_size=3))
    try:
        read = from_json(damaged)
    except EncodingError:
        return
    assert read.to_json() == damaged


@EACH
def test_fields_are_all_there_and_no_others(encoding: Encoding) -> None:
    written = encoding.to_json()
    for key in set(written) - set(encoding.optional):
        with pytest.raises(EncodingError, match=key):
            from_json({name: given for name, given in written.items() if name != key})
    with pytest.raises(EncodingError, match="no field 'colour'"):
        from_json({**written, "colour": 1})
    for version in (0, 2, 1.0, True, "1", None):
        with pytest.raises(EncodingError, match=r"version of .* must be 1"):
            from_json({**written, "version": version})
    for kind in ("bits", "", None, 1, ["bit"], "untrackable.encodings.encoding"):
        with pytest.raises(EncodingError, match="type must be one of bit,"):
            from_json({**written, "type": kind})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (("hashed-strings", "salt", "000102030405060708090A0B0C0D0E0F"), "as `to_json` writes it"),
        (("hashed-strings", "salt", "00010203 0405060708090a0b0c0d0e0f"), "as `to_json` writes it"),
        (("hashed-strings", "salt", "0001"), "salt must have 16 to 64 bytes, got 2"),
        (("hashed-strings", "salt", "zz"), "hexadecimal"),
        (("hashed-strings", "salt", 5), "hexadecimal"),
        (("hashed-strings", "bits", 20.0), "bits must be an integer, not float"),
        (("hashed-strings", "bits", True), "bits must be an integer, not bool"),
        (("categories", "names", ["e\u0301", "b"]), "names must be written exactly as"),
        (("categories", "names", {"a": 1, "b": 2}), "names must be a list"),
        (("categories", "names", "ab"), "names must be a list"),
        (("integer-range", "low", 1 << 53), "low must be between"),
        (("integer-range", "low", 10**5000), "low|digits"),
        (("buckets", "edges", [0, float("nan")]), "edges must be finite"),
        (("buckets", "edges", [0, float("inf")]), "edges must be finite"),
        (("buckets", "edges", [False, True, 2]), "edges must be a number, not bool"),
        (("buckets", "below", ["clamp"]), "below must be one of"),
    ],
)
def test_only_what_to_json_writes_is_read(parameters: tuple[str, str, Any], message: str) -> None:
    kind, key, given = parameters
    written = next(encoding.to_json() for encoding in one_of_each() if encoding.kind == kind)
    with pytest.raises(EncodingError, match=message):
        from_json({**written, key: given})


@EACH
def test_every_value_has_a_label_and_width(encoding: Encoding) -> None:
    assert 1 << (encoding.bits - 1) < encoding.values <= 1 << encoding.bits
    labels = [encoding.label(value) for value in range(min(encoding.values, 300))]
    assert len(set(labels)) == len(labels)
    assert all(labels)
    for wrong in (-1, encoding.values, 10**30):
        for ask in (encoding.label, encoding.decode):
            with pytest.raises(ValueError, match="value must be between 0 and") as caught:
                ask(wrong)
            assert str(wrong) not in str(caught.value)
    with pytest.raises(TypeError):
        encoding.label(1.5)  # type: ignore[arg-type]


@EACH
def test_encodings_are_frozen_values(encoding: Encoding) -> None:
    assert {encoding: 1}[from_json(encoding.to_json())] == 1
    assert repr(encoding).startswith(type(encoding).__name__ + "(")
    with pytest.raises(AttributeError):
        setattr(encoding, next(iter(encoding.to_json().keys() - {"type", "version"})), 1)


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        (Bit(), 987654321),
        (Bit(), "zzsecretzz"),
        (IntegerRange(low=0, high=9), 987654321),
        (IntegerRange(low=0, high=9), 987654321.5),
        (IntegerRange(low=0, high=9), "zzsecretzz"),
        (Buckets(edges=[0, 1, 2]), 987654321),
        (Buckets(edges=[0, 1, 2]), "987654321"),
        (Buckets(edges=[0, 1, 2]), -987654321 * 10**400),
        (Categories(names=["a", "b"]), "zzsecretzz"),
        (Categories(names=["a", "b"]), "zzsecretzz\ud800"),
        (Categories(names=["a", "b"]), b"zzsecretzz"),
        (Categories(names=["a", "b"]), ["zzsecretzz"]),
        (HashedStrings(bits=8, salt=bytes(16), longest=5), "zzsecretzz"),
        (HashedStrings(bits=8, salt=bytes(16), longest=50), "zzsecretzz\udfff"),
        (HashedStrings(bits=8, salt=bytes(16), longest=50), 987654321),
    ],
)
def test_what_does_not_fit_is_refused_and_not_shown(encoding: Encoding, raw: Any) -> None:
    for ask in (encoding.encode, lambda raw: encoding.encode_many([raw])):
        with pytest.raises((TypeError, ValueError)) as caught:
            ask(raw)
        error: BaseException | None = caught.value
        while error:
            shown = "".join(traceback.format_exception_only(error)) + repr(error.args) + repr(vars(error))
            assert "secret" not in shown
            assert "987654321" not in shown
            error = error.__context__


@pytest.mark.parametrize("encoding", one_of_each()[:-1], ids=lambda encoding: type(encoding).__name__)
def test_arrays_keep_their_shape(encoding: Encoding) -> None:
    raw: Any = {"bit": True, "categories": "grün", "hashed-strings": "abc"}.get(encoding.kind, 3)
    code = encoding.encode(raw)
    for many in (np.full((2, 3), raw), np.full((2, 3), raw, dtype=object)):
        found = encoding.encode_many(many)
        assert found.dtype == np.uint64
        assert found.shape == (2, 3)
        assert np.all(found == code)
    assert encoding.encode_many([raw] * 3).tolist() == [code] * 3
    assert encoding.encode_many(raw for _ in range(2)).tolist() == [code] * 2
    assert encoding.encode_many([]).shape == (0,)
    with pytest.raises(TypeError, match="not one string"):
        encoding.encode_many("abc")


@EACH
def test_descriptions_say_what_happens_to_the_rest(encoding: Encoding) -> None:
    assert any(word in encoding.describe() for word in ("refused", "counts as", "count as", "cut"))


def test_encoding_needs_no_arrays() -> None:
    """So that a client can encode with the standard library alone."""
    script = (
        "import sys; from untrackable import Bit, Buckets, Categories, HashedStrings, IntegerRange;"
        "from untrackable import DiscoveredStrings;"
        "Buckets.log_scale(1, 10, 3).encode(2); HashedStrings.fresh(bits=8, longest=9).encode('a');"
        "DiscoveredStrings.fresh(longest=2, prefixes=[1, 2]).encode('a');"
        "sys.exit('loaded numpy' if 'numpy' in sys.modules else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603
