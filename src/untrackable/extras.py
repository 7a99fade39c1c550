"""Packages that are not always installed: `pip install untrackable` brings the base, an extra brings more."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from untrackable.errors import ExtraMissing

EXTRAS = {
    "all": ("Commands, estimates and this mechanism need", ("click", "numpy", "rich", "scipy", "untrackable")),
    "collector": (
        "The collector and the relay need",
        ("cryptography", "httptools", "jinja2", "starlette", "uvicorn", "uvloop"),
    ),
    "cuda": ("The engine cuda needs", ("cupy",)),
    "files": ("CSV, Parquet and Arrow files need", ("pyarrow",)),
    "oblivious": ("Sealed reports need", ("pyhpke",)),
    "plots": ("Charts and pages need", ("altair", "jinja2", "vl_convert")),
    "postgres": ("A store in PostgreSQL needs", ("psycopg",)),
    "spark": ("Estimates on Spark need", ("pandas", "pyarrow", "pyspark")),
}
"""For each extra of pyproject.toml that something cannot do without: what needs it, and the modules it brings."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import packages of this extra within it; if one is missing, the error says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS[name][1]:
            raise
        raise _missing(name) from None


def require(name: str) -> None:
    """Refuse before any work is done if a package of this extra is missing; nothing is imported."""
    for module in EXTRAS[name][1]:
        with extra(name):
            if importlib.util.find_spec(module) is None:
                raise _missing(name)


def _missing(name: str) -> ExtraMissing:
    return ExtraMissing(f"{EXTRAS[name][0]} packages that are not installed: pip install 'untrackable[{name}]'")
