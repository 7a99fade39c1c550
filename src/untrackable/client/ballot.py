"""A person's ballot: it comes from the issuer before a campaign is joined, so before the turn is drawn.

So when it is fetched has nothing to do with the turn. The secret that makes the request is on disk before
anything is sent, and the same request is signed again. So a crash or a lost answer costs nobody their voice. Once
the campaign is joined, the secret is deleted, and nothing connects the request with the ballot any more.
"""

from collections.abc import Callable

from untrackable import strict_json
from untrackable.client.folder import Folder
from untrackable.client.state import SIZE, Ratchet
from untrackable.errors import BallotError, CampaignRefused
from untrackable.protocol.ballots import BallotRequest, CampaignBallots
from untrackable.randomizers.randomness import Entropy

Ask = Callable[[str, bytes], tuple[int | None, bytes]]
"""A function that sends JSON to an address, and returns the answer's status, or None, and its content."""

_REFUSALS = {
    400: "does not understand the request",
    403: "says that this does not entitle to a ballot: ask those who invite you for a code or a new link",
    404: "does not know this campaign's key",
    409: "says that a ballot was issued for this before, to another device or before storage was wiped",
    410: "issues no more ballots for this campaign",
}


def file_name(campaign: str) -> str:
    """The name of the file with the secret of a request."""
    return f"{campaign}.ballot"


def secret(folder: Folder, campaign: str, source: Entropy) -> bytes:
    """The secret of the request for a campaign: the one on disk, or a new one, which is on disk afterwards."""
    name = file_name(campaign)
    known = folder.read(name, "the request for a ballot", lambda content: bytes.fromhex(content["secret"]))
    if known is None:
        known = source(SIZE)
        folder.write(name, {"secret": known.hex()})
    return known


def fetched(ballots: CampaignBallots, campaign: str, secret: bytes, enrolment: str, ask: Ask) -> bytes:
    """The ballot from the issuer. `BallotError` if there is none now, `CampaignRefused` if there never is one."""
    request = BallotRequest.draw(ballots.key, campaign, Ratchet(secret, 0).entropy("ballot"))
    asked = {"blinded": request.to_issuer().hex(), "enrolment": enrolment}
    status, content = ask(f"{ballots.issuer.rstrip('/')}/ballots/{ballots.key.id}", strict_json.canonical(asked))
    if status in _REFUSALS:
        raise CampaignRefused(f"nothing was joined: the issuer of ballots {_REFUSALS[status]}")
    if status != 200:
        raise BallotError("nothing was joined, because the issuer of ballots gives no answer now; try again later")
    try:
        signed = bytes.fromhex(strict_json.parse(content)["signature"])
    except (KeyError, TypeError, ValueError):
        raise BallotError("nothing was joined, because the issuer's answer is not a signature") from None
    return request.ballot(signed)
