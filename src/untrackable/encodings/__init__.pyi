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

__all__: list[str]
