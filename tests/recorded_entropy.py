"""Entropy from recorded bytes, for test vectors."""


class Recorded:
    """Entropy from a given byte string, for test vectors. Running out of bytes is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.used = 0

    def __call__(self, size: int) -> bytes:
        """The next bytes."""
        if self.used + size > len(self._data):
            raise ValueError(f"recorded entropy has {len(self._data)} bytes, more are needed")
        self.used += size
        return self._data[self.used - size : self.used]
