"""Public rules that turn people's values into integers below 2^d. They also decide about values that do not fit.

`Bit`, `IntegerRange`, `Buckets`, `Categories`, `Choices`, `Record`, `Path`, `HashedStrings`, `DiscoveredStrings`
and `Presence` are each an `Encoding`; `from_json` makes one of its description.
"""

from untrackable.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)
