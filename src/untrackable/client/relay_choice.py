"""The relay through which a report goes: one that the person's policy names, and that is not the collector."""

from untrackable.client.http_post import Address, Post
from untrackable.client.policy import Policy
from untrackable.errors import CampaignRefused
from untrackable.protocol.campaign import Campaign


def through_relay(campaign: Campaign, policy: Policy | None, collector: Address) -> tuple[Address, Post]:
    """The address of the first relay that may be used, and how reports of a campaign are sent to it.

    `CampaignRefused` if there is none: a report that relies on a crowd is never sent directly.
    """
    from untrackable.client.sealed_post import SealedPost, relay_address

    if policy is None or campaign.gateway is None:
        raise CampaignRefused("this campaign relies on a crowd, and no policy names a relay: nothing is sent")
    policy.check_relayed(campaign)
    gateway, reasons = campaign.gateway, []

    def keys_from(round: int) -> list[bytes]:
        return [key.config for key in gateway.keys_from(round)]

    for relay in policy.relays:
        try:
            address = relay_address(relay, collector)
        except ValueError as error:
            reasons.append(f"{relay}: {error}")
        else:
            return address, SealedPost(campaign.id, keys_from, collector=collector)
    raise CampaignRefused(
        f"nothing is sent, because no relay of your policy can be used ({'; '.join(reasons)}). Name one that "
        "somebody else runs: `untrackable policy set --relay https://…`"
    )
