"""The audit of one turn: its numbers against the theory, its words, and that of a campaign's page."""

from fractions import Fraction

import pytest

from untrackable import Categories, Deck, Fresh, NoisyInnerProduct
from untrackable.auditing.audit import TurnsAudit, audit_turns
from untrackable.collector.dashboard.jobs import attacked, shown_audit
from untrackable.display.audit import lines, verdict
from untrackable.display.campaign import attendance_words
from untrackable.mechanisms import Present
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns, right_matches

REPORT = Fresh(NoisyInnerProduct(bits=2, eps=2.0, width=2))


def turns_campaign(*, rounds: int = 52, share: Fraction = Fraction(1), wipes: int = 0) -> Campaign:
    """A question with four answers, which each person answers once."""
    return Campaign(
        question="Which browser do you use?",
        encoding=Categories(names=("Firefox", "Chrome", "Safari", "another")),
        randomizer=REPORT,
        first_round=1_700_000_000,
        round_seconds=7 * 86_400,
        rounds=rounds,
        guarantee=Guarantee(eps=2.0 * (wipes + 1) * (1 + 1e-9)),
        turns=Turns(rounds=rounds, share=share, wipes=wipes),
    )


@pytest.fixture(scope="module")
def audit() -> TurnsAudit:
    return audit_turns(REPORT, Turns(rounds=52))


def test_numbers(audit: TurnsAudit) -> None:
    assert audit.eps_upper == pytest.approx(2.0)
    assert audit.recognised_upper == 2 / 1000
    assert audit.habits_upper == pytest.approx((9 + 0.1 / 0.9) / 1000)
    assert audit.whereabouts_upper == 2 / 100
    assert audit.answer_upper == pytest.approx(8.39 / 1000, abs=1e-6)
    assert audit.exclusion.upper == pytest.approx(0.5)
    assert audit.several_lower == {2: 0.004, 3: 0.008, 4: 0.016}
    assert audit.reports == 1923
    assert max(right_matches(1000, m, 1000 - m).all_at_once for m in range(1, 1000)) == 2
    some = audit_turns(REPORT, Turns(rounds=52, share=Fraction(1, 2), wipes=2), people=10_000, reports=50)
    assert some.eps_upper == pytest.approx(6.0)
    assert some.exclusion.upper == pytest.approx(0.125)
    assert some.reports == 50
    assert some.wiped_often_upper < audit.wiped_often_upper
    with pytest.raises(ValueError, match="mechanism must be fresh"):
        audit_turns(Deck(bits=2, slots=5, eps_report=0.5), Turns(rounds=5))


def test_words(audit: TurnsAudit) -> None:
    """The three conditions with their numbers, and no upper bound for several campaigns."""
    sentences = verdict(audit)
    assert all(sentence.endswith(".") for sentence in sentences)
    text = " ".join(sentences)
    for told in (
        "Nobody sends two reports, so there is nothing to link (exact).",
        "at most 2 matches are expected to be right, of all people (upper)",
        "in 90 % of the rounds and everybody else in 10 % reaches at most 0.009112",
        "only one in 10 could have been there reaches at most 0.02",
        "knows the person's answer, and nobody else's, reaches at most 0.00839 (all upper)",
        "advantage 0.5 (exact). It excludes people and does not find them.",
        "0.004 after 2, 0.008 after 3, 0.016 after 4 (lower). An upper bound is claimed for one campaign only.",
        "eps = 2, with delta = 0, also if the answer changes (upper)",
    ):
        assert told in text
    for line in lines(audit):
        assert line.certainty in ("exact", "upper", "lower", "exact up to ±"), line
    several = [line for line in lines(audit) if "campaigns" in line.what]
    assert {line.certainty for line in several} == {"lower"}
    assert all(line.upper is None for line in several)
    some = verdict(audit_turns(REPORT, Turns(rounds=52, share=Fraction(1, 2), wipes=2)))[0]
    assert "Each person answers once with probability 1/2, and else never, in one of 52 rounds" in some
    assert "planned for up to 3 answers of a person" in some


def test_a_notebook_shows_it(audit: TurnsAudit) -> None:
    assert repr(audit).startswith(
        "<TurnsAudit: one turn in 52 rounds; recognised among 1,000: at most 0.002 (upper"
    )
    assert audit.to_arrow().num_rows == len(lines(audit))
    assert "by what an observer knows" in audit.plot().words


def test_the_page_of_a_campaign() -> None:
    assert attacked(turns_campaign())[:2] == ([], [])
    shown = shown_audit(turns_campaign().to_bytes())
    assert shown["no_attack"] == "nobody sends two reports, so there is nothing to match"
    assert "there is nothing to link (exact)" in shown["lead"][0]
    assert "at most 0.002 (upper" in shown["lead"][1]


def test_what_pages_say_about_attendance() -> None:
    asked = turns_campaign(share=Fraction(1, 2))
    often, recognised = attendance_words(asked)
    assert "once with probability 1/2, and else never, in one of 52 rounds" in often
    assert "with probability at most 0.20 % (upper; guessing: 0.10 %)" in recognised
    every = Campaign(
        question="Which?",
        encoding=asked.encoding,
        randomizer=Deck(bits=2, slots=12, eps_report=0.1),
        first_round=0,
        round_seconds=86_400,
        rounds=12,
        guarantee=Guarantee(eps=1.2, values="any"),
    )
    assert attendance_words(every)[0].startswith("People answer every round, so nobody is seen at two places")


def test_a_campaign_without_a_question_gives_away_that_somebody_was_active() -> None:
    result = audit_turns(Fresh(Present()), Turns(rounds=12), people=1200)
    assert result.eps_upper == 0
    told = " ".join(verdict(result))
    assert "Reports have no content, so there is no answer to protect" in told
    assert "somebody was active in its round. That is seen" in told
    assert result.in_crowd.why == "reports have no content to hide"
    assert "ratio" not in told
