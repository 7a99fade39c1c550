"""The ledger of all campaigns: which rounds a client may still answer, and what all campaigns together may reveal.

The ledger is on disk before anything is sent. A state counts only while the ledger lists it. A round is marked as
answered before its report is made, and as tried before the report is sent.

A campaign is charged when it is joined, with the eps and delta that it declares. Nothing is ever given back, so no
clock can give it back. What all campaigns reveal together is the sum (basic composition).
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from untrackable.brackets import at_least, at_most
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.errors import CampaignRefused, ClockBehind, StateError
from untrackable.protocol.campaign import Campaign, identify

VERSION = 1
NAME = "ledger"
_YEAR = 365 * 86400
_FORGIVEN = 1 + 1e-12
"""The share by which rounding may make a sum larger than it is."""

_WHAT_TO_DO = "put the later one back, or start in another folder and subtract what was spent here from the policy"


@dataclass(frozen=True, slots=True, repr=False)
class Life:
    """One state's time in a campaign: it may answer rounds first … last. With turns, that is a single round.

    It has answered no round after `through`. It has not tried to send a report of any round after `tried`.
    """

    name: str
    first: int
    last: int | None
    through: int
    tried: int = 0

    @property
    def over(self) -> bool:
        """Whether it answers no further round."""
        return self.last is not None and self.through >= self.last

    @property
    def answered(self) -> bool:
        """Whether it answered any round."""
        return self.through >= self.first

    def ended(self) -> "Life":
        """The same life without any further round."""
        return replace(self, last=self.through)

    def to_json(self) -> list[Any]:
        """The life as it is on disk."""
        return [self.name, self.first, self.last, self.through, self.tried]

    @staticmethod
    def from_json(content: list[Any]) -> "Life":
        """The life of this JSON."""
        name, first, last, through, tried = content
        return Life(str(name), int(first), last if last is None else int(last), int(through), int(tried))


DONE = Life("", 1, 0, 0)
"""The life of a client whose turn is over, or who never had one. It does not say in which round that was."""


class Spent(NamedTuple):
    """What campaigns reveal together, to somebody who knows which reports are one person's (upper)."""

    eps: float
    delta: float
    gamma: float
    tracking_delta: float


