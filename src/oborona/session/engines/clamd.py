r"""ClamAV's clamd, asked about a message as a stream.

    zINSTREAM\0 (length data)* 0           stream: OK\0
                                           stream: Win.Test.EICAR_HDB-1 FOUND\0
                                           INSTREAM size limit exceeded. ERROR\0

Lengths are 4 bytes in network order.  A stream beyond its own StreamMaxLength clamd refuses in the
middle of it, and hangs up.

Source: clamd(8), section COMMANDS.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from oborona.config import Address
from oborona.errors import PeerError
from oborona.policy.engines import EngineOpinion
from oborona.session.engines.one_shot_connection import exchange
from oborona.session.engines.question import TOO_LARGE, EngineQuestion, clean_word

MAX_ANSWER: Final = 4096
CHUNK: Final = 64 * 1024

_STREAM: Final = "stream: "
_FOUND: Final = " FOUND"
_LENGTH: Final = struct.Struct(">I")


def instream_request(octets: bytes) -> Iterator[bytes]:
    """Yield the request for a look at some octets, in pieces."""
    yield b"zINSTREAM\0"
    for place in range(0, len(octets), CHUNK):
        chunk = octets[place : place + CHUNK]
        yield _LENGTH.pack(len(chunk)) + chunk
    yield _LENGTH.pack(0)


def opinion_of_answer(octets: bytes, *, whole: bool) -> EngineOpinion:
    """Return what an answer says.

    Args:
        octets: all that came.
        whole: it was asked about the whole message; a head without a virus says nothing of the
            rest.

    Raises:
        PeerError: it is none.
    """
    line, end, _ = octets.partition(b"\0")
    if not end:
        raise PeerError("an answer without its end")
    text = line.decode("utf-8", "replace").strip()
    if text.startswith("INSTREAM size limit exceeded"):
        return EngineOpinion(engine="clamd", unknown=TOO_LARGE)
    if text == f"{_STREAM}OK":
        return (
            EngineOpinion(engine="clamd", action="ok")
            if whole
            else EngineOpinion(engine="clamd", unknown=TOO_LARGE)
        )
    if text.startswith(_STREAM) and text.endswith(_FOUND):
        name = text[len(_STREAM) : -len(_FOUND)].strip()
        if name:
            return EngineOpinion(engine="clamd", action="found", virus=clean_word(name))
    raise PeerError(f"answered {clean_word(text)!r}")


class ClamdClient:
    """Speaks to one clamd, each question over a connection of its own.

    Args:
        address: of its socket.
    """

    takes_heads = True

    def __init__(self, address: Address) -> None:
        self._address = address

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        """Return what it found in a message, or its head."""
        answer = await exchange(self._address, instream_request(question.raw), most=MAX_ANSWER)
        return opinion_of_answer(answer, whole=question.whole)

    async def ping(self) -> None:
        """Return once it says PONG."""
        answer = await exchange(self._address, [b"zPING\0"], most=MAX_ANSWER)
        if answer != b"PONG\0":
            raise PeerError(f"answered {clean_word(answer.decode('utf-8', 'replace'))!r} to PING")

    async def close(self) -> None:
        """No connection outlives its question."""
