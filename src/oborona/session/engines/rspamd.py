"""rspamd, asked over HTTP; connections are kept for the next question.

    POST /checkv2                          {"action": "add header", "score": 7.5, "required_score":
                                           15.0,
    IP, Helo, Hostname, From, Rcpt, User    "symbols": {"BAYES_SPAM": {"score": 5.1, ...}, ...},
                                            ...}

Source: rspamd's documentation, developers/protocol.
"""

from __future__ import annotations

import math
from io import BytesIO
from typing import Annotated, Final

import aiohttp
import msgspec

from oborona.config import Address, UnixAddress
from oborona.errors import PeerError
from oborona.policy.engines import EngineOpinion
from oborona.session.engines.question import EngineQuestion, clean_score, clean_word, clean_words

MAX_ANSWER: Final = 1024 * 1024
MAX_RECIPIENTS: Final = 100  # that it is told
MAX_VALUE: Final = 1000  # characters of a header
KEEP_S: Final = 30.0  # that an idle connection is kept


class _Symbol(msgspec.Struct):
    score: float = 0.0


class _Answer(msgspec.Struct):
    action: Annotated[str, msgspec.Meta(min_length=1)]
    score: float
    required_score: float | None = None
    symbols: dict[str, _Symbol] = {}


_DECODE: Final = msgspec.json.Decoder(_Answer)


def request_headers(question: EngineQuestion, password: str = "") -> list[tuple[str, str]]:
    """Return what it is told beside the message."""
    envelope = question.envelope
    fields = [
        ("IP", envelope.client.ip),
        ("Helo", envelope.helo),
        ("Hostname", envelope.client.name),
        ("User", envelope.login),
        ("Queue-Id", envelope.queue_id),
        ("Password", password),
    ]
    return [
        *((name, _value(value)) for name, value in fields if value),
        ("From", f"<{_value(envelope.sender)}>"),
        *(("Rcpt", f"<{_value(recipient)}>") for recipient in envelope.recipients[:MAX_RECIPIENTS]),
    ]


def _value(text: str) -> str:
    """Return a text that is one line of a header, whatever a peer has put into it."""
    text = text[:MAX_VALUE]
    if not (text.isascii() and text.isprintable()):
        text = "".join(character if character.isprintable() else "?" for character in text)
    return text


def opinion_of_answer(octets: bytes) -> EngineOpinion:
    """Return what an answer says.

    Args:
        octets: its body.

    Raises:
        PeerError: it is none.
    """
    try:
        answer = _DECODE.decode(octets)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PeerError(f"an answer that is none: {clean_word(str(error))}") from error
    if not math.isfinite(answer.score):
        raise PeerError("an answer whose score is no number")
    weightiest = sorted(
        answer.symbols.items(), key=lambda symbol: (-abs(clean_score(symbol[1].score)), symbol[0])
    )
    return EngineOpinion(
        engine="rspamd",
        action=clean_word(answer.action),
        score=clean_score(answer.score),
        line=None if answer.required_score is None else clean_score(answer.required_score),
        symbols=clean_words(name for name, _ in weightiest),
    )


class RspamdClient:
    """Speaks to one rspamd.

    Args:
        address: of its normal worker, or of a proxy that scans itself.
        password: empty = none is sent.
        most: connections at once.
    """

    takes_heads = False

    def __init__(self, address: Address, *, password: str, most: int) -> None:
        self._address = address
        self._password = password
        self._most = most
        self._session: aiohttp.ClientSession | None = None
        host = "localhost" if isinstance(address, UnixAddress) else address.host
        port = 80 if isinstance(address, UnixAddress) else address.port
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def ask(self, question: EngineQuestion) -> EngineOpinion:
        """Return its action, its score and its symbols."""
        headers = request_headers(question, self._password)
        try:
            answer = await self._exchange("POST", "/checkv2", headers, question.raw)
        except ConnectionResetError:  # a connection that it closed while nobody asked
            answer = await self._exchange("POST", "/checkv2", headers, question.raw)
        return opinion_of_answer(answer)

    async def ping(self) -> None:
        """Return once it says pong."""
        answer = await self._exchange("GET", "/ping", [], None)
        if answer.strip() != b"pong":
            raise PeerError(f"answered {clean_word(answer.decode('utf-8', 'replace'))!r} to /ping")

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes | None
    ) -> bytes:
        octets = bytearray()
        pieces = None if body is None else BytesIO(body)  # sent piece by piece, which bytes are not
        try:
            async with self._http_session().request(
                method, self._url + path, data=pieces, headers=headers, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    raise PeerError(
                        f"answered {answer.status} {clean_word(answer.reason or '')}".strip()
                    )
                async for chunk in answer.content.iter_any():
                    octets += chunk
                    if len(octets) > MAX_ANSWER:
                        raise PeerError(f"an answer of more than {MAX_ANSWER} bytes")
        except aiohttp.ServerDisconnectedError as error:
            raise ConnectionResetError("hung up") from error
        except aiohttp.ClientOSError as error:
            raise OSError(error.errno, error.strerror or str(error)) from error
        except (aiohttp.ClientError, ValueError) as error:
            raise PeerError(f"{type(error).__name__}: {clean_word(str(error))}") from error
        return bytes(octets)

    def _http_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector: aiohttp.BaseConnector
            if isinstance(self._address, UnixAddress):
                connector = aiohttp.UnixConnector(
                    self._address.path, limit=self._most, keepalive_timeout=KEEP_S
                )
            else:
                connector = aiohttp.TCPConnector(limit=self._most, keepalive_timeout=KEEP_S)
            self._session = aiohttp.ClientSession(
                connector=connector,
                auto_decompress=False,  # nobody asked for that, and a bomb is one
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # who asks has a deadline of its own
                skip_auto_headers=("User-Agent", "Accept-Encoding", "Content-Type"),
            )
        return self._session
