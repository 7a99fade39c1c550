"""A tool that counts lines and, if the person agrees, lets them answer how large their work is.

python count_lines.py FILE …       counts lines
python count_lines.py stats show   says what would be sent, and changes nothing
python count_lines.py stats on     agrees
python count_lines.py stats off    leaves: nothing is sent any more
"""

import os
import sys
from pathlib import Path

from untrackable import Campaign, Client, Policy, take_part

CAMPAIGN = Path(__file__).with_name("campaign.json").read_bytes()  # It ships with the program, which pins it.
SERVER = os.environ.get("COUNT_LINES_SERVER", "https://collect.example")
AGREED = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "count-lines" / "agreed"


def size(lines: int) -> str:
    """The answer to the campaign's question."""
    return "small" if lines < 1_000 else "medium" if lines < 100_000 else "large"


def person() -> Client:
    """The person, for what is seldom done. Ordinary runs do not load this."""
    asked = Campaign.from_bytes(CAMPAIGN)
    return Client(asked, None, Policy(pins=(asked.id,)))


def main(words: list[str]) -> None:
    """Do what the words say."""
    if words == ["stats", "show"]:
        print("\n".join(person().preview("small").words))
    elif words == ["stats", "on"]:
        AGREED.parent.mkdir(parents=True, exist_ok=True)
        AGREED.touch()
        print("Thank you. Leave with: count_lines.py stats off")
    elif words == ["stats", "off"]:
        AGREED.unlink(missing_ok=True)
        person().leave()
        print("You have left. Nothing is sent.")
    else:
        lines = sum(Path(name).read_bytes().count(b"\n") for name in words)
        print(lines)
        take_part(CAMPAIGN, SERVER, size(lines), enabled=AGREED.exists)


if __name__ == "__main__":
    main(sys.argv[1:])
