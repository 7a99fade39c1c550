"""Text from people: one form of each string, so that what looks the same is the same."""

import re
import unicodedata

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normal(name: str, given: object) -> str:
    """The string in Unicode's composed form (NFC), whatever form it was typed in; the error does not show it.

    Half of a surrogate pair is not a character, has no UTF-8, and is refused.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a string")
    if _LONE_SURROGATE.search(given):
        raise ValueError(f"{name} must be well-formed Unicode; the one given has half of a surrogate pair")
    return unicodedata.normalize("NFC", str(given))
