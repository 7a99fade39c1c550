"""Campaigns that each person answers once, as web pages ask them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.vectors.make import stream
from untrackable.encodings.encoding import Bit, Categories, Choices, Encoding
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path, Record
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, GatewayKey, Guarantee
from untrackable.theory.turns import Turns

BEGIN = 1_800_000_000
HOUR = 3600
PAGES = Categories(names=[f"page {i}" for i in range(12)])
FEATURES = Choices(names=["search", "export", "é"])
STARTS = Buckets(edges=[0, 50, 200, 1000], above="separate", unit="ms")
PERCENT = IntegerRange(low=0, high=100)
SET = Record(attributes={"smokes": Bit(), "share": PERCENT}, tables=[["smokes"], ["share"]])
MOODS = Path(of=IntegerRange(low=0, high=3), looks=3)
VISIT = Record(
    attributes={"browser": Categories(names=["Firefox", "Safari"], unknown="other"), "start": STARTS, "new": Bit()},
    tables=[["browser", "start"], ["new"]],
)


def question(base: Local | None = None, encoding: Encoding = PAGES, **changes: Any) -> Campaign:
    """A question about pages in four rounds of an hour, unless another is given."""
    rounds, wipes = changes.setdefault("rounds", 4), changes.pop("wipes", 0)
    base = base or NoisyInnerProduct(bits=encoding.bits, eps=2.0)
    turns = Turns(rounds=rounds, share=Fraction(changes.pop("share", 1)), wipes=wipes)
    eps = changes.pop("eps", (wipes + 1) * getattr(base, "eps", 0.0))
    given: dict[str, Any] = {
        "question": "Which page is yours?",
        "first_round": BEGIN,
        "round_seconds": HOUR,
        "guarantee": Guarantee(eps=eps),
        **changes,
    }
    return Campaign(encoding=encoding, randomizer=Fresh(base), turns=turns, **given)


def about(encoding: Encoding, eps: float) -> Views:
    """Reports about the tables that an encoding asks for."""
    assert encoding.asked is not None
    return Views(bits=encoding.bits, views=encoding.asked.views, eps=eps)


_CIPHERS = bytes.fromhex("000400010001")
GATEWAY = Gateway(
    tuple(
        GatewayKey(bytes([number, 0, 32]) + stream(f"gateway/{number}", 32) + _CIPHERS, first)
        for number, first in ((7, 1), (8, 3))
    )
)


def in_a_crowd(asked: Campaign, gateway: Gateway = GATEWAY) -> Campaign:
    """The same campaign, which relies on a crowd."""
    crowd = CrowdGuarantee(eps=0.5, delta=1e-6, reports=1000)
    return replace(asked, guarantee=replace(asked.guarantee, crowd=crowd), gateway=gateway)
