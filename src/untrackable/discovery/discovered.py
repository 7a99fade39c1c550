"""The result of a search: strings that people hold, and how certain each is."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable import strict_json
from untrackable.estimation.intervals import shown_share
from untrackable.notebook_view import NotebookTable

if TYPE_CHECKING:
    import pyarrow as pa


class FoundString(NamedTuple):
    """A string, and the share of people that hold it.

    `p_value` is adjusted for all possible strings and for every pass of the search (upper): the probability that
    any string that nobody holds has a p-value of at most α is at most α. `frequency` comes from the levels that
    look at the whole string. `lower` and `upper` hold for all strings at once, except for what other strings add to
    the same buckets by chance (2^-bucket_bits on average). `standard_error` is estimated.
    """

    string: str
    frequency: float
    standard_error: float
    lower: float
    upper: float
    p_value: float

    @property
    def share(self) -> float | None:
        """The frequency as it is shown: within [0, 1], and None if the reports do not tell it."""
        return shown_share(self.frequency, self.lower, self.upper)

    def to_json(self) -> dict[str, Any]:
        """All of it, with the frequency as it is shown and the unbiased estimate."""
        told = {"tells": self.share is not None, "unclamped": self.frequency}
        return {**self._asdict(), "frequency": self.share, **told}


@dataclass(frozen=True, slots=True, repr=False)
class Discovered(NotebookTable):
    """Strings that people hold, the largest estimates first, and leads: the next best strings, which may be noise.

    With probability at least 1 - alpha, each of `strings` is held by somebody. `n` is the number of reports. The
    search looked at `tried` prefixes in `passes` passes. In the last one, a string of the greatest length, which is
    `longest`, had to have a share of about `findable` to be found (estimated); None if no share was enough.

    Leads are in the order of what all levels together say about them. That order finds more of the frequent strings
    than their own estimates would, which come from the levels that look at the whole string.
    """

    strings: tuple[FoundString, ...]
    leads: tuple[FoundString, ...]
    n: int
    alpha: float
    passes: int
    tried: int
    findable: float | None
    longest: int

    def best(self, k: int) -> list[FoundString]:
        """The k best strings, certain or not: first `strings`, then leads."""
        return [*self.strings, *self.leads][:k]

    def to_arrow(self) -> "pa.Table":
        """A row for each of `strings` and then of `leads`; the column `certain` tells them apart."""
        said = {"reports": str(self.n), "alpha": repr(self.alpha)}
        return NotebookTable.to_arrow(self).replace_schema_metadata(said)

    def to_json(self) -> str:
        """A JSON object, which also says which numbers are bounds."""
        plain: dict[str, Any] = asdict(self)
        for name in ("strings", "leads"):
            plain[name] = [found.to_json() for found in getattr(self, name)]
        certainty = {"p_value": "upper", "lower": "upper", "upper": "upper", "standard_error": "estimated"}
        certainty["findable"] = "estimated"
        return strict_json.write(strict_json.finite({**plain, "certainty": certainty}))
