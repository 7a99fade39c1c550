"""The installed package: the same bytes as every other client, one private file, and what it refuses."""

import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.browser.built import SOURCES
from tests.browser.drawn_turns import key_of, moment_of, report_of
from tests.browser.people import Asking
from tests.browser.questions import BEGIN, FEATURES, HOUR, about, question
from tests.browser.test_vectors import read
from tests.node.conftest import PACKAGE
from tests.node.programs import PATIENCE, Asked, Installed, asked_of, environment
from untrackable.encodings.encoding import Bit, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Record
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Present
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]

BEFORE, JUST_BEFORE = BEGIN - HOUR - 100, BEGIN - 100


def raw_of(encoding: Encoding, value: int) -> Any:
    """An answer with this value."""
    match encoding:
        case Bit():
            return bool(value)
        case IntegerRange():
            return encoding.low + value - (encoding.below == "separate")
        case Buckets():
            return [*encoding.edges[:-1], encoding.edges[-1] + 1][value - (encoding.below == "separate")]
        case Choices():
            return [name for i, name in enumerate(encoding.names) if value >> i & 1]
        case Record():
            found, left = {}, value
            for name, part in dict(encoding.attributes).items():
                bits = (part.values - 1).bit_length()
                found[name], left = raw_of(part, left & ((1 << bits) - 1)), left >> bits
            return found
    return [*encoding.names, "something else"][value]  # type: ignore[attr-defined]


