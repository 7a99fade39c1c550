"""Campaigns: canonical bytes, an id that pins them, a schedule, and a declaration that is verified."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.samples import BEGIN, DECK, HOUR, campaign
from tests.encodings.samples import one_of_each
from tests.mechanisms.test_client_states import ONE_OF_EACH
from untrackable import (
    Bitwise,
    Categories,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    IntegerRange,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
)
from untrackable.accounting.check import Verdict, tracking, verify
from untrackable.checks import MOST_ROUNDS
from untrackable.encodings.encoding import Bit, Encoding
from untrackable.errors import CampaignError
from untrackable.mechanisms import Lgrr
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol.campaign import LARGEST, Campaign, Directory, Guarantee, identify
from untrackable.randomizers.randomness import Entropy
from untrackable.strict_json import canonical
from untrackable.theory.symbols import cross_probability
from untrackable.theory.turns import Turns

ASKED = campaign()
GOLDEN = (
    b'{"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    b'"first_round":1800000000,"guarantee":{"delta":1e-06,"eps":1,"gamma":0,"tracking_delta":0,"values":"any"},'
    b'"mechanism":{"bits":1,"eps_report":0.25,"mechanism":"deck","slots":4,"when_empty":"stop","width":1},'
    b'"question":"Ja oder nein \xe2\x80\x93 welches?","round_seconds":86400,"rounds":4,"version":1}'
)
TURN = (
    b'{"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    b'"first_round":1800000000,"guarantee":{"eps":2},'
    b'"mechanism":{"base":{"bits":1,"eps":1,"mechanism":"noisy-inner-product","width":1},"mechanism":"fresh"},'
    b'"question":"Ja oder nein?","round_seconds":604800,"rounds":52,"turns":{"share":"1/2","wipes":1},"version":1}'
)


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    asked = Campaign(
        question="Ja oder nein – welches?",
        encoding=Categories(names=["no", "yes"]),
        randomizer=Deck(bits=1, slots=4, eps_report=0.25),
        first_round=1_800_000_000,
        round_seconds=86_400,
        rounds=4,
        guarantee=Guarantee(eps=1.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )
    assert asked.to_bytes() == GOLDEN
    assert asked.id == "dbe904c2a7116759805aa677efa6b47a7e145725bd031d59c2b61b1f6022dbe6"
    assert Campaign.from_bytes(GOLDEN) == asked


def turn() -> Campaign:
    return Campaign(
        question="Ja oder nein?",
        encoding=Categories(names=["no", "yes"]),
        randomizer=Fresh(NoisyInnerProduct(bits=1, eps=1.0)),
        first_round=1_800_000_000,
        round_seconds=7 * 86_400,
        rounds=52,
        guarantee=Guarantee(eps=2.0),
        turns=Turns(rounds=52, share=Fraction(1, 2), wipes=1),
    )


def test_golden_bytes_of_turns() -> None:
    assert turn().to_bytes() == TURN
    assert Campaign.from_bytes(TURN) == turn()
    assert turn().chance == Fraction(1, 104)
    assert campaign().chance == 1
    assert turn().ends == 1_800_000_000 + 52 * 7 * 86_400
    assert campaign(rounds=None).ends is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 51}, "turns are of 52 rounds, and the campaign has 51"),
        ({"rounds": None}, "turns are of 52 rounds, and the campaign has None"),
        ({"guarantee": Guarantee(eps=2.0, delta=1e-6)}, "with turns, the guarantee is eps"),
        ({"guarantee": Guarantee(eps=2.0, values="fixed")}, "with turns, the guarantee is eps"),
        ({"randomizer": DECK}, "with turns, the mechanism must be fresh"),
        ({"randomizer": Memoized(base=RandomizedResponse(eps=1.0))}, "with turns, the mechanism must be fresh"),
        ({"turns": Turns(rounds=52, wipes=101)}, "wipes must be at most 100, got 101"),
    ],
)
def test_turns_that_are_none(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(turn(), **changes)
    with pytest.raises(TypeError, match="turns must be of type Turns"):
        replace(turn(), turns=52)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_mechanism_there_and_back(name: str) -> None:
    asked = campaign(ONE_OF_EACH[name][0], rounds=None)
    assert Campaign.from_bytes(asked.to_bytes()) == asked


@pytest.mark.parametrize("encoding", one_of_each(), ids=lambda e: type(e).__name__)
def test_every_encoding_there_and_back(encoding: Encoding) -> None:
    asked = campaign(encoding=encoding)
    assert Campaign.from_bytes(asked.to_bytes()) == asked
    assert asked.id == identify(asked.to_bytes())


def altered(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = ASKED.to_json()
    change(document)
    return canonical(document)


def turned(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(TURN)
    change(document)
    return canonical(document)


def nested(depth: int) -> bytes:
    """A mechanism of levels of levels of levels."""
    inner = b'{"bits":1,"eps_report":1,"mechanism":"noisy-inner-product","width":1}'
    inner = b'{"base":' * depth + inner + b',"levels":1,"mechanism":"levelled"}' * depth
    dealt = b'{"base":' + inner + b',"mechanism":"dealt","slots":3,"when_empty":"stop"}'
    return ASKED.to_bytes().replace(canonical(ASKED.mechanism.to_json()), dealt)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 10_000, "is not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"version":1,"version":1}', "a key occurs twice"),
        (b'{"version":NaN}', "is not JSON"),
        (altered(lambda d: d.update(version=2)), "version of a campaign must be 1"),
        (turned(lambda d: d.update(turns=None)), "turns must have exactly the fields share, wipes"),
        (turned(lambda d: d["turns"].update(rounds=4)), "turns must have exactly the fields share, wipes"),
        (turned(lambda d: d["turns"].pop("wipes")), "turns must have exactly the fields share, wipes"),
        (turned(lambda d: d["turns"].update(share=1)), "share must be a text"),
        (turned(lambda d: d["turns"].update(share="1/" + "9" * 40)), "share must be a text of at most 40"),
        (turned(lambda d: d["turns"].update(share="0")), "share must be above 0"),
        (turned(lambda d: d["turns"].update(share="3/2")), "share must be between 0 and 1"),
        (turned(lambda d: d["turns"].update(share="2/4")), "must be written exactly as `to_bytes` writes it"),
        (turned(lambda d: d["turns"].update(wipes=-1)), "wipes must be"),
        (turned(lambda d: d["turns"].update(wipes=101)), "wipes must be at most 100"),
        (turned(lambda d: d["turns"].update(wipes=True)), "wipes must be"),
        (turned(lambda d: d.update(rounds=None)), "rounds must be"),
        (turned(lambda d: d.update(mechanism=DECK.to_json())), "with turns, the mechanism must be fresh"),
        (turned(lambda d: d["guarantee"].update(delta=0)), "the guarantee must have exactly the fields eps, and"),
        (turned(lambda d: d.pop("turns")), "the guarantee must have exactly the fields eps, delta"),
        (altered(lambda d: d.update(version=True)), "version of a campaign must be 1"),
        (altered(lambda d: d.update(extra=1)), "has no field 'extra'"),
        (altered(lambda d: d.pop("question")), "lacks question"),
        (altered(lambda d: d["guarantee"].update(more=1)), "must have exactly the fields"),
        (altered(lambda d: d["mechanism"].update(more=1)), "has no field 'more'"),
        (altered(lambda d: d["encoding"].update(more=1)), "has no field 'more'"),
        (altered(lambda d: d.update(question="two\nlines")), "question must not contain control .* U\\+000A"),
        (altered(lambda d: d.update(question="")), "question must have 1 to 1000 characters"),
        (altered(lambda d: d.update(round_seconds=0)), "round_seconds must be"),
        (altered(lambda d: d.update(rounds=0)), "rounds must be"),
        (altered(lambda d: d.update(rounds=MOST_ROUNDS + 1)), "rounds must be between 1 and 100000, got 100001"),
        (altered(lambda d: d.update(rounds=10**300)), "rounds must be between 1 and 100000"),
        (altered(lambda d: d.update(first_round=-1)), "first_round must be"),
        (altered(lambda d: d["guarantee"].update(eps=-1)), "eps must be"),
        (altered(lambda d: d["guarantee"].update(values="some")), "values must be"),
        (json.dumps(ASKED.to_json()).encode(), "must be written exactly as `to_bytes` writes it"),
        (ASKED.to_bytes() + b"\n", "must be written exactly as `to_bytes` writes it"),
        (ASKED.to_bytes().replace(b'"eps":8', b'"eps":8.0'), "must be written exactly as `to_bytes` writes it"),
        (ASKED.to_bytes().replace(b"Which", b"\\u0057hich"), "must be written exactly as `to_bytes` writes it"),
        (b" " * (LARGEST + 1), "at most 1048576 bytes"),
        *((nested(depth), "the campaign is not (valid|JSON)") for depth in (2, 300, 400, 700, 980, 5000)),
    ],
)  # fmt: skip
def test_what_is_no_campaign(data: bytes, message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        Campaign.from_bytes(data)


@given(st.data())
def test_one_byte_changed_is_another_campaign_or_none(data: st.DataObject) -> None:
    body = bytearray(ASKED.to_bytes())
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        other = Campaign.from_bytes(bytes(body))
    except CampaignError:
        return
    assert other.id != ASKED.id
    assert other.to_bytes() == bytes(body)


def test_rounds_by_the_clock() -> None:
    assert ASKED.begins(1) == BEGIN
    assert ASKED.begins(3) == BEGIN + 2 * HOUR
    assert [ASKED.round_at(BEGIN + t) for t in (-0.001, 0, HOUR - 0.001, HOUR, 30 * HOUR - 1, 30 * HOUR)] == [
        None, 1, 1, 2, 30, None,
    ]  # fmt: skip
    assert campaign(rounds=None).round_at(BEGIN + 10**9 * 3) == 10**9 * 3 // HOUR + 1
    assert [ASKED.last_begun(BEGIN + t) for t in (-HOUR, -0.001, 0, HOUR, 30 * HOUR)] == [0, 0, 1, 2, 31]


@pytest.mark.parametrize(("rounds", "last"), [(None, None), (30, 30)])
def test_the_last_round_is_that_of_the_campaign(rounds: int | None, last: int | None) -> None:
    assert campaign(FADING, rounds=rounds).last_round == last


@pytest.mark.parametrize(("rounds", "last"), [(None, 3), (2, 2), (30, 3)])
def test_the_last_round_may_be_that_of_the_mechanism(rounds: int | None, last: int) -> None:
    assert campaign(Deck(bits=4, slots=3, eps_report=0.5), rounds=rounds).last_round == last


def promise(eps: float, delta: float = 1e-6, **others: Any) -> Guarantee:
    return Guarantee(**{"eps": eps, "delta": delta, "values": "any", "gamma": 0.0, "tracking_delta": 0.0, **others})


REPLAYED = Deck(bits=4, slots=3, eps_report=0.5, when_empty="replay")
RAPPOR = Rappor(bloom_bits=16, hashes=1, f=0.5, p=0.5, q=0.75)
FADING = Fading(bits=2, eps=4.0, delta=0.01)


@pytest.mark.parametrize(
    ("mechanism", "guarantee", "rounds", "problems"),
    [
        (DECK, promise(8.0), 30, []),
        (DECK, promise(8.1), 30, []),
        (DECK, promise(7.9), 30, ["declares delta = 1e-06 at eps = 7.9"]),
        (DECK, promise(8.0, 1e-7), 30, ["declares delta = 1e-07 at eps = 8"]),
        (DECK, promise(7.0), 20, []),  # fewer rounds than cards
        (REPLAYED, promise(1.5, 0.0), 4, ["untrackability cannot be recomputed"]),
        (FADING, promise(4.0, 0.01), None, []),
        (FADING, promise(3.9, 0.01), None, ["declares delta = 0.01"]),
        (RAPPOR, promise(0.1, 0.0, values="fixed"), 2, ["delta", "tracking"]),
    ],
)  # fmt: skip
def test_a_declaration_is_no_stronger_than_the_truth(
    mechanism: Mechanism, guarantee: Guarantee, rounds: int | None, problems: list[str]
) -> None:
    names = Categories(names=["a", "b", "c", "d"])
    found = verify(campaign(mechanism, encoding=names, rounds=rounds, guarantee=guarantee))
    assert found.holds == (not problems)
    assert len(found.problems) == len(problems)
    for said, expected in zip(found.problems, problems, strict=True):
        assert expected in said


Law = dict[tuple[int, ...], float]


def kept(mechanism: Lgrr, value: int, rounds: int) -> Law:
    """Every stream of reports of one value, through one kept symbol."""

    def step(true: float, one: int, other: int) -> float:
        return true if one == other else (1 - true) / (mechanism.values - 1)

    symbols = range(mechanism.values)
    return {
        seen: sum(
            step(mechanism.keep, value, held) * math.prod(step(mechanism.tell, held, told) for told in seen)
            for held in symbols
        )
        for seen in itertools.product(symbols, repeat=rounds)
    }


def followed(mechanism: Lgrr, sizes: list[tuple[int, int]], gamma: float) -> float:
    """Delta of one user against two, by enumeration; each value has so many reports on either side."""
    worlds: list[tuple[float, float]] = [(1.0, 1.0)]
    for value, (left, right) in enumerate(sizes):
        together = kept(mechanism, value, left + right)
        alone, other = kept(mechanism, value, left), kept(mechanism, value, right)
        pairs = [(p, alone[seen[:left]] * other[seen[left:]]) for seen, p in together.items()]
        worlds = [(a * p, b * q) for a, b in worlds for p, q in pairs]
    return max(
        math.fsum(max(0.0, a - math.exp(gamma) * b) for a, b in order)
        for order in (worlds, [(b, a) for a, b in worlds])
    )


@pytest.mark.parametrize("gamma", [0.0, 0.4])
@pytest.mark.parametrize("rounds", [4, 5, 6])
def test_values_that_change_are_no_less_trackable_than_declared(gamma: float, rounds: int) -> None:
    """A client keeps a state for each value: two values that are reported twice give two things to follow."""
    mechanism = Lgrr(values=3, keep=0.4, tell=0.99)
    splits = [[(1, 1), (1, 1)], [(rounds // 2, rounds - rounds // 2)], [(2, 1), (1, 1)] if rounds > 4 else [(1, 1)]]
    splits.append([(1, 1)] * (rounds // 2))
    truth = max(followed(mechanism, sizes, gamma) for sizes in splits)
    fixed = mechanism.tracking(reports=rounds).delta(gamma).upper
    assert truth > 1.1 * fixed
    names = Categories(names=["a", "b", "c"])

    def declaring(tracking_delta: float, values: str) -> Verdict:
        guarantee = promise(99.0, 0.0, values=values, gamma=gamma, tracking_delta=tracking_delta)
        return verify(campaign(mechanism, encoding=names, rounds=rounds, guarantee=guarantee))

    assert declaring(fixed, "fixed").holds
    assert "tracking_delta" in declaring(fixed, "any").problems[0]
    assert "tracking_delta" in declaring(truth * 0.999, "any").problems[0]
    found = declaring(1.0, "any")
    assert found.holds
    assert found.tracking_delta is not None
    assert truth <= found.tracking_delta.upper <= 1.25 * truth


def test_a_memoized_bit_that_changes() -> None:
    lie = RandomizedResponse(eps=0.5).flip.probability
    pairs = [((1 - lie), (1 - lie) ** 2), (lie, lie**2), (0.0, 2 * lie * (1 - lie))]
    truth = sum(max(0.0, p * r - q * s) for (p, q), (r, s) in itertools.product(pairs, pairs))
    memoized = Memoized(base=RandomizedResponse(eps=0.5))
    asked = campaign(memoized, encoding=Bit(), rounds=4, guarantee=promise(99.0, 1.0, tracking_delta=1.0))
    found = tracking(asked).delta(0.0).upper
    assert memoized.tracking(reports=4).delta(0.0).upper < truth <= found <= 1.05 * truth


def test_slots_of_several_values_meet_no_more_often_than_those_of_one() -> None:
    """Draws are independent, so the pattern of all of them says all that the patterns of each value say."""
    for slots, left, right in itertools.product((2, 3), (1, 2), (1, 2)):
        one = cross_probability(slots, 2 * (left + right), 2 * left)
        for shares in (
            [(left, right)] * 2,
            [(left, right), (left, 0), (0, right)],
            [(2 * left, right), (0, right)],
        ):
            apart = 1 - math.prod(1 - cross_probability(slots, a + b, a) for a, b in shares)
            assert apart <= one * (1 + 1e-12)
    stored = InnerProduct(bits=1, slots=2, eps_report=1.0)
    asked = campaign(stored, encoding=Bit(), rounds=4, guarantee=promise(99.0, 1.0, tracking_delta=1.0))
    assert tracking(asked).delta(0.0).upper >= stored_by_enumeration(stored, ((0, 0, 1, 1), {0, 2}))
    assert tracking(asked).delta(0.0).upper >= stored_by_enumeration(stored, ((0, 0, 0, 0), {0, 2}))


def stored_by_enumeration(stored: InnerProduct, asked: tuple[tuple[int, ...], set[int]]) -> float:
    """The advantage, by listing every draw of slots and every execution; with one bit, a report is its answer."""
    values, mine = asked
    lie = stored.base.flip.probability

    def law(seen: tuple[int, ...], rounds: list[int]) -> float:
        total = 0.0
        for drawn in itertools.product(range(stored.slots), repeat=len(rounds)):
            told: dict[tuple[int, int], set[int]] = {}
            for t, slot in zip(rounds, drawn, strict=True):
                told.setdefault((values[t], slot), set()).add(seen[t])
            chances = [1 - lie if said == {value} else lie for (value, _), said in told.items() if len(said) == 1]
            total += math.prod(chances) if len(chances) == len(told) else 0.0
        return total / float(stored.slots ** len(rounds))

    rounds = list(range(len(values)))
    sides = [[t for t in rounds if (t in mine) == side] for side in (True, False)]
    return math.fsum(
        max(0.0, law(seen, rounds) - law(seen, sides[0]) * law(seen, sides[1]))
        for seen in itertools.product((0, 1), repeat=len(values))
    )


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_mechanism_is_no_less_trackable_where_values_change(name: str) -> None:
    mechanism = ONE_OF_EACH[name][0]
    asked = {
        values: campaign(mechanism, rounds=2, guarantee=promise(9.0, values=values)) for values in ("fixed", "any")
    }
    deltas = {values: tracking(one).delta(0.0).upper for values, one in asked.items()}
    assert deltas["any"] >= deltas["fixed"] * (1 - 1e-12)


def test_a_rule_for_changes_that_is_not_known_is_refused() -> None:
    class Odd(Bitwise):
        def change_value(self, state: int, value: int, source: Entropy) -> int:
            return state

    asked = campaign(Odd(eps_state=1.0, eps_report=1.0), encoding=Bit(), rounds=4, guarantee=promise(99.0, 1.0))
    assert "no bound is known on tracking by Odd when values change" in verify(asked).problems[0]
    many = campaign(Lgrr(values=10**6, keep=0.5, tell=0.9), rounds=None, guarantee=promise(99.0, 1.0))
    many = replace(many, encoding=IntegerRange(low=0, high=10**6 - 1))
    assert "1,000,000 values may be reported twice each" in " ".join(verify(many).problems)


def test_hashes_that_collide_are_counted() -> None:
    """Filters with fewer ones than hashes are more trackable here."""
    rappor = Rappor(bloom_bits=4, hashes=2, f=0.2, p=0.1, q=0.9)
    names = Categories(names=["a", "b", "c", "d"])
    worst, usual = (rappor.tracking(reports=3, ones=ones).delta(1.0).upper for ones in ("worst", 2))
    assert worst > usual
    for declared, holds in ((usual, False), (worst, True)):
        guarantee = promise(99.0, 1.0, values="fixed", gamma=1.0, tracking_delta=declared)
        assert verify(campaign(rappor, encoding=names, rounds=3, guarantee=guarantee)).holds == holds


def test_an_encoding_that_does_not_fit_is_a_problem() -> None:
    assert "does not take all 12 values" in verify(campaign(Deck(bits=3, slots=2, eps_report=0.1))).problems[0]
    bitwise = Bitwise(eps_state=1.0, eps_report=1.0)
    assert "does not take all" in verify(campaign(bitwise, rounds=2)).problems[0]
    assert verify(
        campaign(bitwise, encoding=Bit(), rounds=2, guarantee=promise(1.0, 0.0, values="fixed", gamma=3.0))
    ).holds


def test_a_directory_lists_campaigns_in_one_way() -> None:
    other = campaign(question="Another?")
    listed = Directory((ASKED.id, other.id, ASKED.id))
    assert listed.ids == tuple(sorted({ASKED.id, other.id}))
    assert Directory.from_bytes(listed.to_bytes()) == listed
    assert Directory((ASKED.id,)).with_ids([other.id]).digest == listed.digest
    assert listed.digest == identify(listed.to_bytes())
    for wrong in (
        b"{}",
        canonical({"campaigns": [ASKED.id.upper()], "version": 1}),
        canonical({"campaigns": [ASKED.id, ASKED.id], "version": 1}),
        canonical({"campaigns": "x", "version": 1}),
        canonical({"campaigns": [], "version": 1, "more": 1}),
        canonical({"campaigns": [], "version": 2}),
    ):
        with pytest.raises(CampaignError):
            Directory.from_bytes(wrong)
