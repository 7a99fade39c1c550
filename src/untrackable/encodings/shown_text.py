"""Text that people are shown: no characters that move a cursor, end a line, turn text around or cannot be seen."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Categories of Unicode: controls, invisible formatting, private use, half surrogates, line and paragraph ends."""
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_VIRAMA = 9
"""The combining class of the sign that takes a letter's vowel away in the scripts of India."""


def check_shown(name: str, text: str, *, joiners: bool = False) -> str:
    """Return a text that people may be shown. Characters that could forge or hide other text are refused.

    Joiners are allowed where a script needs them, and with `joiners` everywhere.
    """
    for place in hidden_places(text):
        if not (joiners and text[place] in (_NON_JOINER, _JOINER)):
            raise ValueError(
                f"{name} must not contain control characters, line breaks or invisible formatting, such as marks "
                f"that change the direction of text; the given text has U+{ord(text[place]):04X}"
            )
    return text


def hidden_places(text: str) -> list[int]:
    """Where a text has characters that people cannot see, or that act on what stands around them."""
    if text.isascii() and text.isprintable():
        return []
    return [
        place
        for place, mark in enumerate(text)
        if unicodedata.category(mark) in _HIDDEN and not _joins(text, place)
    ]


def _joins(text: str, place: int) -> bool:
    """Whether a joiner or non-joiner stands where a script needs it.

    These are the rules of internet names (RFC 5892, appendix A): after a virama, or between letters of scripts that
    are written from right to left and joined, such as Persian. A joiner may also make one picture of two emoji.
    """
    if text[place] not in (_NON_JOINER, _JOINER) or not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    if unicodedata.combining(before) == _VIRAMA:
        return True
    letter = place - 1
    while letter and unicodedata.category(text[letter]) == "Mn":  # Vowel signs stand between a letter and a joiner.
        letter -= 1
    if all(unicodedata.bidirectional(mark) in ("AL", "R") for mark in (text[letter], after)):
        return True
    pictures = text[place] == _JOINER and unicodedata.category(after) == "So"
    return pictures and (unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f")
