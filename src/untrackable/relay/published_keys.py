"""The key configurations of a gateway, as the relay hands them on: the same bytes to everybody."""

import asyncio
import time
from collections.abc import Callable

from untrackable.relay.gateway_connections import GatewayConnections
from untrackable.relay.relay_problems import NotRelayed, RelayProblem

MEDIA_TYPE = "application/ohttp-keys"
_LARGEST = 16 << 10
_FRESH_SECONDS = 300.0
"""The time for which keys are handed on without asking the gateway again."""
_FAILED_SECONDS = 5.0
"""The time after a failure in which the gateway is not asked again."""


class PublishedKeys:
    """The last key configurations that a gateway published. However many ask, the gateway is asked now and then."""

    def __init__(self, connections: GatewayConnections, clock: Callable[[], float] = time.monotonic) -> None:
        self._connections, self._clock = connections, clock
        self._asking = asyncio.Lock()
        self._keys: bytes | NotRelayed = b""
        self._until = clock()

    async def get(self) -> bytes:
        """The key configurations, as `application/ohttp-keys`."""
        async with self._asking:
            if self._clock() >= self._until:
                await self._ask()
        if isinstance(self._keys, NotRelayed):
            raise NotRelayed(self._keys.problem, self._keys.detail)
        return self._keys

    async def _ask(self) -> None:
        try:
            answer = await self._connections.get(_LARGEST)
            if answer.status != 200 or answer.media_type != MEDIA_TYPE.encode() or not answer.content:
                raise NotRelayed(RelayProblem.GATEWAY_ANSWER, "the gateway does not publish its keys")
        except NotRelayed as error:
            self._keys, self._until = error, self._clock() + _FAILED_SECONDS
        else:
            self._keys, self._until = answer.content, self._clock() + _FRESH_SECONDS
