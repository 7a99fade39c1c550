"""The audit of one mechanism: all guarantees, the attacks, and the curves that show them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from untrackable import checks
from untrackable.auditing.attendance_attack import AttendanceMatched, match_by_attendance
from untrackable.auditing.attendance_audit import Attended, Stay, longer_stays, recognition_curve
from untrackable.auditing.change_attack import Changed, find_changes
from untrackable.auditing.different_values import zipf_weights
from untrackable.auditing.link_attack import Linked, link
from untrackable.brackets import Bracket
from untrackable.checks import Chance
from untrackable.mechanisms import attended_tracking
from untrackable.mechanisms.crowd_answer import InCrowd as InCrowd
from untrackable.mechanisms.crowd_answer import in_crowd
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.attendance import HALF_AND_HALF, Attendance
from untrackable.theory.chance_of_answering import EVERY_ROUND, as_upper
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.percentiles import Trackability

T = TypeVar("T")

LARGEST_CROWD = 10_000
"""At most this many people are simulated, even if the crowd is larger."""
_APART = 1000
"""At most this many of them are followed, because every value is tried for everybody."""
_MOST_POINTS = 8
"""The curves are drawn at this many numbers of reports."""
_GAMMAS = 41
"""The curve of delta is drawn at this many gammas."""
_LEVELS = tuple(i / 20 for i in range(1, 20))
"""The curve of τ is drawn at these probabilities."""
_RATES = 201
"""The trade-off of the best observer is drawn at this many false positive rates."""
_CERTAIN = 0.99
"""From this probability of being recognised by attendance alone, the attack does not read reports as well."""


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
        pure = pair.pure()
        return Apart(Bracket(pure if pair.certainty == "exact" else 0.0, pure), pair.gamma(delta), pair.advantage())


class Point(NamedTuple):
    """One number of reports on the curves: guarantees of the worst split, and recognition if split in half."""

    reports: int
    tracking: Apart
    recognised: Bracket


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


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """The results of an audit. Numbers are brackets, or say that they are sampled.

    If a number is None, `missing` says why. `everlasting` is about all reports ever sent, `lasting` about the
    first `rounds`. Both are for a value that never changes; with `_any`, they are for any sequence of values. They
    count that some rounds are not answered. `attended` is about which rounds are answered, and from where; all else
    is about what the reports say. `in_crowd` is about an observer who sees everybody's reports of these rounds, but
    not who sent which. `shift` is the number of people whose value one dishonest report can feign (exact).
    `tracking` is for the worst split of the reports. `tracking_colliding` is also
    for the worst value, where values differ: RAPPOR's hashes may collide. `recognised` bounds the probability that
    an observer who knows half of a person's reports picks out the other half in a crowd. `detection_fresh` and
    `detection_same` are about a change of value: a fresh client sends the reports after it, or the same one.
    `linked` is an attack on people with equal values, `linked_apart` on people with different values.
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


