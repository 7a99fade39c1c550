"""Audits of clients and of files with reports: the verdict in words, measures in tables, views and charts."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from untrackable.auditing.black_box import POWER, TRACKING_LIMIT, Advantage, ClientAudit, LossBound
from untrackable.auditing.file_audit import FileAudit
from untrackable.auditing.recordings import MOST_ROUNDS
from untrackable.brackets import at_least, at_most
from untrackable.display import charts
from untrackable.display.charts import alt
from untrackable.display.numbers import all_of
from untrackable.display.view import Chart, Columns, Table, View, counts, floats, make_charts, make_view, texts
from untrackable.theory.accuracy import Share


class Measure(NamedTuple):
    """A number that was found: at least `lower`, with the audit's confidence; `sampled` is what was seen.

    `claimed` is what was claimed of it, and `by` the attack that found it, or a guess to compare it with.
    """

    what: str
    reports: int
    lower: float
    sampled: float
    claimed: float | None
    by: str

    @property
    def name(self) -> str:
        """What it is, and of how many reports."""
        if self.what.startswith("tracking"):
            return self.what
        return f"{self.what}, {'one report' if self.reports == 1 else f'{self.reports} reports'}"


def measures(audit: ClientAudit) -> list[Measure]:
    """All numbers, in the order of their table."""
    count, guess = audit.reports, f"a guess: {audit.chance:.3f}"
    eps, one, gamma, tracking = audit.eps, audit.eps_one, audit.gamma, audit.tracking
    seen = tracking.lower, tracking.sampled
    return [
        Measure("eps", count, eps.lower, eps.sampled, audit.claimed_eps, eps.score),
        Measure("eps", 1, one.lower, one.sampled, audit.claimed_eps_one, one.score),
        Measure("tracking gamma", count, gamma.lower, gamma.sampled, audit.claimed_gamma, gamma.score),
        Measure("tracking advantage", count, *seen, audit.claimed_advantage, tracking.similarity),
        Measure("guessed", count, audit.recovered.lower, audit.recovered.sampled, None, guess),
        Measure("guessed", 1, audit.recovered_one.lower, audit.recovered_one.sampled, None, guess),
    ]


CLIENT_COLUMNS = ("", "lower", "sampled", "claimed", "by")


def cells(measure: Measure) -> tuple[str, ...]:
    """A row of the table under `CLIENT_COLUMNS`."""
    claim = "" if measure.claimed is None else f"{measure.claimed:.3f}"
    sampled = "∞" if math.isinf(measure.sampled) else f"{measure.sampled:.3f}"
    return measure.name, at_least(measure.lower, 4), sampled, claim, measure.by


def client_title(audit: ClientAudit) -> str:
    """What was found, in one line."""
    return (
        f"eps of {audit.reports} reports is at least {at_least(audit.eps.lower, 3)}, the tracking advantage at "
        f"least {at_least(audit.tracking.lower, 3)} (lower, {_sure(audit)})"
    )


def client_verdict(audit: ClientAudit) -> list[str]:
    """What the audit found, sentence by sentence. A warning that undermines the rest comes first."""
    return [
        *_shared_randomness(audit),
        *_privacy(audit, audit.eps, audit.claimed_eps, all_of(audit.reports, "reports")),
        *_privacy(audit, audit.eps_one, audit.claimed_eps_one, "one report"),
        _noise(audit),
        *_tracking(audit),
    ]


def client_failed(audit: ClientAudit) -> str:
    """Why the client fails a check, in one line; empty if it passes."""
    told = {
        "eps": f"eps of {all_of(audit.reports, 'reports')} is larger than claimed",
        "eps_one": "eps of one report is larger than claimed",
        "advantage": "the tracking advantage is larger than claimed",
        "gamma": "gamma is larger than claimed",
        "tracking": f"clients can be followed: the tracking advantage is certainly above {TRACKING_LIMIT:g}",
        "shared_randomness": "clients share randomness",
    }
    return "; ".join(told[failure] for failure in audit.failures)


def missed(tracking: Advantage, who: str) -> str:
    """The advantage that an attack could have had without being noticed. `who` are people or clients."""
    least = tracking.found_from
    if least is None:
        return f"There are too few {who} to find anything: not even an attack that is always right would show."
    return (
        f"{f'There are only few {who}. ' if tracking.weak else ''}If this attack had an advantage of "
        f"{at_most(least, 3)} or more (upper), it would have been found with a probability of at least "
        f"{100 * POWER:g} %. A smaller one may have been missed."
    )


def _sure(audit: ClientAudit | FileAudit) -> str:
    """The confidence of its bounds."""
    return f"{100 * audit.level:.12g} %"


def _shared_randomness(audit: ClientAudit) -> Iterable[str]:
    if audit.shares_randomness:
        how = (
            "all clients of a value send the same reports in the same order"
            if audit.identical
            else "clients made one after the other agree more than others do"
        )
        yield f"SHARED RANDOMNESS: {how}. Clients are not independent, so do not rely on the bounds below."


def _tracking(audit: ClientAudit) -> Iterable[str]:
    """How well a client is followed from one half of its reports to the other."""
    where, tracking = f"between the halves of {audit.reports} reports", audit.tracking
    for claim, name, lower, claimed in (
        ("advantage", "the tracking advantage", tracking.lower, audit.claimed_advantage),
        ("gamma", f"gamma (at delta = {audit.claimed_delta:.3g})", audit.gamma.lower, audit.claimed_gamma),
    ):
        bound = f"{name} {where} is at least {at_least(lower, 3)} (lower, {_sure(audit)})"
        if claim in audit.refuted_by_persistence:
            bound = f"{name} {where} is above 0, because something persists (p = {audit.persistence.p_value:.2g})"
        if claimed is not None:
            yield f"{_fate(claim in audit.refuted_claims)}: {bound}; the claim is {claimed:.4g}."
        elif audit.trackable and claim == "advantage":
            yield f"CLIENTS CAN BE FOLLOWED: {bound}."
        else:
            yield f"{bound[0].upper()}{bound[1:]}."
    if tracking.lower == 0:
        yield missed(tracking, "clients")


def _fate(refuted: bool) -> str:
    return "CLAIM REFUTED" if refuted else "The claim is not refuted"


def _privacy(audit: ClientAudit, eps: LossBound, claimed: float | None, reports: str) -> Iterable[str]:
    bound = f"or {reports}, eps is at least {at_least(eps.lower, 3)} (lower, {_sure(audit)})"
    if claimed is None:
        yield f"F{bound}."
    else:
        yield f"{_fate(eps.lower > claimed)}: f{bound}; the claim is {claimed:.4g}."
    if eps.outside.hits == 0 and eps.inside.sampled > 0.5:
        yield (
            f"{eps.inside.sampled:.0%} of the clients of one value did what none of {eps.outside.trials:,} clients "
            "of another value did (sampled), so eps may well be infinite."
        )


def _noise(audit: ClientAudit) -> str:
    if audit.persists:
        return "Something persists in a client: its reports are correlated."
    if not audit.averages_out:
        return "Nothing was found to persist in a client."
    fate = "NOISE IS NOT PERMANENT" if audit.refuted else "Noise is fresh in every report"
    return (
        f"{fate}: nothing was found to persist in a client, and {audit.reports} reports reveal the value of "
        f"{audit.recovered.sampled:.1%} of the clients (sampled; {audit.recovered.lower:.1%} or more), where one "
        f"report reveals that of {audit.recovered_one.sampled:.1%}. Such noise protects a value only while there "
        "are few reports."
    )


@make_view.register
def _(audit: ClientAudit) -> View:
    rows, sentences = measures(audit), client_verdict(audit)
    made = f"{audit.clients:,} clients of each of {audit.values} values, {audit.reports} reports from each client"
    tests = {"something stays the same": audit.persistence, "randomness is shared": audit.sharing}
    signs = [
        (name, "yes" if test.found else "not found", f"{test.positive} of {test.decided}", f"{test.p_value:.2g}")
        for name, test in tests.items()
    ]
    return View(
        title=client_title(audit),
        sentences=[f"{made}.", *sentences],
        tables=[
            Table(CLIENT_COLUMNS, [cells(row) for row in rows]),
            Table(("sign test", "", "positive signs", "p-value"), signs),
        ],
        data=lambda: _client_data(audit, rows),
        json=lambda: {**audit.as_dict(), "verdict": " ".join(sentences)},
    )


def _client_data(audit: ClientAudit, rows: list[Measure]) -> Columns:
    return {
        "what": texts(row.what.replace(" ", "_") for row in rows),
        "reports": counts(row.reports for row in rows),
        "lower": floats(row.lower for row in rows),
        "sampled": floats(row.sampled for row in rows),
        "claimed": floats(row.claimed for row in rows),
        "level": floats(audit.level for _ in rows),
    }


def file_verdict(audit: FileAudit) -> list[str]:
    """What was compared, whether people can be followed, then what else a reader of the result should know."""
    return [compared(audit), _finding(audit), _attendance(audit), *_remarks(audit)]


def compared(audit: FileAudit) -> str:
    """Which reports were compared, and how much of the file that is."""
    if audit.windows is None:
        how = "Each person's reports were dealt at random into two halves, and the halves were compared"
    else:
        first, second = (f"{audit.columns.window} {window}" for window in audit.windows)
        how = f"Reports with {first} were compared with those with {second}"
    each = f"on average {audit.reports / audit.people:.3g} for each of {audit.people:,} people"
    used = (
        f"Used were {audit.reports:,} of {audit.rows:,} rows, {each}. There are {audit.pseudonyms:,} people in the "
        f"{'uniform sample that was looked at' if audit.sampled else 'file'}"
    )
    if audit.rounds is not None:
        count = f"more than {MOST_ROUNDS:,}" if audit.rounds > MOST_ROUNDS else f"{audit.rounds:,}"
        used += f", and {count} {'round' if audit.rounds == 1 else 'rounds'} (column {audit.columns.round})"
    elsewhere = f" NOT USED: {audit.elsewhere:,} rows in other windows." if audit.elsewhere else ""
    return f"{how}.{elsewhere} {used}."


def parts(audit: FileAudit) -> str:
    """What a person's reports were divided into."""
    return "halves" if audit.windows is None else "windows"


