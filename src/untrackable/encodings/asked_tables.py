"""The tables that a question asks for, where it asks about parts of a value and not about whole values."""

from dataclasses import dataclass

View = tuple[int, ...]
"""Positions of bits of an encoded value, ascending, 0 for the lowest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One share to estimate: that of people whose bits of a view are one of some numbers."""

    label: str
    view: int
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AskedTable:
    """A table of shares under a name, such as all choices, or one attribute against another."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class AskedTables:
    """The views that reports are about, and the tables that they answer; the first table is the one to show."""

    views: tuple[View, ...]
    tables: tuple[AskedTable, ...]

    @property
    def most_cells(self) -> int:
        """The number of cells of the largest table."""
        return max(len(table.cells) for table in self.tables)

    def named(self, name: str | None) -> AskedTable:
        """The table of that name, or the first one."""
        if name is None:
            return self.tables[0]
        for table in self.tables:
            if table.name == name:
                return table
        known = "; ".join(table.name for table in self.tables)
        raise ValueError(f"table must be one of: {known}; others were not asked for, so nothing is known of them")
