"""The ledger of all campaigns: what may still be answered, what all together may reveal, and the policy.

The ledger is on disk before anything is sent. A state counts only while the ledger lists it. A round is marked as
answered before its report is made, and as tried before the report is sent.

A campaign is charged when it is joined, with the eps and delta that it declares. Nothing is ever given back, so no
clock can give it back. What all campaigns reveal together is the sum (basic composition).
"""

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable.client.folder import Folder
from untrackable.client.policy import Policy, option
from untrackable.errors import CampaignRefused, ClockBehind, StateError
from untrackable.protocol.wire import LAST_ROUND

if TYPE_CHECKING:
    from untrackable.protocol.campaign import Campaign

NAME = "ledger"
_YEAR = 365 * 86400
_FORGIVEN = 1 + 1e-12
"""The share by which rounding may make a sum larger than it is."""

_WHAT_TO_DO = "put the later one back, or start in another folder and subtract what was spent here from the policy"

Clock = Callable[[], float]
"""Seconds since 1970."""


class Spent(NamedTuple):
    """What campaigns reveal together, to somebody who knows which reports are one person's (upper)."""

    eps: float
    delta: float
    gamma: float
    tracking_delta: float


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """A campaign's document, and what the client may still answer: no round before `first`, none up to `through`.

    It has not tried to send a report of any round after `tried`. With turns, `first` is the only round. `life` is
    the name of the state that answers. Once the turn is over or the campaign was left there is none, and the rest
    is as here, so the account does not tell in which round a turn was. The ledger's `count` and the times of the
    files stay, and may tell when that was.
    """

    document: bytes
    life: str = ""
    first: int = 1
    through: int = 0
    tried: int = 0

    @property
    def campaign(self) -> "Campaign":
        """The campaign of the document."""
        return _campaign(self.document)

    @property
    def last(self) -> int:
        """The last round that may be answered."""
        end = self.first if self.campaign.turns is not None else self.campaign.last_round
        return min(end or LAST_ROUND, LAST_ROUND)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All accounts of a person.

    `count` numbers the ledgers that were written in the folder, `folder_mark` was the mark of its lock then, and
    `time` is the time of writing, in seconds since 1970 by the client's clock. `settled` is the time at which it
    was last noticed that the folder was restored or copied; 0 if it never was. `policy` is what the person allows,
    without pins. It is None in a new ledger.
    """

    accounts: Mapping[str, Account] = field(default_factory=dict)
    folder_mark: str = ""
    count: int = 0
    time: int = 0
    settled: int = 0
    policy: Policy | None = None

    def under(self, policy: Policy) -> "Ledger":
        """With a policy that allows no more than the stored one, if there is one; otherwise `PolicyRaised`."""
        if self.policy is not None:
            policy.check_not_above(self.policy)
        return replace(self, policy=policy)

    def joined(self, campaign: "Campaign", first: int = 1, life: str = "") -> "Ledger":
        """The ledger with a state that answers from a round on, or only this one; or with none."""
        return self._with(Account(campaign.to_bytes(), life, first, first - 1, first - 1))

    def marked(self, campaign: str, round: int, *, tried: bool) -> "Ledger":
        """The ledger with all rounds up to this one counted as answered and, if they are `tried`, as tried."""
        account = self.accounts[campaign]
        last_tried = max(account.tried, round) if tried else account.tried
        return self._with(replace(account, through=max(account.through, round), tried=last_tried))

    def check(self, policy: Policy, before: "Ledger") -> None:
        """Refuse what all campaigns together reveal if it exceeds the policy, or more turns than it allows.

        The error says what the ledger `before` this campaign had left.
        """
        spent = self.spent._asdict()
        above = [name for name, sum in spent.items() if sum > getattr(policy, name) * _FORGIVEN]
        if above:
            from untrackable.brackets import at_least, at_most

            needed = {name: at_most(spent[name], 3) for name in above}
            allowed = " and ".join(f"{getattr(policy, name):g}" for name in above)
            left = at_least(max(0.0, policy.eps - before.spent.eps), 3)
            raise CampaignRefused(
                "this campaign does not fit your privacy budget: all campaigns together would need "
                f"{' and '.join(f'{name} {sum}' for name, sum in needed.items())} (upper), and your policy allows "
                f"{allowed}. Before this one, eps {left} is left (lower). `untrackable policy show` says what is "
                "spent. Only you can raise your budget, if you mean it: `untrackable policy set "
                f"{' '.join(option(*limit) for limit in needed.items())}`"
            )
        self._check_turns(policy)

    def _check_turns(self, policy: Policy) -> None:
        """Refuse a second turn at the same time, and more turns in a year than the policy allows.

        Only the public times of campaigns count, whichever of their rounds were answered, and no clock.
        """
        with_turns = [each.campaign for each in self.accounts.values() if each.campaign.turns is not None]
        times = sorted((asked.first_round, asked.ends or math.inf) for asked in with_turns)
        for (_, end), (begin, _) in itertools.pairwise(times):
            if begin < end:
                raise CampaignRefused(
                    "this campaign runs at the same time as another one in which you have or had a turn. With two "
                    "turns at a time, an observer of two places could tell who you are much better than with one. "
                    "The people who ask can put all questions into one campaign, which takes one turn, or wait "
                    "until the other campaign is over"
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
        declared = [account.campaign.guarantee for account in self.accounts.values()]
        return Spent(*(math.fsum(getattr(each, name) for each in declared) for name in Spent._fields))

    @property
    def turns(self) -> int:
        """The number of campaigns with turns that were ever joined."""
        return sum(account.campaign.turns is not None for account in self.accounts.values())

    def write(self, folder: Folder) -> None:
        """Replace the ledger on disk.

        The lock's count is written first. If the process is killed in between, the folder looks like a copied one.
        """
        folder.advance(self.count + 1)
        folder.write(NAME, replace(self, count=self.count + 1, folder_mark=folder.mark).content())

    @staticmethod
    def read(folder: Folder) -> "Ledger":
        """The ledger on disk, or a new one if none was ever written.

        It has no mark if it is one behind the lock's count. An older ledger is an error, and so is a state that the
        ledger does not list.
        """
        ledger, written = folder.read(NAME, "the ledger", Ledger.from_content), folder.count
        states = sorted(path.name.removesuffix(".state") for path in folder.path.glob("*.state"))
        if ledger is None:
            # At count 1, writing the first ledger may have been interrupted, and nothing was sent.
            if written > 1 or states:
                raise StateError(f"the ledger is missing, so it is not known what was spent; {_WHAT_TO_DO}")
            return Ledger(folder_mark=folder.mark)
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
        accounts = self.accounts.items()
        return {
            "accounts": {name: {**asdict(one), "document": one.document.decode()} for name, one in accounts},
            "count": self.count,
            "place": self.folder_mark,
            "policy": None if self.policy is None else self.policy.limits(),
            "settled": self.settled,
            "time": self.time,
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> "Ledger":
        """The ledger of this JSON."""
        stored = content["policy"]
        accounts = [
            Account(**{**one, "document": one["document"].encode()}) for one in content["accounts"].values()
        ]
        return Ledger(
            {_identify(one.document): one for one in accounts},
            str(content["place"]),
            int(content["count"]),
            int(content["time"]),
            int(content["settled"]),
            None if stored is None else Policy.from_limits(stored),
        )

    def _with(self, account: Account) -> "Ledger":
        return replace(self, accounts={**self.accounts, _identify(account.document): account})


@contextlib.contextmanager
def opened_ledger(folder: Folder, now: float) -> Iterator[Ledger]:
    """Hold a folder and read its ledger; a copied folder is settled first."""
    if not math.isfinite(now):
        raise ValueError(f"now must be finite, in seconds since 1970, got {now}")
    with folder.locked():
        ledger = Ledger.read(folder)
        if ledger.folder_mark != folder.mark:
            ledger = _settle(folder, ledger, now)
        yield replace(ledger, time=max(ledger.time, int(now)))


def _settle(folder: Folder, ledger: Ledger, now: float) -> Ledger:
    """Settle a folder that was restored or copied: rounds that have begun are closed.

    They may have been answered, and reports that were about to be sent may have been sent.
    """
    if now < ledger.time:
        raise ClockBehind(
            "the folder was restored or copied, and the clock is behind the time when it was last written: it is "
            "not known which rounds have begun since; nothing is answered or changed until the clock is right"
        )
    for name, account in ledger.accounts.items():
        if account.life:
            ledger = ledger.marked(name, account.campaign.last_begun(now), tried=True)
    replace(ledger, time=int(now), settled=int(now)).write(folder)
    settled = Ledger.read(folder)
    if settled.folder_mark != folder.mark:
        raise StateError(
            f"{folder.path} is on a file system where a file that is opened again looks like another one "
            "(inode, time of writing), so the client cannot notice copies and answers nothing: "
            "move the folder to another file system"
        )
    import logging

    logging.getLogger(__name__).warning(
        "%s was restored or copied, or writing it was interrupted: it is not known what was answered since, so "
        "rounds that have begun are not answered, and reports that were about to be sent are dropped",
        folder.path,
    )
    return settled


def read_ledger(folder: Path) -> Ledger:
    """The ledger of a folder; an empty one if no client has used it yet. Nothing is made."""
    if not any((folder / name).exists() for name in ("lock", NAME)):
        return Ledger()
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened)


def store_policy(folder: Path, policy: Policy, *, clock: Clock = time.time) -> Policy | None:
    """Store a policy that may also allow more than the one before, which is returned. Pins are not stored.

    It limits what is joined from now on. What was spent stays spent, and campaigns that were joined go on.
    """
    opened = Folder(folder)
    with opened_ledger(opened, clock()) as ledger:
        replace(ledger, policy=policy).write(opened)
        return ledger.policy


def _identify(document: bytes) -> str:
    from untrackable.protocol.campaign import identify

    return identify(document)


@lru_cache(maxsize=64)
def _campaign(document: bytes) -> "Campaign":
    from untrackable.protocol.campaign import Campaign

    return Campaign.from_bytes(document)
