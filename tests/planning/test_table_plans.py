"""Plans for several answers at once: carried out with data that nobody here made, they keep what they promise.

The people are words of Python's documentation, which hold some letters, and characters of Unicode, which have some
properties. A figure misses its promise with probability at most beta, and rounds are independent. If all promises
are kept, more misses than allowed happen with probability at most 1e-7.
"""

import functools
import math
import pydoc_data.topics
import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from tests.protocol.test_crowd_declaration import GATEWAY
from untrackable import Goals, plan
from untrackable.accounting import client_check
from untrackable.accounting.verification import verify
from untrackable.answers.question import Question
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.client.policy import Policy
from untrackable.display import plan_json, way_words
from untrackable.encodings import Bit, Categories, Choices, Encoding, IntegerRange, Record
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.table_spreads import cell_spreads
from untrackable.mechanisms.tables_catalogue import DECKS, TABLES
from untrackable.planning.forecast import table_errors
from untrackable.planning.planned_campaign import draft
from untrackable.planning.plans import Option, Plan
from untrackable.planning.plans import option as option_of
from untrackable.planning.separate_campaigns import separate_campaigns
from untrackable.planning.unknown_goal import solve
from untrackable.protocol.campaign import Campaign

BETA, ALARM = 0.2, 1e-7
PEOPLE, ROUNDS = 4_000, 60
LETTERS = Choices(names=list("aeiou"))
PROPERTIES = Choices(names=["letter", "lower case", "mirrored", "composed"])
WORD = Record(
    attributes={"length": IntegerRange(low=1, high=6, above="clamp"), "title": Bit(), "vowel": Bit()},
    tables=[["length", "title"], ["length", "vowel"]],
)
CHARACTER = Record(
    attributes={
        "width": Categories(names=["N", "W", "A"], unknown="other"),
        "letter": Bit(),
        "mirrored": Bit(),
    }
)


@functools.cache
def words() -> tuple[str, ...]:
    return tuple(re.findall("[A-Za-z]+", " ".join(pydoc_data.topics.topics.values())))


@functools.cache
def characters() -> tuple[str, ...]:
    return tuple(char for char in map(chr, range(0x20000)) if unicodedata.category(char) not in ("Cn", "Cs", "Co"))


def word_record(word: str) -> dict[str, Any]:
    return {"length": len(word), "title": int(word[0].isupper()), "vowel": int(word[0].lower() in "aeiou")}


def character_record(char: str) -> dict[str, Any]:
    return {
        "width": unicodedata.east_asian_width(char),
        "letter": int(char.isalpha()),
        "mirrored": unicodedata.mirrored(char),
    }


def character_properties(char: str) -> list[str]:
    held = (char.isalpha(), char.islower(), unicodedata.mirrored(char), unicodedata.decomposition(char))
    return [name for name, is_held in zip(PROPERTIES.names, held, strict=True) if is_held]


def population(encoding: Encoding) -> NDArray[np.uint64]:
    """So many words or characters, drawn at random."""
    rng = np.random.default_rng(8)
    if encoding is LETTERS:
        raws: list[Any] = [set(word.lower()) & set("aeiou") for word in rng.choice(words(), PEOPLE)]
    elif encoding is WORD:
        raws = [word_record(str(word)) for word in rng.choice(words(), PEOPLE)]
    else:
        describe: Any = character_properties if encoding is PROPERTIES else character_record
        raws = [describe(str(char)) for char in rng.choice(characters(), PEOPLE)]
    return encoding.encode_many(np.array(raws, dtype=object))


def goals_of(encoding: Encoding, **changes: Any) -> Goals:
    demands: dict[str, Any] = {
        "encoding": encoding,
        "people": PEOPLE,
        "rounds": ROUNDS,
        "eps": 30.0,
        "error": 0.999,
        "beta": BETA,
        "recognition": 1.0,
        "matched_by_answer": 1.0,
    }
    return Goals(**demands | changes)


CASES: dict[str, tuple[str, Goals]] = {
    "letters by views": ("views", goals_of(LETTERS)),
    "letters by chance": ("views", goals_of(LETTERS, participation="1/3")),
    "letters in groups": ("groups", goals_of(LETTERS)),
    "letters in a crowd": ("groups", goals_of(LETTERS, eps=64.0, crowd_eps=1.0)),
    "properties at once": ("whole", goals_of(PROPERTIES)),
    "words by views": ("views", goals_of(WORD)),
    "words by chance": ("views", goals_of(WORD, participation="1/3")),
    "characters by views": ("views", goals_of(CHARACTER)),
    "characters at once": ("whole", goals_of(CHARACTER)),
}


