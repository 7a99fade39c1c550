"""The whole reproduction: all rows, and the points of the percentile figure."""

from dataclasses import dataclass

from untrackable.paper import formula_rows, rappor_rows
from untrackable.paper.paper_statement import PaperStatement
from untrackable.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Every statement of the paper with its verdict, and the points of the percentile figure."""

    rows: list[PaperStatement]
    points: list[rappor_rows.PercentilePoint]


def reproduce(seed: int = 1, progress: Progress = no_progress) -> Reproduction:
    """Compute every number that the paper states. `seed` only affects the sampled percentiles."""
    progress("definition and bounds", None)
    rows = [
        formula_rows.definition_row(),
        *formula_rows.chaining_rows(),
        *formula_rows.general_rows(),
        *formula_rows.bitwise_rows(),
    ]
    progress("inner products", None)
    rows += formula_rows.inner_product_rows()
    progress("worst cases of RAPPOR", None)
    rows += rappor_rows.worst_cases()
    points = rappor_rows.percentile_points(seed, progress)
    rows += [*rappor_rows.percentile_rows(points), *rappor_rows.confidence_rows()]
    return Reproduction(rows, points)
