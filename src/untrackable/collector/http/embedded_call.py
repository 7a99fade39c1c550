"""The call with which a web page hands a person's answer to the client, for every kind of question."""

from collections.abc import Callable
from typing import Any

from untrackable import strict_json
from untrackable.encodings.days_of_use import READY_QUESTIONS
from untrackable.encodings.encoding import Encoding
from untrackable.protocol.campaign import Campaign

_SHOWN = 2
"""The number of names in an example of many choices."""
_LESS = "\\u003c"
"""The sign < in JSON, as no HTML has it."""

_WORDS = {
    "bit": "True or false",
    "integer-range": "A whole number",
    "buckets": "A number",
    "categories": "One of the list",
    "hashed-strings": "A text",
    "choices": "A list of the names that this person chose, which may be empty",
    "record": "An object with a value for each attribute",
    "presence": "True, as everybody who takes part is counted",
}
_EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "bit": lambda encoding: True,
    "integer-range": lambda encoding: (encoding.low + encoding.high) // 2,
    "buckets": lambda encoding: _whole(encoding.edges[len(encoding.edges) // 2]),
    "categories": lambda encoding: encoding.names[0],
    "hashed-strings": lambda encoding: "example.org",
    "choices": lambda encoding: list(encoding.names[:_SHOWN]),
    "presence": lambda encoding: True,
    "record": lambda encoding: {name: _example(part) for name, part in encoding.attributes},
}


def embedded_call(campaign: Campaign) -> str:
    """Two lines of JavaScript: words about the answer with an example, and the call.

    The call has null in place of an answer, which the client refuses, so that nobody publishes the example.
    """
    encoding = campaign.answers
    if (campaign.question, encoding) == READY_QUESTIONS["active-days"]:
        words = "Notes a use today, and answers on how many of the last 28 days there was one"
        return f"// {words}. The days stay on the device.\n  await client.used();"
    often = ", told again when it changes" if campaign.looks > 1 else ""
    example = strict_json.write(_example(encoding))
    words = f"{_WORDS[encoding.kind]}{_units(encoding)}{often}: client.answer({example})"
    # The lines are part of a page, whose reader must not take a name for the end of the script.
    return f"// {words.replace('<', _LESS)}\n  await client.answer(null);"


def _example(encoding: Encoding) -> Any:
    return _EXAMPLES[encoding.kind](encoding)


def _units(encoding: Encoding) -> str:
    """The unit of a number, or of each attribute that has one, in words."""
    unit = getattr(encoding, "unit", "")
    parts = [(name, getattr(part, "unit", "")) for name, part in getattr(encoding, "attributes", ())]
    return (f" in {unit}" if unit else "") + "".join(f", {name} in {unit}" for name, unit in parts if unit)


def _whole(number: float) -> float:
    """The number, without a point if it has no fraction."""
    return int(number) if number.is_integer() else number
