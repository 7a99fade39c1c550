"""Audits of the whole catalogue, in numbers, in words, as JSON and as a page."""

import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest

from untrackable import Bitwise, Deck, Fresh, Memoized, NoisyInnerProduct, Rappor, audit, compare
from untrackable.auditing import comparison
from untrackable.auditing.audit import Apart, Audit
from untrackable.brackets import Bracket
from untrackable.cli.mechanism_argument import resolve
from untrackable.display import comparison as shown_comparison
from untrackable.display.audit import audit_page, lines, verdict
from untrackable.display.comparison import comparison_page
from untrackable.display.numbers import as_dict, shown
from untrackable.settings.catalogue import CATALOGUE, EVERY_ROUND
from untrackable.settings.demands import Budget, Unsuitable
from untrackable.strict_json import finite
from untrackable.theory import Experiment, Factor

REPORTS = 6


def brackets(result: Any) -> list[Bracket]:
    """Every bracket that an audit holds."""
    if isinstance(result, Bracket):
        return [result]
    if isinstance(result, Audit):
        return [b for name in Audit.__slots__ for b in brackets(getattr(result, name))]
    if isinstance(result, tuple):
        return [b for item in result for b in brackets(item)]
    return []


def goal_for(name: str) -> Budget:
    bit = CATALOGUE[name].yes_no
    return Budget(values=2 if bit else 16, reports=REPORTS, people=5000)


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "fixed-vector-fresh"])
def test_every_entry_is_audited(name: str) -> None:
    # Nothing sets this one for a budget.
    parameters = ("eps=1.0", "chance=0.3") if name == "rarely" else ()
    mechanism = resolve(name, parameters, goal=goal_for(name))
    result = audit(mechanism, reports=REPORTS, crowd=60, people=5000)
    assert not set(result.missing) - {"τ"}, result.missing
    assert result.persists
    assert result.published or name in ("deck", "fading", "fresh", "randomized-response")
    assert result.linked is not None
    assert result.changed is not None
    # Guarantees are ordered as they must be.
    for apart in (
        result.everlasting,
        result.lasting,
        result.tracking,
        result.detection_fresh,
        result.detection_same,
    ):
        assert isinstance(apart, Apart)
        assert apart.gamma.lower <= apart.pure.upper + 1e-9
        assert apart.advantage.upper <= 1
    assert result.everlasting is not None
    assert result.lasting is not None
    if math.isfinite(result.everlasting.pure.upper):
        assert result.lasting.pure.lower <= result.everlasting.pure.upper + 1e-9
    assert result.recognised.upper >= 1 / 60 - 1e-9
    points = result.curves.points
    assert [p.reports for p in points] == sorted({p.reports for p in points})
    assert points[-1].reports == REPORTS
    # More reports never help less (up to the brackets' own width).
    for fewer, more in itertools.pairwise(points):
        assert fewer.tracking.advantage.lower <= more.tracking.advantage.upper + 1e-9
    # The attack stays within what the engine allows: Hoeffding, a false alarm once in 1e9 for 60 people.
    assert result.linked.top1.sampled <= result.recognised.upper + math.sqrt(math.log(1e9) / (2 * 60))
    # Every number says what it is, and everything is JSON.
    assert len(brackets(result)) > 20
    told = json.dumps(finite(as_dict(result)), allow_nan=False)
    assert told.count('"certainty"') >= len(brackets(result))
    for line in lines(result):
        if line.number != "does not apply":
            assert line.certainty in ("exact", "upper", "lower", "sampled", "exact up to ±"), line
        assert line.number
    sentences = verdict(result)
    assert all(sentence.endswith(".") for sentence in sentences)
    assert "observer with 3 reports from each of two places" in sentences[0]


def test_the_published_worst_case_of_rappor() -> None:
    result = audit(Rappor.preset("paper"), reports=15, attack=False)
    assert result.tracking.pure.upper == pytest.approx(288.645, abs=1e-3)
    assert result.tau_median is not None
    assert 10.983 in Bracket(result.tau_median.lower - 5e-4, result.tau_median.upper + 5e-4)
    assert result.everlasting is not None
    assert result.everlasting.pure.upper == pytest.approx(4 * math.log(3))


