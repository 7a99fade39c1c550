"""Public names of a package that are loaded where they are first used, so that importing the package is instant.

`lazy_loader` does the same, and would be one more package that every client has to install for these lines.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as type checkers know it; importing it would take most of the time
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__all__`, `__getattr__` and `__dir__`, given the module in it that each name comes from."""
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from untrackable.extras import extra

        with extra("all"):
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    def listed() -> list[str]:
        return names.copy()

    return names, load, listed
