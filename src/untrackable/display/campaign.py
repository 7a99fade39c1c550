"""A campaign in plain words: its guarantee, schedule and accuracy, the trust it needs, and what observers learn."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from untrackable import strict_json
from untrackable.brackets import ROUNDINGS, Side, at_most, shortest_decimal
from untrackable.display.numbers import number, odds_factor, percent, shown, upper
from untrackable.display.view import View
from untrackable.errors import UntrackableError
from untrackable.planning.forecast import ErrorLaw, fewest_reports, law_of, look_law
from untrackable.planning.goal_fields import LARGEST_PEOPLE
from untrackable.planning.goals import USABLE_ERROR, Goals, counted
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, HoldingRelay
from untrackable.theory.search import smallest_integer
from untrackable.theory.turns import AMONG, recognition_upper


def truth_words(kind: Literal["answer", "question", "marks"], own_share: float, noise_share: float) -> str:
    """A sentence for people, about the fields of a mechanism's `truthfulness()`."""
    own, noise = share(own_share), share(noise_share)
    match kind:
        case "answer":
            return f"{own} of people answer truthfully in every report (exact; {noise} would be pure noise)."
        case "question":
            return f"Each answer is right with probability {own} (exact; {noise} would be pure noise)."
        case "marks":
            return f"Each report marks the true answer with probability {own}, and any other with {noise} (exact)."


def share(number: float, side: Side = "nearest") -> str:
    """A probability in percent: enough digits to tell it from 100 %. Upper bounds are rounded up."""
    hundredfold = shortest_decimal(number).scaleb(2)
    for digits in (1, 2, 3, 4):
        percent = hundredfold.quantize(Decimal(1).scaleb(-digits), ROUNDINGS[side])
        if percent < 100 or number == 1:
            text = f"{percent:f}"
            return (text.rstrip("0").rstrip(".") if digits == 1 else text) + " %"
    return "100 %" if side == "up" else "above 99.9999 %"


EVERY_ROUND = (
    "People answer every round, so nobody is seen at two places in one round. An observer who waits long enough "
    "recognises them by that alone."
)


def attendance_words(campaign: Campaign) -> list[str]:
    """How often people answer, and how well an observer of two places recognises them by that."""
    turns = campaign.turns
    if turns is None:
        return [EVERY_ROUND]
    often = "once" if turns.share == 1 else f"once with probability {turns.share}, and else never"
    sent = f"Each person answers {often}, in one of {turns.rounds:,} rounds that their device draws in secret."
    if campaign.looks > 1:
        sent += (
            f" The device keeps the answers in the {campaign.looks} looks of that round and sends them in one "
            "report at its end. The report says that they are one person's; what is promised is for all of them."
        )
    return [
        f"{sent} In all other rounds nothing is sent.",
        f"An observer of two places recognises a person among {AMONG:,} with probability at most "
        f"{percent(recognition_upper(AMONG), 'up')} (upper; guessing: {percent(1 / AMONG)}), however people move, "
        "unless more is known of this person than of the others.",
    ]


def crowd_words(
    crowd: CrowdGuarantee, verified: dict[str, Any] | None = None, throughout: dict[str, Any] | None = None
) -> str:
    """What the collector may learn by itself, as it is declared, and what the verification found, if that is known.

    `throughout` is the eps of people who are active in all rounds of turns.
    """
    checked = "" if verified is None else f"; verified: at most {at_most(verified['upper'], 3)}"
    active = (
        ""
        if throughout is None
        else f" For people who are active in all rounds, eps is at most {at_most(throughout['upper'], 3)} (upper)."
    )
    return (
        "A relay adds this: the collector by itself does not know who sent which report. To it, everything that a "
        "person ever sends changes the odds between any two answers by a factor of at most "
        f"{odds_factor(crowd.eps)} (eps = {at_most(crowd.eps)}), except with probability "
        f"{at_most(crowd.delta, 4)} (upper{checked}). Rounds with fewer than {crowd.reports:,} reports are not "
        f"published.{active}"
    )


