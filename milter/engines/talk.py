"""A connection to an engine for one question: the question sent, and the answer read to its end, both at once.

An engine may answer, and hang up, before it has read all of a question: what it said by then is its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from oborona.config import Address, UnixAddress
from oborona.errors import PeerError

READ_BYTES: Final = 16_384


async def exchange(address: Address, question: Iterable[bytes], *, most: int, ends: bool = False) -> bytes:
    """Send a question over a connection of its own, and return all that comes until the engine hangs up.

    Args:
        address: of the engine.
        question: in pieces, each sent when there is room for it.
        most: bytes that the answer may have.
        ends: tell the engine that nothing more will come.

    Raises:
        PeerError: the answer is longer.
        OSError: it can't be reached, or the connection broke and nothing was said.
    """
    if isinstance(address, UnixAddress):
        reader, writer = await asyncio.open_unix_connection(address.path)
    else:
        reader, writer = await asyncio.open_connection(address.host, address.port)
    reading = asyncio.get_running_loop().create_task(_to_the_end(reader, most))
    reading.add_done_callback(lambda task: task.cancelled() or task.exception())  # told below, or to nobody
    try:
        with suppress(ConnectionError):
            for piece in question:
                if reading.done():
                    break
                writer.write(piece)
                await writer.drain()
            if ends:
                writer.write_eof()
        return await reading
    finally:
        reading.cancel()
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def _to_the_end(reader: asyncio.StreamReader, most: int) -> bytes:
    octets = bytearray()
    try:
        while chunk := await reader.read(READ_BYTES):
            octets += chunk
            if len(octets) > most:
                raise PeerError(f"an answer of more than {most} bytes")
    except ConnectionError:
        if not octets:
            raise
    return bytes(octets)