def test_presets() -> None:
    for entry in CATALOGUE.values():
        for preset in entry.presets:
            mechanism = resolve(entry.name, preset=preset)
            assert mechanism.tracking(reports=2).advantage().upper <= 1
    assert resolve("rappor", preset="chrome") == Rappor.preset("chrome")
    assert Rappor.preset("chrome").cohorts > 1


def test_words() -> None:
    followed = audit(Memoized(NoisyInnerProduct(bits=16, eps=1)), reports=20, crowd=100)
    first, *others = verdict(followed)
    assert re.match(
        r"An observer with 10 reports from each of two places recognises this person among 100 with", first
    )
    assert any("for values that change there is no such guarantee" in sentence for sentence in others)
    hidden = verdict(audit(Deck(bits=4, slots=20, eps_report=0.1), attack=False))
    assert "cannot tell this person from 999 others" in hidden[0]
    assert hidden[1].startswith("Attendance gives people away, whatever their reports say: if people answer all 20")
    assert "The same holds for values that change" in hidden[2]
    fresh = verdict(audit(Fresh(NoisyInnerProduct(bits=4, eps=1)), attack=False))
    assert fresh[2] == "Privacy does not last: enough reports reveal the value."
    odd = verdict(audit(Bitwise(eps_state=1, eps_report=1), reports=5, attack=False))
    assert "2 reports from each of two places" in odd[0]
    assert "at most" in odd[0]
    assert "if the same client keeps reporting" in " ".join(odd)


@pytest.mark.parametrize(
    ("bracket", "said"),
    [
        (Bracket.point(0.5), ("0.5", "exact")),
        (Bracket.point(math.inf), ("∞", "exact")),
        (Bracket(0.0, 0.25), ("0.25", "upper")),
        (Bracket(0.0, math.inf), ("∞", "upper")),
        (Bracket(0.3, math.inf), ("0.3", "lower")),
        (Bracket(0.25, 0.75), ("0.5 ± 0.3", "exact up to ±")),
        (Bracket(0.0, 1e-20, resolved=False), ("1.00e-20", "upper")),
        (Bracket.point(12345678.0), ("1.23e+07", "exact")),
        (Bracket.point(123456.0), ("123,456", "exact")),
    ],
)
def test_numbers_are_said_with_what_they_are(bracket: Bracket, said: tuple[str, str]) -> None:
    assert shown(bracket) == said


class Tagged:
    """A mechanism of one's own: a fair bit afresh, and one of eight tags kept for ever."""

    def tracking(self, *, reports: int, split: int) -> Experiment:
        return Experiment([Factor([1.0, 0.0], [1 / 8, 7 / 8])] if 0 < split < reports else [])


