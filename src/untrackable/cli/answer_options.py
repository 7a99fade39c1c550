"""The options of a new campaign that say what people may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untrackable import strict_json
from untrackable.cli.terminal import read_encoding

if TYPE_CHECKING:
    from pathlib import Path

    from untrackable.encodings.encoding import Encoding

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
