"""A question over TCP, for answers that fit no datagram (RFC 7766): a connection each, for they are
rare.
"""

from __future__ import annotations

import asyncio
import os

from oborona.config import ResolverAddress


async def ask_over_tcp(server: ResolverAddress, message: bytes) -> bytes:
    """Return a server's answer; the caller cancels it when it has no more time.

    Args:
        server: whom to ask.
        message: without its id.

    Raises:
        OSError: no connection, or it broke.
        EOFError: it ended before the answer did, or with another id.
    """
    ident = os.urandom(2)
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        writer.write((len(message) + 2).to_bytes(2) + ident + message)
        length = int.from_bytes(await reader.readexactly(2))
        answer = await reader.readexactly(length)
    finally:
        writer.transport.abort()
    if answer[:2] != ident:
        raise EOFError("an answer with another id")
    return answer
