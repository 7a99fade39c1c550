"""What people may answer, as the form of a new campaign describes it."""

from collections.abc import Callable
from typing import Any

from untrackable.collector.dashboard.typed_fields import CampaignForm, needed, noted, whole
from untrackable.encodings.bit import Bit
from untrackable.encodings.bucket_text import buckets_from_text
from untrackable.encodings.categories import Categories
from untrackable.encodings.choices import Choices
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.number_ranges import IntegerRange
from untrackable.encodings.record import Record
from untrackable.encodings.salt import SHORTEST_SALT

KINDS = ("categories", "choices", "yes-no", "numbers", "buckets", "record", "strings")
"""The kinds of answers."""
_YES_NO = "yes/no"


def asked_answers(form: CampaignForm) -> Encoding | None:
    """How answers become numbers. None if a field is wrong."""
    typed = form.typed
    outside: Any = typed["outside"]
    match typed["kind"]:
        case "yes-no":
            return Bit()
        case "categories":
            unknown: Any = "other" if typed["others"] else "error"
            return _of_names(form, lambda names: Categories(names=names, unknown=unknown), unknown == "other")
        case "choices":
            return _of_names(form, lambda names: Choices(names=names))
        case "numbers":
            low, high = needed(form, "low", whole), needed(form, "high", whole)
            if low is not None and high is not None and low >= high:
                form.errors.setdefault("high", "The highest number must be above the lowest.")
            return _made(
                form,
                "high",
                lambda: IntegerRange(low=low, high=high, below=outside, above=outside),
                beside=("low",),
            )
        case "buckets":
            text = typed["buckets"].strip()
            return _made(form, "buckets", lambda: buckets_from_text(text, below=outside, above=outside))
        case "record":
            return _record(form)
    bits, longest = needed(form, "bits", whole), needed(form, "longest", whole)
    return _made(
        form,
        "bits",
        lambda: HashedStrings(bits=bits, salt=bytes(SHORTEST_SALT), longest=longest),
        beside=("longest",),
    )


def _of_names(form: CampaignForm, make: Callable[[list[str]], Encoding], others: bool = False) -> Encoding | None:
    names = _lines(form, "names")
    if len(names) + others < 2:
        form.errors["names"] = "Write at least two possible answers, each on a line of its own."
        return None
    return _made(form, "names", lambda: make(names))


def _record(form: CampaignForm) -> Encoding | None:
    """Several attributes, each on a line with its name, a colon, and what it may be."""
    attributes: dict[str, Encoding] = {}
    for line in _lines(form, "attributes"):
        name, _, said = (part.strip() for part in line.partition(":"))
        if not name or not said or name in attributes:
            form.errors["attributes"] = (
                "Write each attribute on a line, with a name of its own, a colon and what it may be, such as "
                f"“system: linux, mac”. This line is different: {line}"
            )
            return None
        try:
            attributes[name] = _attribute(said)
        except (TypeError, ValueError) as error:
            form.errors["attributes"] = f"{name}: {str(error).replace('names', 'answers')}."
            return None
        # Large ones take a while, so no further one is made.
        if sum(encoding.bits for encoding in attributes.values()) > LARGEST_BITS:
            form.errors["attributes"] = f"All attributes together must have at most {LARGEST_BITS} bits."
            return None
    if len(attributes) < 2:
        form.errors["attributes"] = "Write at least two attributes, each on a line of its own."
        return None
    order = list(attributes)
    tables = [[name.strip() for name in line.split(",")] for line in _lines(form, "tables")]
    if unknown := next((name for table in tables for name in table if name not in attributes), None):
        form.errors["tables"] = f"“{unknown}” is not one of the attributes: {', '.join(order)}."
        return None
    ordered = [sorted(table, key=order.index) for table in tables]
    try:
        return Record(attributes=attributes, tables=ordered)
    except (TypeError, ValueError) as error:
        noted(form, str(error), ("tables" if "table" in str(error) else "attributes",))
        return None


def _attribute(said: str) -> Encoding:
    """What one attribute may be: yes/no, buckets of numbers, or one of some names with commas."""
    if said.replace(" ", "") == _YES_NO:
        return Bit()
    if ":" in said:
        return buckets_from_text(said, below="clamp", above="clamp")
    names = [name.strip() for name in said.split(",") if name.strip()]
    if len(names) < 2:
        raise ValueError("write at least two answers, with a comma between them")
    return Categories(names=names)


def _lines(form: CampaignForm, name: str) -> list[str]:
    return [line.strip() for line in form.typed[name].splitlines() if line.strip()]


def _made(
    form: CampaignForm, name: str, make: Callable[[], Encoding], *, beside: tuple[str, ...] = ()
) -> Encoding | None:
    """An encoding, unless its fields are wrong."""
    if any(each in form.errors for each in (name, *beside)):
        return None
    try:
        return make()
    except (TypeError, ValueError) as error:
        noted(form, str(error), (name,))
        return None
