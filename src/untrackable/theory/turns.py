"""Who answers when: in a turn that each device draws in secret, or in every round; and what that reveals by itself.

With turns, everybody answers once. A campaign has k rounds. A client that joins draws one of them uniformly, those
that are over included, and answers in this round alone. With a share q below 1, it has a turn at all with
probability q only. A turn that is missed is lost. In the field's words, this is subsampling: each round is a
subsample of the people, and no two have anybody in common.

Attendance is what the rounds that somebody answers, and the places they answer from, reveal. A client answers a
round once. So one person is never seen at two places in one round, while two people often are. An observer can use
that to tell one person from two, even if the reports reveal nothing. `attendance` and `recognition` are about
people who answer every round; `thinned` leaves rounds out with some probability (Poisson subsampling).

Everything about turns holds for any way in which people move, join and are active, as long as none of that depends
on their answers. Each statement is checked by enumeration in the tests. Clients load this file for `Turns`, so what
needs arrays loads them where it is called.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, SupportsFloat

from untrackable import checks
from untrackable.checks import Chance

if TYPE_CHECKING:
    from untrackable.brackets import Bracket
    from untrackable.theory.experiment import Experiment
    from untrackable.theory.factor import Factor

AMONG = 1000
"""Default size of the crowd among which somebody is to be recognised."""


def attendance(rounds: int) -> "Experiment":
    """One person against two, who answer every round from one of two places, as a fair coin decides (exact).

    In each round, one person is seen at one of the places. Two people are so with probability 1/2; else both places
    see somebody, or none does. Which of the places it is has the same law in both worlds.
    """
    from untrackable.theory.experiment import Experiment
    from untrackable.theory.factor import Factor

    seen_once = Factor([1.0, 0.0], [0.5, 0.5])
    return Experiment([(seen_once, checks.integer("rounds", rounds, low=1))])


def recognition(rounds: int, people: int = AMONG) -> "Bracket":
    """A bound on the probability of recognising a person among N, by attendance alone: 2^k/N, at most 1.

    Somebody else's rounds fit in k rounds with probability 2^-k. It is the power of `attendance` at a false
    positive rate of 1/N.
    """
    from untrackable.brackets import Bracket

    rounds, people = checks.integer("rounds", rounds, low=1), checks.integer("people", people, low=1)
    return Bracket.point(1.0 if rounds >= people.bit_length() else (1 << rounds) / people)


EVERY_ROUND = Fraction(1)
"""The chance of somebody who answers every round."""


def thinned_factor(factor: "Factor", chance: Fraction) -> "Factor":
    """One round that is answered with this probability; else the observer sees nothing.

    An unanswered round looks the same in both worlds. Its absence is one more outcome of the round.
    """
    import numpy as np

    from untrackable.theory.factor import Factor

    share, absent = float(chance), float(1 - chance)
    return Factor(
        np.append(factor.p * share, absent),
        np.append(factor.q * share, absent),
        np.append(factor.loss, 0.0),
        error=factor.error,
    )


def thinned(rounds: "Experiment", chance: Fraction) -> "Experiment":
    """Independent rounds, one factor each, that are answered with this probability each."""
    from untrackable.theory.experiment import Experiment

    if rounds.gaussian:
        raise ValueError("rounds that a Gaussian stands for cannot be left out one by one")
    factors = [(thinned_factor(factor, chance), count) for factor, count in rounds.factors]
    return Experiment(factors, certainty=rounds.certainty, grid=rounds.grid)


# --- turns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """One turn in `rounds` rounds (k), which a client has with probability `share` (q).

    A client whose storage is wiped no longer knows that it has answered. `wipes` (w) is the number of wipes that a
    campaign is planned for: a person then answers up to w + 1 times.
    """

    rounds: int
    share: Fraction = Fraction(1)
    wipes: int = 0

    def __post_init__(self) -> None:
        checks.settle(
            self,
            rounds=checks.integer("rounds", self.rounds, low=1),
            share=checks.chance("share", self.share),
            wipes=checks.integer("wipes", self.wipes, low=0),
        )
        if not self.share:
            raise ValueError("share must be above 0")

    @property
    def chance(self) -> Fraction:
        """The probability that a client answers in a given round: q/k."""
        return self.share / self.rounds

    def eps_upper(self, eps_report: SupportsFloat, *, activity: SupportsFloat = 1.0) -> float:
        """Everlasting privacy of everything that a person ever sends: (w + 1)·(eps + ln(1/a)), with delta 0.

        For any two sequences of values, an outcome is "nothing was sent" or one report in one round. The first is
        equally likely under both. The second has probability q/k, times that of being active, times that of the
        report. Only the report depends on the value, by at most e^eps.

        If people with one value are less often active than people with another, noise cannot hide it. `activity`
        (a) is the least ratio of probabilities under the two values, of being active in a round and of sending
        nothing at all. With q = 1 and a value whose holders are always active, the latter is 0: no bound holds.
        """
        activity = checks.real("activity", activity)
        if not 0 < activity <= 1:
            raise ValueError(f"activity must be above 0 and at most 1, got {activity}")
        return (self.wipes + 1) * (checks.non_negative("eps_report", eps_report) - math.log(activity))

    def wiped_every_round(self, report: "Factor") -> "Experiment":
        """Everything that a person sends whose storage is wiped once in each round.

        `report` is one report for two values; `response_factor(eps)` dominates all that have eps. In each
        round, the client draws again, and answers with probability q/k: a binomial number of answers. Storage that
        is wiped more often than once in a round has no bound.
        """
        from untrackable.theory.experiment import Experiment

        return thinned(Experiment([(report, self.rounds)]), self.chance)

    def exclusion(self, first: Chance, second: Chance) -> "Experiment":
        """One person against two, seen at two places by attendance alone (exact).

        Both spend the share `first` (a) of the rounds at the first place and `second` (b) at the second. One person
        is never seen at both: the advantage of this experiment is 2·q²·a·b. It tells who somebody is *not*.
        """
        from untrackable.theory.experiment import Experiment
        from untrackable.theory.factor import Factor

        a, b = (self.share * checks.chance(name, given) for name, given in (("first", first), ("second", second)))
        if a + b > self.share:
            raise ValueError(f"first and second must be at most 1 in all, got {first} and {second}")
        one = [a, b, Fraction(0), 1 - a - b]
        two = [a * (1 - b), b * (1 - a), a * b, (1 - a) * (1 - b)]
        return Experiment([Factor([float(p) for p in one], [float(p) for p in two])])


@dataclass(frozen=True, slots=True)
class RightMatches:
    """The expected number of right matches by the best guesses (exact)."""

    one_by_one: Fraction
    """Each person at the first place is matched by itself; two may be matched with the same view."""
    all_at_once: Fraction
    """Everybody is matched at once, each view with one other."""


def right_matches(people: int, seen_first: int, seen_second: int) -> RightMatches:
    """The right matches of an observer who matches the views of two places, if each person has one turn.

    Of N people, m₁ were seen at the first place and m₂ at the second. Nobody was seen at both, so a matching is
    possible if it pairs no two sightings. Every possible matching leads to the same multiset of people: the m₁ + m₂
    sightings, and N - m₁ - m₂ who were never seen. If people are exchangeable, all of them are therefore equally
    likely, however people move. The best matching gets 2 - N·(N - m₁ - m₂)/((N - m₁)(N - m₂)) right: at most 2.
    One by one it is m₁/(N - m₂) + 1 if somebody was seen at the second place, and 1 if nobody was: at most 2.
    """
    people = checks.integer("people", people, low=1)
    first = checks.integer("seen_first", seen_first, low=0, high=people)
    second = checks.integer("seen_second", seen_second, low=0, high=people - first)
    if first == people or second == people:
        return RightMatches(Fraction(1), Fraction(1))
    left, right, unseen = people - first, people - second, people - first - second
    singly = Fraction(first, right) + (1 if second else Fraction(left, right))
    return RightMatches(singly, 2 - Fraction(people * unseen, left * right))


def recognition_upper(
    people: int,
    turns: Turns | None = None,
    *,
    target: Sequence[SupportsFloat] = (),
    others: Sequence[SupportsFloat] = (),
    eps_report: SupportsFloat = 0.0,
) -> float:
    """A bound on the probability that a person seen, or not seen, at one place is found among the views of another.

    It is 2/N among N exchangeable people. Somebody who knows more finds more:

    - Habits: in round t the target is at the second place with probability `target[t]` (c_t), and everybody else
      with `others[t]` (d_t), independently of each other.
    - The target's answer: `eps_report` is that of the report. Nobody else's answer is known.
    - Whereabouts: `people` are then only those who could have been there.

    The bound is (e^eps·max(c_t/d_t) + (1 - q·mean(c))/(1 - q·mean(d)))/N. The first term is for a target that was
    seen at the second place: the probability of finding them is at most 1/N of the largest ratio of likelihoods of
    a view there, the target's over anybody's. The second term is for a target that was not.
    """
    people = checks.integer("people", people, low=1)
    ratio, unseen = 1.0, 1.0
    if len(target) != len(others):
        raise ValueError(
            f"target and others must have one probability a round, got {len(target)} and {len(others)}"
        )
    if len(target):
        if turns is None or turns.rounds != len(target):
            raise ValueError(f"turns must be given, of {len(target)} rounds as target and others")
        c = [checks.probability("target", chance) for chance in target]
        d = [checks.probability("others", chance) for chance in others]
        seen = [float(turns.chance) * math.fsum(chances) for chances in (c, d)]
        ratio = max((x / y if y else math.inf for x, y in zip(c, d, strict=True) if x), default=0.0)
        unseen = (1 - seen[0]) / (1 - seen[1]) if seen[1] < 1 else (math.inf if seen[0] < 1 else 0.0)
    return min(1.0, (math.exp(checks.non_negative("eps_report", eps_report)) * ratio + unseen) / people)


def several_turns_lower(turns: int, *, overlapping: bool) -> int:
    """The least that several turns of one person leak: the exponential of the maximal leakage.

    2^c for c campaigns one after the other, if people keep one place for the length of a campaign: each excludes
    half of the people. 2^(c+1) - 2 for campaigns over the same rounds, if people change places once. There is no
    upper bound that helps: with two campaigns, a movement exists that leaks as much as a campaign has rounds.
    """
    turns = checks.integer("turns", turns, low=0)
    return (2 << turns) - 2 if overlapping and turns else 1 << turns


def survey_variance(
    noise: SupportsFloat, share: SupportsFloat, reports: SupportsFloat, people: SupportsFloat
) -> float:
    """The variance of an estimated share from m reports of n people, who were drawn whatever they hold.

    V/m + p(1 - p)(n - m)/(n - 1)/m (exact), where V (`noise`) is the variance of one report given its value, and p
    the share. The second part is that of every survey. For many people it is p(1 - p)(1 - m/n)/m. m is n·q/k for
    one round and n·q for all rounds together. The ways to ask s questions are this with m/s reports of the whole
    eps (each client draws a question), m reports of eps/s each (divided), or m reports on all answers at once
    (joint); one report on the path over B rounds has B·m.
    """
    noise, share = checks.non_negative("noise", noise), checks.probability("share", share)
    reports, people = checks.positive("reports", reports), checks.positive("people", people)
    if reports > people:
        raise ValueError(f"reports must be at most people, got {reports} and {people}")
    return (noise + share * (1 - share) * unheard(reports, people)) / reports


def unheard(reports: float, people: float) -> float:
    """(n - m)/(n - 1), by which the variance of a sample without replacement is smaller (exact)."""
    return (people - reports) / (people - 1) if people > max(1.0, reports) else 0.0
