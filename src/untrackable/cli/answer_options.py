"""The options of a new campaign that say what people may answer, and the mechanism that fits it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untrackable import strict_json
from untrackable.cli.mechanism_options import words_of
from untrackable.cli.terminal import read_encoding
from untrackable.errors import UntrackableError

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from untrackable.encodings.encoding import Encoding
    from untrackable.mechanisms.demands import Budget
    from untrackable.mechanisms.interface import Mechanism

NO_ANSWERS = (
    "give the possible answers with one of --category, --choice, --categories FILE, --buckets and --encoding JSON"
)


def encoding_of(
    categories: tuple[str, ...], choices: tuple[str, ...], listed: Path | None, given: str | None
) -> Encoding | None:
    """The encoding that the options give, if any."""
    from untrackable.encodings.categories import Categories
    from untrackable.encodings.choices import Choices

    if sum((bool(categories), bool(choices), listed is not None, given is not None)) > 1:
        raise ValueError(NO_ANSWERS)
    if choices:
        return Choices(names=choices)
    if listed is not None:
        try:
            return Categories(names=strict_json.small_text(listed).splitlines())
        except OSError as error:
            raise ValueError(f"cannot read {listed}: {error.strerror}") from None
    found: Encoding | None = Categories(names=categories) if categories else read_encoding(given)
    return found


def mechanism_for(
    given: str | None,
    encoding: Encoding,
    rounds: int,
    eps: float,
    delta: float,
    participation: Fraction,
    people: int,
) -> Mechanism:
    """The mechanism that is given, or the deck for these answers that spends the budget."""
    from untrackable.mechanisms.inner_product.deck import Deck

    if given is None and encoding.asked is not None:
        from untrackable.mechanisms.tables_catalogue import best_deck

        return best_deck(tables_budget(encoding, rounds, eps, delta, participation, people))
    if given is None:
        return Deck.for_budget(bits=encoding.bits, slots=rounds, eps=eps, delta=delta, participation=participation)
    from untrackable.cli.mechanism_argument import resolve
    from untrackable.mechanisms.demands import Budget

    goal = Budget(values=max(2, encoding.values), eps=eps, delta=delta, reports=rounds, participation=participation)
    name, *parameters = words_of(given)
    try:
        found: Mechanism = resolve(name, parameters, goal=goal)
    except (UntrackableError, TypeError, ValueError) as error:
        raise ValueError(f"--mechanism: {error}") from None
    return found


def tables_budget(
    encoding: Encoding, rounds: int, eps: float, delta: float, participation: Fraction, people: int
) -> Budget:
    """What a deck for the tables that are asked for is set for."""
    from untrackable.mechanisms.demands import Budget

    asked = encoding.asked
    if asked is None:
        raise TypeError("the encoding must ask for tables")
    return Budget(
        values=encoding.values,
        eps=eps,
        delta=delta,
        reports=rounds,
        people=people,
        participation=participation,
        views=asked.views,
        shown=asked.shown,
    )
