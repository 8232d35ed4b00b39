"""The smallest protocol there is, for tests of what carries protocols: a line is answered with the
same line.
"""

from __future__ import annotations

import asyncio
import logging

from oborona.doors.acceptor import Acceptor
from oborona.doors.stream import StreamConnection
from oborona.errors import PeerError

log = logging.getLogger("oborona.lines")


class LineServer(Acceptor):
    """Echoes lines; `nap` after a nap, `many` a thousand times over, `fail` not at all."""

    def __init__(self, *, half_s: float = 0.0, nap_s: float = 0.2, **settings: object) -> None:
        super().__init__(**({"idle_s": 60.0, "max_sessions": 100, "log": log} | settings))  # type: ignore[arg-type]
        self.half_s = half_s
        self.nap_s = nap_s
        self.met = 0

    def _connection(self) -> StreamConnection:
        self.met += 1
        return _Lines(self)


class _Lines(StreamConnection):
    def __init__(self, server: LineServer) -> None:
        super().__init__(server, log, half_s=server.half_s)
        self._nap_s = server.nap_s
        self._rest = b""

    @property
    def _between(self) -> bool:
        return not self._partial

    @property
    def _partial(self) -> bool:
        return bool(self._rest)

    async def _take(self, data: bytes) -> None:
        self._rest += data
        while b"\n" in self._rest and not self._closing:
            line, _, self._rest = self._rest.partition(b"\n")
            self._whole()
            match line:
                case b"nap":
                    await asyncio.sleep(self._nap_s)
                case b"fail":
                    raise RuntimeError("as it was asked to")
                case b"break":
                    raise PeerError("no such line")
                case b"many":
                    line *= 1000
                case b"bye":
                    self._transport.write(b"x" * 8_000_000)
                    self._close()
                    return
            self._transport.write(line + b"\n")
            await self._wait_until_read()

    def _farewell(self) -> None:
        pass