def test_a_mechanism_of_ones_own() -> None:
    result = audit(Tagged(), reports=10, crowd=100)
    assert result.tracking.advantage.upper == pytest.approx(7 / 8)
    assert result.recognised.upper == pytest.approx(8 / 100)
    assert result.everlasting is None
    assert "no method privacy" in result.missing["privacy of all reports, fixed values"]
    assert result.linked is None
    assert "Tagged: can its reports be followed?" in audit_page(
        result, Tagged(), "Tagged", ["audit", "mine:Tagged"]
    )
    with pytest.raises(TypeError, match="mechanism must have a method tracking"):
        audit(object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reports must be between 2 and 100000, got 1"):
        audit(Tagged(), reports=1)
    with pytest.raises(ValueError, match="delta must be strictly between 0 and 1"):
        audit(Tagged(), delta=0)


@pytest.mark.parametrize("values", [2, 16])
def test_comparison_is_at_the_same_everlasting_privacy(values: int) -> None:
    told: list[float] = []
    result = compare(
        values=values,
        eps=1.5,
        reports=8,
        people=10_000,
        crowd=200,
        progress=lambda what, done: told.append(done or 0.0),
    )
    assert told[0] == 0.0
    assert told == sorted(told)
    assert told[-1] < 1
    assert {row.name for row in result.rows} | set(result.left_out) == {*EVERY_ROUND, "one turn"}
    assert set(result.left_out) == {"fixed-vector-fresh", "rarely"} | (
        {"one-change", "votes", "bitwise"} if values == 16 else set()
    )
    for row in result.rows:
        assert row.privacy.gamma.upper <= 1.5 * (1 + 1e-6), row.name
        assert row.privacy.gamma.upper >= 1.0, row.name
        assert row.all_rounds <= row.standard_error * 2, row.name
    ranked = [round(row.recognised.upper, 6) for row in result.rows]
    assert ranked == sorted(ranked)
    names = [row.name for row in result.rows]
    assert names[0] == "one turn"
    assert {"deck", "fading"} <= set(names[:7])
    assert names.index("rappor") > names.index("deck")
    page = comparison_page(result, ["compare"])
    assert page.count("<tr>") >= len(result.rows)
    assert "https:" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_attendance_of_those_who_answer_every_round() -> None:
    result = audit(Deck(bits=4, slots=20, eps_report=0.1), attack=True)
    assert result.attended.alone.lower > 0.99
    assert result.attended.with_reports is not None
    assert result.attended.with_reports.upper == 1.0
    assert result.attended.matched is not None
    assert result.attended.matched.alone.sampled > 0.99
    assert result.attended.curve[-1] == (20, result.attended.alone)
    assert result.attended.advantage.upper == pytest.approx(1 - 2**-20)
    assert "an attack matched 99.9 % of 1,000 people (sampled)" in verdict(result)[1]


def test_reports_are_read_with_attendance_where_they_matter() -> None:
    result = audit(Rappor.preset("paper"), reports=4, crowd=200)
    assert result.attended.alone.upper == 16 / 200
    assert result.attended.matched is not None
    assert result.attended.matched.together is not None
    assert result.attended.with_reports is not None
    assert result.attended.matched.together.lower <= result.attended.with_reports.upper < 1
    assert result.attended.matched.together.sampled > result.attended.matched.alone.sampled
    words = verdict(result)[1]
    assert words.startswith(
        "By the rounds alone, a person is picked out of 200 with probability at most 0.08 (upper; "
    )
    assert words.endswith("if people answer all 4 rounds from two places.")
    own = audit(Tagged(), reports=10, crowd=100)
    assert own.attended.with_reports is None
    assert "of the catalogue only" in own.missing["recognition by reports and attendance"]


def test_one_turn_beside_everybody_in_every_round() -> None:
    """A yes/no question, eps = 1, 12 rounds, 100,000 people, and a share of a half."""
    result = compare(values=2, eps=1, reports=12)
    turn, *others = result.rows
    assert turn.name == "one turn"
    assert turn.standard_error == pytest.approx(0.0117, abs=5e-5)
    assert turn.attended.upper == 2 / 1000
    assert turn.tracking.advantage == turn.noticed == Bracket.point(0.0)
    assert turn.privacy.pure.upper == pytest.approx(1.0)
    assert all(row.attended.upper == 1.0 for row in others)
    assert result.matched.alone.sampled > 0.5
    assert result.every_round_from == 7.2
    first, second, *_ = shown_comparison.verdict(result)
    assert (
        "at most 0.002 (upper), and the standard error of one round is 0.01175, for a share of 50 % (exact)"
        in first
    )
    assert "would have a smaller error of a round only from an eps of 7.2 on (upper)." in first
    assert "but people are recognised by attendance, whatever the mechanism: an attack matched" in second


@pytest.mark.parametrize(("rounds", "eps"), [(2, 3.1), (4, 4.3), (52, 10.5), (365, 10.9)])
def test_where_everybody_in_every_round_is_better(rounds: int, eps: float) -> None:
    """Rounded up to a tenth; checked on both sides by the errors themselves."""
    budget = Budget(values=2, eps=1.0, delta=1e-6, reports=rounds)
    assert comparison._every_round_from(budget, rounds) == eps
    for given, better in ((eps - 0.1, False), (eps, True)):
        goal = Budget(values=2, eps=given, delta=1e-6, reports=rounds)
        deck = CATALOGUE["deck"].for_budget(goal).accuracy(100_000).standard_error
        assert (deck < comparison._turn_row(goal, rounds, 1000).standard_error) == better


def test_the_error_of_one_turn_is_that_of_simulated_people() -> None:
    """16 answers, eps = 4, 52 rounds: noise and sample together, over 400 rounds of 100,000 people.

    The estimated variance has a relative standard error of about √(2/400) = 7 %, so six of them are 42 %.
    """
    budget = Budget(values=16, eps=4.0, reports=52)
    row, base = comparison._turn_row(budget, 52, 1000), comparison._loudest_report(budget)
    assert row.standard_error == pytest.approx(0.0066, abs=5e-5)
    rng, heard = np.random.default_rng(1), 100_000 // 52
    errors = []
    for _ in range(400):
        holders = int(rng.hypergeometric(5000, 95_000, heard))
        values = np.where(np.arange(heard) < holders, 3, 1 + rng.integers(3, 15, heard))
        sums = Fresh(base).aggregator()
        sums.add(base.simulate(values.astype(np.uint64), rng))
        errors.append(sums.estimate().frequencies[3] - 0.05)
    assert np.mean(np.square(errors)) == pytest.approx(row.standard_error**2, rel=0.42)


def test_names_and_parameters() -> None:
    assert resolve("deck", ["bits=3", "slots=4", "eps_report=0.5"]) == Deck(bits=3, slots=4, eps_report=0.5)
    assert resolve("votes", ["eps_vote=1", "eps_estimate=1", "votes=2", "estimates=2", "updates=1,5"]).updates == (
        1,
        5,
    )
    assert isinstance(resolve("tests.auditing.test_mechanism_audit:Tagged"), Tagged)
    for name, parameters, preset, message in [
        ("rapor", [], None, "mechanism must be one of deck, .*rappor, .*got 'rapor'"),
        ("deck", ["bits"], None, "a parameter must be written key=value, got 'bits'"),
        ("deck", ["bits=3"], None, "deck takes bits, slots, eps_report.*missing"),
        (
            "deck",
            ["bits=3", "slots=4", "eps_report=0.5", "power=2"],
            None,
            "deck takes bits, slots, eps_report.*: there is no power",
        ),
        ("deck", ["bits=3", "slots=4", "eps_report=-1"], None, "eps_report must be positive and finite, got -1"),
        ("rappor", [], "firefox", "preset of rappor must be one of: chrome, paper; got 'firefox'"),
        ("rappor", ["f=1"], "chrome", "give parameters or a preset, not both"),
        ("nowhere:thing", [], None, "there is no module nowhere"),
        ("math:nothing", [], None, "math has no nothing"),
        ("math:pi", [], None, "math:pi is neither a mechanism nor a function that makes one"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            resolve(name, parameters, preset)


def test_a_fixed_vector_with_fresh_noise_leaks() -> None:
    """Half of the vectors tell the two values apart, and enough reports tell what the vector says."""
    result = audit(resolve("fixed-vector-fresh", ["bits=8", "eps=1"]), reports=10, attack=False)
    assert result.everlasting is not None
    assert result.everlasting.gamma.lower == math.inf
    assert result.everlasting.advantage.lower > 0.5
    with pytest.raises(Unsuitable, match="so no eps lasts"):
        resolve("fixed-vector-fresh")


def test_a_huge_crowd_is_bounded_and_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.auditing.audit.MOST_SIMULATED", 50)
    result = audit(Bitwise(eps_state=1, eps_report=1), reports=5, crowd=10**9)
    assert result.linked is not None
    assert result.linked.people == 50
    assert result.linked.reports == 2
    first = verdict(result)[0]
    assert "2 reports from each of two places" in first
    assert "among 1,000,000,000 with probability at most" in first


def test_bounds_at_delta_never_exceed_the_worst_case() -> None:
    result = audit(resolve("rnip", ["bits=1", "slots=10000000000", "eps_report=1"]), reports=4, attack=False)
    assert result.everlasting is not None
    assert result.everlasting.gamma.upper <= result.everlasting.pure.upper
    assert not any("Privacy does not last" in sentence for sentence in verdict(result))


def test_a_deck_is_audited_with_as_many_reports_as_it_has_cards() -> None:
    deck = Deck(bits=2, slots=6, eps_report=0.5)
    assert audit(deck, attack=False).reports == 6
    assert audit(Deck(bits=2, slots=40, eps_report=0.5), attack=False).reports == 20
    with pytest.raises(ValueError, match="reports must be at most 6, because clients report in 6 rounds, got 7"):
        audit(deck, reports=7)
