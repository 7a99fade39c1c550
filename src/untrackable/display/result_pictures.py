"""Which picture each result has."""

from functools import singledispatch

from untrackable.answers.answer import Answer
from untrackable.answers.number_trend import NumberTrend
from untrackable.auditing.comparison import Comparison
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.auditing.mechanism_audit import Audit
from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.discovery.discovered import Discovered
from untrackable.display.audit_figure import audit_picture
from untrackable.display.client_audit_figure import client_audit_picture
from untrackable.display.comparison_figure import comparison_picture
from untrackable.display.decoded_figure import decoded_picture
from untrackable.display.discovered_figure import discovered_picture
from untrackable.display.distribution_figure import distribution_picture
from untrackable.display.estimate_figure import answer_picture, estimate_picture
from untrackable.display.experiment_figure import experiment_picture
from untrackable.display.file_audit_figure import file_audit_picture
from untrackable.display.picture import Picture
from untrackable.display.plan_figure import plan_picture
from untrackable.display.trend_figure import trend_picture
from untrackable.display.turns_audit_figure import turns_audit_picture
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.ordered_values import Distribution
from untrackable.planning.plans import Plan
from untrackable.planning.question_set import QuestionSet
from untrackable.rappor_decode.decode_result import Decoded
from untrackable.theory.world_pair import WorldPair


@singledispatch
def picture_of(result: object, top: int) -> Picture:
    """The picture of a result. If it has a bar for each value or string, there are at most `top` of them."""
    raise TypeError(f"there is no picture of {type(result).__name__}")


@picture_of.register
def _(result: Audit, top: int) -> Picture:
    return audit_picture(result)


@picture_of.register
def _(result: TurnsAudit, top: int) -> Picture:
    return turns_audit_picture(result)


@picture_of.register
def _(result: FileAudit, top: int) -> Picture:
    return file_audit_picture(result)


@picture_of.register
def _(result: ClientAudit, top: int) -> Picture:
    return client_audit_picture(result)


@picture_of.register
def _(result: WorldPair, top: int) -> Picture:
    return experiment_picture(result)


@picture_of.register
def _(result: NumberTrend, top: int) -> Picture:
    return trend_picture(result)


@picture_of.register
def _(result: Distribution, top: int) -> Picture:
    return distribution_picture(result)


@picture_of.register
def _(result: Comparison, top: int) -> Picture:
    return comparison_picture(result)


@picture_of.register
def _(result: Plan, top: int) -> Picture:
    return plan_picture(result)


@picture_of.register
def _(result: QuestionSet, top: int) -> Picture:
    return plan_picture(result.plan)


@picture_of.register
def _(result: Estimate, top: int) -> Picture:
    return estimate_picture(result, top=top)


@picture_of.register
def _(result: Answer, top: int) -> Picture:
    return answer_picture(result, top=top)


@picture_of.register
def _(result: Decoded, top: int) -> Picture:
    return decoded_picture(result, top=top)


@picture_of.register
def _(result: Discovered, top: int) -> Picture:
    return discovered_picture(result, top=top)
