"""What a client checks by itself, against enumeration; and what it leaves to the engine."""

import itertools
import math
import sys
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.client.samples import campaign, turns_campaign
from untrackable.accounting import check
from untrackable.encodings.encoding import Bit
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft

BASES = [
    RandomizedResponse(eps=1.0),
    NoisyInnerProduct(bits=1, eps=0.5),
    NoisyInnerProduct(bits=2, eps=2.0, width=1),
    NoisyInnerProduct(bits=2, eps=2.0, width=2),
    OneBitMean(values=3, eps=1.5),
    SubsetSelection(values=3, eps=1.0),
    Views(bits=2, views=((0,), (1,)), eps=1.0),
    Divided(sizes=(1, 1), eps=1.5),
]

Law = dict[Any, float]


def asked(base: Local, rounds: int, *, wipes: int = 0, share: Fraction = Fraction(1), **changes: Any) -> Campaign:
    encoding = {"encoding": Bit()} if base.values < 4 else {}
    return turns_campaign(base, rounds=rounds, wipes=wipes, share=share, **encoding, **changes)


def report_laws(base: Local) -> list[Law]:
    """The probability of every report, for every value."""
    every = [report for report in range(1 << base.report_bits) if base.possible(report)]
    reports = np.array(every, dtype=np.uint64)
    if isinstance(base, SubsetSelection):  # Its reports are rows of bytes.
        reports = reports[:, None].astype(np.uint8)
    return [
        dict(zip(every, np.exp(base.log_likelihood(reports, value)).tolist(), strict=True))
        for value in range(base.values)
    ]


def one_life(laws: list[Law], values: tuple[int, ...], share: float, first: int, last: int) -> Law:
    """What a client sends that answers rounds first … last only, one of all rounds being its turn."""
    sent: Law = defaultdict(float)
    sent[None] = 1 - share
    for turn, value in enumerate(values, start=1):
        if not first <= turn <= last:
            sent[None] += share / len(values)
            continue
        for report, chance in laws[value].items():
            sent[turn, report] += share / len(values) * chance
    return sent


def everything(laws: list[Law], values: tuple[int, ...], share: float, wiped_after: tuple[int, ...]) -> Law:
    """What a person ever sends whose storage is wiped after these rounds."""
    ends = (*wiped_after, len(values))
    lives = [one_life(laws, values, share, first + 1, last) for first, last in itertools.pairwise((0, *ends))]
    found: Law = defaultdict(float)
    for parts in itertools.product(*(life.items() for life in lives)):
        found[tuple(sent for sent, _ in parts)] += math.prod(chance for _, chance in parts)
    return found


def largest_ratio(base: Local, rounds: int, share: Fraction, wiped_after: tuple[int, ...] = ()) -> float:
    """The largest log ratio of probabilities of all that is sent, over all pairs of sequences of values."""
    laws = report_laws(base)
    sequences = list(itertools.product(range(base.values), repeat=rounds))
    found = [everything(laws, values, float(share), wiped_after) for values in sequences]
    return max(
        math.log(one[sent] / other[sent])
        for one, other in itertools.permutations(found, 2)
        for sent in one
        if one[sent] > 0
    )


def eps_upper(asked: Campaign) -> float:
    """The eps of everything that a person sends, as it is verified."""
    eps = check.verify(asked).eps
    assert eps is not None
    return eps.upper


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize(("rounds", "share"), [(1, Fraction(1)), (2, Fraction(1)), (3, Fraction(2, 3))])
def test_a_turn_has_the_eps_of_its_report_by_enumeration(base: Local, rounds: int, share: Fraction) -> None:
    """It is attained without wipes: the closed form is exact."""
    exact = largest_ratio(base, rounds, share)
    found = eps_upper(asked(base, rounds, share=share, eps=9.0))
    assert exact <= found * (1 + 1e-12)
    assert found == pytest.approx(exact, rel=1e-9)
    # Whatever is declared: just enough is confirmed, and less is refused.
    assert check.client_problems(asked(base, rounds, eps=found)) == ()
    (problem,) = check.client_problems(asked(base, rounds, eps=found * 0.999))
    assert problem.startswith("it declares eps = ")


@pytest.mark.parametrize("base", [BASES[0], BASES[1], SubsetSelection(values=2, eps=0.7)], ids=repr)
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("wipes", [1, 2])
def test_wipes_that_are_allowed_are_within_the_bound_by_enumeration(base: Local, rounds: int, wipes: int) -> None:
    found = eps_upper(asked(base, rounds, wipes=wipes, eps=9.0))
    assert found == (wipes + 1) * eps_upper(asked(base, rounds, eps=9.0))
    worst = max(
        largest_ratio(base, rounds, Fraction(1), after)
        for after in itertools.combinations_with_replacement(range(rounds + 1), wipes)
    )
    assert worst <= found * (1 + 1e-12)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_the_engine_says_the_same(base: Local) -> None:
    made = asked(base, 5, wipes=1, eps=9.0)
    verdict = check.verify(made)
    assert verdict.holds
    assert verdict.eps is not None
    told = verdict.to_json()
    assert told["delta"] == told["tracking_delta"] == {"lower": 0.0, "upper": 0.0, "certainty": "exact"}
    assert told["eps"]["certainty"] == "exact"
    assert "crowd" not in told
    alone = made.mechanism.privacy(reports=1)
    assert alone.delta(verdict.eps.upper / 2).upper == pytest.approx(0.0, abs=1e-12)


def test_strings_are_answered_in_turns_too() -> None:
    strings = DiscoveredStrings(prefixes=range(1, 4), bucket_bits=8, longest=3, salt=b"s" * 16)
    levelled = Levelled(NoisyInnerProduct(bits=8, eps=1.0), 3)
    made = turns_campaign(levelled, encoding=strings)
    assert check.client_problems(made) == ()
    assert check.verify(made).holds
    wider = DiscoveredStrings(prefixes=strings.prefixes, bucket_bits=9, longest=3, salt=b"s" * 16)
    assert "does not take all" in check.client_problems(turns_campaign(levelled, encoding=wider))[0]


def test_values_that_do_not_fit_are_noticed() -> None:
    for made in (
        campaign(Deck(bits=1, slots=30, eps_report=0.01), encoding=campaign().encoding),
        turns_campaign(RandomizedResponse(eps=1.0), encoding=campaign().encoding),
    ):
        assert "does not take all 4 values" in check.client_problems(made)[0]


def test_a_draft_that_would_not_keep_what_it_declares_becomes_no_campaign() -> None:
    made = asked(RandomizedResponse(eps=1.0), 3, eps=9.0)
    draft = CampaignDraft(
        encoding=made.encoding, mechanism=made.mechanism, rounds=3, guarantee=made.guarantee, turns=made.turns
    )
    times: dict[str, Any] = {name: getattr(made, name) for name in ("question", "first_round", "round_seconds")}
    assert check.make_campaign(draft, **times) == (made, check.verify(made))
    with pytest.raises(ValueError, match=r"would not keep what it declares: it declares eps = 0\.9, and has 1"):
        check.make_campaign(replace(draft, guarantee=Guarantee(eps=0.9)), **times)


def test_every_round_is_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    rappor = Rappor(bloom_bits=8, hashes=1, f=0.9, p=0.5, q=0.6)
    changes = {"values": "fixed", "eps": 10.0, "tracking_delta": 1.0, "encoding": campaign().encoding}
    made = campaign(rappor, **changes)
    assert check.client_problems(made) == check.verify(made).problems
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert "without the full package" in check.client_problems(made)[0]
