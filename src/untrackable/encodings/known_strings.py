"""Frequencies of known strings from those of the buckets that strings are hashed into."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import UnknownSpread
from untrackable.theory.accuracy import mean_radius

if TYPE_CHECKING:
    from untrackable.encodings.strings import HashedStrings


def estimate_candidates(
    encoding: "HashedStrings",
    estimate: Estimate,
    strings: Sequence[str | Sequence[str]],
    of: Sequence[int] | None = None,
) -> Estimate:
    """Unbiased frequencies of candidates, with radii that also cover collisions with any other strings.

    Let m = 2^d be the number of buckets, F_b the frequency of bucket b, and k the number of different buckets that
    the candidates fall into. A random salt hashes every other string into each bucket with probability 1/m. If a
    share R of the people holds other strings, these add R/m to every bucket on average. The m-k buckets without a
    candidate show that average. So f = F_b - (1 - Σ_candidates F)/(m-k) is unbiased over salts, given the
    candidates' buckets. For one candidate it is (F_b - 1/m)/(1 - 1/m). The rest is chance. If any two strings are
    hashed independently, f has the additional variance Σ_u f_u²·(1 + 1/(m-k))/m over salts, with u over the strings
    that are not candidates. All rounds with one salt share this error. More reports do not reduce it, but more bits
    do.

    With β that of the estimate, the radii fail with probability at most 3β: β for the noise of a candidate's
    bucket, β for the noise of the other candidates' buckets, and β for collisions. The last probability is over the
    salt, for a population that does not depend on it. It follows from Markov's inequality: other strings add at
    least 0 to a bucket and at most 1/m on average, so they add more than 1/(mβ) with probability at most β.

    The standard error treats the buckets' errors as uncorrelated. It measures collisions by the spread of the
    buckets without a candidate. If these were not estimated, it assumes that all other people hold one and the same
    string.
    """
    if 3 * estimate.beta >= 1:
        raise ValueError(
            f"beta of the estimate must be below 1/3, since the result's is 3 times it, got {estimate.beta}"
        )
    buckets = _buckets(encoding, strings)
    places = _places(encoding, estimate, buckets, of)
    free = encoding.values - len(buckets)
    if free < 1:
        raise ValueError(f"strings must leave at least one bucket free, but they use all {len(buckets)} buckets")
    shared = estimate.frequencies[places]
    own, other = 1 + 1 / free, 1 / free  # These are the weights of a candidate's own bucket and of the others'.
    errors = estimate.standard_error[places]
    variance = own**2 * errors**2 + other**2 * (errors @ errors - errors**2)
    squares = _squares(estimate, places, encoding.values, dense=of is None)
    spans = estimate.span[places]
    widest = float(estimate.span.max())

    def noise(beta: float) -> float:
        return estimate.reach(beta) if estimate.reach else mean_radius(estimate.n, beta, span=widest)

    def reach(beta: float) -> float:
        """The radius of any candidate at another beta, shared equally by its bucket, the others and collisions."""
        rest = other * (len(buckets) - 1) * (noise(beta / 3 / len(buckets)) if len(buckets) > 1 else 0.0)
        return own * noise(beta / 3) + rest + _collision_radii(encoding.values, len(buckets), beta / 3)[0]

    def radii(beta: float, statistics: int) -> FloatArray:
        """The radii of all candidates: of each by itself, or of all at once."""
        same = replace(estimate, beta=beta / 3, statistics=len(buckets))
        together = same.radius_of(places, simultaneous=True)
        one, every = _collision_radii(encoding.values, len(buckets), beta / 3)
        rest: FloatArray = other * (together.sum() - together)
        return own * same.radius_of(places) + rest + one if statistics == 1 else own * together + rest + every

    return Estimate(
        frequencies=collision_corrected(shared, encoding.values),
        n=estimate.n,
        beta=3 * estimate.beta,
        standard_error=np.sqrt(variance + squares * collision_variance(encoding.values, len(buckets))),
        span=own * spans + other * (spans.sum() - spans),
        statistics=max(2, len(buckets)),
        reach=reach,
        radii=radii,
        values=[string if isinstance(string, str) else tuple(string) for string in strings],
        complete=False,
        turns=estimate.turns,
        spread=UnknownSpread(
            "sums over hashed candidates are not bounded: other strings collide with them together"
        ),
    )


def collision_corrected(shared: FloatArray, values: int) -> FloatArray:
    """F - (1 - ΣF)/(m-k): the frequencies of k candidates' buckets minus the average that other strings add."""
    return shared - float(1 - shared.sum()) / (values - shared.size)


def collision_variance(values: int, buckets: int) -> float:
    """(1 + 1/(m-k))/m, the variance over salts per Σ f_u² of other strings, exact for pairwise independence."""
    return (1 + 1 / (values - buckets)) / values


def _collision_radii(values: int, buckets: int, beta: float) -> tuple[float, float]:
    """Bounds on one candidate's collisions and on those of all candidates at once.

    They are bounded above by Markov's inequality and below by -1/(m-k). A single candidate needs only one of the
    three β for noise, and so does the simultaneous bound, which leaves two for collisions.
    """
    alone = 1 / (values * (2 * beta if buckets == 1 else beta))
    floor = 1 / (values - buckets)
    return min(1.0, max(floor, alone)), min(1.0, max(floor, buckets / (values * 2 * beta)))


def _squares(estimate: Estimate, places: NDArray[np.intp], values: int, *, dense: bool) -> float:
    """Σ f_u² of the strings that are not candidates: m times the variance among their buckets, without noise."""
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
        raise ValueError("strings must be a sequence of at least one candidate")
    groups: dict[int, tuple[str, ...]] = {}
    for entry in strings:
        group = (entry,) if isinstance(entry, str) else tuple(entry)
        placed = {encoding.encode(string) for string in group}
        if len(placed) != 1:
            raise ValueError(f"the strings of a group must share a bucket, but {_named(group)} do not")
        bucket = placed.pop()
        if bucket in groups:
            raise ValueError(
                f"strings must be in different buckets, but {_named((*groups[bucket], *group))} share one: "
                "estimate them as a group, as `grouped` returns it, or use more bits"
            )
        groups[bucket] = group
    return groups


def _named(strings: tuple[str, ...]) -> str:
    return ", ".join(repr(string) for string in strings)


def _places(
    encoding: "HashedStrings", estimate: Estimate, buckets: dict[int, tuple[str, ...]], of: Sequence[int] | None
) -> NDArray[np.intp]:
    """The positions of the buckets in the estimate."""
    size = estimate.frequencies.size
    if of is None:
        if size != encoding.values:
            raise ValueError(
                f"estimate must cover all {encoding.values} buckets, or `of` must list its {size} buckets"
            )
        return np.array(list(buckets), dtype=np.intp)
    where = {checks.integer("of", value, low=0, high=encoding.values - 1): i for i, value in enumerate(of)}
    if size != len(of) or len(where) != size:
        raise ValueError(f"`of` must list the {size} different values of the estimate, got {len(where)}")
    if missing := [group[0] for bucket, group in buckets.items() if bucket not in where]:
        raise ValueError(f"the estimate must cover every candidate's bucket, but lacks that of {missing[0]!r}")
    return np.array([where[bucket] for bucket in buckets], dtype=np.intp)