def file_title(audit: FileAudit) -> str:
    """What was found, in one line."""
    best = max(attack.lower for attack in audit.attacks.values())
    if best > 0:
        sure = f"lower, {_sure(audit)}"
        return f"people can be followed with an advantage of at least {at_least(best, 3)} ({sure})"
    if audit.tracking.weak:
        return f"{audit.people:,} people are too few to say whether they can be followed"
    return f"no way to follow {audit.people:,} people was found"


def file_failed(audit: FileAudit) -> str:
    """Why the file fails a check, in one line; empty if it passes."""
    if not audit.failures:
        return ""
    limit = "the limit without a claim" if audit.claimed_advantage is None else "the claim"
    return (
        f"people can be followed by their {' and by their '.join(audit.failures)}: the advantage is certainly "
        f"above {audit.limit:g}, {limit}"
    )


def _finding(audit: FileAudit) -> str:
    tracking = audit.tracking
    if tracking.lower > 0:
        return (
            "People in this file can be followed by their reports. An attack that uses "
            f"{tracking.similarity} tells whether two {parts(audit)} are of one person or of two people, with an "
            f"advantage of at least {at_least(tracking.lower, 3)} (lower, {_sure(audit)}; "
            f"{tracking.sampled:.3g} sampled). "
            "An advantage of 0 is a guess, and 1 is certainty."
        )
    if tracking.weak:
        few = f"NOT DECIDED: {audit.people:,} people are too few to say whether they can be followed."
        return f"{few} {_luck(tracking)}"
    where = " between these two windows" if audit.elsewhere else ""
    return f"No way to follow the people in this file by their reports was found{where}. {_luck(tracking)}"


