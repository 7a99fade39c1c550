"""What a search has found, and how sure it is of it."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from untrackable import strict_json


class Found(NamedTuple):
    """A string, and the share of people that hold it.

    `p_value` is adjusted for all strings that there are and for every pass of the search (upper): a string that
    nobody holds has one of at most α, anywhere in the space, with probability at most α. `frequency` is from the
    levels that look at the whole string. `lower` and `upper` hold for all strings at once, but for what others add
    to the same buckets by chance (2^-bucket_bits on average). `standard_error` is estimated.
    """

    string: str
    frequency: float
    standard_error: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Discovered:
    """Strings that people hold, the most frequent first, and leads: the next best, that may as well be noise.

    Leads are in the order of what all levels together say of them, which finds more of the frequent strings than
    their own estimates, from the levels that look at the whole string, would.
    With probability at least 1 - alpha, each of `strings` is held by somebody. `n` is how many reports there were;
    `tried` prefixes were looked at, in so many `passes`.
    """

    strings: tuple[Found, ...]
    leads: tuple[Found, ...]
    n: int
    alpha: float
    passes: int
    tried: int

    def best(self, k: int) -> list[Found]:
        """The k best answers, whether certain or not: the strings, and then leads."""
        return [*self.strings, *self.leads][:k]

    def to_json(self) -> str:
        """As a JSON object; which numbers are bounds is said beside them."""
        plain: dict[str, Any] = asdict(self)
        for name in ("strings", "leads"):
            plain[name] = [found._asdict() for found in getattr(self, name)]
        certainty = {"p_value": "upper", "lower": "upper", "upper": "upper", "standard_error": "estimated"}
        return strict_json.write(strict_json.finite({**plain, "certainty": certainty}))
