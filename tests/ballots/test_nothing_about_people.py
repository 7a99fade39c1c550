"""Nothing about whoever asks for a ballot is written down: every byte that the issuer wrote is searched."""

import http.client
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.ballots.samples import EXPIRES, request
from tests.cli.test_ballots import serving
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register

MARK, ADDRESS = "RECOGNISABLE", "127.0.0.77"
HEADERS = {
    "content-type": "application/json",
    "user-agent": f"{MARK}-agent/1.0",
    "cookie": f"{MARK}-cookie=1",
    "referer": f"https://{MARK.lower()}.example/page",
    "x-forwarded-for": "203.0.113.77",
}


def test_every_byte_that_the_issuer_wrote(tmp_path: Path) -> None:
    register = Register.make(tmp_path / "a.ballots", Entitled.CODES, EXPIRES)
    code, unused = register.new_codes(2)
    mine, other = request(register), request(register)
    with serving(tmp_path / "a.ballots") as issuer:  # It writes nothing to its standard error.
        for enrolment, blinded, status in (
            (code, mine.to_issuer().hex(), 200),
            (code, mine.to_issuer().hex(), 200),
            (code, other.to_issuer().hex(), 409),
            (f"{MARK}", other.to_issuer().hex(), 403),
            (unused, f"{MARK}", 400),
        ):
            netloc = urlsplit(issuer).netloc
            connection = http.client.HTTPConnection(netloc, timeout=30, source_address=(ADDRESS, 0))
            body = json.dumps({"blinded": blinded, "enrolment": enrolment})
            connection.request("POST", f"/ballots/{register.key.id}", body, HEADERS)
            answer = connection.getresponse()
            assert answer.status == status
            told = json.loads(answer.read())
            ballot = mine.ballot(bytes.fromhex(told["signature"])) if status == 200 else b""
            connection.close()
            packed = socket.inet_aton(ADDRESS)
            marks = [MARK.encode(), MARK.lower().encode(), ADDRESS.encode(), b"203.0.113", packed, packed[::-1]]
            marks += [code.encode(), code.replace("-", "").encode()]
            marks += [mine.to_issuer(), mine.to_issuer().hex().encode()]
            marks += [part for part in (ballot[:32], ballot[32:]) if part]
            written = b"\0".join(path.read_bytes() for path in tmp_path.iterdir())
            assert register.key.to_bytes() in written, "the search finds what is there"
            assert [mark for mark in marks if mark in written] == []
    register.close_file()