def _luck(tracking: Advantage) -> str:
    return (
        f"The attack had an advantage of {tracking.sampled:.3g} (sampled), which may be luck with "
        f"{tracking.different.trials:,} pairs of people. {missed(tracking, 'people')} Another attack may do better."
    )


def _attendance(audit: FileAudit) -> str:
    """Whether people can be followed by the rounds in which they were seen."""
    if audit.attendance is None:
        return f"Attendance was not looked at: {audit.attendance_missing}."
    tracking, matched, sure = audit.attendance.tracking, audit.attendance.matched, _sure(audit)
    first = (
        f"Of {matched.people:,} people who were held out, {100 * matched.sampled:.3g} % were matched right "
        f"(sampled; {sure} interval {100 * matched.lower:.3g} % to {100 * matched.upper:.3g} %; a guess: "
        f"{100 / matched.people:.2g} %)."
    )
    told = (
        f"{audit.attendance.rounds:,} rounds tell one person from two with an advantage of at least "
        f"{at_least(tracking.lower, 3)} (lower, {sure}; {tracking.sampled:.3g} sampled)"
    )
    if tracking.lower > 0 and matched.lower > 1 / matched.people:
        return f"Attendance gives people away, whatever their reports say: the {told}. {first}"
    if tracking.lower > 0:
        return f"By attendance alone, {told}, but nobody is found by it in a crowd. {first}"
    nothing = (
        "it is NOT DECIDED whether people can be followed" if tracking.weak else "no way to follow people was found"
    )
    return (
        f"By attendance alone, in {audit.attendance.rounds:,} rounds, {nothing}. The attack had an advantage of "
        f"{tracking.sampled:.3g} (sampled), which may be luck. {missed(tracking, 'people')} {first}"
    )


