"""The part of the browser's client for ballots: the same requests and ballots as in Python, byte by byte."""

import math
from pathlib import Path

import pytest

from tests.ballots.samples import CAMPAIGN
from tests.browser.built import ask, script
from tests.recorded_entropy import Recorded
from untrackable.ballots.signing import SigningKey
from untrackable.protocol.ballots import KEY, NUMBER, SALT, BallotKey, BallotRequest, is_valid
from untrackable.randomizers.randomness import system

ISSUERS = [SigningKey.new() for _ in range(3)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("browser"))


def task(key: BallotKey, entropy: bytes, *answers: bytes) -> dict[str, object]:
    return {
        "task": "ballot",
        "key": key.to_bytes().hex(),
        "campaign": CAMPAIGN,
        "entropy": entropy.hex(),
        "answers": [answer.hex() for answer in answers],
    }


def test_requests_and_ballots_are_those_of_python(program: Path) -> None:
    tasks, expected = [], []
    for number in range(9):
        issuer = ISSUERS[number % 3]
        # Some blindings are not below the modulus, or begin with zeros.
        rejected, blinding = b"\xff" * KEY * (number % 2), bytes(number % 4) + system(KEY - number % 4)
        entropy = system(NUMBER + SALT) + rejected + blinding + b"\x07" * KEY
        source = Recorded(entropy)
        request = BallotRequest.draw(issuer.public, CAMPAIGN, source)
        answer = issuer.sign(request.to_issuer())
        ballot = request.ballot(answer)
        assert is_valid(issuer.public, CAMPAIGN, ballot)
        tasks.append(task(issuer.public, entropy, answer))
        expected.append({"request": request.to_issuer().hex(), "used": source.used, "ballots": [ballot.hex()]})
    assert ask(program, tasks) == expected


def test_answers_that_are_no_signatures_are_refused(program: Path) -> None:
    issuer = ISSUERS[0]
    entropy = system(NUMBER + SALT) + b"\x07" * KEY
    right = issuer.sign(BallotRequest.draw(issuer.public, CAMPAIGN, Recorded(entropy)).to_issuer())
    wrong = [b"", right[1:], bytes(KEY), b"\xff" * KEY, right[:-1] + bytes([right[-1] ^ 1]), right + b"\x00"]
    (found,) = ask(program, [task(issuer.public, entropy, *wrong, right)])
    assert [set(each) for each in found["ballots"][:-1]] == [{"refused"}] * len(wrong)
    assert is_valid(issuer.public, CAMPAIGN, bytes.fromhex(found["ballots"][-1]))


def test_keys_with_a_small_factor_are_refused_as_in_python(program: Path) -> None:
    modulus = next(number for number in range((1 << 2047) + 1, 1 << 2048, 2) if math.gcd(number, 1155) == 1155)
    key, tasks = BallotKey(modulus), []
    expected: list[str | dict[str, str]] = []
    for _ in range(12):
        entropy = system(NUMBER + SALT) + b"".join(system(KEY) for _ in range(60))
        tasks.append(task(key, entropy))
        try:
            expected.append(BallotRequest.draw(key, CAMPAIGN, Recorded(entropy)).to_issuer().hex())
        except Exception as error:
            expected.append({"refused": str(error)})
    found = ask(program, tasks)
    assert [each if "refused" in each else each["request"] for each in found] == expected
