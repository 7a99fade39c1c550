"""What each part of a store needs from the database: transactions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class Transactions(ABC):
    """A part of a store that reads and writes in transactions."""

    @abstractmethod
    def _transaction(self, *, write: bool) -> AbstractContextManager[Callable[..., Any]]:
        """Begin a transaction and yield a function that runs its statements."""
