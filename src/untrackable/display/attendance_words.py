"""How often people answer a campaign, and what that alone reveals, in plain words."""

from untrackable.display.percentages import percent
from untrackable.protocol.campaign import Campaign
from untrackable.theory.attendance import AMONG
from untrackable.theory.turns import recognition_upper

EVERY_ROUND = (
    "People answer every round, so nobody is seen at two places in one round. An observer who waits long enough "
    "recognises them by that alone."
)


def attendance_words(campaign: Campaign) -> list[str]:
    """How often people answer, and how well an observer of two places recognises them by that."""
    turns = campaign.turns
    if turns is None:
        return [EVERY_ROUND]
    often = "once" if turns.share == 1 else f"once with probability {turns.share}, and else never"
    sent = f"Each person answers {often}, in one of {turns.rounds:,} rounds that their device draws in secret."
    if campaign.looks > 1:
        sent += (
            f" The device keeps the answers in the {campaign.looks} looks of that round and sends them in one "
            "report at its end. The report says that they are one person's; what is promised is for all of them."
        )
    return [
        f"{sent} In all other rounds nothing is sent.",
        f"An observer of two places recognises a person among {AMONG:,} with probability at most "
        f"{percent(recognition_upper(AMONG), 'up')} (upper; guessing: {percent(1 / AMONG)}), however people move, "
        "unless more is known of this person than of the others.",
    ]
