"""Private telemetry whose reports cannot be used to follow people.

Mechanisms, which turn a person's value into reports: `Deck`, `Fading`, `Bitwise`, `InnerProduct`, `Rappor`; and
`Stored`, `Dealt`, `Fresh`, `Memoized` over a `RandomizedResponse` or a `NoisyInnerProduct`.
Encodings, from what people hold to integers and back: `Bit`, `IntegerRange`, `Buckets`, `Categories`,
`HashedStrings`, `DiscoveredStrings`.

`Campaign` is a question as a public document (`Guarantee`: what it declares; `Directory`: the published ones).
`Client` answers it for a person within their `Policy`.

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

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from untrackable.auditing.audit import audit as audit
    from untrackable.auditing.black_box import audit_client as audit_client
    from untrackable.auditing.comparison import compare as compare
    from untrackable.auditing.file_audit import audit_file as audit_file
    from untrackable.brackets import Bracket as Bracket
    from untrackable.client.client import Client as Client
    from untrackable.client.policy import Policy as Policy
    from untrackable.discovery.discovery import discover as discover
    from untrackable.encodings.encoding import Bit as Bit
    from untrackable.encodings.encoding import Categories as Categories
    from untrackable.encodings.numbers import Buckets as Buckets
    from untrackable.encodings.numbers import IntegerRange as IntegerRange
    from untrackable.encodings.strings import DiscoveredStrings as DiscoveredStrings
    from untrackable.encodings.strings import HashedStrings as HashedStrings
    from untrackable.mechanisms.deck import Dealt as Dealt
    from untrackable.mechanisms.deck import Deck as Deck
    from untrackable.mechanisms.fading import Fading as Fading
    from untrackable.mechanisms.inner_product import NoisyInnerProduct as NoisyInnerProduct
    from untrackable.mechanisms.kept_bits import Bitwise as Bitwise
    from untrackable.mechanisms.local import Fresh as Fresh
    from untrackable.mechanisms.local import RandomizedResponse as RandomizedResponse
    from untrackable.mechanisms.rappor import Rappor as Rappor
    from untrackable.mechanisms.stored import InnerProduct as InnerProduct
    from untrackable.mechanisms.stored import Memoized as Memoized
    from untrackable.mechanisms.stored import Stored as Stored
    from untrackable.planning.goals import Goals as Goals
    from untrackable.planning.plan import plan as plan
    from untrackable.planning.plan import plan_together as plan_together
    from untrackable.protocol.campaign import Campaign as Campaign
    from untrackable.protocol.campaign import Directory as Directory
    from untrackable.protocol.campaign import Guarantee as Guarantee
    from untrackable.reports.files import write_reports as write_reports
    from untrackable.reports.reader import read_reports as read_reports
    from untrackable.reports.sums import estimate_files as estimate_files
    from untrackable.theory.turns import attendance as attendance

__version__ = "0.2.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bit": "encodings.encoding",
        "Bitwise": "mechanisms.kept_bits",
        "Bracket": "brackets",
        "Buckets": "encodings.numbers",
        "Campaign": "protocol.campaign",
        "Categories": "encodings.encoding",
        "Client": "client.client",
        "Dealt": "mechanisms.deck",
        "Deck": "mechanisms.deck",
        "Directory": "protocol.campaign",
        "DiscoveredStrings": "encodings.strings",
        "Fading": "mechanisms.fading",
        "Fresh": "mechanisms.local",
        "Goals": "planning.goals",
        "Guarantee": "protocol.campaign",
        "HashedStrings": "encodings.strings",
        "InnerProduct": "mechanisms.stored",
        "IntegerRange": "encodings.numbers",
        "Memoized": "mechanisms.stored",
        "NoisyInnerProduct": "mechanisms.inner_product",
        "Policy": "client.policy",
        "RandomizedResponse": "mechanisms.local",
        "Rappor": "mechanisms.rappor",
        "Stored": "mechanisms.stored",
        "attendance": "theory.turns",
        "audit": "auditing.audit",
        "audit_client": "auditing.black_box",
        "audit_file": "auditing.file_audit",
        "compare": "auditing.comparison",
        "discover": "discovery.discovery",
        "estimate_files": "reports.sums",
        "plan": "planning.plan",
        "plan_together": "planning.plan",
        "read_reports": "reports.reader",
        "write_reports": "reports.files",
    },
)
