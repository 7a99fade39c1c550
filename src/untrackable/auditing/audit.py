"""The audit of one mechanism, and of a campaign with turns: guarantees, attacks, and the curves that show them."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from untrackable import checks
from untrackable.auditing.attacks import (
    AttendanceMatched,
    Changed,
    Linked,
    find_changes,
    link,
    match_by_attendance,
    zipf_weights,
)
from untrackable.brackets import Bracket
from untrackable.errors import UntrackableError
from untrackable.mechanisms import interface
from untrackable.mechanisms.interface import InCrowd as InCrowd
from untrackable.mechanisms.interface import Mechanism, Pair, in_crowd
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture, Trackability, Worst
from untrackable.theory.factor import response_factor
from untrackable.theory.turns import Turns, attendance, recognition, recognition_upper, several_turns_lower

T = TypeVar("T")
_MOST_POINTS = 8
"""The curves are drawn at this many numbers of reports."""
_GAMMAS = 41
"""The curve of delta is drawn at this many gammas."""
_LEVELS = tuple(i / 20 for i in range(1, 20))
"""The curve of τ is drawn at these probabilities."""
_RATES = 201
"""The trade-off of the best observer is drawn at this many false positive rates."""
_ROUNDS = 24
"""The curve of attendance is drawn at this many numbers of rounds."""
_CERTAIN = 0.99
"""From this probability of being recognised by attendance alone, the attack does not read reports as well."""
MOST_SIMULATED = 10_000
"""At most this many people are simulated, even if the crowd is larger."""
REPORTS = 20
"""Default number of reports that the observer holds, or all if there are fewer."""
_APART = 1000
"""At most this many of them are followed, because every value is tried for everybody."""


@runtime_checkable
class Auditable(Protocol):
    """An object with the one method that an audit needs. Other methods of a mechanism are used if it has them."""

    def tracking(self, *, reports: int, split: int) -> Pair:
        """One person against two people, of whom the first sent `split` of the reports."""


class Apart(NamedTuple):
    """How well two worlds can be distinguished: the largest loss, gamma at the audit's delta, and the advantage."""

    pure: Bracket
    gamma: Bracket
    advantage: Bracket

    @staticmethod
    def of(pair: Pair, delta: float) -> "Apart":
        """All three numbers of a pair of worlds."""
        return Apart(pure_bracket(pair), pair.gamma(delta), pair.advantage())


class Point(NamedTuple):
    """One number of reports on the curves: guarantees of the worst split, and recognition if split in half."""

    reports: int
    tracking: Apart
    recognised: Bracket


class RoundsPoint(NamedTuple):
    """The recognition by attendance alone after this many rounds."""

    rounds: int
    recognised: Bracket


