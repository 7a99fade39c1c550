"""Mean and quantiles of a question that is answered with numbers, for every place that shows them."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from untrackable import strict_json
from untrackable.encodings.encoding import Encoding
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.functional import Functional
from untrackable.estimation.ordered_values import Quantile

MEDIAN_AND_95 = (0.5, 0.95)
MOST_NUMBERS = 1 << 16
"""With more values than this, mean and quantiles would take much memory, and are not computed."""
_INFINITE = ("inf", "-inf")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NumberSummary:
    """The mean, or why there is none, and quantiles, or why there are none, all in this unit.

    Each interval holds alone, except with probability `beta` (upper). `clamped` says on which sides numbers out of
    range count as the nearest within.
    """

    unit: str
    beta: float
    clamped: tuple[str, ...]
    mean: Functional | None
    quantiles: tuple[Quantile, ...]
    refusals: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON. Infinite numbers are strings, and a value that is not told is null."""
        content: dict[str, Any] = strict_json.finite(
            {
                "unit": self.unit,
                "intervals": "upper, for each number alone",
                "beta": self.beta,
                "clamped": list(self.clamped),
                "mean": None if self.mean is None else _told(self.mean),
                "quantiles": [_told(quantile) for quantile in self.quantiles],
                "refusals": list(self.refusals),
            }
        )
        return content

    @staticmethod
    def from_json(given: dict[str, Any]) -> "NumberSummary":
        """The summary that `to_json` wrote."""
        mean = given["mean"]
        return NumberSummary(
            unit=given["unit"],
            beta=given["beta"],
            clamped=tuple(given["clamped"]),
            mean=None if mean is None else Functional(**_numbers(mean)),
            quantiles=tuple(Quantile(**_numbers(each)) for each in given["quantiles"]),
            refusals=tuple(given["refusals"]),
        )


def _told(found: Functional | Quantile) -> dict[str, Any]:
    """The fields, without the value if the reports do not tell it."""
    shown = found.tells and not math.isnan(found.value)
    return dataclasses.asdict(found) | ({} if shown else {"value": None})


def _numbers(written: dict[str, Any]) -> dict[str, Any]:
    """The fields with their numbers, of which infinite ones are strings in JSON, and those not told are null."""
    read = {name: float(field) if field in _INFINITE else field for name, field in written.items()}
    return read | ({"value": math.nan} if read["value"] is None else {})


def number_summary(
    encoding: Encoding | None, estimate: Estimate, quantiles: Sequence[float] = MEDIAN_AND_95
) -> NumberSummary | None:
    """Mean and quantiles of an estimate, if its encoding is of numbers; what cannot be told has its reason."""
    if encoding is None or not encoding.ordered:
        return None
    mean: Functional | None = None
    found: list[Quantile] = []
    refusals = []
    if encoding.values > MOST_NUMBERS:
        refusals.append(f"mean and quantiles are given for at most {MOST_NUMBERS:,} values: ask in buckets")
    else:
        try:
            mean = estimate.mean()
        except ValueError as error:
            refusals.append(str(error))
        try:
            found = [estimate.quantile(q) for q in quantiles]
        except ValueError as error:
            refusals.append(str(error))
    return NumberSummary(
        unit=getattr(encoding, "unit", ""),
        beta=estimate.beta,
        clamped=tuple(side for side in ("below", "above") if getattr(encoding, side) == "clamp"),
        mean=mean,
        quantiles=tuple(found),
        refusals=tuple(dict.fromkeys(refusals)),
    )
