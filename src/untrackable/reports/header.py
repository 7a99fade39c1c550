"""The header of a file, which says how its reports were made, and the footer, with count and checksum."""

import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.errors import EncodingError, MechanismError, ReportFileError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.registry import from_json as mechanism_from_json
from untrackable.reports.storage_layout import StoredReports, runs
from untrackable.theory.turns import Turns

VERSION = 1
LARGEST_HEADER = 1 << 23
"""The most characters of a header. Of all encodings, a list of names takes the most."""
_TURNS = "turns"
_TOO_LARGE = f"the description of its mechanism and encoding has more than {LARGEST_HEADER:,} characters"
_FOOTER = re.compile(r"reports=(\d{20}) crc32=([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Header:
    """How the reports of a file were made: the mechanism, and the encoding if there is one.

    With `turns`, each person answered once, in one of so many rounds, if at all. Without, everybody answered every
    round, or the file does not say.
    """

    mechanism: Mechanism
    encoding: Encoding | None = None
    turns: Turns | None = None

    def text(self) -> str:
        """The header as JSON on one line."""
        described = None if self.encoding is None else self.encoding.to_json()
        content = {"version": VERSION, "mechanism": self.mechanism.to_json(), "encoding": described}
        if self.turns is not None:
            content[_TURNS] = {"rounds": self.turns.rounds, "share": str(self.turns.share)}
        text = strict_json.write(content, compact=True, ascii=True)
        if len(text) > LARGEST_HEADER:
            raise ReportFileError(_TOO_LARGE)
        return text

    @staticmethod
    def read(text: str) -> "Header":
        """The header of this JSON. `ReportFileError` if `text` would not have written it."""
        if len(text) > LARGEST_HEADER:
            raise ReportFileError(_TOO_LARGE)
        try:
            content = strict_json.parse(text)
        except ValueError:
            raise ReportFileError("the description of its mechanism is not JSON") from None
        if not isinstance(content, dict) or {*content} - {_TURNS} != {"version", "mechanism", "encoding"}:
            raise ReportFileError("the description must have version, mechanism and encoding")
        if type(content["version"]) is not int or content["version"] != VERSION:
            raise ReportFileError(f"the version of its description must be {VERSION}")
        try:
            mechanism = mechanism_from_json(content["mechanism"])
            encoding = None if content["encoding"] is None else encoding_from_json(content["encoding"])
        except (MechanismError, EncodingError) as error:
            raise ReportFileError(f"the description of its mechanism is wrong: {error}") from None
        return Header(mechanism, encoding, _turns(content))


def _turns(content: dict[str, Any]) -> Turns | None:
    """The turns that a header says, if it says any."""
    if _TURNS not in content:
        return None
    given = content[_TURNS]
    if not isinstance(given, dict) or set(given) != {"rounds", "share"}:
        raise ReportFileError("the description of its mechanism is wrong: turns must have rounds and share")
    try:
        found = Turns(**given)
    except (TypeError, ValueError) as error:
        raise ReportFileError(f"the description of its mechanism is wrong: {error}") from None
    if str(found.share) != given["share"]:
        raise ReportFileError("the description of its mechanism is wrong: share must be like 1/6")
    return found


class Footer:
    """Counts reports and keeps a checksum of header, rounds and reports. The size of pieces does not matter."""

    def __init__(self, header: str) -> None:
        self.count = 0
        self._reports = zlib.crc32(header.encode())
        self._rounds = 0
        self._run = (0, 0)

    def add(self, rounds: NDArray[np.int64], reports: StoredReports) -> None:
        """Add the next reports, with the round of each."""
        self.count += len(reports)
        self._reports = zlib.crc32(np.ascontiguousarray(reports).data, self._reports)
        for round, start, end in runs(rounds):
            if round != self._run[0]:
                self._rounds = self._after_run()
                self._run = (round, 0)
            self._run = (round, self._run[1] + end - start)

    def text(self) -> str:
        """The footer for everything that was added so far. It always has the same length."""
        both = zlib.crc32(self._after_run().to_bytes(4, "big"), self._reports)
        return f"reports={self.count:020d} crc32={both:08x}"

    def _after_run(self) -> int:
        """The checksum of the rounds, if the present run of equal rounds ended now."""
        return (
            zlib.crc32(np.array(self._run, dtype="<i8").tobytes(), self._rounds) if self._run[1] else self._rounds
        )

    def confirm(self, said: str | None) -> None:
        """Check the footer of the file."""
        if (count := sealed_count(said)) != self.count:
            raise ReportFileError(f"it holds {self.count} reports where it says {count}")
        if said != self.text():
            raise ReportFileError("its checksum does not match: something in it was changed or damaged")


def sealed_count(footer: str | None) -> int:
    """The number of reports that the footer of a file says."""
    found = _FOOTER.fullmatch(footer or "")
    if not found:
        raise ReportFileError("its checksum is missing or damaged, so the file is not complete")
    return int(found[1])


def agreed(name: str, said: Any, given: Any) -> Any:
    """The parameter in the file or the one given. The two must not contradict each other."""
    if said is not None and given is not None and said != given:
        told, other = repr(said), repr(given)
        if isinstance(said, Turns):
            told, other = (f"of {each.rounds} rounds and share {each.share}" for each in (said, given))
            other = f"those {other}"
        raise ReportFileError(
            f"its reports were made with the {name} {told}, not with {other}, as given or as other files say"
        )
    return given if said is None else said