@dataclass(frozen=True, slots=True, eq=False)
class Attended:
    """How well people who answer every round, half of the time from each of two places, are recognised by that.

    `alone` is by attendance alone, with its `advantage`; `with_reports` is by reports and attendance together, None
    if no bound is known. `curve` is `alone` after fewer rounds. `matched` is an attack that was carried out, None
    if none was asked for.
    """

    rounds: int
    alone: Bracket
    advantage: Bracket
    with_reports: Bracket | None
    curve: tuple[RoundsPoint, ...]
    matched: AttendanceMatched | None


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of the page. Each has a tuple of x and a tuple of brackets."""

    points: tuple[Point, ...]
    gammas: tuple[float, ...]
    deltas: tuple[Bracket, ...]
    levels: tuple[float, ...]
    taus: tuple[Bracket, ...]
    rates: tuple[float, ...]
    powers: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(NotebookTable):
    """The results of an audit. Numbers are brackets, or say that they are sampled.

    If a number is None, `missing` says why. `everlasting` is about all reports ever sent, `lasting` about the
    first `rounds`. Both are for a value that never changes; with `_any`, they are for any sequence of values.
    `attended` is about where people answer from, in every round; all else is about what the reports say. `in_crowd`
    is about an observer who sees everybody's reports of these rounds, but not who sent which. `shift` is the number
    of people whose value one dishonest report can feign (exact). `tracking` is for the worst split of the reports.
    `tracking_colliding` is also for the worst value, where values differ: RAPPOR's hashes may collide. `recognised`
    bounds the probability that an observer who knows half of a person's reports picks out the other half in a
    crowd. `detection_fresh` and `detection_same` are about a change of value: a fresh client sends the reports
    after it, or the same one. `linked` is an attack on people with equal values, `linked_apart` on people with
    different values.
    """

    mechanism: str
    published: str
    persists: str
    reports: int
    delta: float
    crowd: int
    rounds: int
    attended: Attended
    everlasting: Apart | None
    everlasting_any: Apart | None
    lasting: Apart | None
    lasting_any: Apart | None
    one_report: Bracket | None
    in_crowd: InCrowd | None
    tracking: Apart
    tracking_colliding: Apart | None
    recognised: Bracket
    tau_median: Bracket | None
    tau_90: Bracket | None
    detection_fresh: Apart | None
    detection_same: Apart | None
    accuracy: Accuracy | None
    shift: float | None
    pools: bool
    linked: Linked | None
    linked_apart: Linked | None
    changed: Changed | None
    curves: Curves
    missing: dict[str, str] = field(default_factory=dict)


def held_reports(mechanism: Auditable, reports: int | None) -> int:
    """The number of reports that an observer holds, which may be left out. Clients must be able to send as many."""
    last: int | None = getattr(mechanism, "last_round", None)
    if reports is None:
        return max(2, min(REPORTS, last or REPORTS))
    if last is not None and reports > last:
        raise ValueError(f"reports must be at most {last}, because clients report in {last} rounds, got {reports}")
    return checks.integer("reports", reports, low=2, high=checks.MOST_ROUNDS)


def audit(
    mechanism: Auditable,
    *,
    reports: int | None = None,
    delta: float = 1e-6,
    people: int = 100_000,
    crowd: int = 1000,
    attack: bool = True,
    distribution: Sequence[float] | None = None,
    rounds: int | None = None,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Audit:
    """Audit a mechanism against an observer who holds `reports` reports of a person, by default 20 or all.

    `people` take part, and all of them answer every round. `crowd` is the size of the crowd that a person
    hides in. Without `attack`, nothing is simulated. People with different values are attacked as well: their
    values 0, 1, … have the weights of the `distribution`, by default 1, 1/2, 1/3, … of a few values.

    Attendance is over `rounds` rounds, by default as many as there are reports: each is answered from one of two
    places, as a fair coin decides.
    """
    if not isinstance(mechanism, Auditable):
        raise TypeError(
            f"mechanism must have a method tracking(reports=, split=), {type(mechanism).__name__} has none"
        )
    reports = held_reports(mechanism, reports)
    delta = checks.open_probability("delta", delta)
    people, crowd = checks.integer("people", people, low=1), checks.integer("crowd", crowd, low=2)
    rounds = reports if rounds is None else checks.integer("rounds", rounds, low=reports, high=checks.MOST_ROUNDS)
    questions = _Questions(mechanism, delta)
    progress("guarantees", 0.0)
    worst, half = questions.worst(reports), questions.halved(reports)
    everlasting, everlasting_any = (questions.privacy(None, values) for values in ("fixed", "any"))
    lasting, lasting_any = (questions.privacy(rounds, values) for values in ("fixed", "any"))
    one = questions.maybe(
        "one report", lambda: pure_bracket(_method_of(mechanism, "privacy")(reports=1, values="fixed"))
    )
    fresh, same = questions.detections(reports)
    tau = questions.maybe("τ", lambda: Trackability([*questions.halves(reports)]))
    accuracy = questions.maybe("accuracy", lambda: _method_of(mechanism, "accuracy")(people))
    # What came before is about half of the work.
    progress("guarantees", 0.5)
    curves = questions.curves(
        reports, crowd, worst, half, tau, lambda what, done: progress(what, 0.5 + (done or 0.0) / 2)
    )
    colliding = None
    if isinstance(mechanism, Mechanism) and not mechanism.values_alike:
        colliding = Apart.of(mechanism.worst_tracking(reports), delta)
    linked = apart = changed = None
    followed = min(crowd, MOST_SIMULATED)
    attended = questions.attended(rounds, crowd)
    if attack:
        attended = replace(attended, matched=questions.attendance_attack(attended, followed, seed))
    if attack and isinstance(mechanism, Mechanism):
        linked = questions.maybe(
            "linking", lambda: link(mechanism, people=followed, reports=reports // 2, seed=seed, progress=progress)
        )

        def by_values(weights: Sequence[float], people: int) -> Linked:
            return link(
                mechanism,
                people=people,
                reports=reports // 2,
                distribution=weights,
                seed=seed,
                progress=lambda what, done: progress(f"{what}, different answers", done),
            )

        if distribution is not None:
            apart = by_values(distribution, followed)
        else:
            few = min(followed, _APART)
            apart = questions.maybe("different values", lambda: by_values(zipf_weights(mechanism), few))
        changed = questions.maybe(
            "changes",
            lambda: find_changes(mechanism, people=min(crowd, 1000), reports=reports, seed=seed, progress=progress),
        )
    return Audit(
        repr(mechanism),
        mechanism.publications if isinstance(mechanism, Mechanism) else getattr(mechanism, "published", ""),
        getattr(mechanism, "persists", ""),
        reports,
        delta,
        crowd,
        rounds,
        attended,
        everlasting,
        everlasting_any,
        lasting,
        lasting_any,
        one,
        questions.in_crowd(people, rounds),
        Apart.of(worst, delta),
        colliding,
        half.power(1 / crowd),
        None if tau is None else tau.quantile(0.5),
        None if tau is None else tau.quantile(0.9),
        fresh,
        same,
        accuracy,
        mechanism.shift() if isinstance(mechanism, Mechanism) else None,
        getattr(mechanism, "pools", False),
        linked,
        apart,
        changed,
        curves,
        questions.missing,
    )


class _Questions:
    """The questions that an audit asks a mechanism. If one has no answer, `missing` says why."""

    def __init__(self, mechanism: Auditable, delta: float) -> None:
        self.mechanism, self.delta = mechanism, delta
        self.missing: dict[str, str] = {}

    def maybe(self, what: str, ask: Callable[[], T]) -> T | None:
        """The answer; or None, and the reason in `missing`."""
        try:
            return ask()
        except (TypeError, ValueError, AttributeError) as error:
            self.missing[what] = str(error)
            return None

    def split(self, reports: int, split: int) -> Pair:
        """Tracking with the first `split` reports on one side and the others on the other side."""
        if isinstance(self.mechanism, Mechanism):
            return self.mechanism.tracking(rounds=range(1, reports + 1), first=range(1, split + 1))
        return self.mechanism.tracking(reports=reports, split=split)

    def halved(self, reports: int) -> Pair:
        """Tracking with half of the reports on each side. If `reports` is odd, one is left out."""
        return self.split(reports - reports % 2, reports // 2)

    def halves(self, reports: int) -> Iterable[Experiment | Mixture]:
        """Tracking with each split up to half, which τ is about."""
        for split in range(1, reports // 2 + 1):
            pair = self.split(reports, split)
            if isinstance(pair, Worst):
                raise TypeError("τ needs a single pair of worlds, but this mechanism gives the worst of several")
            yield pair

    def worst(self, reports: int) -> Pair:
        """Tracking with the worst split."""
        if isinstance(self.mechanism, Mechanism):
            return self.mechanism.tracking(rounds=range(1, reports + 1))
        return Worst([*self.halves(reports)]) if reports > 1 else Experiment()

    def privacy(self, rounds: int | None, values: str) -> Apart | None:
        """The privacy of all rounds, or of the first ones, for a fixed value or any sequence of values."""
        name = f"privacy of {'all' if rounds is None else rounds} reports, {values} values"
        ask = _method_of(self.mechanism, "privacy")
        return self.maybe(name, lambda: Apart.of(ask(reports=rounds, values=values), self.delta))

    def in_crowd(self, people: int, rounds: int) -> InCrowd | None:
        """Privacy in the crowd of all who take part."""
        if not isinstance(self.mechanism, Mechanism):
            return None
        last = self.mechanism.last_round
        rounds = rounds if last is None else min(rounds, last)
        return in_crowd(self.mechanism, people, rounds, self.delta)

    def attended(self, rounds: int, crowd: int) -> Attended:
        """The bounds on what attendance reveals, alone and with reports."""

        def with_reports() -> Bracket:
            if not isinstance(self.mechanism, Mechanism):
                raise TypeError("reports and attendance are combined for mechanisms of the catalogue only")
            return interface.recognition(self.mechanism, rounds, people=crowd)

        numbers = sorted({*np.linspace(1, rounds, _ROUNDS).round().astype(int).tolist()})
        return Attended(
            rounds,
            recognition(rounds, crowd),
            attendance(rounds).advantage(),
            self.maybe("recognition by reports and attendance", with_reports),
            tuple(RoundsPoint(number, recognition(number, crowd)) for number in numbers),
            None,
        )

    def attendance_attack(self, attended: Attended, people: int, seed: int) -> AttendanceMatched:
        """The attack by attendance; with reports too, where they matter and the mechanism allows it."""

        def attack(mechanism: Mechanism | None) -> AttendanceMatched:
            return match_by_attendance(rounds=attended.rounds, people=people, mechanism=mechanism, seed=seed)

        mechanism = self.mechanism
        if isinstance(mechanism, Mechanism) and not mechanism.independent and attended.alone.lower < _CERTAIN:
            both = self.maybe("attack by reports and attendance", lambda: attack(mechanism))
            if both is not None:
                return both
        return attack(None)

    def detections(self, reports: int) -> tuple[Apart | None, Apart | None]:
        """Detection of a change at the worst time, after which a fresh client or the same one reports."""
        ask, rounds = _method_of(self.mechanism, "detection"), range(1, reports + 1)
        fresh: Pair | None = self.maybe("detection, fresh client", lambda: ask(rounds=rounds, after="fresh"))
        same: Pair | None = self.maybe("detection, same client", lambda: ask(rounds=rounds, after="same"))
        by_fresh = None if fresh is None else Apart.of(fresh, self.delta)
        if same is None or (fresh is not None and _content(fresh) == _content(same)):
            return by_fresh, None if same is None else by_fresh
        return by_fresh, Apart.of(same, self.delta)

    def curves(
        self, reports: int, crowd: int, worst: Pair, half: Pair, tau: Trackability | None, progress: Progress
    ) -> Curves:
        """Guarantees for several numbers of reports, and the other curves for the largest number."""
        numbers = sorted({*np.linspace(2, reports, _MOST_POINTS).round().astype(int).tolist(), reports})
        points = []
        for number in numbers:
            last = number == reports
            pair, even = (worst, half) if last else (self.worst(number), self.halved(number))
            points.append(Point(number, Apart.of(pair, self.delta), even.power(1 / crowd)))
            progress("guarantees", len(points) / len(numbers))
        end = max(1e-3, points[-1].tracking.gamma.upper)
        gammas = tuple(np.linspace(0, end if np.isfinite(end) else 20.0, _GAMMAS).tolist())
        curve = half.roc(_RATES)
        powers = tuple(Bracket(float(a), float(b)) for a, b in zip(curve.lower, curve.upper, strict=True))
        return Curves(
            tuple(points),
            gammas,
            tuple(worst.delta(gamma) for gamma in gammas),
            _LEVELS if tau is not None else (),
            tuple(tau.quantile(level) for level in _LEVELS) if tau is not None else (),
            tuple(curve.fpr.tolist()),
            powers,
        )


def _method_of(mechanism: object, name: str) -> Callable[..., Any]:
    """A method of a mechanism, or a function that says that it has none."""

    def absent(*_: object, **__: object) -> Any:
        raise AttributeError(f"this mechanism has no method {name}")

    return getattr(mechanism, name, absent)


def _content(pair: Pair) -> object:
    """The content of a pair of worlds. Equal pairs have equal contents."""
    if isinstance(pair, Worst):
        return [_content(member) for member in pair.members]
    if isinstance(pair, Mixture):
        return [(p, q, _content(experiment)) for p, q, experiment in pair.components]
    return pair.gaussian, pair.certainty, [(factor.key, count) for factor, count in pair.factors]


def pure_bracket(pair: Pair) -> Bracket:
    """The largest loss of a pair of worlds."""
    return Bracket(pair.pure() if pair.certainty == "exact" else 0.0, pair.pure())


# --- a campaign with turns: each person answers once, in a round that their device draws in secret --------

OFTEN, SELDOM = 0.9, 0.1
"""Known habits: the target is at the second place in this share of the rounds, and everybody else in that one."""
FEWER = 10
"""Known whereabouts: one in this many people could have been there."""
_CAMPAIGNS = (2, 3, 4)
"""The numbers of campaigns, one after the other, for which the strongest attack found is shown."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TurnsAudit(NotebookTable):
    """What an audit says about turns. `eps_upper` is about everything that a person ever sends, with delta 0.

    `wiped_often_upper` is the eps at `delta` of a device whose storage is wiped once in each round. `exclusion` is
    the advantage of an observer of two places who tells one person from two. `recognised_upper` bounds the
    probability that this observer recognises a person in the `crowd`. It is larger for one who knows the person's
    habits, that only few people could have been there, or the answer. `several_lower` is what the strongest attack
    found reaches after several campaigns, one after the other; no upper bound is known for them. `in_crowd` is
    privacy if nobody knows who sent which of the `reports` of a round, `accuracy` the noise of as many.
    """

    mechanism: str
    published: str
    turns: Turns
    people: int
    crowd: int
    delta: float
    reports: int
    eps_report_upper: float
    eps_upper: float
    wiped_often_upper: float
    exclusion: Bracket
    recognised_upper: float
    habits_upper: float
    whereabouts_upper: float
    answer_upper: float
    several_lower: dict[int, float]
    in_crowd: InCrowd
    accuracy: Accuracy

    @property
    def missing(self) -> dict[str, str]:
        """What is not known, and why."""
        return {"recognition after several campaigns": "no upper bound that helps is known"}


