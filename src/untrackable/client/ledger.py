"""The ledger of all campaigns: which rounds a client may still answer, and how much all reports together reveal.

The ledger is on disk before anything is sent. A state counts only while the ledger lists it. A round is marked as
answered before its report is made, and as tried before the report is sent. All rounds are charged from joining to
the end, whether they are answered or not.

If a campaign is answered by chance, what is charged is the figure from before the coins were tossed: all rounds
with their participation, never the number of reports that were sent. Given that number, the guarantee would be
another one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from untrackable.accounting.joint_account import JointAccount
from untrackable.brackets import at_least, at_most
from untrackable.client.account import Account
from untrackable.client.life import Life, last_begun
from untrackable.client.network import AllowedNetwork
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.errors import CampaignRefused, ClockBehind, StateError
from untrackable.protocol.campaign import Campaign, identify
from untrackable.theory.attendance import AMONG

VERSION = 2
NAME = "ledger"

_WHAT_TO_DO = "put the later one back, or start in another folder and subtract what was spent here from the policy"


@dataclass(frozen=True, slots=True)
class Ledger:
    """All accounts of a person.

    `count` numbers the ledgers that were written in the folder, `folder_mark` was the mark of its lock then, and
    `time` is the time of writing, in seconds since 1970 by the client's clock. `policy` is what the person allows,
    without pins. It is None in a new ledger, and in one of version 0.1. `network` identifies the network that is
    remembered for campaigns that are answered from one network only, as a keyed digest.
    """

    accounts: Mapping[str, Account] = field(default_factory=dict)
    folder_mark: str = ""
    count: int = 0
    time: int = 0
    policy: Policy | None = None
    network: tuple[bytes, bytes] | None = field(default=None, repr=False)

    def life(self, campaign: str) -> Life | None:
        """The present life in a campaign, if any."""
        account = self.accounts.get(campaign)
        return account.lives[-1] if account else None

    def under(self, policy: Policy) -> "Ledger":
        """With a policy that allows no more than the stored one, if there is one; otherwise `PolicyRaised`."""
        if self.policy is not None:
            policy.check_not_above(self.policy)
        return replace(self, policy=replace(policy, pins=()))

    def next_life(self, campaign: Campaign, now: float, *, one_network: bool) -> Life:
        """A life in a campaign that begins with the next round. `CampaignRefused` if there is no later round.

        Its first round comes after all that were answered. Its last is that of the campaign or of the mechanism,
        whichever is earlier.
        """
        account = self.accounts.get(campaign.id)
        through = max((life.through for life in account.lives), default=0) if account else 0
        first = max(last_begun(campaign, now), through) + 1
        ends = [end for end in (campaign.rounds, campaign.mechanism.last_round) if end is not None]
        last = min(ends, default=None)
        if last is not None and first > last:
            raise CampaignRefused("this campaign is over: no later round is left")
        return Life("", first, last, first - 1, settled=first - 1 if one_network else None)

    def joined(self, campaign: Campaign, life: Life) -> "Ledger":
        """The ledger with a new life in a campaign. Earlier lives answer no further round."""
        before = self.accounts.get(campaign.id, Account(campaign.to_bytes(), ()))
        if campaign.attending.one_network:
            life = replace(life, settled=life.first - 1)
        return self._with(replace(before, lives=(*(old for old in before.ended(self.time) if old.rounds), life)))

    def marked(self, campaign: str, round: int) -> "Ledger":
        """The ledger with all rounds up to this one counted as answered."""
        life = self.accounts[campaign].lives[-1]
        return self._living(campaign, replace(life, through=max(life.through, round)))

    def attempted(self, campaign: str, round: int) -> "Ledger":
        """The ledger with all rounds up to this one counted as tried. A report that says otherwise was put back."""
        life = self.accounts[campaign].lives[-1]
        return self._living(campaign, replace(life, tried=max(life.tried, round)))

    def left(self, campaign: str) -> "Ledger":
        """The ledger after leaving a campaign: no further round of it is answered.

        The remembered network is forgotten if no other campaign needs it.
        """
        account = self.accounts[campaign]
        ledger = self._with(replace(account, lives=account.ended(self.time)))
        needed = any(other.needs_network(self.time) for other in ledger.accounts.values())
        return ledger if needed else replace(ledger, network=None)

    def settled(self, campaign: str, round: int) -> "Ledger":
        """The ledger with all rounds after this one answered from the remembered network only."""
        life = self.accounts[campaign].lives[-1]
        return self if life.settled is not None else self._living(campaign, replace(life, settled=round))

    def allowed_network(self, campaign: str, round: int) -> AllowedNetwork:
        """The network from which the report of a round may be sent."""
        life = self.life(campaign)
        if life is None or life.settled is None or round <= life.settled:
            return AllowedNetwork()
        return AllowedNetwork(is_one=True, remembered=self.network)

    def moved(self, now: float) -> "Ledger":
        """The ledger in a copied folder. Rounds that have begun may have been answered, so they are closed."""
        if now < self.time:
            raise ClockBehind(
                "the folder was restored or copied, and the clock is behind the time when it was last written: "
                "it is not known which rounds have begun since; nothing is answered or changed until the clock is "
                "right"
            )
        ledger = self
        for name, account in self.accounts.items():
            begun = last_begun(account.campaign, now)
            ledger = ledger.marked(name, begun).attempted(name, begun)
        return ledger

    def check(self, policy: Policy, before: "Ledger | None" = None) -> tuple[float, float]:
        """Delta and tracking delta of all campaigns together (upper).

        It is an error if they, or delta in a crowd, or the recognition of all campaigns together, exceed the
        policy. The error says what the ledger `before` this campaign had left.
        """
        joint = self.joint
        delta = joint.delta(policy.eps)
        tracking = joint.tracking_delta(policy.gamma)
        if delta > policy.delta:
            allowed = policy.eps, policy.delta
            left = None if before is None else before.joint.left_eps(*allowed)
            raise CampaignRefused(
                f"this campaign does not fit your privacy budget: at eps {policy.eps:g}, all campaigns together "
                f"need delta {at_most(delta, 3)} (upper), and your policy allows {policy.delta:g}. "
                f"{_spent_words(joint.spent_eps(*allowed), left)} {self._what_to_do(policy)}{self._who()}"
            )
        hidden = joint.crowd_delta(policy.crowd_eps)
        if hidden > policy.crowd_delta:
            allowed = policy.crowd_eps, policy.crowd_delta
            left = None if before is None else before.joint.left_crowd_eps(*allowed)
            raise CampaignRefused(
                "this campaign does not fit your privacy budget for a collector that sees everybody's reports and "
                f"does not know who sent which: at eps {policy.crowd_eps:g}, all campaigns together need delta "
                f"{at_most(hidden, 3)} (upper), and your policy allows {policy.crowd_delta:g}. "
                f"{_spent_words(joint.spent_crowd_eps(*allowed), left)} Campaigns that are answered without a "
                f"relay count in full. {self._what_to_do(policy)}"
            )
        if tracking > policy.tracking_delta:
            raise CampaignRefused(
                f"this campaign would make you too easy to track: at gamma {policy.gamma:g}, all campaigns "
                f"together need a tracking delta of {at_most(tracking, 3)} (upper), and your policy allows "
                f"{policy.tracking_delta:g}"
            )
        if policy.recognition < 1 and (recognised := joint.recognition()) > policy.recognition:
            raise CampaignRefused(
                "this campaign would make you too easy to recognise by your attendance, which is the rounds that "
                "you answer and the places that you answer from: an observer of two places could tell that you are "
                "at both, even if the reports themselves reveal nothing. All campaigns together bring the "
                f"probability of being recognised among {AMONG:,} people to {at_most(recognised, 3)} (upper "
                "if they run at the same times, or one after the other), and "
                f"your policy allows {policy.recognition:g}. What helps: a campaign with a smaller "
                "participation or fewer rounds, or answering from one network only (--one-network)"
            )
        return delta, tracking

    def _what_to_do(self, policy: Policy) -> str:
        """How a person finds a campaign that fits, or raises both budgets as far as this one needs."""
        needed = {
            "--eps": (self.joint.spent_eps(policy.eps, policy.delta), policy.eps),
            "--crowd-eps": (self.joint.spent_crowd_eps(policy.crowd_eps, policy.crowd_delta), policy.crowd_eps),
        }
        options = [
            f"{name} {'…' if eps == math.inf else at_most(eps, 3)}"
            for name, (eps, allowed) in needed.items()
            if eps > allowed
        ]
        return (
            "`untrackable policy show` says what is spent. A campaign with fewer rounds or a smaller eps takes "
            f"less. Only you can raise your budget, if you mean it: `untrackable policy set {' '.join(options)}`"
        )

    def _who(self) -> str:
        """Who may learn that much, if a campaign relies on a crowd."""
        if all(account.campaign.guarantee.crowd is None for account in self.accounts.values()):
            return ""
        return (
            ". This is about somebody who knows which reports are yours, as relay and collector do together. "
            "You may raise it if you trust these not to work together"
        )

    @property
    def joint(self) -> JointAccount:
        """What all campaigns reveal together."""
        return JointAccount(tuple(account.charged for account in self.accounts.values()))

    def write(self, folder: Folder) -> None:
        """Replace the ledger on disk.

        The lock's count is written first. If the process is killed in between, the folder looks like a copied one.
        """
        folder.lock.advance(self.count + 1)
        folder.write(NAME, replace(self, count=self.count + 1, folder_mark=folder.lock.folder_mark).content())

    @staticmethod
    def read(folder: Folder) -> "Ledger":
        """The ledger on disk, or a new one if none was ever written.

        It has no mark if it is one behind the lock's count. An older ledger is an error, and so is a state that the
        ledger does not list.
        """
        content, written = folder.read(NAME, "the ledger"), folder.lock.count
        states = sorted(path.name.removesuffix(".state") for path in folder.path.glob("*.state"))
        if content is None:
            # At count 1, writing the first ledger may have been interrupted, and nothing was sent.
            if written > 1 or states:
                raise StateError(f"the ledger is missing, so it is not known what was spent; {_WHAT_TO_DO}")
            return Ledger(folder_mark=folder.lock.folder_mark)
        ledger = Ledger.from_content(content)
        if ledger.count < written - 1:
            raise StateError(f"the ledger is an old one, so it is not known what was spent since; {_WHAT_TO_DO}")
        if unknown := [name for name in states if name not in ledger.accounts]:
            raise StateError(
                f"{unknown[0]}.state does not belong to this ledger and is left as it is; if the ledger was put "
                f"back, {_WHAT_TO_DO}; if the state was put back, move it away"
            )
        return ledger if ledger.count == written else replace(ledger, folder_mark="")

    def content(self) -> dict[str, Any]:
        """The ledger as JSON, as it is on disk."""
        accounts = {
            name: {
                "campaign": account.document.decode(),
                "lives": [life.to_json() for life in account.lives],
            }
            for name, account in self.accounts.items()
        }
        stored: dict[str, Any] = {} if self.policy is None else {"policy": self.policy.limits()}
        if self.network is not None:
            stored["network"] = [part.hex() for part in self.network]
        return {
            "accounts": accounts,
            "count": self.count,
            "place": self.folder_mark,
            "time": self.time,
            "version": VERSION,
            **stored,
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> "Ledger":
        """The ledger of this JSON."""
        if content.get("version") != VERSION:
            raise StateError(
                f"another version of this library wrote the ledger: it has version {content.get('version')!r:.9}, "
                f"and this library reads version {VERSION}; move the whole folder away and answer again: only "
                "rounds that begin later are answered then, and you must subtract what was spent from the policy"
            )
        try:
            accounts = {
                name: Account(_document(name, entry["campaign"].encode()), _lives(entry["lives"]))
                for name, entry in content["accounts"].items()
            }
            stored, network = content.get("policy"), content.get("network")
            return Ledger(
                accounts,
                str(content["place"]),
                int(content["count"]),
                int(content.get("time", 0)),
                None if stored is None else Policy.from_limits(stored),
                None if network is None else (bytes.fromhex(network[0]), bytes.fromhex(network[1])),
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"the ledger cannot be understood: {type(error).__name__}") from None

    def _living(self, campaign: str, life: Life) -> "Ledger":
        account = self.accounts[campaign]
        return self._with(replace(account, lives=(*account.lives[:-1], life)))

    def _with(self, account: Account) -> "Ledger":
        return replace(self, accounts={**self.accounts, identify(account.document): account})


def _document(name: str, document: bytes) -> bytes:
    if identify(document) != name:
        raise ValueError("a campaign under another's id")
    return document


def _lives(content: list[list[Any]]) -> tuple[Life, ...]:
    if not content:
        raise ValueError("an account without a life")
    return tuple(Life.from_json(life) for life in content)


def _spent_words(eps: float, left: float | None) -> str:
    """What all campaigns would spend (upper), and what was left before the last one (lower)."""
    told = f"At that delta they would spend eps {'more than 64' if eps == math.inf else at_most(eps, 3)} (upper)."
    return told if left is None else f"{told} Before this one, eps {at_least(left, 3)} is left (lower)."
