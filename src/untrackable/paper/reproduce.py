"""All rows together."""

from collections.abc import Callable
from dataclasses import dataclass

from untrackable.paper import formula_rows, rappor_rows
from untrackable.paper.row import Row


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Every statement with its verdict, and the percentile points for those who would rather look."""

    rows: list[Row]
    points: list[rappor_rows.Point]


def reproduce(seed: int = 1, progress: Callable[[str], None] = lambda _: None) -> Reproduction:
    """Compute everything that the paper states as a number; `seed` is for the sampled percentiles only."""
    progress("definition and bounds")
    rows = [
        formula_rows.definition_row(),
        *formula_rows.chaining_rows(),
        *formula_rows.general_rows(),
        *formula_rows.bitwise_rows(),
    ]
    progress("inner products")
    rows += formula_rows.inner_product_rows()
    progress("worst cases of RAPPOR")
    rows += rappor_rows.worst_cases()
    points = rappor_rows.percentile_points(seed, progress)
    rows += [*rappor_rows.percentile_rows(points), *rappor_rows.confidence_rows()]
    return Reproduction(rows, points)
