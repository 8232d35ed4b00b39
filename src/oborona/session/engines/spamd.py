r"""SpamAssassin's spamd, asked in the protocol of spamc.

    SYMBOLS SPAMC/1.5\r\n                  SPAMD/1.1 0 EX_OK\r\n
    Content-length: 1234\r\n               Content-length: 29\r\n
    \r\n                                   Spam: True ; 21.3 / 5.0\r\n
    (message)                              \r\n
                                           GTUBE,HTML_MESSAGE\r\n

Our own headers go before the message: see `trace`.

Source: spamd/PROTOCOL of SpamAssassin 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from oborona.config import Address
from oborona.errors import PeerError
from oborona.policy.engines import EngineOpinion
from oborona.session.engines.one_shot_connection import exchange
from oborona.session.engines.question import EngineQuestion, clean_score, clean_word, clean_words
from oborona.session.engines.trace_headers import trace_headers

# the names of all rules that there are would be more; no message hits them all
MAX_ANSWER: Final = 64 * 1024

_STATUS: Final = re.compile(rb"SPAMD/\d{1,3}\.\d{1,3} (\d{1,4}) ([^\r\n]{0,200})\r?")
_NUMBER: Final = rb"-?\d{1,12}(?:\.\d{1,12})?"
_SPAM: Final = re.compile(
    rb"spam[ \t]*:[ \t]*(true|false|yes|no)[ \t]*;[ \t]*("
    + _NUMBER
    + rb")[ \t]*/[ \t]*("
    + _NUMBER
    + rb")[ \t]*",
    re.IGNORECASE,
)
_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,9})[ \t]*", re.IGNORECASE)


def spamc_request(command: str, message: bytes = b"", user: str = "") -> bytes:
    """Return a request.

    Args:
        command: SYMBOLS or PING.
        message: with our own headers.
        user: whose settings hold; empty = not said.
    """
    user_header = f"User: {user}\r\n" if user else ""
    length = f"Content-length: {len(message)}\r\n" if message else ""
    return f"{command} SPAMC/1.5\r\n{length}{user_header}\r\n".encode("ascii") + message


def opinion_of_answer(octets: bytes) -> EngineOpinion:
    """Return what an answer to SYMBOLS says.

    Args:
        octets: all that came until it hung up.

    Raises:
        PeerError: it is none.
    """
    status = _STATUS.match(octets)
    if status is None:
        raise PeerError(f"answered {clean_word(octets[:100].decode('utf-8', 'replace'))!r}")
    if int(status[1]) != 0:
        raise PeerError(
            f"answered {int(status[1])} {clean_word(status[2].decode('utf-8', 'replace'))}"
        )
    head, empty, body = octets.partition(b"\r\n\r\n")
    if not empty:
        raise PeerError("an answer without its end")
    verdict = length = None
    for line in head.split(b"\r\n")[1:]:
        verdict = verdict or _SPAM.fullmatch(line)
        length = length or _LENGTH.fullmatch(line)
    if verdict is None:
        raise PeerError("an answer without a verdict")
    if length is not None and int(length[1]) > len(body):
        raise PeerError("an answer without its end")
    names = body.decode("utf-8", "replace").split(",")
    return EngineOpinion(
        engine="spamd",
        action="spam" if verdict[1].lower() in (b"true", b"yes") else "ham",
        score=clean_score(float(verdict[2])),
        line=clean_score(float(verdict[3])),
        symbols=clean_words(name for symbol in names if (name := symbol.strip())),
    )


class SpamdClient:
    """Speaks to one spamd, each question over a connection of its own.

    Args:
        address: of its socket.
        site: our name.
        user: whose settings hold; empty = not said.
        clock: Unix seconds.
    """

    takes_heads = False

    def __init__(
        self, address: Address, *, site: str, user: str, clock: Callable[[], float]
    ) -> None:
        self._address = address
        self._site = site
        self._user = user
        self._clock = clock

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        """Return its score and its rules that fired."""
        head = trace_headers(question.envelope, self._site, self._clock())
        return opinion_of_answer(
            await self._exchange(spamc_request("SYMBOLS", head + question.raw, self._user))
        )

    async def ping(self) -> None:
        """Return once it says PONG."""
        match = _STATUS.match(await self._exchange(spamc_request("PING")))
        if match is None or match[2] != b"PONG":
            raise PeerError("no PONG to PING")

    async def close(self) -> None:
        """No connection outlives its question."""

    async def _exchange(self, octets: bytes) -> bytes:
        return await exchange(self._address, [octets], most=MAX_ANSWER, ends=True)
