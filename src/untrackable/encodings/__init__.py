"""Public rules that turn people's values into integers below 2^d. They also decide about values that do not fit.

`Bit`, `IntegerRange`, `Buckets`, `Categories`, `Choices`, `Record`, `Path`, `HashedStrings`, `DiscoveredStrings`
and `Presence` are each an `Encoding`; `from_json` makes one of its description.
"""

from typing import TYPE_CHECKING

from untrackable.lazy_names import lazy_names

if TYPE_CHECKING:
    from untrackable.encodings.encoding import Bit as Bit
    from untrackable.encodings.encoding import Categories as Categories
    from untrackable.encodings.encoding import Choices as Choices
    from untrackable.encodings.encoding import Encoding as Encoding
    from untrackable.encodings.encoding import Presence as Presence
    from untrackable.encodings.encoding import from_json as from_json
    from untrackable.encodings.numbers import Buckets as Buckets
    from untrackable.encodings.numbers import IntegerRange as IntegerRange
    from untrackable.encodings.record import Path as Path
    from untrackable.encodings.record import Record as Record
    from untrackable.encodings.strings import DiscoveredStrings as DiscoveredStrings
    from untrackable.encodings.strings import HashedStrings as HashedStrings

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bit": "encoding",
        "Buckets": "numbers",
        "Categories": "encoding",
        "Choices": "encoding",
        "DiscoveredStrings": "strings",
        "Encoding": "encoding",
        "HashedStrings": "strings",
        "IntegerRange": "numbers",
        "Path": "record",
        "Presence": "encoding",
        "Record": "record",
        "from_json": "encoding",
    },
)
