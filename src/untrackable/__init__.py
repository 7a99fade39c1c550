"""Private telemetry that cannot be used to follow people.

Mechanisms: `Deck`, `Fading`, `Bitwise`, `InnerProduct`, `Stored`, `Dealt`, `Fresh`, `Memoized`, over the local
mechanisms `RandomizedResponse`, `NoisyInnerProduct`, `Levelled`, `CountMeanSketch` and `HadamardSketch`; and those
of others: `Rappor`, `Unary`, `Lgrr`, `Loloha`, `DBitFlip`, `FixedVector`, `Assigned`, `OneChange`, `Votes`.

Encodings, from what people hold to integers and back: `Bit`, `IntegerRange`, `Buckets`, `Categories`,
`HashedStrings`, `DiscoveredStrings`, each an `Encoding`.
`discover` finds frequent strings that nobody listed (`Discovered`).
`Rounds` pools the estimates of many rounds.

`audit` examines a mechanism (an `Audit`), `compare` all of them at the same privacy, `audit_file` recorded reports
and `audit_client` an implementation as a black box. `plan` turns `Goals` into a mechanism and its parameters (a
`Plan`).

`write_reports` and `read_reports` stream files of reports, `estimate_files` turns them into frequencies.

`Campaign` is a question as a public document (`Guarantee`: what it declares; `Directory`: the published ones),
`Client` answers it for a person within their `Policy`.

Guarantees are asked of an `Experiment`, a `Mixture` or a `Worst`, made of `Factor`s, and answered by `Bracket`s.
Bounds and theorems are in `untrackable.theory`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from untrackable.answers.answer import estimate_files
    from untrackable.auditing.comparison import compare
    from untrackable.auditing.evidence.client_audit import audit_client
    from untrackable.auditing.evidence.file_audit import audit_file
    from untrackable.auditing.mechanism_audit import Audit, audit
    from untrackable.brackets import Bracket
    from untrackable.client.client import Client
    from untrackable.client.policy import Policy
    from untrackable.discovery.discover import discover
    from untrackable.discovery.discovered import Discovered
    from untrackable.encodings.bit import Bit
    from untrackable.encodings.categories import Categories
    from untrackable.encodings.discovered_strings import DiscoveredStrings
    from untrackable.encodings.encoding import Encoding
    from untrackable.encodings.hashed_strings import HashedStrings
    from untrackable.encodings.number_ranges import Buckets, IntegerRange
    from untrackable.estimation.rounds import Rounds
    from untrackable.mechanisms.inner_product.deck import Deck
    from untrackable.mechanisms.inner_product.fading import Fading
    from untrackable.mechanisms.inner_product.rnip import InnerProduct
    from untrackable.mechanisms.kept.bitwise import Bitwise
    from untrackable.mechanisms.kept.dbitflip import DBitFlip
    from untrackable.mechanisms.kept.lgrr import Lgrr
    from untrackable.mechanisms.kept.loloha import Loloha
    from untrackable.mechanisms.kept.rappor import Rappor
    from untrackable.mechanisms.kept.unary import Unary
    from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
    from untrackable.mechanisms.local.randomized_response import RandomizedResponse
    from untrackable.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
    from untrackable.mechanisms.local.string_levels import Levelled
    from untrackable.mechanisms.others.assigned import Assigned
    from untrackable.mechanisms.others.fixed_vector import FixedVector
    from untrackable.mechanisms.others.one_change import OneChange
    from untrackable.mechanisms.others.votes import Votes
    from untrackable.mechanisms.wrappers.dealt import Dealt
    from untrackable.mechanisms.wrappers.fresh import Fresh
    from untrackable.mechanisms.wrappers.stored import Memoized, Stored
    from untrackable.planning.goals import Goals
    from untrackable.planning.plans import Plan, plan
    from untrackable.protocol.campaign import Campaign, Directory, Guarantee
    from untrackable.reports.reader import read_reports
    from untrackable.reports.writer import write_reports
    from untrackable.theory.experiment import Experiment, Mixture, Worst
    from untrackable.theory.factor import Factor

__version__ = "0.2.0"

_HOMES = {
    "Assigned": "mechanisms.others.assigned",
    "Audit": "auditing.mechanism_audit",
    "Bit": "encodings.bit",
    "Bitwise": "mechanisms.kept.bitwise",
    "Bracket": "brackets",
    "Buckets": "encodings.number_ranges",
    "Campaign": "protocol.campaign",
    "Categories": "encodings.categories",
    "Client": "client.client",
    "CountMeanSketch": "mechanisms.local.sketches",
    "DBitFlip": "mechanisms.kept.dbitflip",
    "Dealt": "mechanisms.wrappers.dealt",
    "Deck": "mechanisms.inner_product.deck",
    "Directory": "protocol.campaign",
    "Discovered": "discovery.discovered",
    "DiscoveredStrings": "encodings.discovered_strings",
    "Encoding": "encodings.encoding",
    "Experiment": "theory.experiment",
    "Factor": "theory.factor",
    "Fading": "mechanisms.inner_product.fading",
    "FixedVector": "mechanisms.others.fixed_vector",
    "Fresh": "mechanisms.wrappers.fresh",
    "Goals": "planning.goals",
    "Guarantee": "protocol.campaign",
    "HadamardSketch": "mechanisms.local.sketches",
    "HashedStrings": "encodings.hashed_strings",
    "InnerProduct": "mechanisms.inner_product.rnip",
    "IntegerRange": "encodings.number_ranges",
    "Levelled": "mechanisms.local.string_levels",
    "Lgrr": "mechanisms.kept.lgrr",
    "Loloha": "mechanisms.kept.loloha",
    "Memoized": "mechanisms.wrappers.stored",
    "Mixture": "theory.experiment",
    "NoisyInnerProduct": "mechanisms.local.noisy_inner_product",
    "OneChange": "mechanisms.others.one_change",
    "Plan": "planning.plans",
    "Policy": "client.policy",
    "RandomizedResponse": "mechanisms.local.randomized_response",
    "Rappor": "mechanisms.kept.rappor",
    "Rounds": "estimation.rounds",
    "Stored": "mechanisms.wrappers.stored",
    "Unary": "mechanisms.kept.unary",
    "Votes": "mechanisms.others.votes",
    "Worst": "theory.experiment",
    "audit": "auditing.mechanism_audit",
    "audit_client": "auditing.evidence.client_audit",
    "audit_file": "auditing.evidence.file_audit",
    "compare": "auditing.comparison",
    "discover": "discovery.discover",
    "estimate_files": "answers.answer",
    "plan": "planning.plans",
    "read_reports": "reports.reader",
    "write_reports": "reports.writer",
}

__all__ = [
    "Assigned",
    "Audit",
    "Bit",
    "Bitwise",
    "Bracket",
    "Buckets",
    "Campaign",
    "Categories",
    "Client",
    "CountMeanSketch",
    "DBitFlip",
    "Dealt",
    "Deck",
    "Directory",
    "Discovered",
    "DiscoveredStrings",
    "Encoding",
    "Experiment",
    "Factor",
    "Fading",
    "FixedVector",
    "Fresh",
    "Goals",
    "Guarantee",
    "HadamardSketch",
    "HashedStrings",
    "InnerProduct",
    "IntegerRange",
    "Levelled",
    "Lgrr",
    "Loloha",
    "Memoized",
    "Mixture",
    "NoisyInnerProduct",
    "OneChange",
    "Plan",
    "Policy",
    "RandomizedResponse",
    "Rappor",
    "Rounds",
    "Stored",
    "Unary",
    "Votes",
    "Worst",
    "audit",
    "audit_client",
    "audit_file",
    "compare",
    "discover",
    "estimate_files",
    "plan",
    "read_reports",
    "write_reports",
]


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    """Load a name where it is first used, so that `import untrackable` stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'untrackable' has no attribute {name!r}")
    return getattr(importlib.import_module(f"untrackable.{_HOMES[name]}"), name)
