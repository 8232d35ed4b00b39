"""Frames of the reader's protocol on an event loop; children have no loop and don't load this."""

from __future__ import annotations

import asyncio
from typing import Final

from oborona.daemon.reader.wire import LENGTH, MAX_FRAME
from oborona.errors import PeerError

BUFFER: Final = (
    1 << 20
)  # octets that a stream takes before it makes the other side wait: most pictures in one go


async def receive(stream: asyncio.StreamReader) -> bytes:
    """Return the payload of the next frame.

    Raises:
        EOFError: the other side has gone.
        OSError: the connection broke.
        PeerError: more than `MAX_FRAME`.
    """
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    if length > MAX_FRAME:
        raise PeerError(f"a frame of {length} octets; at most {MAX_FRAME} are taken")
    return await stream.readexactly(length)
