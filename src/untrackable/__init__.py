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
    from untrackable.auditing.audits import Audit, audit
    from untrackable.auditing.comparison import compare
    from untrackable.auditing.evidence.implementations import audit_client
    from untrackable.auditing.evidence.recorded import audit_file
    from untrackable.brackets import Bracket
    from untrackable.campaign import Campaign, Directory, Guarantee
    from untrackable.client.client import Client
    from untrackable.client.policy import Policy
    from untrackable.discovery.discover import discover
    from untrackable.discovery.found import Discovered
    from untrackable.encodings.base import Encoding
    from untrackable.encodings.bit import Bit
    from untrackable.encodings.categories import Categories
    from untrackable.encodings.discovered import DiscoveredStrings
    from untrackable.encodings.hashed import HashedStrings
    from untrackable.encodings.numbers import Buckets, IntegerRange
    from untrackable.files.answers import estimate_files
    from untrackable.files.reading import read_reports
    from untrackable.files.writing import write_reports
    from untrackable.mechanisms.assigned import Assigned
    from untrackable.mechanisms.bitwise import Bitwise
    from untrackable.mechanisms.dbitflip import DBitFlip
    from untrackable.mechanisms.dealt import Dealt
    from untrackable.mechanisms.fading import Fading
    from untrackable.mechanisms.fixed_vector import FixedVector
    from untrackable.mechanisms.fresh import Fresh
    from untrackable.mechanisms.inner_product import Deck, InnerProduct
    from untrackable.mechanisms.levelled import Levelled
    from untrackable.mechanisms.lgrr import Lgrr
    from untrackable.mechanisms.loloha import Loloha
    from untrackable.mechanisms.noisy_inner_product import NoisyInnerProduct
    from untrackable.mechanisms.one_change import OneChange
    from untrackable.mechanisms.randomized_response import RandomizedResponse
    from untrackable.mechanisms.rappor import Rappor
    from untrackable.mechanisms.rounds import Rounds
    from untrackable.mechanisms.sketches import CountMeanSketch, HadamardSketch
    from untrackable.mechanisms.stored import Memoized, Stored
    from untrackable.mechanisms.unary import Unary
    from untrackable.mechanisms.votes import Votes
    from untrackable.planning.goals import Goals
    from untrackable.planning.plans import Plan, plan
    from untrackable.theory.experiment import Experiment, Mixture, Worst
    from untrackable.theory.factor import Factor

__version__ = "0.1.0"

_HOMES = {
    "Assigned": "mechanisms.assigned",
    "Audit": "auditing.audits",
    "Bit": "encodings.bit",
    "Bitwise": "mechanisms.bitwise",
    "Bracket": "brackets",
    "Buckets": "encodings.numbers",
    "Campaign": "campaign",
    "Categories": "encodings.categories",
    "Client": "client.client",
    "CountMeanSketch": "mechanisms.sketches",
    "DBitFlip": "mechanisms.dbitflip",
    "Dealt": "mechanisms.dealt",
    "Deck": "mechanisms.inner_product",
    "Directory": "campaign",
    "Discovered": "discovery.found",
    "DiscoveredStrings": "encodings.discovered",
    "Encoding": "encodings.base",
    "Experiment": "theory.experiment",
    "Factor": "theory.factor",
    "Fading": "mechanisms.fading",
    "FixedVector": "mechanisms.fixed_vector",
    "Fresh": "mechanisms.fresh",
    "Goals": "planning.goals",
    "Guarantee": "campaign",
    "HadamardSketch": "mechanisms.sketches",
    "HashedStrings": "encodings.hashed",
    "InnerProduct": "mechanisms.inner_product",
    "IntegerRange": "encodings.numbers",
    "Levelled": "mechanisms.levelled",
    "Lgrr": "mechanisms.lgrr",
    "Loloha": "mechanisms.loloha",
    "Memoized": "mechanisms.stored",
    "Mixture": "theory.experiment",
    "NoisyInnerProduct": "mechanisms.noisy_inner_product",
    "OneChange": "mechanisms.one_change",
    "Plan": "planning.plans",
    "Policy": "client.policy",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Rappor": "mechanisms.rappor",
    "Rounds": "mechanisms.rounds",
    "Stored": "mechanisms.stored",
    "Unary": "mechanisms.unary",
    "Votes": "mechanisms.votes",
    "Worst": "theory.experiment",
    "audit": "auditing.audits",
    "audit_client": "auditing.evidence.implementations",
    "audit_file": "auditing.evidence.recorded",
    "compare": "auditing.comparison",
    "discover": "discovery.discover",
    "estimate_files": "files.answers",
    "plan": "planning.plans",
    "read_reports": "files.reading",
    "write_reports": "files.writing",
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