@functools.cache
def option(case: str) -> Option:
    name, goals = CASES[case]
    return option_of(name, solve(TABLES[name], goals))


def part_of(held: NDArray[np.uint64], bits: tuple[int, ...]) -> NDArray[np.uint64]:
    """What some bits of every value are, as one number."""
    found = np.zeros_like(held)
    for i, bit in enumerate(bits):
        found |= (held >> np.uint64(bit) & np.uint64(1)) << np.uint64(i)
    return found


@functools.cache
def errors(case: str) -> NDArray[np.float64]:
    """For each round and each cell of all tables, the difference from the truth among everybody."""
    found, rng = option(case), np.random.default_rng(9)
    goals, mechanism = found.goals, found.mechanism
    encoding = goals.encoding
    assert encoding is not None
    assert encoding.asked is not None
    held = population(encoding)
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(held, rounds=ROUNDS, seed=5)])
    questions = [
        Question(mechanism, encoding, participation=goals.answered, table=table.name)
        for table in encoding.asked.tables
    ]
    truth = np.array(
        [np.mean(part_of(held, cell.bits) == cell.entry) for table in encoding.asked.tables for cell in table.cells]
    )
    rows = []
    for round in range(ROUNDS):
        sums = mechanism.aggregator(round + 1).add(reports[rng.random(PEOPLE) < float(goals.answered), round])
        estimates = [question.estimate(sums, BETA) for question in questions]
        rows.append(np.concatenate([estimate.frequencies for estimate in estimates]) - truth)
        shown = max(float(estimate.simultaneous_radius.max()) for estimate in estimates)
        assert shown <= found.one_round_upper * (1.001 if goals.answered == 1 else 1.1)
    return np.array(rows)


@pytest.mark.parametrize("case", CASES)
def test_promised_errors_are_kept(case: str) -> None:
    """All cells of all tables at once, in as many rounds as promised."""
    found = np.abs(errors(case)).max(axis=1) / option(case).error_upper
    assert np.count_nonzero(found > 1) <= binom.isf(ALARM, ROUNDS, BETA) < 0.6 * ROUNDS
    assert found.max() > 0.2  # It is no empty promise.


def squares(case: str) -> float:
    """The mean square of the errors of the tables that are known least well, over the one that is promised."""
    chosen, found = option(case), errors(case)
    asked = chosen.goals.asked
    assert asked is not None
    spreads = cell_spreads(chosen.mechanism, asked.shown, 1).standard_error(PEOPLE)
    worst = {bits for bits, error in zip(asked.shown, spreads, strict=True) if error > 0.999 * spreads.max()}
    cells = [cell for table in asked.tables for cell in table.cells]
    places = [place for place, cell in enumerate(cells) if cell.bits in worst]
    # Errors are sums of many terms, so that the promise is hardly more than √(2·ln(2m/β)) standard errors.
    standard_error = chosen.error_upper / math.sqrt(2 * math.log(2 * asked.cells / BETA))
    return float(np.mean(found[:, places] ** 2)) / standard_error**2


def test_a_promise_that_is_a_fifth_too_small_is_found_out() -> None:
    """The promise is a proven multiple of the standard error, and the errors that are seen have no smaller one.

    The mean over all cases is of about 1,600 squares, so its standard deviation is 4 %.
    """
    seen = float(np.mean([squares(case) for case in CASES]))
    assert 0.75 < seen < 1.15
    assert seen / 0.8**2 > 1.15


# --- what is solved for ------------------------------------------------------------------------------------------


SMALL = Choices(names=["search", "export", "share"])
ASKED: dict[str, Any] = {"encoding": SMALL, "people": 1_000_000, "rounds": 12, "eps": 2.0, "recognition": 1.0}


@pytest.fixture(scope="module")
def small_plan() -> Plan:
    return plan(**ASKED)


@pytest.mark.parametrize("unknown", ["people", "rounds", "eps"])
def test_all_unknowns_lead_to_the_same_plan(small_plan: Plan, unknown: str) -> None:
    best = small_plan.recommended
    assert best is not None
    found = plan(**{**ASKED, unknown: None, "error": best.error_upper * 1.00001}).recommended
    assert found is not None
    assert found.name == best.name
    assert getattr(found.goals, unknown) == pytest.approx(ASKED[unknown], rel=1e-3)
    assert found.error_upper <= best.error_upper * 1.00002