def _remarks(audit: FileAudit) -> Iterable[str]:
    if audit.malformed:
        where = "; ".join(f"{audit.unit} {number}: {reason}" for number, reason in audit.examples)
        more = "" if audit.malformed <= len(audit.examples) else "; …"
        yield f"{audit.malformed:,} of {audit.rows:,} rows are malformed and were left out ({where}{more})."
    if audit.columns.passed_over is not None:
        name = audit.columns.passed_over
        yield (
            f"The column {name} was not used, because it does not have exactly two values. To compare two of them, "
            f"name them: --window-column {name} --windows A,B. To compare the first of all values with the last: "
            f"--window-column {name}."
        )
    yield (
        "This is about the file as it is: people can also be followed if they hold different values or send "
        "different numbers of reports. The definition of untrackable is about people with equal values."
    )


@make_view.register
def _(audit: FileAudit) -> View:
    sentences = file_verdict(audit)
    sure = _sure(audit)
    attacks = Table(
        ("people are followed by", f"advantage, at least (lower, {sure})", "sampled", "how"),
        [
            (name, at_least(attack.lower, 3), f"{attack.sampled:.3g}", attack.similarity)
            for name, attack in audit.attacks.items()
        ],
    )
    pairs = Table(
        ("taken for one person", "pairs", "sampled", f"{sure} interval"),
        [
            (
                f"{parts(audit)} of {whose}, by {by}",
                f"{share.trials:,}",
                f"{share.sampled:.3f}",
                f"{share.lower:.3f} … {share.upper:.3f}",
            )
            for by, whose, share in taken_for_one(audit)
        ],
    )
    about = f"{audit.path}: {audit.rows:,} rows, {audit.malformed:,} malformed; reports are {audit.format}"
    return View(
        title=file_title(audit),
        sentences=[f"{about}.", *sentences],
        tables=[attacks, pairs],
        data=lambda: _file_data(audit),
        json=lambda: {**audit.as_dict(), "verdict": " ".join(sentences)},
    )


def taken_for_one(audit: FileAudit) -> list[tuple[str, str, Share]]:
    """By what, whose windows, and how often these were taken for those of one person."""
    return [
        (by, whose, share)
        for by, attack in audit.attacks.items()
        for whose, share in (("one person", attack.same), ("two people", attack.different))
    ]


def _file_data(audit: FileAudit) -> Columns:
    """One row for each attack, with how often it took two windows for those of one person."""
    attacks = audit.attacks.values()
    columns: dict[str, Any] = {
        "followed_by": texts(audit.attacks),
        "how": texts(attack.similarity for attack in attacks),
        "advantage_lower": floats(attack.lower for attack in attacks),
        "advantage_sampled": floats(attack.sampled for attack in attacks),
        "level": floats(attack.level for attack in attacks),
    }
    for name, shares in (
        ("one_person_recognised", [attack.same for attack in attacks]),
        ("two_taken_for_one", [attack.different for attack in attacks]),
    ):
        columns[f"{name}_pairs"] = counts(share.trials for share in shares)
        for part in ("sampled", "lower", "upper"):
            columns[f"{name}_{part}"] = floats(getattr(share, part) for share in shares)
    return columns


@make_charts.register
def _(audit: FileAudit, top: int) -> list[Chart]:
    """The advantage of each attack, and how often it took two windows for those of one person."""
    return [_advantages(audit), _pairs(audit)]