def test_the_vectors(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """From the same entropy to the same turn, moment and report, before and after the answer changes."""
    done = 0
    for i, case in enumerate(read("client/turns.json")):
        campaign = Campaign.from_bytes(case["campaign"].encode())
        if campaign.looks > 1 or campaign.gateway is not None or case["turn"] is None:
            continue
        asking.ask(campaign)
        raw = raw_of(campaign.encoding, case["value"])
        assert campaign.encoding.encode(raw) == case["value"]
        first, long = campaign.first_round, campaign.round_seconds
        due = moment_of(campaign, bytes.fromhex(case["key"]), case["turn"])
        bodies: list[tuple[list[Any], str]] = [([], case["body"])]
        with suppress(IndexError):  # Some numbers are nobody's answer.
            bodies.append(([raw_of(campaign.encoding, case["changed"]["value"])], case["changed"]["body"]))
        for j, (changes, body) in enumerate(bodies):
            asked = Asked(campaign, asking.server, tmp_path / f"{i}-{j}", {"eps": 99}, case["entropy"])
            steps = [(first - long - 1, "answer", raw), (first - 1, "answer", raw), (first - 1, "due")]
            steps += [(first - 1, "answer", each) for each in changes]
            steps += [(due - 1e-3, "report"), (due + 1e-3, "report"), (due + 1e-3, "report")]
            found = people.does(asked, *steps)
            assert found[:2] == ["not yet", "kept"]
            assert found[2] == pytest.approx(due, abs=1e-5)
            assert found[-3:] == [None, body, body]
            done += 1
    assert done >= 15


def test_somebody_answers_once(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """Before, in and after their turn; the collector counts one report, and only "done" is left."""
    campaign = question()
    key = key_of(campaign, 2)
    base = asked_of(asking, campaign, tmp_path / "mine")
    asked = Asked(base.campaign, base.server, base.folder, base.policy, "00" * 16 + key.hex())
    assert people.does(asked, (BEFORE, "answer", "page 3"), (BEFORE, "due")) == ["not yet", None]
    assert people.does(asked, (JUST_BEFORE, "answer", "page 3"), (JUST_BEFORE, "answer", "page 3")) == ["kept"] * 2
    due = moment_of(campaign, key, 2)
    assert people.does(base, (due - 1, "send"), (due - 1, "due"))[0] == "nothing"
    asking.clock.now = due + 1
    body = report_of(campaign, key, 2, 3, b"")
    assert people.does(base, (due + 1, "report")) == [body.hex()]
    assert people.does(base, (due + 1, "send"), (due + 1, "send")) == ["accepted", "nothing"]
    assert people.does(base, (due + 1, "answer", "page 4"), (due + 1, "due")) == ["done", None]
    assert asking.counted(campaign, 2) == 1
    (file,) = base.folder.iterdir()
    content = file.read_text(encoding="utf-8")
    assert json.loads(content.split("\n")[1]) == {
        "ledger": {
            "accounts": {campaign.id: {"eps": 2, "first": BEGIN, "end": campaign.ends, "done": True}},
            "policy": {"eps": 4, "delta": 0, "turns_a_year": 4, "relays": []},
        },
        "states": {},
    }


def test_files_are_private_and_few(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """One file at a time, and the same answer again changes nothing."""
    asked = asked_of(asking, question(), tmp_path / "a" / "b")
    people.does(asked, (BEFORE, "answer", "page 3"), (JUST_BEFORE, "answer", "page 3"))
    (file,) = asked.folder.iterdir()
    assert stat.S_IMODE(asked.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = (file, file.stat().st_ino, file.stat().st_mtime_ns)
    steps = [
        (JUST_BEFORE, "answer", "page 3"),
        (JUST_BEFORE, "due"),
        (JUST_BEFORE, "preview"),
        (JUST_BEFORE, "send"),
    ]
    assert people.does(asked, *steps)[0] == "kept"
    (file,) = asked.folder.iterdir()
    assert (file, file.stat().st_ino, file.stat().st_mtime_ns) == before
    assert people.does(asked, (JUST_BEFORE, "answer", "page 4"), (JUST_BEFORE, "leave")) == ["kept", None]
    (file,) = asked.folder.iterdir()
    assert "page" not in file.read_text(encoding="utf-8").replace(campaign_text(asked), "")


def campaign_text(asked: Asked) -> str:
    return json.dumps(asked.campaign.to_bytes().decode())[1:-1]


def test_folders_that_cannot_be_used(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """The words name the folder and say what to do, and nothing is answered."""
    step = (BEFORE, "answer", "page 3")
    asked = asked_of(asking, question(), tmp_path / "open")
    asked.folder.mkdir(mode=0o755)
    assert "must be for its owner alone: run chmod 700" in people.does(asked, step)[0]["refused"]
    assert list(asked.folder.iterdir()) == []
    asked.folder.chmod(0o700)
    assert people.does(asked, step) == ["not yet"]
    (file,) = asked.folder.iterdir()
    whole = file.read_bytes()
    for damaged in (whole[:-70], whole.replace(b"eps", b"epz"), b"", whole + b"\n"):
        file.write_bytes(damaged)
        assert "is damaged, so it is not known what was answered" in people.does(asked, step)[0]["refused"]
        assert file.read_bytes() == damaged
    file.write_bytes(whole)
    assert people.does(asked, step) == ["not yet"]
    beside = tmp_path / "file"
    beside.write_text("", encoding="utf-8")
    inside = Asked(asked.campaign, asked.server, beside / "mine", asked.policy)
    assert "cannot be used (ENOTDIR), so nothing is answered" in people.does(inside, step)[0]["refused"]
    process = people.started("--input-type=module", "-e", NO_FOLDER)
    assert process.communicate(timeout=60)[0] == "folder must be the path of a folder for this person's data\n"


NO_FOLDER = """import { Client } from "untrackable-node";
try { new Client({ server: "https://x.example", campaign: "0".repeat(64), policy: { eps: 1 } }) }
catch (error) { console.log(error.message) }"""


FULL = """import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
const open = fs.open;
let left = Number(process.env.ROOM);
fs.open = async (...given) => {
    const handle = await open(...given), write = handle.writeFile.bind(handle);
    handle.writeFile = async text => {
        if (left-- > 0) return write(text);
        await write(text.slice(0, 9));
        throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    return handle;
};
syncBuiltinESMExports();
"""


@pytest.mark.parametrize("room", range(2))
def test_a_full_disk(people: Installed, asking: Asking, tmp_path: Path, room: int) -> None:
    """Neither a lock nor half a file is left, and once there is room, all goes on at once."""
    asked = asked_of(asking, question(), tmp_path / "mine")
    assert people.does(asked, (BEFORE, "answer", "page 3")) == ["not yet"]
    (file,) = asked.folder.iterdir()
    whole = file.read_bytes()
    (people.path / "full.mjs").write_text(FULL, encoding="utf-8")
    env = environment(NODE_OPTIONS=f"--import={(people.path / 'full.mjs').as_uri()}", ROOM=str(room))
    (found,) = people.does(asked, (JUST_BEFORE, "answer", "page 3"), env=env)
    assert "cannot be used (ENOSPC), so nothing is answered" in found["refused"]
    assert list(asked.folder.iterdir()) == [file]
    assert file.read_bytes() == whole
    assert people.does(asked, (JUST_BEFORE, "answer", "page 3")) == ["kept"]


def test_types_are_those_of_a_program(people: Installed) -> None:
    """A program in TypeScript compiles, and one that is wrong does not."""
    compiler = str(SOURCES / "node_modules" / "typescript" / "bin" / "tsc")
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"]
    for eps, wrong in (("1", False), ("'one'", True)):
        (people.path / "typed.ts").write_text(TYPED.replace("EPS", eps), encoding="utf-8")
        process = people.started(compiler, *options, "--types", "", "typed.ts")
        said, _ = process.communicate(timeout=PATIENCE)
        assert bool(process.returncode) == wrong, said
        assert ("is not assignable to type 'number'" in said) == wrong


TYPED = """import { allow, Client, folderOf, type Outcome, type Preview, Refused } from "untrackable-node";
import { sendInBackground, used } from "untrackable-node";
const policy = { eps: EPS };
const options = { server: "", campaign: "", policy, folder: folderOf("x"), consent: async () => true };
const client = new Client(options);
const look: Preview | null = await client.preview("a");
const outcome: Outcome = await client.send();
await client.answer(used);
await allow({ eps: 2 }, { folder: options.folder });
const begun: boolean = await sendInBackground(options);
export { begun, look, outcome, Refused };
"""


@pytest.mark.parametrize(
    "signal", [{"DO_NOT_TRACK": "1"}, {"DO_NOT_TRACK": "true"}, {"CI": "true"}, {"CI": "1"}, {"CI": "woodpecker"}]
)
def test_people_who_do_not_want_to_be_tracked(
    people: Installed, asking: Asking, tmp_path: Path, signal: dict[str, str]
) -> None:
    """And machines without a person: nothing is stored, no socket is made, whatever was agreed before."""
    asked = asked_of(asking, question(), tmp_path / "mine")
    env = environment(**signal) | {"NODE_OPTIONS": f"--import={(people.path / 'no-sockets.mjs').as_uri()}"}
    (people.path / "no-sockets.mjs").write_text(NO_SOCKETS, encoding="utf-8")
    calls: list[Any] = [
        (BEFORE, "answer", "page 3"),
        (BEFORE, "answer", "used!"),
        (BEFORE, "send"),
        (BEFORE, "due"),
    ]
    calls += [(BEFORE, "report"), (BEFORE, "preview", "page 3"), (BEFORE, "run"), (BEFORE, "allow", {"eps": 9})]
    nothing = ["no consent", "no consent", "no consent", None, None, None, None, None]
    assert people.does(asked, *calls, env=env) == nothing
    assert not asked.folder.exists()
    people.does(asked, (BEFORE, "answer", "page 3"), (JUST_BEFORE, "answer", "page 3"))
    (file,) = asked.folder.iterdir()
    whole = file.read_bytes()
    assert people.does(asked, *((BEGIN + 4 * HOUR, *call[1:]) for call in calls), env=env) == nothing
    assert list(asked.folder.iterdir()) == [file]
    assert file.read_bytes() == whole


def test_sockets_are_noticed(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """What the test before relies on: without the signal, the first call makes one. `0` is no signal."""
    asked = asked_of(asking, question(), tmp_path / "mine")
    (people.path / "no-sockets.mjs").write_text(NO_SOCKETS, encoding="utf-8")
    env = environment(DO_NOT_TRACK="0", CI="false")
    assert people.does(asked, (BEFORE, "answer", "page 3"), env=env) == ["not yet"]
    env |= {"NODE_OPTIONS": f"--import={(people.path / 'no-sockets.mjs').as_uri()}"}
    other = asked_of(asking, question(question="Another?"), tmp_path / "other")
    process = people.started("driver.mjs", env=env)
    assert "a socket was made" in process.communicate(other.task((BEFORE, "answer", "page 3")), timeout=60)[1]


NO_SOCKETS = """import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import os from "node:os";
const refuse = () => { console.error("a socket was made"); process.exit(9) };
net.Socket.prototype.connect = refuse;
dns.lookup = refuse;
os.networkInterfaces = refuse; // It asks the kernel through a socket.
syncBuiltinESMExports();
"""


def test_uses_and_parts_of_a_value(people: Installed, asking: Asking, tmp_path: Path) -> None:
    """Without chunks, as there is one file."""
    for i, (campaign, answer) in enumerate(
        [
            (question(Present(), Presence()), "used!"),
            (question(about(FEATURES, 1.0), FEATURES), ["search"]),
            (question(NoisyInnerProduct(bits=5, eps=2.0), IntegerRange(low=0, high=28)), "used!"),
        ]
    ):
        asked = asked_of(asking, campaign, tmp_path / str(i))
        steps = [(BEFORE, "answer", answer), (JUST_BEFORE, "answer", answer), (JUST_BEFORE, "preview", answer)]
        first, second, look = people.does(asked, *steps)
        assert (first, second) == ("not yet", "kept")
        assert look["question"] == campaign.question


def test_it_has_no_dependency_and_few_files(people: Installed) -> None:
    described = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "devDependencies", "peerDependencies"} & described.keys()
    package = people.path / "node_modules" / "untrackable-node"
    assert {path.name for path in package.iterdir()} == {"dist", "package.json", "README.md"}
    assert {path.name for path in (package / "dist").iterdir()} == {"untrackable.js", "send.js", "types"}
    assert (package / described["exports"]["."]["types"]).is_file()
    assert sum(path.stat().st_size for path in package.rglob("*.js")) < 200_000
    assert [path.name for path in (people.path / "node_modules").iterdir() if path.is_dir()] == ["untrackable-node"]
