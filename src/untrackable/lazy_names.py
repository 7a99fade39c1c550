"""Public names of a package that are loaded where they are first used, so that importing the package is instant.

The names are the imports in the package's stub, `__init__.pyi`, where type checkers and editors find them, too.
`lazy_loader` does the same, and would be one more package that every client has to install for these lines.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazy_names(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__` and `__dir__` of the package in this file, by the stub beside it."""
    with open(f"{file.removesuffix('.py')}.pyi", encoding="utf-8") as stub:  # noqa: PTH123 — pathlib loads slowly
        homes = {name: home for _, home, _, name, *_ in (line.split() for line in stub if line.startswith("from "))}
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    def listed() -> list[str]:
        return names.copy()

    return names, load, listed
