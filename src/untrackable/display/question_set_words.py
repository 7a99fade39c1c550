"""Several questions in one campaign, in words and as rows of a table."""

from untrackable.display import plan_words
from untrackable.planning.question_set import Part, QuestionSet

COLUMNS = ("question", "answers", "standard error of a round", "error of a round", "of a quarter", "of all rounds")


def title(found: QuestionSet) -> str:
    """What it is, in one line."""
    return f"{len(found.parts)} questions in one campaign, with one turn for all of them"


def sentences(found: QuestionSet) -> list[str]:
    """The plan in words. Errors are those of the question that is known least well."""
    return [f"{title(found)}.", *plan_words.verdict(found.plan)]


def cells(part: Part) -> tuple[str, ...]:
    """One question as a row under `COLUMNS`."""
    share = plan_words.share_cell
    return (
        part.name,
        f"{part.encoding.values:,}",
        share(part.one_round.standard_error),
        share(part.one_round.radius_upper),
        share(part.quarter.radius_upper),
        share(part.all_rounds.radius_upper),
    )


def caption(found: QuestionSet) -> str:
    """What the columns mean."""
    beta = found.plan.solved.beta
    certainly = f"all answers of a question at once, except with probability {beta:g}"
    return f"In points (hundredths), at most (upper); errors: {certainly}"
