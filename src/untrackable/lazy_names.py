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


def lazy_names(package: Any) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__` and `__dir__` of the package with this `__spec__`, by the stub beside it."""
    stub: str = package.loader.get_data(f"{package.origin}i").decode()  # also from a package in a ZIP file
    imports = (line.split() for line in stub.splitlines() if line.startswith("from "))
    homes = {name: home for _, home, _, name, *_ in imports}
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package.name!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError:
            from untrackable.extras import extra  # It takes longer than the rest of a run without a turn.

            with extra("all"):
                raise

    def listed() -> list[str]:
        return names.copy()

    return names, load, listed
