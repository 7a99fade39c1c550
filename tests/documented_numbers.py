"""Numbers in the text of documents: where each comes from, and whether it is right.

Comments that readers do not see follow a paragraph, a list, a table or a block of Python, and say where its numbers
come from, one on each line:

    <!-- computed: ±0.0398 >= best.error_upper -->
    <!-- published: 4.39 = Erlingsson, Pihur, Korolova 2014 -->
    <!-- given: 0.5, 10 % -->

A computed number is Python, evaluated with the names of all blocks of Python above it on the page, and of what the
page has in `<!-- computed with: … -->`; `printed("off by")` is the number behind these words in the output of a
command that the page shows. It is compared in all digits that are shown: `=` rounds to the nearest, `>=` rounds
up, as an upper bound needs it, and `<=` rounds down. Whole numbers must be equal; `float` rounds them. Several
numbers at once are a sequence, and text is compared letter by letter. Published numbers name their source. Given
are inputs of an example, versions, and what a format defines.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import partial

from tests import documented_output
from untrackable.brackets import Bracket

_BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"|^ *<!-- *(?P<kind>[\w ]+?)(?:: *(?P<comment>.*?))? *-->"
    r"|(?P<text>(?:^(?!```| *<!--)[^\n]*\S[^\n]*\n?)+)",
    re.M | re.S,
)
HIDDEN = "hidden"
"""The language of Python that readers do not see."""
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
"""What a value is divided by before it is compared with a number that has this unit."""
_NUMBER = re.compile(
    r"(?<![\w.,^])(?<!\^−)(?<![A-Za-z]-)(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"(?:e(?P<exponent>[-+]?\d+)|·10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
    rf"(?:\s?(?P<unit>{'|'.join(_UNITS)})(?!\w))?(?![\w^⁻]|[.,]\d)"
)
_NAMED = re.compile(r"`[^`]*`|\]\([^)]*\)|\b(?:Python|TLS|[Vv]ersion|section) \(?\d+\.\d+(?: and \d+\.\d+)?")
"""Code, addresses and versions, whose numbers are names."""
_BEFORE_RESULT, _AFTER_RESULT = (
    re.compile(r"[±×]\s?$"),
    re.compile(r"\s?×|\s(?:times|bytes|minutes|seconds|s|ms|µs|ns)\b"),
)


class NumberError(AssertionError):
    """A document shows a number that is wrong, or whose origin it does not say."""


@dataclass(frozen=True)
class Number:
    """A number as it is written: its digits, and its unit."""

    value: Decimal
    unit: str | None

    @classmethod
    def of(cls, found: re.Match[str]) -> "Number":
        """The number that was found in a text."""
        power = found["exponent"] or (found["power"] or "0").translate(_POWERS)
        return cls(Decimal(found["digits"].replace(",", "")).scaleb(int(power)), found["unit"])

    @property
    def in_ones(self) -> Decimal:
        """What it stands for, its unit included."""
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


_SIDES = {"=": (ROUND_HALF_UP, ROUND_HALF_DOWN), ">=": (ROUND_CEILING,), "<=": (ROUND_FLOOR,)}


@dataclass(frozen=True)
class Claim:
    """What a comment says about a number of the text above it."""

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


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text, in their order; those in words, up to twelve, if there are no others."""
    found = [Number.of(one) for one in _NUMBER.finditer(text)]
    return found or [Number(Decimal(_WORDS.index(word)), None) for word in text.lower().split() if word in _WORDS]