def trust_words(relay: HoldingRelay | None) -> str:
    """The trust that an answer to a campaign with a crowd needs, through any relay or through one that holds."""
    if relay is None:
        sent = (
            "Reports are sealed and sent through a relay, which knows who sends them and cannot read them. You "
            "name the relay, and you trust that it does not work with the collector: nobody can check that."
        )
    else:
        sent = (
            f"Reports are sealed and sent to the relay {relay.address}, which knows who sends them and cannot "
            f"read them. It holds the reports of a round and passes them on once, shuffled, {delay_words(relay)}, "
            "so the collector does not see who was there when. Your policy must name this relay. You trust that it "
            "does not work with the collector, and that it drops no report: nobody can check that."
        )
    return (
        f"{sent} You also trust that the crowd is there: a collector that leaves people out, or invents them, "
        "makes it smaller, and your client cannot see that."
    )


def held_words(relay: HoldingRelay, first_end: int) -> str:
    """Which relay holds the reports, and when it releases them. The first round ends at `first_end`."""
    return (
        f"{relay.address} holds the reports of a round and releases them once, {delay_words(relay)}; those of the "
        f"first round on {_date(first_end + relay.delay)}."
    )


def relay_words(campaign: Campaign) -> str:
    """Which relay holds the reports of a campaign, and when it releases them; or nothing."""
    relay = campaign.relay
    return "" if relay is None else held_words(relay, campaign.leaves(1) - relay.delay)


def delay_words(relay: HoldingRelay) -> str:
    """When a relay that holds reports passes them on."""
    span = _span(relay.delay) if relay.delay else ""
    return (
        f"{'' if span[0].isdigit() else '1 '}{span} after the end of the round"
        if span
        else "at the end of the round"
    )


_RELEASE_EVERY, _RELEASE_AHEAD = 3600, 40
"""The seconds of `--release-every` and the days of `--release-ahead`, if a relay is started without them."""


def release_words(campaign: Campaign) -> str:
    """The options without which the relay that holds the reports refuses them; or nothing."""
    if campaign.relay is None:
        return ""
    between = 0 if campaign.rounds == 1 else campaign.round_seconds
    every = math.gcd(_RELEASE_EVERY, campaign.leaves(1), between)
    ahead = math.ceil((campaign.look_seconds + campaign.relay.delay) / 86_400)
    needed = [f"--release-every {every}"] if every < _RELEASE_EVERY else []
    needed += [f"--release-ahead {ahead}"] if ahead > _RELEASE_AHEAD else []
    if not needed:
        return ""
    return (
        f"This needs a relay that is started with `{' '.join(needed)}`: any other refuses reports of this campaign."
    )


_LARGE = 4.0
"""The eps above which a page says how often people tell the plain truth."""


def guarantee_words(campaign: Campaign, verdict: str) -> list[str]:
    """What is promised, in sentences, with what the verification (JSON) found when the campaign was created."""
    verified = strict_json.parse(verdict)
    told = _every_round_words if campaign.turns is None else _turns_words
    truth, sentences = campaign.mechanism.truthfulness(), told(campaign, verified)
    if campaign.guarantee.eps > _LARGE and truth is not None:
        sentences.append(f"This eps is large. {truth_words(*truth)}")
    return sentences


