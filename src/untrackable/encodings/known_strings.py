"""Frequencies of known strings from those of the buckets that strings are hashed into.

Let m = 2^d be the number of buckets, F_b the frequency of bucket b, and k the number of different buckets that the
candidates fall into. Where the salt hashes every string that is not a candidate into each bucket with probability
1/m, such strings, held by a share R, add R/m to every bucket on average, and as much is what the other m-k buckets
hold on average. So

    f = F_b - (1 - Σ_candidates F)/(m-k)

is unbiased over salts, given where the candidates fall; for one candidate it is (F_b - 1/m)/(1 - 1/m). What remains
is chance: where any two strings are hashed independently, f has the additional variance Σ_u f_u²·(1 + 1/(m-k))/m
over salts, u running over the strings that are not candidates. All rounds under one salt share this error: more
reports do not make it smaller, more bits do.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Estimate, FloatArray
from untrackable.theory.accuracy import mean_radius

if TYPE_CHECKING:
    from untrackable.encodings.hashed_strings import HashedStrings


def estimate_candidates(
    encoding: "HashedStrings",
    estimate: Estimate,
    strings: Sequence[str | Sequence[str]],
    of: Sequence[int] | None = None,
) -> Estimate:
    """Unbiased frequencies of candidates; radii that also hold for their collisions with whatever else is held.

    With β that of the estimate, the radii fail with probability at most 3β: β for the noise of a bucket, β for
    that of the other candidates' buckets, and β for collisions. The last is over the salt, for a population that
    does not depend on it, by Markov's inequality: what others add to a bucket is at least 0, on average at most
    1/m, and so above 1/(mβ) with probability at most β, whatever they hold.

    The standard error counts the buckets' errors as uncorrelated, and collisions by the spread of the buckets
    without a candidate; where these have not been estimated, as if all others held the same string.
    """
    if 3 * estimate.beta >= 1:
        raise ValueError(f"beta of the estimate must be below 1/3, as three events may fail, got {estimate.beta}")
    buckets = _buckets(encoding, strings)
    places = _places(encoding, estimate, buckets, of)
    free = encoding.values - len(buckets)
    if free < 1:
        raise ValueError(
            f"strings must leave a bucket free to compare with, got {len(buckets)} buckets, all there are"
        )
    shared = estimate.frequencies[places]
    own, other = 1 + 1 / free, 1 / free  # how much the error of a bucket counts, and that of another candidate's
    errors = estimate.standard_error[places]
    variance = own**2 * errors**2 + other**2 * (errors @ errors - errors**2)
    squares = _squares(estimate, places, encoding.values, dense=of is None)
    together = estimate.simultaneous_radius[places]
    others = other * (together.sum() - together)
    one, every = _collision_radii(encoding.values, len(buckets), estimate.beta)
    spans = estimate.span[places]
    widest = float(estimate.span.max())

    def noise(beta: float) -> float:
        return estimate.reach(beta) if estimate.reach else mean_radius(estimate.n, beta, span=widest)

    def reach(beta: float) -> float:
        """The radius of any candidate at another beta: a third each for its bucket, the others' and collisions."""
        rest = other * (len(buckets) - 1) * (noise(beta / 3 / len(buckets)) if len(buckets) > 1 else 0.0)
        return own * noise(beta / 3) + rest + _collision_radii(encoding.values, len(buckets), beta / 3)[0]

    return Estimate(
        frequencies=corrected(shared, encoding.values),
        n=estimate.n,
        beta=3 * estimate.beta,
        radius=own * estimate.radius[places] + others + one,
        simultaneous_radius=own * together + others + every,
        standard_error=np.sqrt(variance + squares * collision_variance(encoding.values, len(buckets))),
        span=own * spans + other * (spans.sum() - spans),
        reach=reach,
        values=[string if isinstance(string, str) else tuple(string) for string in strings],
        complete=False,
    )


def corrected(shared: FloatArray, values: int) -> FloatArray:
    """F - (1 - ΣF)/(m-k): the frequencies of k candidates' buckets, less what others add to them on average."""
    return shared - float(1 - shared.sum()) / (values - shared.size)


def collision_variance(values: int, buckets: int) -> float:
    """(1 + 1/(m-k))/m, over salts, for each Σ f_u² of what is not a candidate; exact for pairwise independence."""
    return (1 + 1 / (values - buckets)) / values


def _collision_radii(values: int, buckets: int, beta: float) -> tuple[float, float]:
    """Bounds on one candidate's collisions and on everyone's, above by Markov's inequality, and below by -1/(m-k).

    One candidate alone needs one of the three β for noise, and all at once do too: two are left.
    """
    alone = 1 / (values * (2 * beta if buckets == 1 else beta))
    floor = 1 / (values - buckets)
    return min(1.0, max(floor, alone)), min(1.0, max(floor, buckets / (values * 2 * beta)))


def _squares(estimate: Estimate, places: NDArray[np.intp], values: int, *, dense: bool) -> float:
    """Σ f_u² of what is not a candidate: m times the variance among its buckets, less that of noise."""
    shared, errors = estimate.frequencies, estimate.standard_error
    free = values - places.size
    if dense and free > 1:
        total = float(shared.sum() - shared[places].sum())
        square = float(shared @ shared - shared[places] @ shared[places]) - total**2 / free
        noise = float(errors @ errors - errors[places] @ errors[places]) / free
        return min(1.0, max(0.0, values * (square / (free - 1) - noise)))
    others = (1 - float(shared[places].sum())) * values / free
    unsure = math.sqrt(float(errors[places] @ errors[places])) * values / free
    return min(1.0, max(0.0, others) + unsure) ** 2


def _buckets(encoding: "HashedStrings", strings: Sequence[str | Sequence[str]]) -> dict[int, tuple[str, ...]]:
    """The bucket of each candidate or group, all different."""
    if isinstance(strings, str) or not len(strings):
        raise ValueError("strings must be a sequence of candidates, at least one")
    found: dict[int, tuple[str, ...]] = {}
    for entry in strings:
        group = (entry,) if isinstance(entry, str) else tuple(entry)
        placed = {encoding.encode(string) for string in group}
        if len(placed) != 1:
            raise ValueError(f"a group must be of strings that share a bucket, which {_named(group)} do not")
        bucket = placed.pop()
        if bucket in found:
            raise ValueError(
                f"strings must be told apart, but {_named((*found[bucket], *group))} share a bucket: "
                "estimate them together, as `grouped` gives them, or use more bits"
            )
        found[bucket] = group
    return found


def _named(strings: tuple[str, ...]) -> str:
    return ", ".join(repr(string) for string in strings)


def _places(
    encoding: "HashedStrings", estimate: Estimate, buckets: dict[int, tuple[str, ...]], of: Sequence[int] | None
) -> NDArray[np.intp]:
    """Where the estimate has the buckets."""
    size = estimate.frequencies.size
    if of is None:
        if size != encoding.values:
            raise ValueError(
                f"estimate must be of all {encoding.values} buckets, or `of` must say of which, got one of {size}"
            )
        return np.array(list(buckets), dtype=np.intp)
    where = {checks.integer("of", value, low=0, high=encoding.values - 1): i for i, value in enumerate(of)}
    if size != len(of) or len(where) != size:
        raise ValueError(f"`of` must be the {size} different values that the estimate is of, got {len(where)}")
    if missing := [group[0] for bucket, group in buckets.items() if bucket not in where]:
        raise ValueError(f"the estimate must be of every candidate's bucket, and lacks that of {missing[0]!r}")
    return np.array([where[bucket] for bucket in buckets], dtype=np.intp)
