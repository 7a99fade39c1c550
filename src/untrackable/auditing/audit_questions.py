"""The questions that an audit asks a mechanism, and their answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from untrackable.auditing.attendance_attack import AttendanceMatched, match_by_attendance
from untrackable.brackets import Bracket
from untrackable.mechanisms import attended_tracking
from untrackable.mechanisms.crowd_answer import InCrowd as InCrowd
from untrackable.mechanisms.crowd_answer import in_crowd
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.progress import Progress
from untrackable.theory.attendance import attendance, recognition
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.percentiles import Trackability

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


class AuditQuestions:
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
        ask = method_of(self.mechanism, "privacy")
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
            return attended_tracking.recognition(self.mechanism, rounds, people=crowd)

        numbers = sorted({*np.linspace(1, rounds, _ROUNDS).round().astype(int).tolist()})
        return Attended(
            rounds,
            recognition(rounds, crowd),
            attendance(rounds).advantage(),
            self.maybe("recognition by reports and attendance", with_reports),
            tuple(RoundsPoint(number, recognition(number, crowd)) for number in numbers),
            None,
        )

    def attendance_attack(self, found: Attended, people: int, seed: int) -> AttendanceMatched:
        """The attack by attendance; with reports too, where they matter and the mechanism allows it."""

        def attack(mechanism: Mechanism | None) -> AttendanceMatched:
            return match_by_attendance(rounds=found.rounds, people=people, mechanism=mechanism, seed=seed)

        mechanism = self.mechanism
        if isinstance(mechanism, Mechanism) and not mechanism.independent and found.alone.lower < _CERTAIN:
            both = self.maybe("attack by reports and attendance", lambda: attack(mechanism))
            if both is not None:
                return both
        return attack(None)

    def detections(self, reports: int) -> tuple[Apart | None, Apart | None]:
        """Detection of a change at the worst time, after which a fresh client or the same one reports."""
        ask, rounds = method_of(self.mechanism, "detection"), range(1, reports + 1)
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


def method_of(mechanism: object, name: str) -> Callable[..., Any]:
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
