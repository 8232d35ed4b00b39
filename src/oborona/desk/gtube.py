"""A GTUBE message over a milter connection, as a mail server sends it, which the daemon judges and
does not count.

It proves that the listener is Oborona, that it judges, and which reply the client of a mail server
would get.
"""

from __future__ import annotations

import asyncio
import socket
import time
from enum import StrEnum
from typing import Final, NamedTuple

from oborona.doors.probe import MACRO, TOLD, probe_value
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.errors import PeerError
from oborona.milter.opensmtpd.milter_client import MilterAnswer, MilterClient

WAIT_S: Final = 15.0  # above deadline_s of a worker
GTUBE: Final = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
_MESSAGE: Final = (
    "From: <doctor@oborona.invalid>\r\nTo: <doctor@oborona.invalid>\r\nSubject: does the filter "
    "work?\r\n\r\n"
    f"{GTUBE}\r\n"
).encode()
_CLIENT: Final = b"localhost\x004\x00\x00127.0.0.1\0"


class GtubeOutcome(StrEnum):
    """What became of the GTUBE."""

    REFUSED = "refused"
    MARKED = "marked"  # let in with X-Mras: Spam, as `refuse = false` has it
    LET_IN = "let in"
    PUT_OFF = "put off"
    NOT_OURS = "not ours"  # no milter, or not one of this site


class GtubeResult(NamedTuple):
    """What a listener made of a GTUBE."""

    outcome: GtubeOutcome
    words: str  # what the client would hear, or what is wrong


def prove(peer: socket.socket, key: bytes) -> GtubeResult:
    """Tell what a listener makes of a GTUBE.

    Args:
        peer: connected to it; closed afterwards.
        key: `Keys.signature` of the site.
    """
    try:
        return asyncio.run(_prove(peer, key))
    except TimeoutError:
        return GtubeResult(
            GtubeOutcome.NOT_OURS, f"connects, and gives no answer within {WAIT_S:g} s"
        )
    except asyncio.IncompleteReadError:
        return GtubeResult(
            GtubeOutcome.NOT_OURS,
            "something listens there that closes the connection on a milter's request",
        )
    except (PeerError, OSError) as error:
        return GtubeResult(
            GtubeOutcome.NOT_OURS, f"somebody listens there who is no Oborona: {error}"
        )
    finally:
        peer.close()


async def _prove(peer: socket.socket, key: bytes) -> GtubeResult:
    async with asyncio.timeout(WAIT_S):
        link = await MilterClient.over(peer)
        try:
            for command, data in ((b"C", _CLIENT), (b"H", b"localhost\0")):
                await _go_on(link, command, data)
            await _go_on(link, b"M", b"<>\0", **{MACRO: probe_value(key, time.time())})
            await _go_on(link, b"R", b"<doctor@oborona.invalid>\0")
            answer, edits = await link.message(_MESSAGE, "doctor")
        finally:
            link.close()
    return _to_result(answer, edits)


async def _go_on(link: MilterClient, command: bytes, data: bytes, **macros: str) -> None:
    answer = await link.ask(command, data, **macros)
    if answer.letter != b"c":
        raise PeerError(f"it answers {command.decode()} of localhost with {_reply_text(answer)}")


def _to_result(said: MilterAnswer, edits: list[AddHeader | RemoveHeader]) -> GtubeResult:
    words = _reply_text(said)
    marks = {edit.name: edit.value for edit in edits if isinstance(edit, AddHeader)}
    if said.letter in (b"y", b"r", b"t"):
        if said.letter == b"y" and f"({TOLD})" not in words:
            return GtubeResult(
                GtubeOutcome.NOT_OURS,
                f"another site's Oborona, or another milter, answers: {words}",
            )
        refused = said.letter == b"r" or words.startswith("5")
        return GtubeResult(GtubeOutcome.REFUSED if refused else GtubeOutcome.PUT_OFF, words)
    if "X-Mras" not in marks:
        return GtubeResult(
            GtubeOutcome.NOT_OURS, "a milter answers that is no Oborona: no X-Mras comes back"
        )
    mark = marks["X-Mras"].strip()
    return GtubeResult(
        GtubeOutcome.MARKED if mark == "Spam" else GtubeOutcome.LET_IN, f"X-Mras: {mark}"
    )


def _reply_text(answer: MilterAnswer) -> str:
    if answer.letter == b"y":
        return answer.data.rstrip(b"\0").decode("ascii", "replace")
    names = {b"a": "accept", b"c": "go on", b"d": "discard", b"r": "reject", b"t": "try again"}
    return names.get(answer.letter, repr(answer.letter))