@dataclass(frozen=True, slots=True)
class Account:
    """A campaign's document and the lives of its states. The present one is last."""

    document: bytes
    lives: tuple[Life, ...]

    @property
    def campaign(self) -> Campaign:
        """The campaign of the document."""
        return _campaign(self.document)

    @property
    def spent(self) -> Spent:
        """What is charged: the declared guarantee, once for turns, and else for each life that answers."""
        campaign = self.campaign
        declared = campaign.guarantee
        times = 1 if campaign.turns is not None else sum(life.answered or not life.over for life in self.lives)
        return Spent(
            *(times * each for each in (declared.eps, declared.delta, declared.gamma, declared.tracking_delta))
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """All accounts of a person.

    `count` numbers the ledgers that were written in the folder, `folder_mark` was the mark of its lock then, and
    `time` is the time of writing, in seconds since 1970 by the client's clock. `policy` is what the person allows,
    without pins. It is None in a new ledger.
    """

    accounts: Mapping[str, Account] = field(default_factory=dict)
    folder_mark: str = ""
    count: int = 0
    time: int = 0
    policy: Policy | None = None

    def life(self, campaign: str) -> Life | None:
        """The present life in a campaign, if any."""
        account = self.accounts.get(campaign)
        return account.lives[-1] if account else None

    def under(self, policy: Policy) -> "Ledger":
        """With a policy that allows no more than the stored one, if there is one; otherwise `PolicyRaised`."""
        if self.policy is not None:
            policy.check_not_above(self.policy)
        return replace(self, policy=replace(policy, pins=()))

    def next_life(self, campaign: Campaign, now: float) -> Life:
        """A life that answers every round from the next one on. `CampaignRefused` if there is no later round.

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
        return Life("", first, last, first - 1)

    def joined(self, campaign: Campaign, life: Life) -> "Ledger":
        """The ledger with a new life in a campaign. Earlier lives answer no further round."""
        before = self.accounts.get(campaign.id, Account(campaign.to_bytes(), ()))
        earlier = (old.ended() for old in before.lives)
        return self._with(replace(before, lives=(*(old for old in earlier if old.answered), life)))

    def marked(self, campaign: str, round: int) -> "Ledger":
        """The ledger with all rounds up to this one counted as answered."""
        life = self.accounts[campaign].lives[-1]
        return self._living(campaign, replace(life, through=max(life.through, round)))

    def attempted(self, campaign: str, round: int) -> "Ledger":
        """The ledger with all rounds up to this one counted as tried. A report that says otherwise was put back."""
        life = self.accounts[campaign].lives[-1]
        return self._living(campaign, replace(life, tried=max(life.tried, round)))

    def left(self, campaign: str) -> "Ledger":
        """The ledger after leaving a campaign, or after its turn: no further round of it is answered."""
        account = self.accounts[campaign]
        return self._living(campaign, DONE if account.campaign.turns is not None else account.lives[-1].ended())

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
            if not account.lives[-1].over:
                ledger = ledger.marked(name, begun).attempted(name, begun)
        return ledger

    def check(self, policy: Policy, before: "Ledger | None" = None) -> None:
        """Refuse what all campaigns together reveal if it exceeds the policy, or more turns than it allows.

        The error says what the ledger `before` this campaign had left.
        """
        spent = self.spent
        if spent.eps > policy.eps * _FORGIVEN or spent.delta > policy.delta * _FORGIVEN:
            left = "" if before is None else _left_words(before.spent, policy)
            options = [
                f"--{name} {at_most(needed, 3)}"
                for name, needed, allowed in (
                    ("eps", spent.eps, policy.eps),
                    ("delta", spent.delta, policy.delta),
                )
                if needed > allowed
            ]
            raise CampaignRefused(
                "this campaign does not fit your privacy budget: all campaigns together would need eps "
                f"{at_most(spent.eps, 3)} and delta {at_most(spent.delta, 3)} (upper), and your policy allows "
                f"{policy.eps:g} and {policy.delta:g}. {left}`untrackable policy show` says what is spent. Only "
                f"you can raise your budget, if you mean it: `untrackable policy set {' '.join(options)}`"
            )
        if spent.gamma > policy.gamma * _FORGIVEN or spent.tracking_delta > policy.tracking_delta * _FORGIVEN:
            raise CampaignRefused(
                "this campaign would make you too easy to track: all campaigns together need gamma "
                f"{at_most(spent.gamma, 3)} and a tracking delta of {at_most(spent.tracking_delta, 3)} (upper), "
                f"and your policy allows {policy.gamma:g} and {policy.tracking_delta:g}"
            )
        self._check_turns(policy)

    def _check_turns(self, policy: Policy) -> None:
        """Refuse a second turn at the same time, and more turns in a year than the policy allows.

        Only the public times of campaigns count, whichever of their rounds were answered, and no clock.
        """
        campaigns = (account.campaign for account in self.accounts.values())
        times = sorted(
            (asked.first_round, asked.ends or math.inf) for asked in campaigns if asked.turns is not None
        )
        for (_, end), (begin, _) in itertools.pairwise(times):
            if begin < end:
                raise CampaignRefused(
                    "this campaign runs at the same time as another one in which you have or had a turn. With two "
                    "turns at a time, an observer of two places could tell who you are much better than with one. "
                    "Who asks can put the questions into one campaign, which takes one turn; or wait until the "
                    "other campaign is over"
                )
        most = policy.turns_a_year
        for (first, _), (last, _) in zip(times, times[most:], strict=False):
            if last - first < _YEAR:
                raise CampaignRefused(
                    f"this would be more than {most} turns within a year, which is what your policy allows: each "
                    "further campaign lets an observer of two places rule out more people. If you mean it: "
                    f"`untrackable policy set --turns-a-year {most + 1}`"
                )

    @property
    def spent(self) -> Spent:
        """What all campaigns reveal together: the sums of what each declares."""
        each = [account.spent for account in self.accounts.values()]
        return Spent(*(math.fsum(numbers) for numbers in zip(*each, strict=True))) if each else Spent(0, 0, 0, 0)

    @property
    def turns(self) -> int:
        """The number of campaigns with turns that were ever joined."""
        return sum(account.campaign.turns is not None for account in self.accounts.values())

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
        return {
            "accounts": accounts,
            "count": self.count,
            "place": self.folder_mark,
            "time": self.time,
            "version": VERSION,
            **({} if self.policy is None else {"policy": self.policy.limits()}),
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
            stored = content.get("policy")
            return Ledger(
                accounts,
                str(content["place"]),
                int(content["count"]),
                int(content["time"]),
                None if stored is None else Policy.from_limits(stored),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"the ledger cannot be understood: {type(error).__name__}") from None

    def _living(self, campaign: str, life: Life) -> "Ledger":
        account = self.accounts[campaign]
        return self._with(replace(account, lives=(*account.lives[:-1], life)))

    def _with(self, account: Account) -> "Ledger":
        return replace(self, accounts={**self.accounts, identify(account.document): account})


def last_begun(campaign: Campaign, now: float) -> int:
    """The last round that has begun; 0 if none has."""
    return max(0, int((now - campaign.first_round) // campaign.round_seconds) + 1)


@lru_cache(maxsize=64)
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def _document(name: str, document: bytes) -> bytes:
    if identify(document) != name:
        raise ValueError("a campaign under another's id")
    return document


def _lives(content: list[list[Any]]) -> tuple[Life, ...]:
    if not content:
        raise ValueError("an account without a life")
    return tuple(Life.from_json(life) for life in content)


def _left_words(spent: Spent, policy: Policy) -> str:
    """What is left before a campaign (lower)."""
    return f"Before this one, eps {at_least(max(0.0, policy.eps - spent.eps), 3)} is left (lower). "