def audit_turns(
    mechanism: Mechanism,
    turns: Turns,
    *,
    people: int = 100_000,
    crowd: int = 1000,
    delta: float = 1e-6,
    reports: int | None = None,
) -> TurnsAudit:
    """Audit one turn with this mechanism. `people` take part, and a person hides among `crowd`.

    `reports` is the number of reports of a round, by default as many as are expected.
    """
    loss = mechanism.loss_of_one_report
    if loss is None:
        raise ValueError(f"mechanism must be fresh, with a known largest loss of a report, got {mechanism!r}")
    people, crowd = checks.integer("people", people, low=1), checks.integer("crowd", crowd, low=2)
    delta, rounds = checks.open_probability("delta", delta), turns.rounds
    expected = max(1, math.floor(people * turns.chance))
    reports = expected if reports is None else checks.integer("reports", reports, low=1)
    return TurnsAudit(
        repr(mechanism),
        mechanism.publications,
        turns,
        people,
        crowd,
        delta,
        reports,
        loss,
        turns.eps_upper(loss),
        turns.wiped_every_round(response_factor(loss)).gamma(delta).upper,
        turns.exclusion("1/2", "1/2").advantage(),
        recognition_upper(crowd),
        recognition_upper(crowd, turns, target=[OFTEN] * rounds, others=[SELDOM] * rounds),
        recognition_upper(-(-crowd // FEWER)),
        recognition_upper(crowd, eps_report=loss),
        {count: min(1.0, several_turns_lower(count, overlapping=False) / crowd) for count in _CAMPAIGNS},
        in_crowd(mechanism, reports, 1, delta),
        mechanism.accuracy(reports),
    )


# --- about how long the attacks of an audit take, from a trial with few people ----------------------------

_FEW = 64
_GROWTH = 1.25
"""The power of the number of people with which the time grows: each is simulated, and all pairs are scored."""


def attack_seconds(mechanism: Mechanism, *, reports: int, crowd: int) -> dict[str, float]:
    """Seconds of the steps that match people of equal and of different answers, by their names in `audit`.

    It is empty if the mechanism cannot be attacked in this way.
    """
    people, half = min(crowd, MOST_SIMULATED), max(1, reports // 2)
    few = min(people, _FEW)
    start = time.perf_counter()
    try:
        sent = [
            batch.reports for batch in mechanism.simulate(np.zeros(few, dtype=np.int64), rounds=2 * half, seed=1)
        ]
        both: Any = np.concatenate(sent)
        mechanism.link_scores(both[:, :half], both[:, half:], 0)
        answers = len(zipf_weights(mechanism))
    except (UntrackableError, NotImplementedError, TypeError, ValueError):
        return {}
    seconds = (time.perf_counter() - start) * (people / few) ** _GROWTH
    return {"matching": seconds, "matching, different answers": answers * seconds}
