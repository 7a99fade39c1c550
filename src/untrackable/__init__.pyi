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

__version__: str
__all__: list[str]
