"""Public rules that turn people's values into integers below 2^d. They also decide about values that do not fit.

`Bit`, `IntegerRange`, `Buckets`, `Categories`, `Choices`, `Record`, `Path`, `HashedStrings`, `DiscoveredStrings`
and `Presence` are each an `Encoding`; `from_json` makes one of its description.
"""

from typing import TYPE_CHECKING

from untrackable.lazy_names import lazy_names

if TYPE_CHECKING:
    from untrackable.encodings.bit import Bit as Bit
    from untrackable.encodings.categories import Categories as Categories
    from untrackable.encodings.choices import Choices as Choices
    from untrackable.encodings.discovered_strings import DiscoveredStrings as DiscoveredStrings
    from untrackable.encodings.encoding import Encoding as Encoding
    from untrackable.encodings.encoding import from_json as from_json
    from untrackable.encodings.hashed_strings import HashedStrings as HashedStrings
    from untrackable.encodings.number_ranges import Buckets as Buckets
    from untrackable.encodings.number_ranges import IntegerRange as IntegerRange
    from untrackable.encodings.path import Path as Path
    from untrackable.encodings.presence import Presence as Presence
    from untrackable.encodings.record import Record as Record

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bit": "bit",
        "Buckets": "number_ranges",
        "Categories": "categories",
        "Choices": "choices",
        "DiscoveredStrings": "discovered_strings",
        "Encoding": "encoding",
        "HashedStrings": "hashed_strings",
        "IntegerRange": "number_ranges",
        "Path": "path",
        "Presence": "presence",
        "Record": "record",
        "from_json": "encoding",
    },
)