def test_there_may_be_no_last_round() -> None:
    found = plan(**{**ASKED, "rounds": "forever", "recognition": 0.002}, one_network=True)
    assert [option.name for option in found.options] == ["fading-views"]
    assert found.compared is None
    assert verify(campaigns(found)[0]).problems == ()


def test_pooled_rounds_and_single_shares_have_smaller_errors(small_plan: Plan) -> None:
    best = small_plan.recommended
    assert best is not None
    pooled = plan(**ASKED, pooled=4).recommended
    one = plan(**ASKED, simultaneous=False).recommended
    assert pooled is not None
    assert one is not None
    asked, people = best.goals.asked, best.goals.people
    assert asked is not None
    assert people is not None
    more = table_errors(best.mechanism, best.goals, asked, 4 * people)  # As many reports in one round.
    assert pooled.error_upper == pytest.approx(more.figure, rel=5e-3)
    # The tail is e²/2 times that of a Poisson number, which is nearly normal: 3 shares at once, or one.
    three, alone = (norm.isf(0.05 / m / math.e**2) for m in (3, 1))
    assert one.error_upper == pytest.approx(best.error_upper * alone / three, rel=5e-3)


def test_numbers_of_such_a_question_are_refused() -> None:
    with pytest.raises(ValueError, match="want must be frequencies if there are several answers at once"):
        Goals(**ASKED, want="mean")


# --- ways to ask -------------------------------------------------------------------------------------------------


def campaigns(found: Plan, *, apart: bool = False) -> list[Campaign]:
    drafts = found.campaigns() if apart else {"all": found.campaign()}
    gateway = None if found.goals.crowd_eps is None else GATEWAY
    return [
        one.campaign(question=name, first_round=1_893_456_000, round_seconds=86_400, gateway=gateway)
        for name, one in drafts.items()
    ]


def joined(found: list[Campaign]) -> Ledger:
    """The ledger of a client that has joined all of them."""
    ledger = Ledger()
    for campaign in found:
        ledger = ledger.joined(campaign, Life("life", 1, campaign.rounds, 0))
    return ledger


def test_ways_are_compared_at_one_budget(small_plan: Plan) -> None:
    compared = small_plan.compared
    assert compared is not None
    by_name = {way.name: way for way in compared.ways}
    for option in small_plan.options:
        if option.name in DECKS:
            assert by_name[option.name].error_upper == pytest.approx(option.error_upper, rel=1e-9)
    assert [way.error_upper for way in compared.ways] == sorted(way.error_upper or 0 for way in compared.ways)
    assert by_name["separate"].campaigns == 3
    assert not small_plan.separately
    told = plan_json.as_json(small_plan)
    assert told["ways"][0]["name"] == small_plan.options[0].name
    assert told["campaigns"] is None
    assert "With the same budget, 3 campaigns, one for each choice, would be off by" in " ".join(told["verdict"])
    assert way_words.ways(compared)[0][0] == f"{compared.ways[0].name} (best)"


@pytest.mark.parametrize(
    ("encoding", "demands"),
    [(WORD, {"eps": 2.0, "persistence": 3}), (SMALL, {"crowd_eps": 1.0, "eps": 64.0, "one_network": True})],
    ids=["record alone", "choices in a crowd"],
)
def test_one_client_answers_separate_campaigns_within_the_budget(
    encoding: Encoding, demands: Mapping[str, Any]
) -> None:
    """Its ledger composes them as the plan does: to the whole budget, and no more."""
    found = plan(encoding=encoding, people=20_000, rounds=5, error=0.999, recognition=0.002, **demands)
    made = campaigns(found, apart=True)
    assert len(made) == len(encoding.asked.views)  # type: ignore[union-attr]
    assert verify(made[0]).problems == client_check.recompute(made[0]).problems == ()
    ledger, crowd = joined(made), demands.get("crowd_eps")
    policy = Policy(eps=1000.0 if crowd else 2.0, delta=1e-6, crowd_eps=crowd or 9.0, recognition=0.002)
    ledger.check(policy)
    assert crowd or ledger.joint.recognition() > 0.0015
    smaller = Policy(
        eps=1000.0 if crowd else 2.0 * 0.98, delta=1e-6, crowd_eps=0.96 if crowd else 9.0, recognition=0.002
    )
    with pytest.raises(CampaignRefused):
        ledger.check(smaller)