def _turns_words(campaign: Campaign, verified: dict[str, Any]) -> list[str]:
    """How often people answer, then what anybody learns, and the trust that is not needed."""
    declared, wipes = campaign.guarantee, 0 if campaign.turns is None else campaign.turns.wipes
    often, recognised = attendance_words(campaign)
    if declared.eps == 0:
        private = ["A report has no content. It says nothing but that somebody answered (eps = 0, exact)."]
    else:
        bound = verified.get("eps")
        exact = "upper" if bound is None else f"upper; verified: {at_most(bound['upper'])}, {bound['certainty']}"
        private = [
            "Everything that a person ever sends changes the odds between any two answers by a factor of at most "
            f"{odds_factor(declared.eps)} (eps = {at_most(declared.eps)}, {exact}), for ever and without exception "
            "(delta = 0). This holds whatever a person answers, however often the answer changes, and for every "
            "observer: nobody has to be trusted.",
            _guess_words(declared.eps, 0.0),
        ]
    linked = [] if wipes else ["Reports cannot be linked, because a person sends only one (exact)."]
    sentences = [often, *private, *linked, recognised, wipes_words(wipes)]
    if declared.crowd is not None:
        sentences += [
            crowd_words(declared.crowd, verified.get("crowd"), verified.get("crowd_throughout")),
            _guess_words(declared.crowd.eps, declared.crowd.delta),
            trust_words(campaign.relay),
        ]
    return sentences


def _every_round_words(campaign: Campaign, verified: dict[str, Any]) -> list[str]:
    declared, crowd = campaign.guarantee, campaign.guarantee.crowd
    private = _at("eps", declared.eps, declared.delta, verified.get("delta"))
    holds = (
        "This holds whatever a person answers, and however often the answer changes."
        if declared.values == "any"
        else "This holds for an answer that stays the same."
    )
    everything = "All reports" if crowd is None else "If the relay and the collector work together, all reports"
    sentences = [
        f"{everything} that a person ever sends, taken together, change the odds between any two answers by a "
        f"factor of at most {odds_factor(declared.eps)} {private}. {holds}",
        _guess_words(declared.eps, declared.delta),
    ]
    if crowd is not None:
        hidden = [crowd_words(crowd, verified.get("crowd")), _guess_words(crowd.eps, crowd.delta)]
        sentences = [*hidden, *sentences, trust_words(campaign.relay)]
    if declared.gamma == 0 and declared.tracking_delta == 0:
        sentences.append(
            "Reports of one person look exactly like reports of two people with the same answer (exact). "
            "People with different answers are hidden from each other only as far as the odds above say."
        )
    else:
        bound = verified.get("tracking_delta")
        sentences.append(
            "Linking reports is limited: they change the odds between one person and two people with the same "
            f"answer by a factor of at most {odds_factor(declared.gamma)} "
            f"{_at('gamma', declared.gamma, declared.tracking_delta, bound)}."
        )
    return sentences + attendance_words(campaign)


def wipes_words(wipes: int) -> str:
    """What it means that stored data is deleted, as browsers do, so that a person's client starts again."""
    if wipes == 0:
        return (
            "This holds as long as the client's stored data is not deleted. A client that forgets may answer "
            "again, and each further answer reveals as much again."
        )
    times = "once" if wipes == 1 else f"{wipes} times"
    answers = "both answers" if wipes == 1 else f"all {wipes + 1} answers"
    return (
        f"The eps also holds if the client's stored data is deleted {times}: a client that forgets may answer "
        f"again, and eps counts {answers}. How well such a person is recognised is not known."
    )


def guarantee_sentence(campaign: Campaign) -> str:
    """The guarantee in one sentence, for a list of campaigns: how well a guess can do."""
    declared, crowd = campaign.guarantee, campaign.guarantee.crowd
    everything = share(guess_bound(declared.eps, declared.delta), "up")
    if crowd is None:
        return (
            "A guess between two answers, made from everything that a person ever sends, is right with "
            f"probability at most {everything} (upper; 50 % is a coin toss)."
        )
    return (
        "A guess between two answers, made by the collector from all reports that it ever gets, is right with "
        f"probability at most {share(guess_bound(crowd.eps, crowd.delta), 'up')}; together with the relay, at most "
        f"{everything} (upper; 50 % is a coin toss)."
    )