def audit(
    mechanism: Auditable,
    *,
    reports: int = 20,
    delta: float = 1e-6,
    people: int = 100_000,
    crowd: int = 1000,
    attack: bool = True,
    distribution: Sequence[float] | None = None,
    rounds: int | None = None,
    participation: Chance = EVERY_ROUND,
    places: Sequence[Chance] = HALF_AND_HALF,
    persistence: int = 1,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Audit:
    """Audit a mechanism against an observer who holds `reports` reports of a person.

    `people` is the number of reports per round, for the accuracy. `crowd` is the size of the crowd that a person
    hides in. Without `attack`, nothing is simulated. People with different values are attacked as well: their
    values 0, 1, … have the weights of the `distribution`, by default 1, 1/2, 1/3, … of a few values.

    Attendance is over `rounds` rounds, by default as many as there are reports: each is answered with probability
    `participation`, from one of several `places` where people spend these shares of their time, and stay for
    `persistence` rounds.
    """
    if not isinstance(mechanism, Auditable):
        raise TypeError(
            f"mechanism must have a method tracking(reports=, split=), {type(mechanism).__name__} has none"
        )
    reports = checks.integer("reports", reports, low=2)
    delta = checks.open_probability("delta", delta)
    people, crowd = checks.integer("people", people, low=1), checks.integer("crowd", crowd, low=2)
    rounds = reports if rounds is None else checks.integer("rounds", rounds, low=reports)
    attendance = Attendance(participation, tuple(places), persistence)  # type: ignore[arg-type]
    questions = _Questions(mechanism, delta, attendance)
    progress("guarantees", 0.0)
    worst, half = questions.worst(reports), questions.halved(reports)
    everlasting, everlasting_any = (questions.privacy(None, values) for values in ("fixed", "any"))
    lasting, lasting_any = (questions.privacy(rounds, values) for values in ("fixed", "any"))
    one = questions.maybe("one report", lambda: _pure(_method(mechanism, "privacy")(reports=1, values="fixed")))
    fresh, same = questions.detections(reports)
    tau = questions.maybe("τ", lambda: Trackability([*questions.halves(reports)]))
    accuracy = questions.maybe("accuracy", lambda: _method(mechanism, "accuracy")(people))
    curves = questions.curves(reports, crowd, worst, half, tau, progress)
    colliding = None
    if isinstance(mechanism, Mechanism) and not mechanism.values_alike:
        colliding = Apart.of(mechanism.worst_tracking(reports), delta)
    linked = apart = changed = None
    followed = min(crowd, LARGEST_CROWD)
    attended = questions.attended(rounds, crowd)
    if attack:
        matched = questions.attendance_attack(attended, followed, seed, progress)
        attended = replace(attended, matched=matched)
    if attack and isinstance(mechanism, Mechanism):
        linked = questions.maybe(
            "linking", lambda: link(mechanism, people=followed, reports=reports // 2, seed=seed, progress=progress)
        )

        def by_values(weights: Sequence[float], people: int) -> Linked:
            return link(
                mechanism, people=people, reports=reports // 2, distribution=weights, seed=seed, progress=progress
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

    def __init__(self, mechanism: Auditable, delta: float, attendance: Attendance) -> None:
        self.mechanism, self.delta, self.attendance = mechanism, delta, attendance
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
        return self.maybe(name, lambda: Apart.of(self._privacy(rounds, values), self.delta))

    def _privacy(self, rounds: int | None, values: str) -> Pair:
        """A mechanism of one's own answers for every round. Unanswered rounds only reveal less (upper)."""
        ask, share = _method(self.mechanism, "privacy"), self.attendance.participation
        if share < 1 and isinstance(self.mechanism, Mechanism):
            thinned: Pair = ask(reports=rounds, values=values, participation=share)
            return thinned
        everything: Pair = ask(reports=rounds, values=values)
        return everything if share == 1 else as_upper(everything)

    def in_crowd(self, answers: int, rounds: int) -> InCrowd | None:
        """Privacy in the crowd of all who are enrolled, if this many of them answer a round on average."""
        if not isinstance(self.mechanism, Mechanism):
            return None
        share = self.attendance.participation
        enrolled = math.floor(answers / share) if share else answers
        last = self.mechanism.last_round
        return in_crowd(self.mechanism, enrolled, rounds if last is None else min(rounds, last), share, self.delta)

    def attended(self, rounds: int, crowd: int) -> Attended:
        """The bounds on what attendance reveals, alone and with reports."""
        attendance, seen = self.attendance, self.attendance.experiment(rounds)

        def with_reports() -> Bracket:
            if not isinstance(self.mechanism, Mechanism):
                raise TypeError("reports and attendance are combined for mechanisms of the catalogue only")
            return attended_tracking.recognition(self.mechanism, attendance, rounds, people=crowd)

        return Attended(
            attendance,
            rounds,
            seen.power(1 / crowd),
            seen.advantage(),
            self.maybe("recognition by reports and attendance", with_reports),
            longer_stays(attendance, rounds, crowd),
            Stay(*attendance.worst_persistence(rounds, crowd)),
            recognition_curve(attendance, rounds, crowd),
            None,
        )

    def attendance_attack(self, found: Attended, people: int, seed: int, progress: Progress) -> AttendanceMatched:
        """The attack by attendance; with reports too, where they matter and the mechanism allows it."""

        def attack(mechanism: Mechanism | None) -> AttendanceMatched:
            return match_by_attendance(
                found.attendance,
                rounds=found.rounds,
                people=people,
                mechanism=mechanism,
                seed=seed,
                progress=progress,
            )

        mechanism = self.mechanism
        if isinstance(mechanism, Mechanism) and not mechanism.independent and found.alone.lower < _CERTAIN:
            both = self.maybe("attack by reports and attendance", lambda: attack(mechanism))
            if both is not None:
                return both
        return attack(None)

    def detections(self, reports: int) -> tuple[Apart | None, Apart | None]:
        """Detection of a change at the worst time, after which a fresh client or the same one reports."""
        ask, rounds = _method(self.mechanism, "detection"), range(1, reports + 1)
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


def _method(mechanism: object, name: str) -> Callable[..., Any]:
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


def _pure(pair: Pair) -> Bracket:
    return Bracket(pair.pure() if pair.certainty == "exact" else 0.0, pair.pure())
