"""The audit of one mechanism: all guarantees, the attacks, and the curves that show them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from untrackable import checks
from untrackable.auditing.audit_questions import Apart as Apart
from untrackable.auditing.audit_questions import (
    Attended,
    Auditable,
    AuditQuestions,
    Curves,
    method_of,
    pure_bracket,
)
from untrackable.auditing.change_attack import Changed, find_changes
from untrackable.auditing.different_values import zipf_weights
from untrackable.auditing.link_attack import Linked, link
from untrackable.brackets import Bracket
from untrackable.mechanisms.crowd_answer import InCrowd as InCrowd
from untrackable.mechanisms.interface import Mechanism
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.percentiles import Trackability

MOST_SIMULATED = 10_000
"""At most this many people are simulated, even if the crowd is larger."""
REPORTS = 20
"""Default number of reports that the observer holds, or all if there are fewer."""
_APART = 1000
"""At most this many of them are followed, because every value is tried for everybody."""


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
    questions = AuditQuestions(mechanism, delta)
    progress("guarantees", 0.0)
    worst, half = questions.worst(reports), questions.halved(reports)
    everlasting, everlasting_any = (questions.privacy(None, values) for values in ("fixed", "any"))
    lasting, lasting_any = (questions.privacy(rounds, values) for values in ("fixed", "any"))
    one = questions.maybe(
        "one report", lambda: pure_bracket(method_of(mechanism, "privacy")(reports=1, values="fixed"))
    )
    fresh, same = questions.detections(reports)
    tau = questions.maybe("τ", lambda: Trackability([*questions.halves(reports)]))
    accuracy = questions.maybe("accuracy", lambda: method_of(mechanism, "accuracy")(people))
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
