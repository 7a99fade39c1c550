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
    from untrackable.auditing.comparison import compare as compare
    from untrackable.auditing.evidence.client_audit import audit_client as audit_client
    from untrackable.auditing.evidence.file_audit import audit_file as audit_file
    from untrackable.auditing.mechanism_audit import audit as audit
    from untrackable.brackets import Bracket as Bracket
    from untrackable.client.client import Client as Client
    from untrackable.client.policy import Policy as Policy
    from untrackable.discovery.string_discovery import discover as discover
    from untrackable.encodings.bit import Bit as Bit
    from untrackable.encodings.categories import Categories as Categories
    from untrackable.encodings.discovered_strings import DiscoveredStrings as DiscoveredStrings
    from untrackable.encodings.hashed_strings import HashedStrings as HashedStrings
    from untrackable.encodings.number_ranges import Buckets as Buckets
    from untrackable.encodings.number_ranges import IntegerRange as IntegerRange
    from untrackable.mechanisms.inner_product.deck import Deck as Deck
    from untrackable.mechanisms.inner_product.fading import Fading as Fading
    from untrackable.mechanisms.inner_product.rnip import InnerProduct as InnerProduct
    from untrackable.mechanisms.kept.bitwise import Bitwise as Bitwise
    from untrackable.mechanisms.kept.rappor import Rappor as Rappor
    from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct as NoisyInnerProduct
    from untrackable.mechanisms.local.randomized_response import RandomizedResponse as RandomizedResponse
    from untrackable.mechanisms.wrappers.card_dealing import Dealt as Dealt
    from untrackable.mechanisms.wrappers.fresh import Fresh as Fresh
    from untrackable.mechanisms.wrappers.stored import Memoized as Memoized
    from untrackable.mechanisms.wrappers.stored import Stored as Stored
    from untrackable.planning.goals import Goals as Goals
    from untrackable.planning.plans import plan as plan
    from untrackable.planning.question_set import plan_together as plan_together
    from untrackable.protocol.campaign import Campaign as Campaign
    from untrackable.protocol.campaign import Directory as Directory
    from untrackable.protocol.campaign import Guarantee as Guarantee
    from untrackable.reports.file_answers import estimate_files as estimate_files
    from untrackable.reports.reader import read_reports as read_reports
    from untrackable.reports.writer import write_reports as write_reports
    from untrackable.theory.attendance import attendance as attendance

__version__ = "0.2.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bit": "encodings.bit",
        "Bitwise": "mechanisms.kept.bitwise",
        "Bracket": "brackets",
        "Buckets": "encodings.number_ranges",
        "Campaign": "protocol.campaign",
        "Categories": "encodings.categories",
        "Client": "client.client",
        "Dealt": "mechanisms.wrappers.card_dealing",
        "Deck": "mechanisms.inner_product.deck",
        "Directory": "protocol.campaign",
        "DiscoveredStrings": "encodings.discovered_strings",
        "Fading": "mechanisms.inner_product.fading",
        "Fresh": "mechanisms.wrappers.fresh",
        "Goals": "planning.goals",
        "Guarantee": "protocol.campaign",
        "HashedStrings": "encodings.hashed_strings",
        "InnerProduct": "mechanisms.inner_product.rnip",
        "IntegerRange": "encodings.number_ranges",
        "Memoized": "mechanisms.wrappers.stored",
        "NoisyInnerProduct": "mechanisms.local.noisy_inner_product",
        "Policy": "client.policy",
        "RandomizedResponse": "mechanisms.local.randomized_response",
        "Rappor": "mechanisms.kept.rappor",
        "Stored": "mechanisms.wrappers.stored",
        "attendance": "theory.attendance",
        "audit": "auditing.mechanism_audit",
        "audit_client": "auditing.evidence.client_audit",
        "audit_file": "auditing.evidence.file_audit",
        "compare": "auditing.comparison",
        "discover": "discovery.string_discovery",
        "estimate_files": "reports.file_answers",
        "plan": "planning.plans",
        "plan_together": "planning.question_set",
        "read_reports": "reports.reader",
        "write_reports": "reports.writer",
    },
)
