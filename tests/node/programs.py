"""Processes of Node.js that use the installed package."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.browser.people import Asking
from untrackable.protocol.campaign import Campaign

PATIENCE = 120.0
"""How many seconds a process may take on a busy machine."""


def environment(**more: str) -> dict[str, str]:
    """The environment of a person, for whom no machine decides. Node.js 18 tries one address of localhost only."""
    own = {name: value for name, value in os.environ.items() if name not in ("CI", "DO_NOT_TRACK")}
    return own | {"NODE_OPTIONS": "--dns-result-order=ipv4first"} | more


@dataclass
class Installed:
    """A folder in which the package is installed."""

    path: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def started(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A process of Node.js."""
        node = shutil.which("node")
        assert node, "there is no Node.js; make test installs it"
        made = subprocess.Popen(  # noqa: S603
            [node, *arguments],
            cwd=self.path,
            env=environment() if env is None else env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(made)
        return made

    def does(self, asked: "Asked", *steps: Any, env: dict[str, str] | None = None) -> list[Any]:
        """What each step of a process finds."""
        return found(self.started("driver.mjs", env=env), asked, *steps)

    def stop(self) -> None:
        """End all processes that still run."""
        for each in self.running:
            each.kill()
            each.communicate()
        self.running.clear()


@dataclass(frozen=True)
class Asked:
    """A campaign that is asked of the person of a folder."""

    campaign: Campaign
    server: str
    folder: Path
    policy: dict[str, Any] = field(default_factory=lambda: {"eps": 4})
    entropy: str = ""
    enrolment: str = ""

    def task(self, *steps: Any) -> str:
        """The document for the driver."""
        options = {
            "server": self.server,
            "campaign": self.campaign.id,
            "folder": str(self.folder),
            "policy": self.policy,
            "enrolment": self.enrolment,
        }
        return json.dumps({"options": options, "entropy": self.entropy, "steps": steps}) + "\n"


def found(process: subprocess.Popen[str], asked: Asked, *steps: Any) -> list[Any]:
    """What a process that was started finds in each step."""
    said, complaints = process.communicate(asked.task(*steps), timeout=PATIENCE)
    assert process.returncode == 0, complaints
    return [json.loads(line) for line in said.splitlines()]


def asked_of(asking: Asking, campaign: Campaign, folder: Path, **policy: Any) -> Asked:
    """A campaign of the running collector, asked of the person of this folder."""
    return Asked(asking.ask(campaign), asking.server, folder, {"eps": 4, **policy})
