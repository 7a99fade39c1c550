"""Numbers in documents: where each comes from, and whether it is right.

The origins of the numbers of `docs/turns.md` are in `docs/numbers/turns.txt`, below the headings of the page:

    ## What a round tells
        noise = variance(eps=4)
    ±0.0398 >= error_upper(noise)
    published: 4.39 = Erlingsson, Pihur, Korolova 2014
    given: 0.5, 10 %

The first of these lines is a computed number: right of the sign is Python, with the names of all blocks of
Python on the page up to the end of this section, and of the indented Python in the file; `printed("off by")` is
the number behind these words in the output of a command that the page shows. All digits of the page are
compared: `=` rounds to the nearest, `>=` rounds up, as an upper bound needs it, and `<=` rounds down. Whole
numbers must be equal; `float` rounds them. Several numbers at once are a sequence, and text is compared letter
by letter. Published numbers name their source. Given are inputs of an example, versions, and what a format
defines.
"""

import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path

from tests import documented_output
from untrackable.brackets import Bracket

FOLDER = Path(__file__).parent.parent / "docs" / "numbers"
_BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"|^(?P<heading>#{1,6} [^\n]*)"
    r"|(?P<text>(?:^(?!```| *<!--|#{1,6} )[^\n]*\S[^\n]*\n?)+)",
    re.M | re.S,
)
_SIGNIFICANT = Context(prec=12)
"""More digits than any document shows, and fewer than floating point gets right."""
_POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_UNITS = {
    "%": Decimal("0.01"),
    "KiB": Decimal(2**10),
    "MiB": Decimal(2**20),
    "GiB": Decimal(2**30),
    "KB": Decimal(10**3),
    "MB": Decimal(10**6),
    "GB": Decimal(10**9),
    "million": Decimal(10**6),
    "billion": Decimal(10**9),
}
"""A value is divided by this before it is compared with a number that has this unit."""
_NUMBER = re.compile(
    r"(?<![\w.,^])(?<!\^−)(?<![A-Za-z]-)(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"(?:e(?P<exponent>[-+]?\d+)|·10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
    rf"(?:\s?(?P<unit>{'|'.join(_UNITS)})(?!\w))?(?![\w^⁻]|[.,]\d)"
)
_NAMED = re.compile(r"`[^`]*`|\]\([^)]*\)|\b(?:Python|TLS|[Vv]ersion|section) \(?\d+\.\d+(?: and \d+\.\d+)?")
"""Code, addresses and versions, whose numbers are names."""
_BEFORE_RESULT = re.compile(r"[±×]\s?$")
_AFTER_RESULT = re.compile(r"\s?×|\s(?:times|bytes|minutes|seconds|s|ms|µs|ns)\b")
_SIDES = {"=": (ROUND_HALF_UP, ROUND_HALF_DOWN), ">=": (ROUND_CEILING,), "<=": (ROUND_FLOOR,)}


class NumberError(AssertionError):
    """A document shows a number that is wrong, or whose origin is not stated."""


@dataclass(frozen=True)
class Number:
    """A number as it is written: its digits, and its unit."""

    value: Decimal
    unit: str | None

    @classmethod
    def of(cls, match: re.Match[str]) -> "Number":
        """The number of one match of the pattern."""
        power = match["exponent"] or (match["power"] or "0").translate(_POWERS)
        return cls(Decimal(match["digits"].replace(",", "")).scaleb(int(power)), match["unit"])

    @property
    def in_ones(self) -> Decimal:
        """The number with its unit multiplied in."""
        return self.value * _UNITS.get(self.unit or "", 1)

    def places(self) -> range:
        """The powers of ten that it may be rounded to. Zeros at the end of a whole number need not count."""
        _, digits, last = self.value.as_tuple()
        if not isinstance(last, int):
            raise TypeError(f"{self.value} is not finite")
        zeros = len(digits) - max(len("".join(map(str, digits)).rstrip("0")), 2)
        return range(last, last + 1 + (max(zeros, 0) if last >= 0 else 0))

    def agrees(self, value: Decimal, roundings: Sequence[str]) -> bool:
        """Whether a value, rounded in one of these ways, is what is written."""
        exact = _SIGNIFICANT.plus(value / _UNITS.get(self.unit or "", 1))
        return any(
            exact.quantize(Decimal(1).scaleb(place), rounding=rounding) == self.value
            for place in self.places()
            for rounding in roundings
        )


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text, in their order; those in words, up to twelve, if there are no others."""
    numbers = [Number.of(match) for match in _NUMBER.finditer(text)]
    return numbers or [Number(Decimal(_WORDS.index(word)), None) for word in text.lower().split() if word in _WORDS]


@dataclass(frozen=True)
class Origin:
    """A line of the file of numbers: what the page shows, and where that comes from."""

    shown: str
    relation: str
    source: str
    kind: str
    line: int

    def check(self, value: object) -> None:
        """Refuse a value that is not what is shown."""
        if isinstance(value, str):
            right = value == self.shown
        else:
            numbers = numbers_in(self.shown)
            values = list(value) if isinstance(value, Sequence) else [value]
            right = len(numbers) == len(values) > 0 and all(
                self._right(number, one) for number, one in zip(numbers, values, strict=True)
            )
        if not right:
            raise NumberError(f"line {self.line}: {self.shown!r} is shown, and {self.source} is {value}")

    def _right(self, number: Number, value: object) -> bool:
        if isinstance(value, Bracket):
            ends = {"=": (value.lower, value.upper), ">=": (value.upper,), "<=": (value.lower,)}[self.relation]
            return all(self._right(number, end) for end in ends)
        if isinstance(value, int):
            return number.in_ones == value
        if isinstance(value, Fraction):
            return number.agrees(Decimal(value.numerator) / value.denominator, _SIDES[self.relation])
        return number.agrees(Decimal(repr(float(value))), _SIDES[self.relation])  # type: ignore[arg-type]


@dataclass(frozen=True)
class Block:
    """A paragraph, a list, a table or some code."""

    text: str
    language: str | None
    line: int

    @property
    def is_code(self) -> bool:
        """Whether it is for machines: between fences, or indented."""
        return self.language is not None or all(line.startswith("    ") for line in self.text.splitlines())

    @property
    def code(self) -> str:
        """Code without its comments."""
        return re.sub(r"#.*", "", self.text) if self.language == "python" else self.text

    @property
    def prose(self) -> str:
        """What is written for people: text, or what the comments of code explain."""
        if self.language != "python":
            return "" if self.is_code else self.text
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
        return "\n".join(comment.partition(documented_output.SEPARATOR)[2] or comment for comment in comments)


@dataclass(frozen=True)
class Section:
    """A part of a page, up to the next heading, with the origins of its numbers."""

    heading: str
    blocks: list[Block] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    """Python that the origins need and readers do not see."""

    def check_shown(self) -> None:
        """Refuse an origin of a number that this section does not show."""
        text = " ".join(" ".join(block.prose for block in self.blocks).split())
        for origin in self.origins:
            shown = re.escape(" ".join(origin.shown.split()))
            if not re.search(rf"(?<![\d.,]){shown}(?![\d]|[.,]\d)", text):
                raise NumberError(f"line {origin.line}: {origin.shown!r} is not below {self.heading!r}")


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in their order."""
    return [block for section in _sections(page) for block in section.blocks]


def _sections(page: str) -> list[Section]:
    sections = [Section("")]
    for match in _BLOCK.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        if match["heading"]:
            sections.append(Section(match["heading"].strip()))
        sections[-1].blocks.append(
            Block(match["code"] or match["text"] or match["heading"] or "", match["language"], line)
        )
    return sections


def sections(page: str, numbers: str) -> list[Section]:
    """The sections of a page, with the origins that its file of numbers has for them, in the same order."""
    all_sections = _sections(page)
    ahead = iter(all_sections)
    section = next(ahead)
    for number, row in enumerate(numbers.splitlines(), start=1):
        if row.startswith("#"):
            section = next((one for one in ahead if one.heading == row), Section(""))
            if not section.heading:
                raise NumberError(f"line {number}: the page has no heading {row!r} here")
        elif not row or row.startswith("    "):
            section.hidden.append(row)
        else:
            section.origins.extend(_origins(row, number))
    return all_sections


def _origins(row: str, line: int) -> Iterator[Origin]:
    kind, colon, rest = row.partition(": ")
    if kind == "given":
        yield from (Origin(shown.strip(), "=", "", kind, line) for shown in re.split(r",\s", rest))
        return
    if kind != "published" or not colon:
        kind, rest = "computed", row
    match = re.match(r"(.*?) (=|>=|<=) (.*)", rest)
    if match is None:
        raise NumberError(f"line {line}: {row!r} does not say what is shown, and where it comes from")
    yield Origin(match[1].strip(), match[2], match[3], kind, line)


def check_page(page: str, numbers: str = "") -> None:
    """Run the Python of a page, and compare what it prints and computes with what the page says."""
    names: dict[str, object] = {"printed": partial(_printed, page)}
    for section in sections(page, numbers):
        section.check_shown()
        for block in section.blocks:
            if block.language == "python":
                names |= documented_output.run(block.text)
        exec(textwrap.dedent("\n".join(section.hidden)), names)  # noqa: S102
        for origin in section.origins:
            if origin.kind == "computed":
                origin.check(eval(origin.source, names))  # noqa: S307


def _printed(page: str, words: str) -> float:
    """The first number behind these words, in what the page shows as the output of commands."""
    for _, shown in documented_output.shown_outputs(page):
        _, there, behind = " ".join(shown.split()).partition(words)
        if there:
            return float(numbers_in(behind)[0].in_ones)
    raise NumberError(f"no command is shown to print {words!r}")


def unexplained(page: str, numbers: str = "") -> list[str]:
    """Numbers of a page that look like results, and whose origin is not stated for their section.

    Numbers that a block of the page prints may be repeated, and so may numbers of its code that are not whole.
    """
    code = "\n".join(block.code for block in blocks(page) if block.is_code)
    known = {number.in_ones for number in numbers_in(code) if number.value % 1}
    known |= {number.in_ones for output in _outputs(page) for number in numbers_in(output)}
    return [
        f"line {block.line}: {result[0]}"
        for section in sections(page, numbers)
        for block in section.blocks
        for result in _results(_NAMED.sub("", block.prose))
        if Number.of(result).in_ones not in known | _explained(section)
    ]


def _explained(section: Section) -> set[Decimal]:
    return {number.in_ones for origin in section.origins for number in numbers_in(origin.shown)}


def _results(text: str) -> Iterator[re.Match[str]]:
    """Numbers that look like results: with a point, a power of ten or a unit, or with a sign before or behind."""
    for match in _NUMBER.finditer(text):
        measured = match["unit"] not in (None, "million", "billion")
        signed = _BEFORE_RESULT.search(text, 0, match.start()) or _AFTER_RESULT.match(text, match.end())
        if "." in match["digits"] or match["exponent"] or match["power"] or measured or signed:
            yield match


def _outputs(page: str) -> Iterator[str]:
    """All outputs that a page states, which are compared elsewhere."""
    for block in blocks(page):
        if block.language == "python":
            said = documented_output.claims(block.text).values()
            yield from (claim.split(documented_output.SEPARATOR)[0] for claim in said)
    yield from (shown for _, shown in documented_output.shown_outputs(page))


def numbers_of(page: Path) -> str:
    """The file of numbers of a page, if it has one."""
    path = FOLDER / f"{page.stem}.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""