@dataclass(frozen=True)
class Block:
    """A paragraph, a list, a table or some code, and what the comments below it say."""

    text: str
    language: str | None
    line: int
    claims: list[Claim]


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in their order. What a page computes with is Python that readers do not see."""
    found: list[Block] = []
    for one in _BLOCK.finditer(page):
        line = page.count("\n", 0, one.start()) + 1
        if one["kind"] == "computed with":
            found.append(Block(one["comment"], HIDDEN, line, []))
        elif one["kind"] in ("computed", "published", "given"):
            above = [block for block in found if block.language != HIDDEN]
            if not above:
                raise NumberError(f"line {line}: there is no text above this comment")
            above[-1].claims.extend(_claims(one["kind"], one["comment"] or "", line))
        elif one["kind"] is None:
            found.append(Block(one["code"] or one["text"] or "", one["language"], line, []))
    return found


def _claims(kind: str, comment: str, line: int) -> Iterator[Claim]:
    for row in comment.strip().splitlines():
        if kind == "given":
            yield from (Claim(shown.strip(), "=", "", kind, line) for shown in re.split(r",\s", row))
            continue
        found = re.match(r"(.*?) (=|>=|<=) (.*)", row.strip())
        if found is None:
            raise NumberError(f"line {line}: {row.strip()!r} does not say what is shown, and where it comes from")
        yield Claim(found[1].strip(), found[2], found[3], kind, line)


def check_page(page: str) -> None:
    """Run the Python of a page, and compare what it prints and computes with what the page says."""
    names: dict[str, object] = {"printed": partial(_printed, page)}
    found = blocks(page)
    for block in found:
        for claim in block.claims:
            _check_shown(claim, block.text)
    claims = [claim for block in found for claim in block.claims if claim.kind == "computed"]
    steps: list[Block | Claim] = [*found, *claims]
    for step in sorted(steps, key=lambda step: step.line):
        if isinstance(step, Claim):
            step.check(eval(step.source, names))  # noqa: S307
        elif step.language == HIDDEN:
            exec(step.text, names)  # noqa: S102
        elif step.language == "python":
            names |= documented_output.run(step.text)


def _printed(page: str, words: str) -> float:
    """The first number behind these words, in what the page shows as the output of commands."""
    for _, shown in documented_output.shown_outputs(page):
        _, found, behind = " ".join(shown.split()).partition(words)
        if found:
            return float(numbers_in(behind)[0].in_ones)
    raise NumberError(f"no command is shown to print {words!r}")


def _check_shown(claim: Claim, text: str) -> None:
    shown = re.escape(" ".join(claim.shown.split()))
    if not re.search(rf"(?<![\d.,]){shown}(?![\d]|[.,]\d)", " ".join(text.split())):
        raise NumberError(f"line {claim.line}: {claim.shown!r} is not in the text above")


def unexplained(page: str) -> list[str]:
    """Numbers of a page that look like results, and of which nothing says where they come from.

    Numbers that a block of the page prints may be repeated, and so may numbers of its code that are not whole.
    """
    found = blocks(page)
    code = "\n".join(_code(block) for block in found if _is_code(block) and block.language != HIDDEN)
    known = {number.in_ones for number in numbers_in(code) if number.value % 1}
    known |= {number.in_ones for output in _outputs(page) for number in numbers_in(output)}
    return [
        f"line {block.line}: {result[0]}"
        for block in found
        for result in _results(_prose(block))
        if Number.of(result).in_ones not in known | _explained(block)
    ]


def _explained(block: Block) -> set[Decimal]:
    return {number.in_ones for claim in block.claims for number in numbers_in(claim.shown)}


def _results(text: str) -> Iterator[re.Match[str]]:
    """Numbers that look like results: with a point, a power of ten or a unit, or with a sign before or behind."""
    for found in _NUMBER.finditer(text):
        measured = found["unit"] not in (None, "million", "billion")
        signed = _BEFORE_RESULT.search(text, 0, found.start()) or _AFTER_RESULT.match(text, found.end())
        if "." in found["digits"] or found["exponent"] or found["power"] or measured or signed:
            yield found


def _is_code(block: Block) -> bool:
    return block.language is not None or all(line.startswith("    ") for line in block.text.splitlines())


def _code(block: Block) -> str:
    """Code without its comments."""
    return re.sub(r"#.*", "", block.text) if block.language == "python" else block.text


def _prose(block: Block) -> str:
    """What is written for people: text without names, or what the comments of code explain."""
    if block.language == "python":
        tokens = tokenize.generate_tokens(io.StringIO(block.text).readline)
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
        return "\n".join(comment.partition(documented_output.SEPARATOR)[2] or comment for comment in comments)
    return "" if _is_code(block) else _NAMED.sub("", block.text)


def _outputs(page: str) -> Iterator[str]:
    """All that a page says is printed, which is compared elsewhere."""
    for block in blocks(page):
        if block.language == "python":
            said = documented_output.claims(block.text).values()
            yield from (claim.split(documented_output.SEPARATOR)[0] for claim in said)
    yield from (shown for _, shown in documented_output.shown_outputs(page))
