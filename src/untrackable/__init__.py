"""Private telemetry whose reports cannot be used to follow people.

Mechanisms, which turn a person's value into reports: `Deck`, `Fading`, `Bitwise`, `InnerProduct`, `Rappor`; and
`Stored`, `Dealt`, `Fresh`, `Memoized` over a `RandomizedResponse` or a `NoisyInnerProduct`.
Encodings, from what people hold to integers and back: `Bit`, `IntegerRange`, `Buckets`, `Categories`,
`HashedStrings`, `DiscoveredStrings`.

`Campaign` is a question as a public document (`Guarantee`: what it declares; `Directory`: the published ones).
`Client` answers it for a person within their `Policy`; `take_part` does all of it in one call that never waits.

`write_reports` and `read_reports` stream files of reports, `estimate_files` turns them into frequencies, and
`discover` finds frequent strings that nobody listed.
`audit` examines a mechanism, `compare` all of them at the same privacy, `audit_file` recorded reports, and
`audit_client` an implementation as a black box. `plan` turns `Goals` into a mechanism and its parameters,
and `plan_together` divides one budget among several questions.
`attendance` says what the rounds that people answer reveal by themselves.
A number with a lower and an upper end is a `Bracket`.

More names are in the packages: all mechanisms in `untrackable.mechanisms`, encodings in `untrackable.encodings`,
experiments and their factors in `untrackable.theory`, estimates over rounds in `untrackable.estimation`.
"""

from untrackable.lazy_names import lazy_names

__version__ = "0.2.0"

__all__, __getattr__, __dir__ = lazy_names(__spec__)