def _guess_words(eps: float, delta: float) -> str:
    return (
        "From all of this, a guess between two answers is right with probability at most "
        f"{share(guess_bound(eps, delta), 'up')} (upper; 50 % is a coin toss)."
    )


def guess_bound(eps: float, delta: float) -> float:
    """(1 + TV)/2, where TV is at most (e^eps - 1 + 2·delta)/(e^eps + 1) for anything (eps, delta)-private."""
    return min(1.0, 0.5 * (1 + math.tanh(eps / 2)) + delta / (1 + math.exp(min(eps, 700.0))))


def schedule_words(campaign: Campaign) -> str:
    """When the campaign asks."""
    many = "without end" if campaign.rounds is None else f"{campaign.rounds:,} in all"
    looks = (
        f" Each has {campaign.looks} looks of {_span(int(campaign.look_seconds))}." if campaign.looks > 1 else ""
    )
    return f"A round every {_span(campaign.round_seconds)} from {_date(campaign.first_round)}, {many}.{looks}"


def end_words(campaign: Campaign, last_round: int | None, now: float) -> str:
    """Whether the campaign has ended, or ends early, as a sentence; or nothing. Somebody may set its last round."""
    last = campaign.rounds if last_round is None else last_round
    if last == 0:
        return "This campaign was ended before its first round."
    if last is not None and now >= campaign.begins(last + 1):
        return f"This campaign has ended: round {last:,} was its last one."
    return "" if last_round is None or last_round == campaign.rounds else f"Round {last:,} is its last one."


class CampaignState(NamedTuple):
    """Whether a campaign takes reports now, in a word and in a sentence."""

    open: bool
    name: str
    words: str


def campaign_state(campaign: Campaign, last_round: int | None, now: float) -> CampaignState:
    """Whether a campaign takes reports at this time."""
    last = campaign.rounds if last_round is None else last_round
    if last is not None and (last == 0 or now >= campaign.begins(last + 1)):
        return CampaignState(False, "ended", end_words(campaign, last_round, now))
    current = campaign.round_at(now)
    if current is None:
        return CampaignState(False, "not begun", f"Its first round begins on {_date(campaign.first_round)}.")
    many = "" if last is None else f" of {last:,}"
    until = _date(campaign.begins(current + 1))
    return CampaignState(True, "open", f"Round {current:,}{many} is open until {until}.")


def waiting_words(campaign: Campaign, last_arrival: Callable[[Campaign, int], float], now: float) -> str:
    """That the last round that is over waits for the relay that holds its reports, if so; or nothing."""
    present = math.floor((now - campaign.first_round) / campaign.round_seconds) + 1
    over = min(present - 1, campaign.rounds or present)
    if campaign.relay is None or over < 1 or last_arrival(campaign, over) <= now:
        return ""
    released = campaign.leaves(over)
    comes = f"comes on {_date(released)}" if now < released else f"was on {_date(released)}"
    return (
        f"Round {over:,} is over and waits for the relay: its release {comes}, and the round is closed on "
        f"{_date(last_arrival(campaign, over))} at the latest."
    )


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")


def _span(seconds: int) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return name if count == 1 else f"{count:,} {name}s"
    raise AssertionError


def _at(name: str, exponent: float, delta: float, verified: dict[str, Any] | None) -> str:
    """The exponent and the probability that goes with it, each with the kind of number it is."""
    if delta == 0:
        return f"({name} = {at_most(exponent)}, upper)"
    certainty, declared = "upper", at_most(delta, 4)
    if verified is not None and verified["certainty"] == "exact":
        bound = f"{verified['upper']:.4g}"
        certainty = "exact" if bound == declared else f"upper; verified: {bound}, exact"
    return f"({name} = {at_most(exponent)}), except with probability {declared} ({certainty})"


_FEW = 10
"""The number of rounds whose cost is shown beside that of one and of all."""


class Observer(NamedTuple):
    """What one observer may learn from all reports ever: all numbers are upper bounds."""

    who: str
    eps: str
    delta: str
    odds: str
    guess: str