def _advantages(audit: FileAudit) -> Chart:
    """What each attack certainly has, and what was seen."""
    attacks = list(audit.attacks.values())
    names = [f"by {name}" for name in audit.attacks]
    rows = [
        {
            "place": place,
            "length": attack.lower,
            "seen": attack.sampled,
            "reach": max(attack.lower, attack.sampled, 0.0),
            "told": f"at least {at_least(attack.lower, 3)}",
        }
        for place, attack in enumerate(attacks)
    ]
    least = min(-0.02, *(attack.sampled - 0.03 for attack in attacks))
    x = alt.X("length:Q", title="advantage", scale=charts.span(least, 1.3), axis=_unit_axis())
    between = "two halves of their reports" if audit.windows is None else "two windows"
    return (
        charts.NamedBars(names, x)
        .bars(rows, f"at least (lower, {_sure(audit)})", charts.RED)
        .dots(rows, "seen", "seen among people who were held out (sampled)")
        .limits([0.0, 1.0], "0: a guess (exact); 1: certainty")
        .told(rows, "reach")
        .chart(
            "advantages",
            f"How well {audit.people:,} people can be followed between {between}, from a guess to certainty",
        )
    )


def _unit_axis() -> alt.Axis:
    return alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1])


def _pairs(audit: FileAudit) -> Chart:
    """If bars are equally long, this attack failed."""
    words = charts.BarWords(
        f"How often two {parts(audit)} of {audit.people:,} people were taken for those of one person",
        f"{parts(audit)} of one person: long bars mean that people can be followed",
        f"{parts(audit)} of two people",
        f"share (sampled) and its {_sure(audit)} interval",
    )
    shares = [
        charts.Bar(f"{whose}, by {by}", share.sampled, share.lower, share.upper, whose == "one person")
        for by, whose, share in taken_for_one(audit)
    ]
    return charts.share_bars("pairs", shares, words, axis="share of pairs")


@make_charts.register
def _(audit: ClientAudit, top: int) -> list[Chart]:
    """The eps and gamma that reports have at least, and below how well people are followed and guessed."""
    rows = measures(audit)
    known = [number for row in rows[:3] for number in (row.lower, row.sampled, row.claimed or 0.0)]
    most = max((number for number in known if math.isfinite(number)), default=1.0) or 1.0
    least = min(0.0, *(row.sampled for row in rows[:3]))
    losses = alt.X("length:Q", title="eps, or gamma", scale=charts.span(least, 1.4 * most), axis=charts.few_ticks())
    least = min(-0.02, *(row.sampled - 0.03 for row in rows[3:]))
    shares = alt.X(
        "length:Q",
        title="advantage, or share of values that are guessed",
        scale=charts.span(least, 1.3),
        axis=_unit_axis(),
    )
    guesses = [0.0 if row.what == "tracking advantage" else audit.chance for row in rows[3:]]
    title = _client_title(audit, ("eps", "eps_one", "gamma"), "How large eps and gamma are at least")
    followed = _client_title(audit, ("advantage",), "How well clients are followed, and their values guessed")
    return [
        _client_chart("losses", title, audit, rows[:3], losses, []),
        _client_chart("shares", followed, audit, rows[3:], shares, guesses),
    ]


def _client_title(audit: ClientAudit, claims: Sequence[str], otherwise: str) -> str:
    """The title of a chart: which of its claims are refuted, if any."""
    wrong = [claim.replace("eps_one", "eps of one report") for claim in claims if claim in audit.refuted_claims]
    verb = "is" if len(wrong) == 1 else "are"
    return f"CLAIM REFUTED: {' and '.join(wrong)} {verb} larger than claimed" if wrong else otherwise


def _client_chart(
    name: str, title: str, audit: ClientAudit, measured: Sequence[Measure], x: "alt.X", guesses: Sequence[float]
) -> Chart:
    rows: list[dict[str, Any]] = [
        {
            "place": place,
            "length": row.lower,
            "seen": row.sampled if math.isfinite(row.sampled) else None,
            "claimed": row.claimed,
            "reach": max(row.lower, row.sampled if math.isfinite(row.sampled) else 0.0, row.claimed or 0.0),
            "told": f"≥ {at_least(row.lower, 3)}{'; seen: ∞' if math.isinf(row.sampled) else ''}",
        }
        for place, row in enumerate(measured)
    ]
    claims = [row for row in rows if row["claimed"] is not None]
    without = [{"place": place, "guess": guess} for place, guess in enumerate(guesses)]
    seen = [row for row in rows if row["seen"] is not None]
    return (
        charts.NamedBars([row.name for row in measured], x)
        .bars(rows, f"at least (lower, {_sure(audit)})", charts.RED)
        .ticks(without, "guess", "without reports (exact)", charts.NEUTRAL)
        .ticks(claims, "claimed", "claimed, at most", charts.BLUE)
        .dots(seen, "seen", "seen among clients that were held out (sampled)")
        .told(rows, "reach")
        .chart(name, title)
    )
