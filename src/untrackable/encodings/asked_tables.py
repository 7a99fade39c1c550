"""The tables that a question asks for, where it asks about parts of a value and not about whole values."""

from dataclasses import dataclass

View = tuple[int, ...]
"""Positions of bits of an encoded value, ascending, 0 for the lowest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One share to estimate: that of people whose `bits` are the number `entry`."""

    label: str
    bits: View
    entry: int


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
    def cells(self) -> int:
        """The number of cells of all tables together."""
        return sum(len(table.cells) for table in self.tables)

    @property
    def shown(self) -> tuple[View, ...]:
        """The bits that tables are of, each once. Cells of the same bits are equally well known."""
        return tuple(dict.fromkeys(cell.bits for table in self.tables for cell in table.cells))

    def named(self, name: str | None) -> AskedTable:
        """The table of that name, or the first one."""
        if name is None:
            return self.tables[0]
        for table in self.tables:
            if table.name == name:
                return table
        if len(self.tables) == 1:
            raise ValueError(f"table must be {self.tables[0].name}, which has every share that was asked for")
        known = "; ".join(table.name for table in self.tables)
        raise ValueError(f"table must be one of: {known}; others were not asked for, so nothing is known of them")