class Cost(NamedTuple):
    """What the first rounds of a campaign reveal, to each observer: an eps, and how well it is known.

    Only campaigns in which every round is answered have costs: with turns, everything is one report.
    """

    rounds: int
    alone: tuple[str, str]
    crowd: tuple[str, str] | None


def observers(campaign: Campaign) -> list[Observer]:
    """The declared guarantee for both observers, or for the one that there is without a relay."""
    declared, crowd = campaign.guarantee, campaign.guarantee.crowd
    if crowd is None:
        yours = "which report is yours" if campaign.turns else "which reports are yours"
        return [_observer(f"The collector, which knows {yours}", declared.eps, declared.delta)]
    return [
        _observer("The collector alone, which does not know who sent which report", crowd.eps, crowd.delta),
        _observer("The collector together with the relay", declared.eps, declared.delta),
    ]


def costs(campaign: Campaign) -> list[Cost]:
    """The eps of the first round, of some rounds and of all rounds, at the declared deltas; nothing with turns."""
    if campaign.turns is not None:
        return []
    last = campaign.last_round
    counts = sorted({1, _FEW, last} if last is not None else {1, _FEW})
    return [_cost(campaign, count) for count in counts if last is None or count <= last]


def _cost(campaign: Campaign, rounds: int) -> Cost:
    from untrackable.auditing.audit import pure_bracket

    declared = campaign.guarantee
    pair = campaign.mechanism.privacy(reports=rounds, values=declared.values)
    alone = pair.gamma(declared.delta) if declared.delta else pure_bracket(pair)
    crowd = None
    if declared.crowd is not None:
        hidden = campaign.mechanism.crowd(people=declared.crowd.reports, reports=rounds)
        crowd = upper(hidden.gamma(declared.crowd.delta).upper), "upper"
    return Cost(rounds, shown(alone), crowd)


def _observer(who: str, eps: float, delta: float) -> Observer:
    return Observer(
        who,
        at_most(eps),
        at_most(delta, 4) if delta else "0",
        odds_factor(eps),
        share(guess_bound(eps, delta), "up"),
    )


@dataclass(frozen=True, slots=True)
class CampaignAccuracy:
    """The error of one round (upper, or predicted for discovered strings), and how many people a usable one takes.

    The error is of answers that at most the `share` of people give, all of them at once, except with probability
    `beta`. If only a mean can be told (`of_mean`), it is a share of the range of numbers.
    """

    people: int
    reports: float
    """The number of reports of a round, on average."""
    error_upper: float
    standard_error: float
    """Of an answer of that share, by noise and by who answers: `certainty` says how well it is known."""
    certainty: str
    share: float
    beta: float
    people_needed: int | None
    of_mean: bool = False

    @property
    def predicted(self) -> bool:
        """Whether the error is the share from which on strings are found."""
        return self.certainty == "predicted"

    @property
    def usable(self) -> bool:
        """Whether a figure of one round says anything."""
        return self.error_upper <= USABLE_ERROR


def campaign_accuracy(campaign: Campaign, people: int) -> CampaignAccuracy:
    """The accuracy of one round, or of one look, if this number of people take part.

    If every round is answered, it is the last.
    """
    means = not campaign.mechanism.tells_shares
    goals = Goals(
        people=people,
        encoding=campaign.answers,
        rounds=1,
        eps=1.0,
        error=USABLE_ERROR,
        want="mean" if means else "frequencies",
    )
    if campaign.looks == 1:
        law = law_of(campaign.mechanism, goals, round=campaign.rounds or 1)
    else:
        law = look_law(campaign.mechanism, campaign.encoding, goals)
    error = _error(campaign, law, goals, people)
    average = float(people * campaign.chance)
    return CampaignAccuracy(
        people,
        average,
        error,
        law.standard_error(max(1.0, average), max(1, people)),
        law.certainty,
        law.share,
        goals.beta,
        _people_needed(campaign, law, goals),
        of_mean=means,
    )