def test_several_campaigns_are_recommended_where_they_are_better() -> None:
    """In a crowd that hides every report, each person may as well send one about every choice."""
    found = plan(
        encoding=Choices(names=[f"{i}" for i in range(6)]),
        people=20_000,
        rounds=4,
        crowd_eps=1.0,
        eps=64.0,
        recognition=1.0,
    )
    assert found.separately
    compared = found.compared
    assert compared is not None
    assert compared.ways[0].name == "separate"
    told = plan_json.as_json(found)
    assert told["verdict"][0].startswith("6 campaigns, one for each choice: shares are off by at most")
    assert list(told["campaigns"]) == [f"{i}" for i in range(6)]


def test_separate_campaigns_keep_their_error() -> None:
    """Each choice by itself, as a yes/no question: the largest error of six shares, in 60 rounds."""
    goals = goals_of(LETTERS)
    found = separate_campaigns(goals)
    held, (deck, *_) = population(LETTERS), found.decks([True] * 5)
    off = []
    for bit in range(5):
        mine = (held >> np.uint64(bit) & np.uint64(1)).astype(np.int64)
        (batch,) = deck.simulate(mine, rounds=ROUNDS, seed=bit)
        shares = [deck.aggregator(r + 1).add(batch.reports[:, r]).estimate().frequencies[1] for r in range(ROUNDS)]
        off.append(np.array(shares) - mine.mean())
    misses = np.count_nonzero(np.abs(off).max(axis=0) > found.errors.figure)
    assert misses <= binom.isf(ALARM, ROUNDS, BETA)
    seen = float(np.mean(np.square(off))) / (found.errors.figure**2 / (2 * math.log(10 / BETA)))
    assert 0.75 < seen < 1.2


# --- campaigns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "demands"),
    [
        (SMALL, {"eps": 1.0, "participation": "1/7"}),
        (WORD, {"eps": 2.0, "changes": True}),
        (SMALL, {"crowd_eps": 1.0, "eps": 64.0, "one_network": True}),
        (WORD, {"crowd_eps": 1.0, "one_network": True}),
    ],
    ids=["choices by chance", "changing record", "choices in a crowd", "record in a crowd"],
)
def test_every_option_verifies_as_a_campaign(encoding: Encoding, demands: Mapping[str, Any]) -> None:
    people = 20_000 if "crowd_eps" in demands else 2_000_000
    goals = Goals(encoding=encoding, people=people, rounds=3, error=0.999, **demands)
    tried = 0
    for name, entry in TABLES.items():
        try:
            solved = solve(entry, goals)
        except Unsuitable:
            continue
        tried += 1
        gateway = None if goals.crowd_eps is None else GATEWAY
        made = draft(solved.goals, solved.mechanism, b"").campaign(
            question="Which?", first_round=1_893_456_000, round_seconds=86_400, gateway=gateway
        )
        assert made.encoding == encoding
        assert verify(made).problems == (), name
        assert client_check.recompute(made).problems == (), name
    assert tried >= 2


def test_what_does_not_fit_says_why() -> None:
    many = Choices(names=[f"{i}" for i in range(30)])
    why = {r.name: r.why for r in plan(encoding=many, people=10**7, rounds=4, eps=1.0, error=0.9).refusals}
    assert why["whole"] == "It asks about all answers together, and there are 2^30 sets of them; 2^16 is the most."
    with pytest.raises(Unsuitable, match="It joins tables that have nothing in common, and these have"):
        TABLES["groups"].for_budget(goals_of(WORD).budget)
    with pytest.raises(Unsuitable, match="there are too few for that"):
        TABLES["groups"].for_budget(goals_of(Choices(names=["a", "b"])).budget)
    with pytest.raises(Unsuitable, match="needs a last round"):
        TABLES["views"].for_budget(goals_of(SMALL, rounds="forever").budget)
    with pytest.raises(Unsuitable, match="without a last round"):
        separate_campaigns(goals_of(SMALL, rounds="forever"))
    with pytest.raises(Unsuitable, match="so many campaigns are answered"):
        separate_campaigns(goals_of(SMALL, participation=Fraction(1), recognition=0.002))
