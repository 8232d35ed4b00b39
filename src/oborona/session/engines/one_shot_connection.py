"""A connection to an engine for one question: the question sent, and the answer read to its end,
both at once.

An engine may answer, and hang up, before it has read all of a question: what it said by then is its
answer.  So both sides work on the socket itself: a stream of asyncio that can't write any more
throws away what is still to be read.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from oborona.config import Address, UnixAddress
from oborona.errors import PeerError

READ_BYTES: Final = 16_384


async def exchange(
    address: Address, question: Iterable[bytes], *, most: int, ends: bool = False
) -> bytes:
    """Send a question over a connection of its own, and return all that comes until the engine
    hangs up.

    Args:
        address: of the engine.
        question: in pieces, each sent when there is room for it.
        most: bytes that the answer may have.
        ends: tell the engine that nothing more will come.

    Raises:
        PeerError: the answer is longer.
        OSError: it can't be reached, or the connection broke and nothing was said.
    """
    loop = asyncio.get_running_loop()
    with await _connected(address, loop) as line:
        sending = loop.create_task(_sent(line, question, ends=ends))
        try:
            return await _to_the_end(line, most)
        finally:
            sending.cancel()
            await asyncio.wait([sending])  # the socket is closed when nobody works on it any more


async def _connected(address: Address, loop: asyncio.AbstractEventLoop) -> socket.socket:
    if isinstance(address, UnixAddress):
        return await _open_socket(socket.AF_UNIX, address.path, loop)
    addresses = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    for family, _, _, _, where in addresses[:-1]:
        with suppress(OSError):
            return await _open_socket(family, where, loop)
    family, _, _, _, where = addresses[-1]
    return await _open_socket(family, where, loop)


async def _open_socket(
    family: int, where: str | tuple[object, ...], loop: asyncio.AbstractEventLoop
) -> socket.socket:
    line = socket.socket(family, socket.SOCK_STREAM)
    try:
        line.setblocking(False)
        await loop.sock_connect(line, where)
    except BaseException:
        line.close()
        raise
    return line


async def _sent(line: socket.socket, question: Iterable[bytes], *, ends: bool) -> None:
    loop = asyncio.get_running_loop()
    with suppress(OSError):  # what comes back says more
        for piece in question:
            await loop.sock_sendall(line, piece)
        if ends:
            line.shutdown(socket.SHUT_WR)


async def _to_the_end(line: socket.socket, most: int) -> bytes:
    loop = asyncio.get_running_loop()
    octets = bytearray()
    try:
        while chunk := await loop.sock_recv(line, READ_BYTES):
            octets += chunk
            if len(octets) > most:
                raise PeerError(f"an answer of more than {most} bytes")
    except ConnectionError:
        if not octets:
            raise
    return bytes(octets)
