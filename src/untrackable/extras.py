"""Packages that are not always installed: `pip install untrackable` brings the client, an extra brings more."""

from collections.abc import Iterator
from contextlib import contextmanager

from untrackable.errors import ExtraMissing

EXTRAS = {
    "all": ("Estimates, commands and this part of untrackable need", ("click", "numpy", "rich", "scipy")),
    "collector": (
        "The collector, the relay and the issuer need",
        ("cryptography", "httptools", "jinja2", "starlette", "uvicorn", "uvloop"),
    ),
    "crowd": ("Sealed reports need", ("cryptography", "pyhpke")),
    "cuda": ("The engine cuda needs", ("cupy",)),
    "files": ("CSV, Parquet and Arrow files need", ("pyarrow",)),
    "plots": ("Charts and pages need", ("altair", "jinja2", "vl_convert")),
    "postgres": ("A store in PostgreSQL needs", ("psycopg",)),
    "spark": ("Estimates on Spark need", ("pandas", "pyarrow", "pyspark")),
}
"""For each extra of pyproject.toml that something cannot do without: what needs it, and the modules it brings.

Every extra but `crowd` also brings the modules of this package that the client has not. Those are named by `all`,
with what they cannot do without.
"""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import packages of this extra within it; if one is missing, the error says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        package, _, module = (error.name or "").partition(".")
        if package not in EXTRAS[name][1] and not (name == "all" and package == "untrackable" and module):
            raise
        raise _missing(name) from None


def require(name: str) -> None:
    """Refuse before any work is done if a package of this extra is missing; nothing is imported."""
    import importlib.util

    for module in EXTRAS[name][1]:
        with extra(name):
            if importlib.util.find_spec(module) is None:
                raise _missing(name)


def _missing(name: str) -> ExtraMissing:
    import importlib.util

    if name == "collector" and importlib.util.find_spec("fcntl") is None:
        return ExtraMissing(f"{EXTRAS[name][0]} Linux or macOS")
    return ExtraMissing(f"{EXTRAS[name][0]} packages that are not installed: pip install 'untrackable[{name}]'")