def _error(campaign: Campaign, law: ErrorLaw, goals: Goals, people: int) -> float:
    few = fewest_reports(people, campaign.chance)
    return law.radius(few, goals.beta / law.statistics) if few else math.inf


def _people_needed(campaign: Campaign, law: ErrorLaw, goals: Goals) -> int | None:
    def excess(people: int) -> float:
        return math.log(_error(campaign, law, goals, people) / USABLE_ERROR)

    try:
        return smallest_integer(excess, math.ceil(1000 / campaign.chance), low=1, high=LARGEST_PEOPLE)
    except (ValueError, UntrackableError):  # No number of people is enough.
        return None


def spread_words(accuracy: CampaignAccuracy) -> str:
    """The standard error in a sentence; nothing for strings."""
    if accuracy.predicted:
        return ""
    of = "the mean" if accuracy.of_mean else f"an answer that {100 * accuracy.share:g} % give"
    return (
        f"the standard error of a round is {accuracy.standard_error:.2g} for {of} ({accuracy.certainty}; by noise "
        f"and sample, with about {accuracy.reports:,.0f} reports)"
    )


def accuracy_words(accuracy: CampaignAccuracy) -> str:
    """The error in a sentence."""
    people = f"with {accuracy.people:,} {'people' if accuracy.people > 1 else 'person'}"
    error = "cannot be told" if accuracy.error_upper > 1 else f"are off by at most ±{upper(accuracy.error_upper)}"
    if accuracy.predicted:
        told = f"{people}, strings of a share above {number(accuracy.error_upper)} are found in a round (predicted)"
    elif accuracy.of_mean:
        told = (
            f"{people}, the mean of a round is off by at most ±{upper(accuracy.error_upper)} of the range of "
            f"numbers (upper; except with probability {accuracy.beta:g})"
        )
    else:
        told = (
            f"{people}, shares of a round {error} (upper; for answers that at most {100 * accuracy.share:g} % "
            f"give, all at once, except with probability {accuracy.beta:g})"
        )
    if accuracy.usable:
        return told
    needed = "no number of people is enough" if accuracy.people_needed is None else counted(accuracy.people_needed)
    more = needed if accuracy.people_needed is None else f"±{USABLE_ERROR:g} takes {needed} people"
    return f"NOT USABLE for one round: {told}; {more}, or several rounds pooled"


def campaign_view(
    campaign: Campaign,
    verified: dict[str, Any] | None = None,
    accurate: CampaignAccuracy | None = None,
    **about: str,
) -> View:
    """A campaign, with what its verification (JSON) says and how accurate a round is, if that is known.

    `about` has further lines by their names.
    """
    rows = [
        ("question", campaign.question),
        ("answers", campaign.encoding.describe()),
        ("rounds", schedule_words(campaign)),
        ("mechanism", repr(campaign.mechanism)),
    ]
    promised = guarantee_words(campaign, strict_json.write(verified or {}))
    rows += zip(("declares", *[""] * len(promised)), promised, strict=False)
    if campaign.gateway is not None:
        keys = len(campaign.gateway.keys)
        rows.append(("relay", f"Reports are sealed for {keys} key{'s' * (keys > 1)} of the collector's gateway."))
    if campaign.relay is not None:
        rows += [("", relay_words(campaign)), ("", release_words(campaign))]
    if accurate is not None:
        rows += [("accuracy", accuracy_words(accurate)), ("", spread_words(accurate))]
    rows += about.items()
    told = {} if accurate is None else {"accuracy": dataclasses.asdict(accurate)}
    return View(
        title=campaign.question,
        sentences=[f"campaign {campaign.id}", *(f"  {name:<10} {words}" for name, words in rows if words)],
        listing=True,
        json=lambda: {"id": campaign.id, "campaign": campaign.to_json(), **told},
    )
