"""One normal form of each string, so that strings that look the same are the same."""

import re
import unicodedata

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(name: str, given: object) -> str:
    """The string in Unicode's composed form (NFC). Errors do not show the string.

    Half of a surrogate pair is refused, because it is not a character and has no UTF-8.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a string")
    if _LONE_SURROGATE.search(given):
        raise ValueError(f"{name} must be well-formed Unicode; the given one contains half of a surrogate pair")
    return unicodedata.normalize("NFC", str(given))
