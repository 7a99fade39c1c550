"""All rows together."""

from collections.abc import Callable
from dataclasses import dataclass

from untrackable.paper import bounds, rappor
from untrackable.paper.rows import Row


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Every statement with its verdict, and the percentile points for those who would rather look."""

    rows: list[Row]
    points: list[rappor.Point]


def reproduce(seed: int = 1, progress: Callable[[str], None] = lambda _: None) -> Reproduction:
    """Compute everything that the paper states as a number; `seed` is for the sampled percentiles only."""
    progress("definition and bounds")
    rows = [bounds.definition_row(), *bounds.chaining_rows(), *bounds.general_rows(), *bounds.bitwise_rows()]
    progress("inner products")
    rows += bounds.inner_product_rows()
    progress("worst cases of RAPPOR")
    rows += rappor.worst_cases()
    points = rappor.percentile_points(seed, progress)
    rows += [*rappor.percentile_rows(points), *rappor.confidence_rows()]
    return Reproduction(rows, points)
