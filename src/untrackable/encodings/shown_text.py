"""Text that people are shown: something to see, and no characters that move a cursor, end a line or turn text."""

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Categories of Unicode: controls, invisible formatting, private use, half surrogates, line and paragraph ends."""
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Letters and signs without a shape: Unicode's default-ignorable code points, and the empty sign of braille."""
_MOST_MARKS = 6
"""The most accents and vowel signs on one letter. Tibetan needs the most of them."""
_MARKS = {"Mn", "Mc", "Me"}
_VIRAMA = 9
"""The combining class of the sign that takes a letter's vowel away in the scripts of India."""


def check_shown(name: str, text: str) -> str:
    """Return a text that people may be shown, such as a question or the name of an answer.

    Refused are characters that could forge or hide other text, a text in which there is nothing to see, and heaps
    of accents on one letter. Joiners are allowed where a script needs them.
    """
    check_characters(name, text)
    if not any(map(_seen, text)):
        raise ValueError(f"{name} must have something to see: the given text is empty, or has blanks only")
    marks = 0
    for mark in () if text.isascii() else text:
        marks = marks + 1 if unicodedata.category(mark) in _MARKS else 0
        if marks > _MOST_MARKS:
            raise ValueError(f"{name} must have at most {_MOST_MARKS} accents or signs on one letter")
    return text


def check_characters(name: str, characters: str, *, joiners: bool = False) -> str:
    """Return characters that people may be shown: none of them could forge or hide other text.

    Joiners are allowed where a script needs them, and with `joiners` everywhere.
    """
    for place in hidden_places(characters):
        if not (joiners and characters[place] in (_NON_JOINER, _JOINER)):
            raise ValueError(
                f"{name} must not contain control characters, line breaks or invisible formatting, such as marks "
                f"that change the direction of text; the given text has U+{ord(characters[place]):04X}"
            )
    return characters


def hidden_places(text: str) -> list[int]:
    """Where a text has characters that people cannot see, or that act on what stands around them."""
    if text.isascii() and text.isprintable():
        return []
    return [
        place
        for place, mark in enumerate(text)
        if unicodedata.category(mark) in _HIDDEN and not _joins(text, place)
    ]


def _seen(mark: str) -> bool:
    """Whether a character has a shape of its own."""
    return not (mark.isspace() or _UNSEEN.match(mark) or unicodedata.category(mark)[0] in "CMZ")


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
